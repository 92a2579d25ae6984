// Where answers may be sent: over https, or to a program on the user's own machine (MCP, authorization; RFC 8252 §7.3).

const MAX_LENGTH = 2000;
/** What a URI has no place for, and what parsers disagree on. */
const UNSAFE = /[^\x21-\x7e]|[\\"<>^`{|}]/;
/** RFC 8252 §7.3, and `localhost`, which clients use though §8.3 advises against it. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?([/?].*)?$/;

/** Null when answers may be sent there; else what is wrong with it. */
export function redirectFault(uri: unknown): string | null {
	if (typeof uri !== 'string' || uri.length > MAX_LENGTH) return `must be a text of at most ${MAX_LENGTH} characters`;
	if (UNSAFE.test(uri) || !URL.canParse(uri)) return 'must be an absolute URI';
	// RFC 6749 §3.1.2: "The endpoint URI MUST NOT include a fragment component."
	if (uri.includes('#')) return 'must not have a fragment';
	const { protocol, username, password } = new URL(uri);
	if (username !== '' || password !== '' || /^[a-z]+:\/\/[^/?]*@/i.test(uri)) return 'must not hold a user name or password';
	if (LOOPBACK.test(uri)) return null;
	// As it is written: what a parser would have to put right first does not match later.
	return protocol === 'https:' && /^https:\/\/[a-z0-9[]/i.test(uri) ? null : 'must be https, or http to 127.0.0.1, [::1] or localhost';
}

/**
 * Character by character (OAuth 2.1 §2.3.1, "simple string comparison"), but for the port of a loopback address: RFC 8252 §7.3,
 * "The authorization server MUST allow any port to be specified at the time of the request for loopback IP redirect URIs".
 */
export function matchesRedirect(registered: readonly string[], given: string): boolean {
	if (redirectFault(given) !== null) return false;
	const portless = withoutPort(given);
	return registered.some((uri) => uri === given || (portless !== null && withoutPort(uri) === portless));
}

function withoutPort(uri: string): string | null {
	const [match, host, , rest = ''] = LOOPBACK.exec(uri) ?? [];
	return match === undefined ? null : `${host}${rest}`;
}
