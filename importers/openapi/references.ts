// Reference objects: local ones are followed, all others are named and left alone. What was read from other documents is local
// by then (`linking.ts`).

import { createHash } from 'node:crypto';
import { escapeToken, isObject, type Json, type JsonObject, quote, tokensOf, unescapeToken } from '../../core/index.ts';
import type { Document } from './document.ts';

/** What a reference leads to, or why it leads nowhere. */
export type Found = { value: Json; pointer: string } | { fault: string };

const MAX_HOPS = 16;

/** @param ref value of `$ref` */
export function lookUp(root: JsonObject, ref: string, hops = 0): Found {
	if (!ref.startsWith('#')) return { fault: `external reference ${quote(ref)}` };
	const tokens = parsePointer(ref.slice(1));
	if (!tokens) return { fault: `reference ${quote(ref)} is no JSON pointer` };
	let value: Json | undefined = root;
	for (const token of tokens) value = member(value, token) ?? member(referred(root, value, hops), token);
	if (value === undefined) return { fault: `reference ${quote(ref)} leads nowhere` };
	return { value, pointer: `#${tokens.map((token) => `/${escapeToken(token)}`).join('')}` };
}

/** Many a description keeps all of its paths or schemas in another document: `schemas: { $ref: index.yaml }`. */
function referred(root: JsonObject, value: Json | undefined, hops: number): Json | undefined {
	const ref = isObject(value) ? value['$ref'] : undefined;
	if (typeof ref !== 'string' || hops > MAX_HOPS) return undefined;
	const found = lookUp(root, ref, hops + 1);
	return 'fault' in found ? undefined : found.value;
}

/** An object of the document with its references followed to the end (Reference Object, OpenAPI 3.1.1 §4.8.23). */
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
	return { fault: 'references that lead in a circle' };
}

const PLAIN = /^[A-Za-z0-9_.-]{1,100}$/;

/** Key in `$defs` of the schema at a pointer: the schema's own name where that is unmistakable. */
export function definitionName(pointer: string, { schemas }: Pick<Document, 'schemas'>): string {
	const name = pointer.startsWith(schemas) ? pointer.slice(schemas.length) : '';
	if (PLAIN.test(name) && name !== '__proto__') return name;
	const last = pointer.slice(pointer.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9_.-]+/g, '_');
	return `${last.slice(0, 60)}_${createHash('sha256').update(pointer).digest('hex').slice(0, 12)}`;
}

/** Null when it is none (an anchor, a bad escape) or points at the whole document. */
function parsePointer(fragment: string): string[] | null {
	if (!fragment.startsWith('/')) return null;
	try {
		return fragment
			.slice(1)
			.split('/')
			.map((token) => unescapeToken(decodeURIComponent(token)));
	} catch {
		// A name with a bare `%`, which is not percent-encoded at all.
		return tokensOf(fragment);
	}
}

function member(value: Json | undefined, token: string): Json | undefined {
	if (Array.isArray(value)) return /^\d{1,9}$/.test(token) ? value[Number(token)] : undefined;
	// Own members only: `#/components/schemas/constructor` must not find Object's.
	return isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}
