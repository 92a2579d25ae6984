// Follows local references; all others are reported as faults. Documents that could be read are embedded by then, so that
// references to them are local (`linking.ts`).

import { createHash } from 'node:crypto';
import { escapeToken, isObject, type Json, type JsonObject, quote, tokensOf, unescapeToken } from '../../core/index.ts';
import type { Document } from './document.ts';

/** The target of a reference, or the reason why it cannot be resolved. */
export type Found = { value: Json; pointer: string } | { fault: string };

const MAX_HOPS = 16;
/** The most references in the middle of one pointer, with those that they lead through: each could need several others, and these more. */
const MAX_REFERRED = 64;

/** Resolves a local reference. @param ref value of `$ref` */
export function lookUp(root: JsonObject, ref: string, budget = { referred: MAX_REFERRED }): Found {
	if (!ref.startsWith('#')) return { fault: `external reference ${quote(ref)}` };
	const tokens = parsePointer(ref.slice(1));
	if (!tokens) return { fault: `reference ${quote(ref)} is not a JSON Pointer` };
	let value: Json | undefined = root;
	for (const token of tokens) value = member(value, token) ?? member(referred(root, value, budget), token);
	if (value === undefined) return { fault: `reference ${quote(ref)} has no target` };
	return { value, pointer: `#${tokens.map((token) => `/${escapeToken(token)}`).join('')}` };
}

/** Follows a reference in the middle of a pointer, since many descriptions keep sections elsewhere: `schemas: { $ref: index.yaml }`. */
function referred(root: JsonObject, value: Json | undefined, budget: { referred: number }): Json | undefined {
	const ref = isObject(value) ? value['$ref'] : undefined;
	if (typeof ref !== 'string' || budget.referred-- <= 0) return undefined;
	const found = lookUp(root, ref, budget);
	return 'fault' in found ? undefined : found.value;
}

/** Returns an object of the document after following all references (Reference Object, OpenAPI 3.1.1 §4.8.23). */
export function follow(root: JsonObject, value: Json | undefined): { object: JsonObject } | { fault: string } {
	let current = value;
	for (let hop = 0; hop < MAX_HOPS; hop++) {
		if (!isObject(current)) return { fault: 'not an object' };
		const ref = current['$ref'];
		if (typeof ref !== 'string') return { object: current };
		const found = lookUp(root, ref);
		if ('fault' in found) return found;
		current = found.value;
	}
	return { fault: 'its references form a cycle' };
}

const PLAIN = /^[A-Za-z0-9_.-]{1,100}$/;

/** Returns the key in `$defs` for the schema at a pointer: the schema's own name where that is unambiguous. */
export function definitionName(pointer: string, { schemas }: Pick<Document, 'schemas'>): string {
	const name = pointer.startsWith(schemas) ? pointer.slice(schemas.length) : '';
	if (PLAIN.test(name) && name !== '__proto__') return name;
	const last = pointer.slice(pointer.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9_.-]+/g, '_');
	return `${last.slice(0, 60)}_${createHash('sha256').update(pointer).digest('hex').slice(0, 12)}`;
}

/** @returns null when the fragment is not a JSON Pointer (such as an anchor) or points at the whole document */
export function parsePointer(fragment: string): string[] | null {
	if (!fragment.startsWith('/')) return null;
	try {
		return fragment
			.slice(1)
			.split('/')
			.map((token) => unescapeToken(decodeURIComponent(token)));
	} catch {
		// A name with a bare `%` is not percent-encoded at all.
		return tokensOf(fragment);
	}
}

export function member(value: Json | undefined, token: string): Json | undefined {
	if (Array.isArray(value)) return /^\d{1,9}$/.test(token) ? value[Number(token)] : undefined;
	// Only own members count: `#/components/schemas/constructor` must not find Object's.
	return isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}
