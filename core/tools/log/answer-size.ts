// The sizes of answers, for the token ledger of a gateway: what an answer costs a model, and which of its fields cost most.

import type { Json } from '../../contract/nouns.ts';
import type { RunResult } from '../../contract/results.ts';
import { BoundedMap } from '../../kit/bounded-map.ts';
import { isObject, measureJson } from '../../kit/json.ts';
import { escapeToken } from '../../kit/json-pointer.ts';
import type { AnswerSize } from '../../store/store.ts';

/** The usual rule of thumb for English and JSON with current tokenizers. */
const CHARS_PER_TOKEN = 4;
/** The fields of the first answer of a tool, and of each of so many, are measured. */
const SAMPLED = 20;
const TOOLS = 10_000;
/** A longer text is not parsed for its fields. */
const MAX_PARSED_CHARS = 128 * 1024;
const MAX_MEASURED_CHARS = 16 * 1024 * 1024;
/** Values that are visited in an answer; of a list, this many items stand for all. */
const MAX_VISITED = 2000;
const ITEMS = 20;
const MAX_DEPTH = 3;
/** Values that lie deeper count nothing: each level is a call in a call. */
const MAX_LEVELS = 64;
const MAX_FIELDS = 30;
/** An object with more members is taken for a map, whose names are data. */
const MAX_NAMES = 40;
/** Other names are data, and are not told. */
const NAME = /^[A-Za-z_$@][\w$.:@-]{0,40}$/;

type Size = (path: string, chars: number) => void;

/** Measures the answers that one process gives. */
export class AnswerSizes {
	readonly #answered = new BoundedMap<string, { count: number }>(TOOLS);

	/** @param toolAt the gateway and the tool */
	of(toolAt: string, result: RunResult): AnswerSize {
		const tokens = Math.ceil(charsOf(result) / CHARS_PER_TOKEN);
		const answered = this.#answered.get(toolAt) ?? { count: 0 };
		if (answered.count === 0) this.#answered.set(toolAt, answered);
		return answered.count++ % SAMPLED === 0 ? { tokens, fields: fieldsOf(result) } : { tokens };
	}
}

/** Returns the characters that a model reads: texts, or the data where there are none. */
function charsOf({ content, structured }: RunResult): number {
	let chars = 0;
	for (const block of content) if (block.type === 'text') chars += block.text.length;
	return chars > 0 || structured === undefined ? chars : measureJson(structured, MAX_MEASURED_CHARS).chars;
}

/** Returns the largest fields of an answer of data, with their characters as JSON. */
export function fieldsOf(result: RunResult): [path: string, chars: number][] {
	const found = new Map<string, number>();
	const walk = new Walk((path, chars) => void found.set(path, (found.get(path) ?? 0) + chars));
	walk.measure(dataOf(result), '', 1);
	return [...found].toSorted(([, a], [, b]) => b - a).slice(0, MAX_FIELDS);
}

function dataOf({ content: [first, ...others], structured }: RunResult): Json {
	if (structured !== undefined) return structured;
	if (first?.type !== 'text' || others.length > 0 || first.text.length > MAX_PARSED_CHARS || !/^\s*[[{]/.test(first.text)) return null;
	try {
		return JSON.parse(first.text) as Json;
	} catch {
		return null;
	}
}

class Walk {
	readonly #tell: Size;
	#visited = 0;

	constructor(tell: Size) {
		this.#tell = tell;
	}

	/** @param weight the number of values for which this one stands. @returns the characters of the value */
	measure(value: Json | undefined, path: string, weight: number, depth = 0): number {
		if (depth > MAX_LEVELS || ++this.#visited > MAX_VISITED) return 0;
		const chars = this.#charsOf(value, path, weight, depth);
		if (depth > 0 && depth <= MAX_DEPTH) this.#tell(path, Math.round(chars * weight));
		return chars;
	}

	#charsOf(value: Json | undefined, path: string, weight: number, depth: number): number {
		if (typeof value === 'string') return value.length + 2;
		if (Array.isArray(value)) return this.#list(value, path, weight, depth);
		if (isObject(value)) return this.#object(value, path, weight, depth);
		return String(value).length;
	}

	#list(list: readonly Json[], path: string, weight: number, depth: number): number {
		const seen = Math.min(ITEMS, list.length);
		const share = seen === 0 ? 0 : list.length / seen;
		let chars = 0;
		for (let at = 0; at < seen; at++) chars += this.measure(list[Math.floor(at * share)], `${path}/*`, weight * share, depth + 1);
		return 2 + list.length + chars * share;
	}

	#object(object: Readonly<Record<string, Json>>, path: string, weight: number, depth: number): number {
		const names = Object.keys(object);
		const isMap = names.length > MAX_NAMES;
		let chars = 2;
		for (const name of names) {
			const shown = isMap || !NAME.test(name) ? '*' : escapeToken(name);
			chars += name.length + 4 + this.measure(object[name], `${path}/${shown}`, weight, depth + 1);
		}
		return chars;
	}
}
