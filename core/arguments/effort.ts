// Estimates the maximum time to check arguments, in steps of some 100 ns: the schema's cost for each value, times the values.

import type { Json } from '../contract/nouns.ts';
import type { Weight } from './looks.ts';

/** Limit of an estimate in steps; a check that takes more runs in a thread. */
export const MAX_EFFORT = 60_000;

/** Steps for comparing with one listed value, for filling in one property, for one state of a pattern, for reading one character. */
const COMPARED = 0.2;
const FILLED = 12;
const STATE = 0.1;
const READ = 0.7;

interface Extent {
	values: number;
	chars: number;
	/** Number of items of the longest list. */
	longest: number;
}

export function effortOf(args: Json, weight: Weight): number {
	const extent: Extent = { values: 0, chars: 0, longest: 0 };
	extend(args, extent);
	const { looks, listed, members, states, hasFormat, isQuadratic } = weight;
	const forValues = extent.values * (looks + COMPARED * listed + FILLED * members);
	const forTexts = extent.chars * (STATE * states + (hasFormat ? READ : 0));
	return forValues + forTexts + (isQuadratic ? COMPARED * extent.values * extent.longest : 0);
}

function extend(value: Json, extent: Extent): void {
	extent.values++;
	if (typeof value === 'string') extent.chars += value.length;
	if (value === null || typeof value !== 'object') return;
	if (Array.isArray(value)) {
		extent.longest = Math.max(extent.longest, value.length);
		for (const item of value) extend(item, extent);
		return;
	}
	for (const name in value) {
		extent.chars += name.length;
		extend(value[name] ?? null, extent);
	}
}
