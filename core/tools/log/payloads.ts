// Arguments and results as the request log keeps them, where a gateway has them kept: redacted by name, path and pattern, and cut.

import { REDACTED } from '../../arguments/redact.ts';
import type { RedactionOrder, Redactions } from '../../arguments/redactions.ts';
import type { Json } from '../../contract/nouns.ts';
import type { RunResult } from '../../contract/results.ts';
import { isObject } from '../../kit/json.ts';
import { tokensOf } from '../../kit/json-pointer.ts';
import type { PayloadLog } from '../../store/store.ts';
import { withoutCredentials } from '../../telemetry/credentials-hidden.ts';

const CUT = '…';
const MAX_DEPTH = 32;
/** A longer text is not parsed for its paths: it is left out as a whole. */
const MAX_PARSED_CHARS = 64 * 1024;
/** The most characters of the texts of a result that are looked through for JSON. */
const MAX_SOUGHT_CHARS = 4 * MAX_PARSED_CHARS;
/** The most characters that are written or read for one payload: what is hidden makes room for what follows, and must not do so without end. */
const MAX_READ_CHARS = 16 * 1024;
/** A line that begins like an object, or like a list of objects, lists or texts. */
const JSON_BEGINS = /^[ \t]*(?:\{\s*["}]|\[\s*[[{"\]])/m;
/** Texts are looked at a little beyond the cut, so that what a pattern finds is not halved by it. */
const BEYOND = 256;
/** Names of members that are hidden always: with such a part, and whole ones. */
const PARTS = 'pass(?:word|wd|phrase|code)|secret|token|api[-_]?key|authorization|credential|private[-_]?key|cookie';
const WHOLE = 'pwd|pin|cvv|cvc|otp|ssn|iban';
const SECRET_NAME = new RegExp(`${PARTS}|^(?:${WHOLE})$`, 'i');
/**
 * A member of such a name within a text, such as JSON in a line of prose or in a text that JSON holds, whose quotes are behind backslashes. An object or
 * a list lasts to the end of the text, since nobody can tell where it ends. Lengths are bounded, so that the search takes as long as the text.
 */
const SECRET_MEMBER = new RegExp(
	[
		String.raw`(?<quote>\\{0,8}")(?<name>[^"\\]{0,64}?(?:${PARTS})[^"\\]{0,64}|${WHOLE})\k<quote>\s{0,8}:\s{0,8}`,
		String.raw`(?:\k<quote>[^]*?(?:(?<!\\)\k<quote>|$)|[[{][^]*|[^\s,}\]]+)`,
	].join(''),
	'gi',
);

/** A payload that could not be redacted, and one that is not kept. */
const [HIDDEN, NOT_KEPT] = [JSON.stringify(REDACTED), ''];

interface Ran extends Pick<RedactionOrder, 'organizationId'> {
	args: Json;
	result: RunResult | null;
}

/** The payloads of one run; null: not kept. */
export interface Payloads {
	arguments: string | null;
	result: string | null;
}

/** Keeps the payloads of the runs at one gateway. */
export class PayloadKeeper {
	readonly #settings: PayloadLog;
	readonly #paths: readonly (readonly string[])[];

	/** @param settings with patterns that were checked */
	constructor(settings: PayloadLog) {
		this.#settings = settings;
		this.#paths = settings.redactPaths.map(tokensOf);
	}

	/** @param ran `result` is null for a call that was refused. @param kept called once: at once, unless patterns have to be looked for */
	keep({ organizationId, args, result }: Ran, redactions: Pick<Redactions, 'add'>, kept: (payloads: Payloads) => void): void {
		const { arguments: keepsArguments, results, redactPatterns: patterns, maxBytes } = this.#settings;
		const texts = [keepsArguments ? this.#write(args) : NOT_KEPT, results && result ? this.#writeResult(result) : NOT_KEPT];
		const tell = (shown: readonly string[]): void => {
			const [ofArguments = null, ofResult = null] = shown.map((text) =>
				text === NOT_KEPT ? null : cut(withoutCredentials(text), maxBytes),
			);
			kept({ arguments: ofArguments, result: ofResult });
		};
		const hidden = texts.map((text) => (text === NOT_KEPT ? text : HIDDEN));
		if (patterns.length === 0 || texts.every((text) => text === NOT_KEPT)) tell(texts);
		else redactions.add({ organizationId, texts, patterns, maxChars: maxBytes + BEYOND }, (shown) => tell(shown ?? hidden));
	}

	#writeResult({ structured, content }: RunResult): string {
		if (structured !== undefined) return this.#write(structured);
		const parts = partsOfAll(content);
		if (parts.length === 1) return this.#write(parts[0] ?? null);
		// Paths lead into each of them.
		const paths = this.#paths.map((path) => ['*', ...path]);
		return this.#write(parts, paths);
	}

