// From an upstream's answer to a tool's result, as far as executors of HTTP do it alike: texts that are cut, JSON as data,
// failures with an excerpt that is safe to show.

import { STATUS_CODES } from 'node:http';
import type { Json, OutboundResponse, ToolResult } from './contracts.ts';

/** Text that a model gets to read; what is longer is cut and says so. */
const MAX_TEXT_CHARACTERS = 1024 * 1024;
const MAX_EXCERPT_CHARACTERS = 2048;
/** Far below where JSON.stringify would run out of stack. */
const MAX_DEPTH = 128;

const JSON_TYPE = /^(?:application\/json|text\/json|[^;]*\+json)\s*(?:;|$)/i;
const TEXT_TYPE =
	/^(?:text\/|application\/(?:(?:x-)?(?:javascript|yaml|ndjson|www-form-urlencoded)|xml|xhtml\+xml|graphql|sql|jsonl|json-seq|toml|rtf)\s*(?:;|$)|(?!image\/)[^;]*\+(?:xml|yaml)\s*(?:;|$))/i;

export const isJsonType = (contentType: string): boolean => JSON_TYPE.test(contentType);
export const isTextType = (contentType: string): boolean => TEXT_TYPE.test(contentType);

/** The status, and the beginning of the body where that is text. */
export function failedResult({ status, headers, body }: OutboundResponse): ToolResult {
	const contentType = headers['content-type'] ?? '';
	const readable = contentType === '' || isJsonType(contentType) || isTextType(contentType);
	const excerpt = readable ? excerptOf(decodeText(body.subarray(0, MAX_EXCERPT_CHARACTERS * 4), contentType)) : '';
	return { content: [{ type: 'text', text: excerpt === '' ? statusLine(status) : `${statusLine(status)}\n${excerpt}` }], isError: true };
}

/** Without characters that could move a cursor, hide text or turn its direction. */
export function excerptOf(text: string, maxChars = MAX_EXCERPT_CHARACTERS): string {
	// Cut before cleaning too: the pattern need not run over megabytes of which a kilobyte stays.
	const plain = text
		.slice(0, maxChars * 4)
		.replace(/[^\P{C}\n\t]/gu, '')
		.trim();
	return plain.length > maxChars ? `${plain.slice(0, maxChars).toWellFormed()}…` : plain;
}

export function statusLine(status: number): string {
	return `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd();
}

export function textResult(whole: string): ToolResult {
	if (whole.length <= MAX_TEXT_CHARACTERS) return { content: [{ type: 'text', text: whole }] };
	const cut = whole.slice(0, MAX_TEXT_CHARACTERS).toWellFormed();
	return { content: [{ type: 'text', text: `${cut}\n[cut: the first ${MAX_TEXT_CHARACTERS} of ${whole.length} characters]` }] };
}

/** Structured only when the text is whole: half a document would be another document. */
export function jsonResult(whole: string): ToolResult {
	const result = textResult(whole);
	if (whole.length > MAX_TEXT_CHARACTERS) return result;
	const structured = parseAnswer(whole);
	return structured === undefined || isDeeperThan(structured, MAX_DEPTH) ? result : { ...result, structured };
}

/** Undefined when it is no JSON, whatever its header says. */
function parseAnswer(whole: string): Json | undefined {
	try {
		return JSON.parse(whole) as Json;
	} catch {
		// It stays text.
		return undefined;
	}
}

function isDeeperThan(value: Json, levels: number): boolean {
	if (value === null || typeof value !== 'object') return false;
	return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

/** By the charset that the header names, else UTF-8; a byte order mark is dropped. */
export function decodeText(body: Buffer, contentType: string): string {
	const charset = /;\s*charset="?([^\s;"]+)/i.exec(contentType)?.[1] ?? 'utf-8';
	try {
		return new TextDecoder(charset).decode(body);
	} catch {
		// A charset that nobody knows: most likely it is UTF-8 all the same.
		return new TextDecoder().decode(body);
	}
}
