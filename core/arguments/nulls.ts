// Drops nulls that stand for an absent argument: hosts that fill in every member send null for the optional ones.

import type { ErrorObject } from 'ajv/dist/2020.js';
import type { JsonObject } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { atPointer, escapeToken, tokensOf } from '../kit/json-pointer.ts';

const MAX_NULLS = 1000;

/**
 * Drops the members that a check refused and that are null: their schemas have no null. One that is required is refused again, as missing.
 * @returns the pointers of those that were dropped
 */
export function dropNulls(args: JsonObject, errors: readonly ErrorObject[]): string[] {
	const pointers = new Set(errors.map(({ instancePath }) => instancePath));
	return [...pointers].slice(0, MAX_NULLS).filter((pointer) => dropAt(args, pointer));
}

function dropAt(args: JsonObject, pointer: string): boolean {
	if (pointer === '' || atPointer(args, pointer) !== null) return false;
	const holder = atPointer(args, pointer.slice(0, pointer.lastIndexOf('/')));
	const name = tokensOf(pointer).at(-1) ?? '';
	// An item of a list has a place, so it is not absent.
	if (!isObject(holder) || !Object.hasOwn(holder, name)) return false;
	delete holder[name];
	return true;
}

/** Puts nulls back where they are required, and returns the errors that are about them, as if they had not been dropped. */
export function restoreNulls(
	args: JsonObject,
	dropped: readonly string[],
	before: readonly ErrorObject[],
	after: readonly ErrorObject[],
): ErrorObject[] {
	const missing = new Set(after.filter(({ keyword }) => keyword === 'required').map(pointerOf));
	const needed = new Set(dropped.filter((pointer) => missing.has(pointer)));
	for (const pointer of needed) {
		const holder = atPointer(args, pointer.slice(0, pointer.lastIndexOf('/')));
		if (isObject(holder)) holder[tokensOf(pointer).at(-1) ?? ''] = null;
	}
	return [...before.filter(({ instancePath }) => needed.has(instancePath)), ...after.filter((error) => !needed.has(pointerOf(error)))];
}

const pointerOf = ({ instancePath, keyword, params }: ErrorObject): string =>
	keyword === 'required' ? `${instancePath}/${escapeToken(String(params['missingProperty']))}` : instancePath;
