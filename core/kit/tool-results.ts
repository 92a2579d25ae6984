// Converts an upstream's answer into a tool's result, as far as HTTP executors have it in common: texts that are cut, JSON as data,
// failures with an excerpt that is safe to show.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Json, JsonSchema, ToolResult } from '../contract/nouns.ts';
import type { OutboundResponse } from '../contract/outbound.ts';
import { cleanText } from './clean-text.ts';
import { withoutSecrets } from './hidden-secrets.ts';
import { textOfHtml } from './html-text.ts';
import { hasManyNames, MANY_NAMES } from './json.ts';
import { cutJson } from './json-cut.ts';
import { hasInfinity, hasLargeExponent, mayRound, quoteLongIntegers, UNHELD_NUMBER } from './json-numbers.ts';
import { decodeGradually } from './time-slice.ts';

/** An `import` would load Node's WebSocket client with it (core/process/node-http.ts). */
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** Maximum text for a model; longer text is cut, with a note. */
const MAX_TEXT_CHARACTERS = 1024 * 1024;
const MAX_EXCERPT_CHARACTERS = 2048;
/** Bytes of an error page to read: it may begin with kilobytes of style. */
const MAX_PAGE_BYTES = 64 * 1024;
/** Far below the depth at which JSON.stringify would overflow the stack. */
const MAX_DEPTH = 128;
const MAX_NOTES = 10;
const MAX_DIGITS = 100;

/** Registered JSON types, and those of vendors (`application/vnd.example.v1.json`, `application/x-amz-json-1.1`), but for sequences. */
const JSON_TYPE = /^(?:text\/json|[^;]*\+json|application\/(?:[^;]*[.-])?json(?:[.+-](?!seq)[^;]*)?)\s*(?:;|$)/i;
const TEXT_TYPE =
	/^(?:text\/|application\/(?:(?:x-)?(?:javascript|yaml|ndjson|jsonl|jsonlines|www-form-urlencoded)|(?:[^;]*\+)?json-seq|xml|xhtml\+xml|graphql|sql|csv|toml|rtf)\s*(?:;|$)|(?!image\/)[^;]*\+(?:xml|yaml)\s*(?:;|$))/i;
const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i;

export const isJsonType = (contentType: string): boolean => JSON_TYPE.test(contentType);
export const isTextType = (contentType: string): boolean => TEXT_TYPE.test(contentType);

/** Builds the result of a failure: the status, and the beginning of a text body. @param secrets that the excerpt must not show */
export function failedResult({ status, headers, body }: OutboundResponse, secrets: readonly string[] = []): ToolResult {
	const contentType = headers['content-type'] ?? '';
	const readable = contentType === '' || isJsonType(contentType) || isTextType(contentType);
	const excerpt = readable ? bodyExcerpt(body, contentType, secrets) : '';
	return { content: [{ type: 'text', text: excerpt === '' ? statusLine(status) : `${statusLine(status)}\n${excerpt}` }], isError: true };
}

/** Returns the beginning of a body; for HTML, of the visible text. */
export function bodyExcerpt(body: Buffer, contentType: string, secrets: readonly string[] = []): string {
	const begun = new TextDecoder(charsetOf(contentType)).decode(body.subarray(0, MAX_PAGE_BYTES));
	return excerptOf(HTML_TYPE.test(contentType) ? textOfHtml(begun) : begun, MAX_EXCERPT_CHARACTERS, secrets);
}

/** Returns an excerpt without characters that could move a cursor, hide text or change its direction. */
export function excerptOf(text: string, maxChars = MAX_EXCERPT_CHARACTERS, secrets: readonly string[] = []): string {
	// Secrets are hidden before the text is cut: half a secret must not be shown either.
	return cleanText(withoutSecrets(text.slice(0, MAX_PAGE_BYTES), secrets), maxChars + 1);
}

