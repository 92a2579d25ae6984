// Arguments and results as the request log keeps them, where a gateway has them kept: redacted by name, path and pattern, and cut.

import { LinearRegExp } from '../../arguments/linear-regexp.ts';
import type { Json } from '../../contract/nouns.ts';
import type { RunResult } from '../../contract/results.ts';
import { isObject } from '../../kit/json.ts';
import { tokensOf } from '../../kit/json-pointer.ts';
import type { PayloadLog } from '../../store/store.ts';
import { withoutCredentials } from '../../telemetry/credentials-hidden.ts';

export const REDACTED = '[redacted]';
const CUT = '…';
const MAX_DEPTH = 32;
/** A longer text is not parsed for its paths: it is left out as a whole. */
const MAX_PARSED_CHARS = 64 * 1024;
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

/** The payloads of one run; null: not kept. */
export interface Payloads {
	arguments: string | null;
	result: string | null;
}

/** Keeps the payloads of the runs at one gateway. */
export class PayloadKeeper {
	readonly #settings: PayloadLog;
	readonly #paths: readonly (readonly string[])[];
	readonly #patterns: readonly LinearRegExp[];

	/** @param settings with patterns that were checked */
	constructor(settings: PayloadLog) {
		this.#settings = settings;
		this.#paths = settings.redactPaths.map(tokensOf);
		this.#patterns = settings.redactPatterns.map((pattern) => new LinearRegExp(pattern));
	}

	/** @param result null for a call that was refused */
	keep(args: Json, result: RunResult | null): Payloads {
		const { arguments: keepsArguments, results } = this.#settings;
		return {
			arguments: keepsArguments ? this.#shown(args) : null,
			result: results && result ? this.#shownResult(result) : null,
		};
	}

	#shownResult({ structured, content }: RunResult): string {
		if (structured !== undefined) return this.#shown(structured);
		const parts = content.flatMap((block): Json[] => (block.type === 'text' ? partsOf(block.text) : [{ type: block.type }]));
		if (parts.length === 1) return this.#shown(parts[0] ?? null);
		// Paths lead into each of them.
		const paths = this.#paths.map((path) => ['*', ...path]);
		return this.#shown(parts, paths);
	}

	#shown(value: Json, paths: Paths = this.#paths): string {
		const { maxBytes } = this.#settings;
		const writer = new Writer(maxBytes, (text) => this.#withoutPatterns(text));
		writer.write(value, paths, 0);
		return cut(withoutCredentials(writer.text), maxBytes);
	}

	#withoutPatterns(text: string): string {
		return this.#patterns.reduce((rest, pattern) => pattern.replaceAll(rest, REDACTED), text);
	}
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
	text = '';
	readonly #maxChars: number;
	readonly #clean: (text: string) => string;

	constructor(maxBytes: number, clean: (text: string) => string) {
		this.#maxChars = maxBytes + BEYOND;
		this.#clean = clean;
	}

	/** @param paths those that begin at this value */
	write(value: Json | undefined, paths: Paths, depth: number): void {
		if (this.#isFull) return;
		if (paths.some(({ length }) => length === 0)) this.#add(REDACTED);
		else if (typeof value === 'string') this.#add(withoutMembers(value.slice(0, this.#maxChars)));
		else if (typeof value === 'number') this.#number(value);
		else if (typeof value !== 'object' || value === null) this.text += JSON.stringify(value ?? null);
		else if (depth === MAX_DEPTH) this.#add(CUT);
		else if (Array.isArray(value)) this.#list(value, paths, depth);
		else if (isObject(value)) this.#object(value, paths, depth);
	}

	get #isFull(): boolean {
		return this.text.length > this.#maxChars;
	}

	#add(text: string): void {
		this.text += JSON.stringify(this.#clean(text));
	}

	/** A number, such as that of a card, may be what a pattern looks for. */
	#number(value: number): void {
		const written = JSON.stringify(value);
		const clean = this.#clean(written);
		this.text += clean === written ? written : JSON.stringify(clean);
	}

	#list(list: readonly Json[], paths: Paths, depth: number): void {
		this.text += '[';
		for (let at = 0; at < list.length && !this.#isFull; at++) {
			if (at > 0) this.text += ',';
			this.write(list[at], into(paths, String(at)), depth + 1);
		}
		this.text += ']';
	}

	#object(object: Readonly<Record<string, Json>>, paths: Paths, depth: number): void {
		let isFirst = true;
		this.text += '{';
		for (const name in object) {
			if (this.#isFull) break;
			if (object[name] === undefined) continue;
			if (!isFirst) this.text += ',';
			isFirst = false;
			this.#add(name.slice(0, this.#maxChars));
			this.text += ':';
			this.write(object[name], SECRET_NAME.test(name) ? [[]] : into(paths, name), depth + 1);
		}
		this.text += '}';
	}
}

/** Returns the rests of the paths that lead into a member. */
const into = (paths: Paths, name: string): Paths =>
	paths.length === 0 ? paths : paths.filter(([first]) => first === '*' || first === name).map((path) => path.slice(1));

/** Cuts a text to so many bytes of UTF-8, at the edge of a character. */
function cut(text: string, maxBytes: number): string {
	if (Buffer.byteLength(text) <= maxBytes) return text;
	const kept = Buffer.from(text).subarray(0, maxBytes - Buffer.byteLength(CUT));
	return kept.toString().replace(/�+$/, '') + CUT;
}
