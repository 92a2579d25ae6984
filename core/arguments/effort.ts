// Estimates the maximum time to check arguments, in steps of some 100 ns: the schema's cost for each value, times the values.

import type { Json } from '../contract/nouns.ts';
import { JSON_TEXT } from './json-texts.ts';
import type { Weight } from './looks.ts';

/** Limit of an estimate in steps; a check that takes more runs in a thread. */
export const MAX_EFFORT = 60_000;

/** Steps for comparing with one listed value, for filling in one property, for one state of a pattern, for reading one character. */
const COMPARED = 0.2;
const FILLED = 12;
const STATE = 0.1;
const READ = 0.7;

const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

interface Extent {
	values: number;
	chars: number;
	/** Number of items of the longest list. */
	longest: number;
}

/** @param isParsed whether a text may be parsed as JSON, so that the values in it are checked as well */
export function effortOf(args: Json, weight: Weight, { isParsed = false } = {}): number {
	const extent: Extent = { values: 0, chars: 0, longest: 0 };
	extend(args, extent, isParsed);
	const { looks, listed, members, states, hasFormat, isQuadratic } = weight;
	const forValues = extent.values * (looks + COMPARED * listed + FILLED * members);
	const forTexts = extent.chars * (STATE * states + (hasFormat ? READ : 0));
	return forValues + forTexts + (isQuadratic ? COMPARED * extent.values * extent.longest : 0);
}

function extend(value: Json, extent: Extent, isParsed: boolean): void {
	extent.values++;
	if (typeof value === 'string') {
		extent.chars += value.length;
		if (isParsed && JSON_TEXT.test(value)) extendByText(value, extent);
	}
	if (value === null || typeof value !== 'object') return;
	if (Array.isArray(value)) {
		extent.longest = Math.max(extent.longest, value.length);
		for (const item of value) extend(item, extent, isParsed);
		return;
	}
	for (const name in value) {
		extent.chars += name.length;
		extend(value[name] ?? null, extent, isParsed);
	}
}

/** Adds the most values that a JSON text may hold: one for each comma, and one for each list and object. */
function extendByText(text: string, extent: Extent): void {
	let [commas, opened] = [0, 0];
	for (let at = 0; at < text.length; at++) {
		const code = text.charCodeAt(at);
		if (code === COMMA) commas++;
		else if (code === BRACKET || code === BRACE) opened++;
	}
	extent.values += commas + opened;
	extent.longest = Math.max(extent.longest, commas + 1);
}
