// Compares JSON values to their last member, in slices of a few milliseconds: values of megabytes take far longer than other work may wait.

import type { Json, JsonObject } from '../../contract/nouns.ts';
import { isObject } from '../json.ts';
import { TimeSlice } from '../time-slice.ts';

const CHARS_PER_VALUE = 64;

export interface Comparing {
	/** Whether texts are the same in upper and lower case, but for those in objects. */
	ignoreCase?: boolean;
	/** Called for the values that are looked at; so many characters of a text count as one. What it throws ends the comparison. */
	count?: ((values: number) => void) | undefined;
}

/** Two lists of one length, or two objects with as many members, and the next member to be compared. */
interface Pair {
	one: JsonObject | Json[];
	other: JsonObject | Json[];
	/** The names of members; null for lists. */
	names: string[] | null;
	length: number;
	at: number;
	ignoreCase: boolean;
}

/** Tells whether two values are the same, whatever the order of members. */
export const isSameJson = (one: Json, other: Json, comparing: Comparing = {}): Promise<boolean> => hasItem([one], other, comparing);

/** Tells whether a list has a value that is the same as another. */
export async function hasItem(list: readonly Json[], item: Json, { ignoreCase = false, count }: Comparing = {}): Promise<boolean> {
	const slice = new TimeSlice();
	for (const one of list) {
		const pairs: Pair[] = [];
		let isSame = compare(one, item, { ignoreCase, count, pairs });
		for (let pair = pairs.at(-1); isSame && pair; pair = pairs.at(-1)) {
			if (pair.at === pair.length) pairs.pop();
			else isSame = compareNext(pair, { count, pairs });
			if (slice.isOver) await slice.next();
		}
		if (isSame) return true;
		if (slice.isOver) await slice.next();
	}
	return false;
}

interface Step {
	count: Comparing['count'];
	/** The pairs around, the innermost last. */
	pairs: Pair[];
}

function compareNext(pair: Pair, step: Step): boolean {
	const { one, other, names, ignoreCase } = pair;
	const name = names ? (names[pair.at++] ?? '') : pair.at++;
	if (names && !Object.hasOwn(other, name)) return false;
	const [inOne, inOther] = [one, other].map((whole) => (whole as Record<string | number, Json>)[name] ?? null) as [Json, Json];
	return compare(inOne, inOther, { ...step, ignoreCase });
}

/** Compares two values but for their members, which are added to the pairs. */
function compare(one: Json, other: Json, { ignoreCase, count, pairs }: Step & { ignoreCase: boolean }): boolean {
	if (typeof one === 'string' && typeof other === 'string') return isSameText(one, other, { ignoreCase, count });
	count?.(1);
	if (one === other) return true;
	if (Array.isArray(one)) {
		if (!Array.isArray(other) || one.length !== other.length) return false;
		pairs.push({ one, other, names: null, length: one.length, at: 0, ignoreCase });
		return true;
	}
	if (!isObject(one) || !isObject(other)) return false;
	const names = Object.keys(one);
	if (names.length !== Object.keys(other).length) return false;
	pairs.push({ one, other, names, length: names.length, at: 0, ignoreCase: false });
	return true;
}

function isSameText(one: string, other: string, { ignoreCase = false, count }: Comparing): boolean {
	const isRead = ignoreCase || one.length === other.length;
	count?.(isRead ? 1 + (one.length + other.length) / CHARS_PER_VALUE : 1);
	return one === other || (ignoreCase && one.toLowerCase() === other.toLowerCase());
}