export function statusLine(status: number): string {
	return `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd();
}

export function textResult(whole: string): ToolResult {
	if (whole.length <= MAX_TEXT_CHARACTERS) return { content: [{ type: 'text', text: whole }] };
	const cut = whole.slice(0, MAX_TEXT_CHARACTERS).toWellFormed();
	return { content: [{ type: 'text', text: `${cut}\n[cut: the first ${MAX_TEXT_CHARACTERS} of ${whole.length} characters]` }] };
}

/**
 * Builds a result with text and data. JSON that is too long or nested too deeply is cut to JSON of its shape, and a second text says
 * what was cut. If that would violate `schema`, or the text is not JSON, has too many names to be parsed or a number beyond the range of
 * doubles, the result is the text alone.
 * @param schema that the data fits
 */
export async function jsonResult(whole: string, schema: JsonSchema | null = null): Promise<ToolResult> {
	if (whole.length <= MAX_TEXT_CHARACTERS) {
		if (hasManyNames(whole)) return { content: [text(whole), text(`The answer has ${MANY_NAMES}, so it is not read as data.`)] };
		const read = readData(whole, schema);
		const data = read instanceof Promise ? await read : read;
		if (data === null) return textResult(whole);
		if (data === UNHELD) return { content: [text(whole), text(data)] };
		if (!isDeeperThan(data.structured, MAX_DEPTH)) return { content: [text(whole), ...data.notes.map(text)], structured: data.structured };
	}
	const cut = await cutJson(whole, { maxChars: MAX_TEXT_CHARACTERS, maxDepth: MAX_DEPTH, schema });
	// Parsing takes a time slice of its own.
	await nextTurn();
	const data = cut === null || hasManyNames(cut.text) ? null : await readData(cut.text, schema);
	if (cut === null || data === null || data === UNHELD) return textResult(whole);
	return { content: [cut.text, describeCuts(cut.notes), ...data.notes].map(text), structured: data.structured };
}

const text = (said: string): ToolResult['content'][number] => ({ type: 'text', text: said });

function describeCuts(notes: readonly string[]): string {
	const more = notes.length > MAX_NOTES ? [`… and ${notes.length - MAX_NOTES} more.`] : [];
	return ['The answer was too long and is cut:', ...notes.slice(0, MAX_NOTES), ...more].join('\n');
}

/** The reason why a text that is JSON is not read as data. */
const UNHELD = `The answer has ${UNHELD_NUMBER}, so it is not read as data.` as const;

interface Data {
	structured: Json;
	/** Notes on values that the data cannot represent as the text does. */
	notes: string[];
}

/** Returns null when the text is not JSON, whatever its header says. */
function readData(whole: string, schema: JsonSchema | null): Data | typeof UNHELD | null | Promise<Data | typeof UNHELD> {
	let structured: Json;
	try {
		structured = JSON.parse(whole) as Json;
	} catch {
		// It stays a text.
		return null;
	}
	if (mayRound(whole)) return withDigits(structured, whole, schema);
	return hasLargeExponent(whole) && hasInfinity(structured) ? UNHELD : { structured, notes: [] };
}

/** Keeps the digits of integers that no double can hold. */
async function withDigits(structured: Json, whole: string, schema: JsonSchema | null): Promise<Data | typeof UNHELD> {
	const { text: exact, rounded } = await quoteLongIntegers(whole);
	// The promised schema must hold, and a client may see only the data, without the text.
	const data = rounded.size === 0 || schema !== null ? structured : (JSON.parse(exact) as Json);
	if (hasInfinity(data)) return UNHELD;
	if (rounded.size === 0) return { structured: data, notes: [] };
	if (schema === null)
		return { structured: data, notes: ['Integers that no double can hold are texts in the data, with all their digits.'] };
	return { structured: data, notes: [`Rounded in the data, whose schema wants numbers: ${describeDigits([...rounded])}.`] };
}

function describeDigits(all: readonly string[]): string {
	const shown = all.slice(0, MAX_NOTES).map((digits) => cleanText(digits, MAX_DIGITS));
	return all.length > MAX_NOTES ? `${shown.join(', ')} and ${all.length - MAX_NOTES} more` : shown.join(', ');
}

function isDeeperThan(value: Json, levels: number): boolean {
	if (value === null || typeof value !== 'object') return false;
	if (levels === 0) return true;
	if (Array.isArray(value)) return value.some((item) => isDeeperThan(item, levels - 1));
	for (const name in value) if (isDeeperThan(value[name] as Json, levels - 1)) return true;
	return false;
}

/** Decodes a body by the charset of its header, else as UTF-8, while other work runs; a byte order mark is dropped. */
export const decodeTextGradually = (body: Buffer, contentType: string): string | Promise<string> =>
	decodeGradually(body, charsetOf(contentType));

const UTF_8 = 'utf-8';

/** Returns the charset of a header, else UTF-8, under a name that TextDecoder knows. */
export function charsetOf(contentType: string): string {
	const charset = contentType.includes(';') ? /;\s*charset="?([^\s;"]+)/i.exec(contentType)?.[1]?.toLowerCase() : undefined;
	if (charset === undefined || charset === UTF_8) return UTF_8;
	try {
		return new TextDecoder(charset).encoding;
	} catch {
		// An unknown charset is most likely UTF-8.
		return UTF_8;
	}
}
