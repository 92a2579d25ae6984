// From an upstream's answer to a tool's result: JSON as data, text as text, the rest as what it is. Headers stay behind.

import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Json, OutboundResponse, ToolResult } from '../../../core/index.ts';

/** Text that a model gets to read; what is longer is cut and says so. */
const MAX_TEXT_CHARACTERS = 1024 * 1024;
const MAX_EXCERPT_CHARACTERS = 2048;
/** Far below where JSON.stringify would run out of stack. */
const MAX_DEPTH = 128;

const JSON_TYPE = /^(?:application\/json|text\/json|[^;]*\+json)\s*(?:;|$)/i;
const TEXT_TYPE =
	/^(?:text\/|application\/(?:(?:x-)?(?:javascript|yaml|ndjson|www-form-urlencoded)|xml|xhtml\+xml|graphql|sql|jsonl|json-seq|toml|rtf)\s*(?:;|$)|(?!image\/)[^;]*\+(?:xml|yaml)\s*(?:;|$))/i;
const MEDIA_TYPE = /^(image|audio)\//i;

export function readResponse(response: OutboundResponse): ToolResult {
	const { status, body } = response;
	const contentType = response.headers['content-type'] ?? '';
	if (status >= 400) return failed(status, contentType, body);
	if (body.length === 0) return text(statusLine(status));
	if (JSON_TYPE.test(contentType)) return json(decode(body, contentType));
	if (TEXT_TYPE.test(contentType)) return text(decode(body, contentType));
	if (contentType === '') return unnamed(body);
	return binary(contentType, body);
}

function failed(status: number, contentType: string, body: Buffer): ToolResult {
	const readable = contentType === '' || JSON_TYPE.test(contentType) || TEXT_TYPE.test(contentType);
	const excerpt = readable ? excerptOf(decode(body.subarray(0, MAX_EXCERPT_CHARACTERS * 4), contentType)) : '';
	return { content: [{ type: 'text', text: excerpt === '' ? statusLine(status) : `${statusLine(status)}\n${excerpt}` }], isError: true };
}

/** Without characters that could move a cursor, hide text or turn its direction. */
function excerptOf(body: string): string {
	const plain = body.replace(/[^\P{C}\n\t]/gu, '').trim();
	return plain.length > MAX_EXCERPT_CHARACTERS ? `${plain.slice(0, MAX_EXCERPT_CHARACTERS).toWellFormed()}…` : plain;
}

function statusLine(status: number): string {
	return `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd();
}

function text(whole: string): ToolResult {
	if (whole.length <= MAX_TEXT_CHARACTERS) return { content: [{ type: 'text', text: whole }] };
	const cut = whole.slice(0, MAX_TEXT_CHARACTERS).toWellFormed();
	return { content: [{ type: 'text', text: `${cut}\n[cut: the first ${MAX_TEXT_CHARACTERS} of ${whole.length} characters]` }] };
}

/** Structured only when the text is whole: half a document would be another document. */
function json(whole: string): ToolResult {
	const result = text(whole);
	if (whole.length > MAX_TEXT_CHARACTERS) return result;
	const structured = parse(whole);
	return structured === undefined || isDeeperThan(structured, MAX_DEPTH) ? result : { ...result, structured };
}

function parse(whole: string): Json | undefined {
	try {
		return JSON.parse(whole) as Json;
	} catch {
		// Not JSON, whatever its header says: it stays text.
		return undefined;
	}
}

function isDeeperThan(value: Json, levels: number): boolean {
	if (value === null || typeof value !== 'object') return false;
	return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

function unnamed(body: Buffer): ToolResult {
	if (body.includes(0) || !isUtf8(body)) return binary('application/octet-stream', body);
	return json(decode(body, ''));
}

function isUtf8(body: Buffer): boolean {
	try {
		new TextDecoder('utf-8', { fatal: true }).decode(body);
		return true;
	} catch {
		// `fatal` has no other way to say no.
		return false;
	}
}

function binary(contentType: string, body: Buffer): ToolResult {
	const data = body.toString('base64');
	const mimeType = (contentType.split(';')[0] ?? '').trim().toLowerCase();
	const kind = MEDIA_TYPE.exec(mimeType)?.[1];
	if (kind === 'image' || kind === 'audio') return { content: [{ type: kind, data, mimeType }] };
	// Not the URL: its query may hold the credential.
	return { content: [{ type: 'resource', resource: { uri: `urn:uuid:${randomUUID()}`, mimeType, blob: data } }] };
}

/** By the charset that the header names, else UTF-8; a byte order mark is dropped. */
function decode(body: Buffer, contentType: string): string {
	const charset = /;\s*charset="?([^\s;"]+)/i.exec(contentType)?.[1] ?? 'utf-8';
	try {
		return new TextDecoder(charset).decode(body);
	} catch {
		// A charset that nobody knows: most likely it is UTF-8 all the same.
		return new TextDecoder().decode(body);
	}
}
