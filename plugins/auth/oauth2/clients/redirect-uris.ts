// Checks redirect URIs: over https, or to a program on the user's own machine (MCP, authorization; RFC 8252 §7.1 and §7.3).

const MAX_LENGTH = 2000;
/** Characters that a URI must not contain, and those that parsers read differently. */
const UNSAFE = /[^\x21-\x7e]|[\\"<>^`{|}]/;
/** Loopback addresses by RFC 8252 §7.3, and `localhost`, which clients use though §8.3 advises against it. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?([/?].*)?$/;
/** Private-use URIs as RFC 8252 §7.1 writes them: a scheme, and a path or an authority. */
const PRIVATE_USE = /^([a-z][a-z0-9+.-]*):\/./;
/** Schemes that are not private: a browser runs or shows such a URI itself, or passes it on to another program. */
const TAKEN = /^(https?|javascript|vbscript|data|file|filesystem|about|blob|ftp|wss?|view-source|jar|resource|chrome|devtools|intent)$/;
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback';

/** The exact URIs that are accepted besides https and loopback addresses. */
export const acceptedTexts = ({ allowedRedirectUris }: { allowedRedirectUris: readonly string[] }): readonly string[] => [
	CURSOR,
	...allowedRedirectUris,
];

/** Says what is wrong with a redirect URI; null when it is accepted. @param accepted see `acceptedTexts` */
export function redirectFault(uri: unknown, accepted: readonly string[]): string | null {
	const fault = formFault(uri);
	if (fault !== null || typeof uri !== 'string') return fault;
	if (LOOPBACK.test(uri) || accepted.includes(uri)) return null;
	// The text is tested as written: a URI that a parser would correct first would not match later.
	if (/^https:\/\/[a-z0-9[]/i.test(uri) && new URL(uri).protocol === 'https:') return null;
	return `must be https, http to 127.0.0.1, [::1] or localhost, or one of: ${accepted.join(' ')}`;
}

function formFault(uri: unknown): string | null {
	if (typeof uri !== 'string' || uri.length > MAX_LENGTH) return `must be a text of at most ${MAX_LENGTH} characters`;
	if (UNSAFE.test(uri) || !URL.canParse(uri)) return 'must be an absolute URI';
	// RFC 6749 §3.1.2: "The endpoint URI MUST NOT include a fragment component."
	if (uri.includes('#')) return 'must not have a fragment';
	const { username, password } = new URL(uri);
	const hasUser = username !== '' || password !== '' || /^[a-z][a-z0-9+.-]*:\/\/[^/?]*@/i.test(uri);
	return hasUser ? 'must not hold a user name or password' : null;
}

/** Says why a URI is not a private-use one, of a scheme that a program on the user's machine may have registered; null when it is. */
export function privateUseFault(uri: unknown): string | null {
	const fault = formFault(uri);
	if (fault !== null || typeof uri !== 'string') return fault;
	const [, scheme] = PRIVATE_USE.exec(uri) ?? [];
	if (scheme === undefined) return 'must begin with a scheme in lower case, a colon and a slash, such as myapp://callback';
	return TAKEN.test(scheme) ? `must begin with a scheme of its program, not ${scheme}:` : null;
}

/** Tells whether an accepted https or http address is that of a program on the user's machine. */
export const isLoopback = (uri: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(new URL(uri).hostname);

/** Tells whether a URI, with or without parameters, has a private-use scheme. */
export function isPrivateUse(uri: string): boolean {
	const [, scheme] = PRIVATE_USE.exec(uri) ?? [];
	return scheme !== undefined && !TAKEN.test(scheme);
}

/** Tells whether an accepted address is that of a program on the user's machine: of whichever listens there, or has registered the scheme. */
export const isProgram = (uri: string): boolean => isPrivateUse(uri) || isLoopback(uri);

/**
 * Compares character by character (OAuth 2.1 §2.3.1, "simple string comparison"), except for the port of a loopback address: RFC 8252 §7.3,
 * "The authorization server MUST allow any port to be specified at the time of the request for loopback IP redirect URIs".
 */
export function matchesRedirect(registered: readonly string[], given: string): boolean {
	const portless = withoutPort(given);
	return registered.some((uri) => uri === given || (portless !== null && withoutPort(uri) === portless));
}

function withoutPort(uri: string): string | null {
	const [match, host, , rest = ''] = LOOPBACK.exec(uri) ?? [];
	return match === undefined ? null : `${host}${rest}`;
}
