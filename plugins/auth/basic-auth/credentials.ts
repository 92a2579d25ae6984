// What stands behind `Authorization: Basic`, read as strictly as RFC 7617 lets us.

/** RFC 9110 §11.1: the scheme's name is case-insensitive. RFC 4648 §4, with its padding. */
const BASIC = /^Basic +((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?) *$/i;
/** In base64: an e-mail address has at most 320 bytes, a password 72. What is longer is nobody's. */
const MAX_LENGTH = 1024;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/;

export interface BasicCredentials {
	email: string;
	password: string;
}

/** Null when it is malformed, too long or half empty. */
export function readBasic(authorization: string): BasicCredentials | null {
	const encoded = BASIC.exec(authorization)?.[1];
	if (!encoded || encoded.length > MAX_LENGTH) return null;
	const text = decode(encoded);
	// "The user-id and password MUST NOT contain any control characters" (RFC 7617 §2).
	if (text === null || CONTROL.test(text)) return null;
	// "the first colon in a user-pass string separates user-id and password from one another" (RFC 7617 §2).
	const colon = text.indexOf(':');
	if (colon < 1 || colon === text.length - 1) return null;
	return { email: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Null when it is not UTF-8, or not the one spelling that these bytes have in base64. */
function decode(encoded: string): string | null {
	const bytes = Buffer.from(encoded, 'base64');
	if (bytes.toString('base64') !== encoded) return null;
	const text = bytes.toString('utf8');
	return Buffer.from(text).equals(bytes) ? text : null;
}
