// URLs that a client names and the service fetches: its own document, and its keys.

const MAX_LENGTH = 1000;
/** Hosts of the local machine, for trials; the guard accepts them only where the operator allowed them. */
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Parses an https URL without user name, or one of the local machine. @returns null for anything else */
export function parseFetchedUrl(text: unknown): URL | null {
	const url = typeof text === 'string' && text.length <= MAX_LENGTH ? URL.parse(text) : null;
	const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname));
	return url && isSafe && url.username === '' && url.password === '' ? url : null;
}
