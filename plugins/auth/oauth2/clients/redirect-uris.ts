// Addresses to which answers may be sent: over https, or to a program on the user's own machine (MCP, authorization; RFC 8252 §7.1 and §7.3).

const MAX_LENGTH = 2000;
/** Characters for which a URI has no place, and those on which parsers disagree. */
const UNSAFE = /[^\x21-\x7e]|[\\"<>^`{|}]/;
/** RFC 8252 §7.3, and `localhost`, which clients use though §8.3 advises against it. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?([/?].*)?$/;
/** RFC 8252 §7.1, as it is written: a scheme, and a path or an authority. */
const PRIVATE_USE = /^([a-z][a-z0-9+.-]*):\/./;
/** Schemes that are somebody's already: a browser runs or shows what they name, or hands it to whatever program it names. */
const TAKEN = /^(https?|javascript|vbscript|data|file|filesystem|about|blob|ftp|wss?|view-source|jar|resource|chrome|devtools|intent)$/;
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback';

/** The very texts that are accepted beside https and loopback addresses. */
export const acceptedTexts = ({ allowedRedirectUris }: { allowedRedirectUris: readonly string[] }): readonly string[] => [
	CURSOR,
	...allowedRedirectUris,
];

/** Null when answers may be sent there; else what is wrong with it. @param accepted see `acceptedTexts` */
export function redirectFault(uri: unknown, accepted: readonly string[]): string | null {
	const fault = formFault(uri);
	if (fault !== null || typeof uri !== 'string') return fault;
	if (LOOPBACK.test(uri) || accepted.includes(uri)) return null;
	// A URI that a parser would have to put right first does not match later, so it is read as it is written.
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

/** Null for a URI with a scheme of its own, that some program on the user's machine may have taken; else why it is none. */
export function privateUseFault(uri: unknown): string | null {
	const fault = formFault(uri);
	if (fault !== null || typeof uri !== 'string') return fault;
	const [, scheme] = PRIVATE_USE.exec(uri) ?? [];
	if (scheme === undefined) return 'must begin with a scheme in lower case, a colon and a slash, such as myapp://callback';
	return TAKEN.test(scheme) ? `must begin with a scheme of its program, not ${scheme}:` : null;
}

/** Whether an accepted address, one that is no private use, is that of a program on the user's machine. */
export const isLoopback = (uri: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(new URL(uri).hostname);

/** Whether an address, with its parameters or without, is that of a program on the user's machine. */
export function isPrivateUse(uri: string): boolean {
	const [, scheme] = PRIVATE_USE.exec(uri) ?? [];
	return scheme !== undefined && !TAKEN.test(scheme);
}

/**
 * Character by character (OAuth 2.1 §2.3.1, "simple string comparison"), but for the port of a loopback address: RFC 8252 §7.3,
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
