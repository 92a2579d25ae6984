// Parses JSON text that was sent instead of an object or a list, as models often do, once; and rounds long integers where a number is expected.

import type { ErrorObject } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { textFaults } from '../kit/input-faults.ts';
import { hasManyNames } from '../kit/json.ts';
import { isLongInteger } from '../kit/json-numbers.ts';
import { atPointer, tokensOf } from '../kit/json-pointer.ts';

/** The beginning of a text that may be an object or a list. */
export const JSON_TEXT: RegExp = /^\s*[[{]/;
/** The types that a text is parsed to. */
const PARSED: ReadonlySet<unknown> = new Set(['object', 'array', 'number']);
const MAX_TEXTS = 100;

/** Parses the texts for which a check expected an object, a list or a number. @returns whether any was changed */
export function parseTexts(args: JsonObject, errors: readonly ErrorObject[]): boolean {
	const wanted = [...typesWanted(errors)].slice(0, MAX_TEXTS);
	const texts = wanted.map(([pointer]) => atPointer(args, pointer)).filter((text) => typeof text === 'string');
	// The bound of a body holds for its texts together, which are parsed in one go.
	if (hasManyNames(texts.join('\n'))) return false;
	return wanted.filter(([pointer, types]) => parseAt(args, pointer, types)).length > 0;
}

/** Returns the types that a check expected, by the pointers of values that could be parsed to one. */
function typesWanted(errors: readonly ErrorObject[]): Map<string, Set<unknown>> {
	const wanted = new Map<string, Set<unknown>>();
	for (const { keyword, params, instancePath: at } of errors) {
		const types: unknown[] = keyword === 'type' ? [params['type']].flat() : [];
		if (types.some((type) => PARSED.has(type))) wanted.set(at, new Set([...(wanted.get(at) ?? []), ...types]));
	}
	return wanted;
}

function parseAt(args: JsonObject, pointer: string, types: ReadonlySet<unknown>): boolean {
	const text = atPointer(args, pointer);
	const holder = atPointer(args, pointer.slice(0, pointer.lastIndexOf('/')));
	if (typeof text !== 'string' || typeof holder !== 'object' || holder === null) return false;
	const value = read(text, types);
	if (value === null || textFaults(value).length > 0) return false;
	// An array's index is the name of its member, too.
	(holder as JsonObject)[tokensOf(pointer).at(-1) ?? ''] = value;
	return true;
}

/** Returns null when the text is none of the types. A `number` is a double, so it is rounded; an `integer` may name something. */
function read(text: string, types: ReadonlySet<unknown>): Json {
	if (types.has('number') && isLongInteger(text)) return Number(text);
	return JSON_TEXT.test(text) ? parsed(text) : null;
}

/** Returns null when the text is not JSON. */
function parsed(text: string): Json {
	try {
		return JSON.parse(text) as Json;
	} catch {
		// The text stays unchanged, and its fault is reported.
		return null;
	}
}
