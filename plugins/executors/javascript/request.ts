// Validates the requests of `fetch` in the sandbox thread, so that the main thread receives only few and small ones.

import { LIMITS, type SandboxRequest } from './messages.ts';

const METHOD = /^[A-Z]{1,16}$/;
const KB = 1024;

/** @returns the request, or a sentence for the code that says why it is invalid */
export function readRequest(asked: unknown): SandboxRequest | string {
	// The cast is safe: each field is checked before it is used.
	const { url, method, headers, body = null } = (asked ?? {}) as Partial<Record<keyof SandboxRequest, unknown>>;
	if (typeof url === 'string' && Buffer.byteLength(url) > LIMITS.urlBytes) return `A URL may have ${LIMITS.urlBytes / KB} KB.`;
	if (typeof url !== 'string' || !URL.canParse(url)) return `Not a URL: ${beginning(url, 200)}`;
	if (typeof method !== 'string' || !METHOD.test(method)) return `Not a method: ${beginning(method, 40)}`;
	const own = readHeaders(headers);
	if (typeof own === 'string') return own;
	if (body !== null && typeof body !== 'string') return 'A body must be a text.';
	if (body !== null && Buffer.byteLength(body) > LIMITS.requestBytes) return `A body may have ${LIMITS.requestBytes / KB / KB} MB.`;
	return { url, method, headers: own, body };
}

const beginning = (value: unknown, chars: number): string =>
	typeof value === 'string' ? value.slice(0, chars) : `a value of type ${typeof value}`;

function readHeaders(given: unknown): Record<string, string> | string {
	const entries = Object.entries(typeof given === 'object' && given !== null ? given : {});
	if (entries.length > LIMITS.headers) return `A request may have ${LIMITS.headers} headers.`;
	const texts = entries.map(([name, value]): [string, string] => [name, typeof value === 'string' ? value : '']);
	const sizeBytes = texts.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
	if (sizeBytes > LIMITS.headerBytes) return `The headers of a request may have ${LIMITS.headerBytes / KB} KB together.`;
	return Object.fromEntries(texts);
}
