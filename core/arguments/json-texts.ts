// Parses JSON text that was sent instead of an object or a list, as models often do, once; and rounds long integers where a number is expected.

import type { ErrorObject } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { textFaults } from '../kit/input-faults.ts';
import { hasManyNames } from '../kit/json.ts';
import { atPointer, tokensOf } from '../kit/json-pointer.ts';

/** The beginning of a text that may be an object or a list. */
export const JSON_TEXT: RegExp = /^\s*[[{]/;
/** An integer that came as a text because no double holds it (core/http/body.ts). A `number` is a double; an `integer` may be an identifier. */
const LONG_INTEGER = /^-?\d{16,308}$/;
const MAX_TEXTS = 100;

/** Parses the texts for which a check expected an object, a list or a number. @returns whether any was changed */
export function parseTexts(args: JsonObject, errors: readonly ErrorObject[]): boolean {
	const pointers = new Set(errors.filter((error) => wants(error, ['object', 'array', 'number'])).map(({ instancePath }) => instancePath));
	const numbers = new Set(errors.filter((error) => wants(error, ['number'])).map(({ instancePath }) => instancePath));
	const wanted = [...pointers].slice(0, MAX_TEXTS);
	const texts = wanted.map((pointer) => atPointer(args, pointer)).filter((text) => typeof text === 'string');
	// The bound of a body holds for its texts together, which are parsed in one go.
	if (hasManyNames(texts.join('\n'))) return false;
	return wanted.filter((pointer) => parseAt(args, pointer, numbers.has(pointer))).length > 0;
}

function wants({ keyword, params }: ErrorObject, wanted: readonly string[]): boolean {
	const types: unknown[] = [params['type']].flat();
	return keyword === 'type' && types.some((type) => wanted.includes(String(type)));
}

function parseAt(args: JsonObject, pointer: string, isNumber: boolean): boolean {
	const text = atPointer(args, pointer);
	const holder = atPointer(args, pointer.slice(0, pointer.lastIndexOf('/')));
	if (typeof text !== 'string' || typeof holder !== 'object' || holder === null) return false;
	const value = isNumber && LONG_INTEGER.test(text) ? Number(text) : JSON_TEXT.test(text) ? parsed(text) : null;
	if (value === null || textFaults(value).length > 0) return false;
	// An array's index is the name of its member, too.
	(holder as JsonObject)[tokensOf(pointer).at(-1) ?? ''] = value;
	return true;
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