	/** Writes all but what patterns and the form of a credential hide. */
	#write(value: Json, paths: Paths = this.#paths): string {
		const { maxBytes, redactPatterns } = this.#settings;
		const maxTextChars = maxBytes + BEYOND;
		const writer = new Writer(maxTextChars, redactPatterns.length === 0 ? maxTextChars : MAX_READ_CHARS);
		writer.write(value, paths, 0);
		return writer.text;
	}
}

/** The parts of a result's texts. */
function partsOfAll(content: RunResult['content']): Json[] {
	const parts: Json[] = [];
	let chars = 0;
	for (const block of content) {
		if (chars > MAX_SOUGHT_CHARS) return [...parts, CUT];
		if (block.type === 'text') {
			parts.push(...partsOf(block.text));
			chars += Math.min(block.text.length, MAX_PARSED_CHARS);
		} else parts.push({ type: block.type });
	}
	return parts;
}

type Paths = readonly (readonly string[])[];

/**
 * Returns a text as JSON where it is some, since paths lead into it, and names of secrets are in it; what stands in the lines before, such as the status of
 * a failure, by itself. JSON that was cut is left out as a whole.
 */
function partsOf(text: string): Json[] {
	const at = /^\s*[[{]/.test(text) ? 0 : text.slice(0, MAX_PARSED_CHARS).search(JSON_BEGINS);
	if (at === -1) return [text];
	const json = text.slice(at);
	const lead = at === 0 ? [] : [text.slice(0, at).trimEnd()];
	if (json.length > MAX_PARSED_CHARS) return [...lead, leftOut(json)];
	try {
		return [...lead, JSON.parse(json) as Json];
	} catch {
		return JSON_BEGINS.test(json) ? [...lead, leftOut(json)] : [text];
	}
}

/** Returns a text without the values of members that have the name of a secret. */
const withoutMembers = (text: string): string => text.replace(SECRET_MEMBER, `$<quote>$<name>$<quote>:$<quote>${REDACTED}$<quote>`);

const leftOut = (json: string): string => `[JSON of ${json.length} characters]`;

/** Writes JSON until it is long enough. */
class Writer {
	readonly #maxTextChars: number;
	readonly #maxChars: number;
	#text = '';
	#readChars = 0;

	/** @param maxTextChars those that are read of one text. @param maxChars those that are written */
	constructor(maxTextChars: number, maxChars: number) {
		this.#maxTextChars = maxTextChars;
		this.#maxChars = maxChars;
	}

	/** The JSON so far, with a mark at its end if that is not all. */
	get text(): string {
		return this.#isFull ? this.#text + CUT : this.#text;
	}

	/** @param paths those that lead to this value, or on from it */
	write(value: Json | undefined, paths: Paths, depth: number): void {
		if (this.#isFull) return;
		if (paths.some(({ length }) => length === depth)) this.#add(REDACTED);
		else if (typeof value === 'string') this.#addWithoutMembers(value.slice(0, this.#maxTextChars));
		else if (typeof value !== 'object' || value === null) this.#text += JSON.stringify(value ?? null);
		else if (depth === MAX_DEPTH) this.#add(CUT);
		else if (Array.isArray(value)) this.#list(value, paths, depth);
		else if (isObject(value)) this.#object(value, paths, depth);
	}

	get #isFull(): boolean {
		return this.#text.length > this.#maxChars || this.#readChars > MAX_READ_CHARS;
	}

	#add(text: string): void {
		this.#text += JSON.stringify(text);
	}

	#addWithoutMembers(text: string): void {
		this.#readChars += text.length;
		this.#add(withoutMembers(text));
	}

	#list(list: readonly Json[], paths: Paths, depth: number): void {
		this.#text += '[';
		for (let at = 0; at < list.length && !this.#isFull; at++) {
			if (at > 0) this.#text += ',';
			this.write(list[at], into(paths, String(at), depth), depth + 1);
		}
		this.#text += ']';
	}

	#object(object: Readonly<Record<string, Json>>, paths: Paths, depth: number): void {
		let isFirst = true;
		this.#text += '{';
		for (const name in object) {
			if (this.#isFull) break;
			if (object[name] === undefined) continue;
			if (!isFirst) this.#text += ',';
			isFirst = false;
			this.#add(name.slice(0, this.#maxTextChars));
			this.#text += ':';
			if (SECRET_NAME.test(name)) this.#add(REDACTED);
			else this.write(object[name], into(paths, name, depth), depth + 1);
		}
		this.#text += '}';
	}
}

/** Returns the paths that lead into a member of a value. */
const into = (paths: Paths, name: string, depth: number): Paths =>
	paths.length === 0 ? paths : paths.filter((path) => path[depth] === '*' || path[depth] === name);

/** Cuts a text to so many bytes of UTF-8, at the edge of a character. */
function cut(text: string, maxBytes: number): string {
	if (Buffer.byteLength(text) <= maxBytes) return text;
	const kept = Buffer.from(text).subarray(0, maxBytes - Buffer.byteLength(CUT));
	return kept.toString().replace(/�+$/, '') + CUT;
}
