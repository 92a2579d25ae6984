// Keywords of a schema that hold a value, and the effect of a change of that value.

import type { Json, JsonObject } from '../../contract/nouns.ts';
import { cleanText } from '../../kit/clean-text.ts';

/** The effect of a change on the accepted values: fewer, more, or not certainly either. */
export type Effect = 'narrowed' | 'widened' | 'other';

export interface Bound {
	value: number;
	/** Whether the value itself is excluded. */
	isStrict: boolean;
}

interface BoundKeyword {
	/** The name of the bound in sentences. */
	name: string;
	keywords: string[];
	read(schema: JsonObject): Bound | null;
	/** Compares two bounds; null when they are equal. */
	compare(before: Bound | null, after: Bound | null): Effect | null;
}

const lower = (name: string, inclusive: string, exclusive?: string): BoundKeyword => bound(name, [inclusive, exclusive], 1);
const upper = (name: string, inclusive: string, exclusive?: string): BoundKeyword => bound(name, [inclusive, exclusive], -1);

function bound(name: string, [inclusive, exclusive]: [string, string | undefined], sign: 1 | -1): BoundKeyword {
	/** The greater the rank, the fewer values are accepted. */
	const rank = (one: Bound | null): number => (one ? one.value * sign : -Infinity);
	const isTighter = (one: Bound | null, other: Bound | null): boolean =>
		rank(one) > rank(other) || (rank(one) === rank(other) && one?.isStrict === true && other?.isStrict === false);
	return {
		name,
		keywords: exclusive === undefined ? [inclusive] : [inclusive, exclusive],
		read(schema) {
			const plain = toBound(schema[inclusive], false);
			const strict = exclusive === undefined ? null : toBound(schema[exclusive], true);
			return isTighter(strict, plain) ? strict : plain;
		},
		compare(before, after) {
			if (isTighter(after, before)) return 'narrowed';
			return isTighter(before, after) ? 'widened' : null;
		},
	};
}

const toBound = (value: Json | undefined, isStrict: boolean): Bound | null => (typeof value === 'number' ? { value, isStrict } : null);

export const BOUNDS: BoundKeyword[] = [
	lower('minimum', 'minimum', 'exclusiveMinimum'),
	upper('maximum', 'maximum', 'exclusiveMaximum'),
	lower('least length', 'minLength'),
	upper('greatest length', 'maxLength'),
	lower('least number of items', 'minItems'),
	upper('greatest number of items', 'maxItems'),
	lower('least number of members', 'minProperties'),
	upper('greatest number of members', 'maxProperties'),
];

export function showBound(one: Bound | null): string {
	if (!one) return 'none';
	return one.isStrict ? `${one.value} (exclusive)` : String(one.value);
}

const TYPES = ['null', 'boolean', 'object', 'array', 'string', 'number'];

/** Lists the types that a schema accepts: all when it names none. `integer` is listed only without `number`. */
export function typesOf({ type }: JsonObject): string[] {
	if (type === undefined) return TYPES;
	const named = [type].flat().filter((name): name is string => typeof name === 'string');
	return named.includes('number') ? named.filter((name) => name !== 'integer') : named;
}

export function lostAndGained(before: string[], after: string[]): { lost: string[]; gained: string[] } {
	const covers = (types: string[], type: string): boolean => types.includes(type) || (type === 'integer' && types.includes('number'));
	return { lost: before.filter((type) => !covers(after, type)), gained: after.filter((type) => !covers(before, type)) };
}

export const showType = ({ type }: JsonObject): string =>
	type === undefined ? 'any' : cleanText([type].flat().map(String).join(' or '), 60);

/** Lists the values that a schema accepts; null when it does not limit them. */
export function valuesOf({ const: only, enum: values }: JsonObject): Json[] | null {
	if (only !== undefined) return [only];
	return Array.isArray(values) ? values : null;
}

const SHOWN = 3;

export function describeValues(values: Json[]): string {
	const shown = values.slice(0, SHOWN).map((value) => cleanText(JSON.stringify(value), 40));
	const more = values.length > SHOWN ? ` and ${values.length - SHOWN} more` : '';
	return `the value${values.length > 1 ? 's' : ''} ${shown.join(', ')}${more}`;
}
