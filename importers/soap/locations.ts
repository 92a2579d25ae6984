// Finds imported documents: among the files that came with the first one, or at URLs, which are read through the guard.

import { asGatewayError, decodeXml, type ImportContext, type SchemaSource } from '../../core/index.ts';
import { collapse } from './names.ts';

/** Limit of all documents together. */
export const MAX_CHARS = 32 * 1024 * 1024;
const FETCH_TIMEOUT_MS = 30_000;

/** Resolves a location to a path among the files or a URL; null if neither is possible. */
export function resolveLocation(location: string, at: string | null, source: SchemaSource): string | null {
	if (source.files.size > 0) return resolveFile(location, at ?? '', source.files);
	if (source.url === null) return null;
	const url = URL.parse(location, at ?? source.url);
	if (!url || !/^https?:$/.test(url.protocol)) return null;
	url.hash = '';
	return url.href;
}

/** Finds a file by its path from the referring document, else by its name, if only one file has it: bundles keep their original URLs. */
function resolveFile(location: string, at: string, files: SchemaSource['files']): string | null {
	const url = URL.parse(location, `file:///${at.split('/').map(encodeURIComponent).join('/')}`);
	const path = url?.protocol === 'file:' ? decode(url.pathname.slice(1)) : null;
	// Files may be named like their URLs: `Shop.svc?xsd=xsd0`.
	const paths = url && path !== null ? [path + url.search, path] : [];
	const found = paths.find((one) => files.has(one));
	if (found !== undefined) return found;
	const [whole = ''] = location.split('#');
	const names = [...new Set([whole, whole.split('?')[0] ?? ''].map((one) => decode(lastOf(one))))];
	const same = names.map((name) => [...files.keys()].filter((other) => lastOf(other) === name)).find(({ length }) => length > 0) ?? [];
	return same.length === 1 ? (same[0] ?? null) : null;
}

/** Returns the last segment with the query, which may hold slashes, too. */
function lastOf(path: string): string {
	const query = path.indexOf('?');
	const before = query < 0 ? path : path.slice(0, query);
	return path.slice(before.lastIndexOf('/') + 1);
}

const START_BYTES = 64 * 1024;
const SCHEMA = /^<(?:[\w.-]+:)?schema\s/;
const TARGET = /\stargetNamespace\s*=\s*(?:"([^"]*)"|'([^']*)')/;

/** Indexes schemas by namespace: an import may omit the location (Part 1, §4.2.3), and tools that write files do. */
export function schemaFiles(files: SchemaSource['files']): Map<string, string[]> {
	const found = new Map<string, string[]>();
	for (const [path, bytes] of files) {
		const tag = firstTag(decodeXml(bytes.subarray(0, START_BYTES)));
		const match = SCHEMA.test(tag) ? TARGET.exec(tag) : null;
		const namespace = match?.[1] ?? match?.[2];
		if (namespace !== undefined) found.set(collapse(namespace), [...(found.get(collapse(namespace)) ?? []), path]);
	}
	return found;
}

/** Returns the first tag after declarations, instructions and comments; empty if there is none. */
function firstTag(text: string): string {
	let at = 0;
	for (;;) {
		while (/\s/.test(text.charAt(at))) at++;
		const close = text.startsWith('<!--', at) ? '-->' : text.startsWith('<?', at) ? '?>' : null;
		const end = text.indexOf(close ?? '>', at);
		if (end < 0 || close === null) return text.slice(at, end + 1);
		at = end + close.length;
	}
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		// A stray percent sign stands for itself.
		return text;
	}
}

interface Found {
	text: string;
	at: string;
}

/** Reads a document. @returns its text and final location, or a fault as the rest of a sentence */
export async function readLocation(
	target: string,
	{ source, context }: { source: SchemaSource; context: ImportContext },
): Promise<Found | { fault: string }> {
	if (source.files.size === 0) return fetchText(target, context);
	const bytes = source.files.get(target);
	return bytes ? { text: decodeXml(bytes), at: target } : { fault: 'it did not come with the document' };
}

async function fetchText(url: string, context: ImportContext): Promise<Found | { fault: string }> {
	const headers = { accept: 'text/xml, application/xml, */*;q=0.5' };
	try {
		const answer = await context.request({
			method: 'GET',
			url,
			headers,
			timeoutMs: FETCH_TIMEOUT_MS,
			maxBytes: MAX_CHARS,
			signal: context.signal,
		});
		if (answer.status !== 200) return { fault: `it was answered with status ${answer.status}` };
		// Its imports are resolved against the URL after redirects.
		return { text: decodeXml(answer.body, answer.headers['content-type']), at: answer.url };
	} catch (error) {
		const known = asGatewayError(error);
		if (!known || context.signal.aborted) throw error;
		return { fault: known.message.replace(/\.$/, '') };
	}
}

/** Removes an XML declaration after a comment, such as a licence: it is not allowed, but occurs in documents. */
export function withoutLateDeclaration(text: string): string {
	let at = text.length - text.trimStart().length;
	while (text.startsWith('<!--', at)) {
		const end = text.indexOf('-->', at);
		if (end < 0) return text;
		at = end + 3;
		while (/\s/.test(text.charAt(at))) at++;
	}
	const end = at > 0 && /^<\?xml\s/.test(text.slice(at, at + 6)) ? text.indexOf('?>', at) : -1;
	return end < 0 ? text : text.slice(end + 2);
}
