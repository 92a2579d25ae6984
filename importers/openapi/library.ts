// Finds the other documents that a description refers to: among the files that were imported with it, on the web relative to its
// URL, or nowhere.

import { asGatewayError, GatewayError, type ImportContext, quote, type SchemaSource } from '../../core/index.ts';
import { refused } from './document.ts';

export interface Library {
	/** Address of the document itself. */
	home: string;
	/** The longest chain of references from the document to another. */
	maxDepth: number;
	/** @returns the address that a reference means, without its fragment. @throws schema_invalid for locations that must not be read */
	resolve(ref: string, from: string): string;
	/** @returns `fault`, the reason for a failure, null when it is not reported. @throws egress_refused, schema_invalid beyond the limits */
	read(address: string, ref: string): Promise<{ text: string; address: string } | { fault: string | null }>;
}

const MAX_FETCHED = 50;
const MAX_FETCHED_BYTES = 64 * 1024 * 1024;
const MAX_FETCHED_DEPTH = 5;
const FETCH_TIMEOUT_MS = 30_000;
const ACCEPT = 'application/json, application/yaml, text/yaml, text/plain, */*;q=0.5';

/** Base addresses of documents that have none of their own; they are never requested (RFC 2606 §2). */
const FILES = 'https://files.invalid/';
const DOCUMENT = 'https://document.invalid/';
/** Finds the URI that a file gives itself, by which other files may refer to it. */
const OWN_NAME = /["']?\$(?:self|id)["']?\s*:\s*["']?([^"'\s,}]+)/g;

export function libraryOf({ url, path, files }: SchemaSource, context: ImportContext): Library {
	if (path !== null) return createFiles(files, path);
	return url === null ? NOWHERE : createWeb(url, context);
}

/** The library of a single text, which can refer only to itself. */
const NOWHERE: Library = {
	home: DOCUMENT,
	maxDepth: Number.POSITIVE_INFINITY,
	resolve: (ref, from) => URL.parse(ref, from)?.href ?? '',
	read: async () => ({ fault: null }),
};

function createFiles(files: SchemaSource['files'], path: string): Library {
	const addresses = new Map([...files.keys()].map((each) => [addressOf(each), each]));
	let named: Map<string, string> | null = null;
	return {
		home: addressOf(path),
		maxDepth: Number.POSITIVE_INFINITY,
		resolve: (ref, from) => {
			if (/^file:/i.test(ref) || (from.startsWith(FILES) && leavesFiles(ref, from)))
				throw refused(`The reference ${quote(ref)} points outside the imported files.`);
			return URL.parse(ref, from)?.href ?? '';
		},
		read: async (address) => {
			named ??= namesOf(files);
			const found = addresses.get(address) ?? named.get(address);
			const bytes = found === undefined ? undefined : files.get(found);
			if (found === undefined || !bytes) return { fault: address.startsWith(FILES) ? 'it is not among the files' : null };
			const text = decode(bytes);
			return text === null ? { fault: 'it is not UTF-8 text' } : { text, address: addressOf(found) };
		},
	};
}

const addressOf = (path: string): string => FILES + path.split('/').map(encodeURIComponent).join('/');

/** Detects `..` above the topmost folder, which URL parsing would remove silently, and absolute paths. */
function leavesFiles(ref: string, from: string): boolean {
	if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(ref)) return false;
	if (/^[/\\]/.test(ref)) return true;
	let depth = new URL(from).pathname.split('/').length - 2;
	for (const folder of ref.split(/[?#]/)[0]?.split(/[/\\]/) ?? []) {
		if (/^(?:\.|%2e){2}$/i.test(folder)) depth--;
		else if (!/^(?:\.|%2e)?$/i.test(folder)) depth++;
		if (depth < 0) return true;
	}
	return false;
}

function namesOf(files: SchemaSource['files']): Map<string, string> {
	const names = new Map<string, string>();
	for (const [path, bytes] of files) {
		for (const [, name = ''] of (decode(bytes) ?? '').matchAll(OWN_NAME)) {
			const address = URL.parse(name.split('#')[0] ?? '', addressOf(path))?.href;
			if (address !== undefined && !names.has(address)) names.set(address, path);
		}
	}
	return names;
}

function createWeb(home: string, { request, signal }: ImportContext): Library {
	let left = MAX_FETCHED_BYTES;
	let count = 0;
	return {
		home: home.split('#')[0] ?? home,
		maxDepth: MAX_FETCHED_DEPTH,
		resolve: (ref, from) => {
			const url = URL.parse(ref, from);
			if (url?.protocol === 'file:') throw refused(`The reference ${quote(ref)} points to a local file, which is never read.`);
			return url?.href ?? '';
		},
		read: async (address, ref) => {
			if (!/^https?:/.test(address)) return { fault: 'it is no http or https URL' };
			if (++count > MAX_FETCHED)
				throw refused(`The document refers to more than ${MAX_FETCHED} others: import them together, as files or a zip.`);
			const asked = { method: 'GET', url: address, headers: { accept: ACCEPT }, timeoutMs: FETCH_TIMEOUT_MS, maxBytes: left, signal };
			const answer = await request(asked).catch((error: unknown) => blame(error, ref));
			if ('fault' in answer) return answer;
			left -= answer.body.byteLength;
			if (answer.status !== 200) return { fault: `the server answered with status ${answer.status}` };
			const text = decode(answer.body);
			return text === null ? { fault: 'it is not UTF-8 text' } : { text, address: answer.url };
		},
	};
}

/** Fails the import if the address is refused, since its author may be probing the network; failed requests become faults. */
function blame(error: unknown, ref: string): { fault: string } {
	const known = asGatewayError(error);
	if (known?.code === 'egress_refused')
		throw new GatewayError('egress_refused', `The reference ${quote(ref)} is not followed: ${known.message}`);
	if (known?.code === 'upstream_failed' || known?.code === 'upstream_timeout') return { fault: known.message };
	throw error;
}

function decode(bytes: Uint8Array): string | null {
	try {
		return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
	} catch {
		// With `fatal`, invalid UTF-8 throws.
		return null;
	}
}
