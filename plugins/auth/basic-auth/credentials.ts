// Reads the credentials of `Authorization: Basic` as strictly as RFC 7617 allows.

/** The header. Its scheme is case-insensitive (RFC 9110 §11.1); its base64 is padded (RFC 4648 §4). */
const BASIC = /^Basic +((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?) *$/i;
/** The longest base64 that is decoded: an e-mail address has at most 320 bytes, a password 72. */
const MAX_LENGTH = 1024;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/;

export interface BasicCredentials {
	email: string;
	password: string;
}

/** Returns null when the header is malformed, too long or lacks one of the two parts. */
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

/** Returns null when the bytes are not UTF-8, or the base64 is not their canonical encoding. */
function decode(encoded: string): string | null {
	const bytes = Buffer.from(encoded, 'base64');
	if (bytes.toString('base64') !== encoded) return null;
	const text = bytes.toString('utf8');
	return Buffer.from(text).equals(bytes) ? text : null;
}
