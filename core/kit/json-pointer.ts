// JSON pointers (RFC 6901): writing their tokens, and resolving them.

import type { Json, JsonObject } from '../contract/nouns.ts';

/** Longer names are cut in pointers that people read. */
const MAX_SHOWN = 100;

const ESCAPED = /[~/]/;

/** Escapes a name as a token of a pointer. */
export const escapeToken = (name: string): string => (ESCAPED.test(name) ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name);

/** Returns the name that a token stands for. */
export const unescapeToken = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

/** Escapes a name as a token of a pointer that people read. */
export const pointerToken = (name: string, maxShown = MAX_SHOWN): string => escapeToken(name.slice(0, maxShown));

/** Returns the names that a pointer consists of. */
export const tokensOf = (pointer: string): string[] => pointer.split('/').slice(1).map(unescapeToken);

/** Returns the value at a pointer such as `/a/0`; undefined if there is none. */
export function atPointer(root: Json, pointer: string): Json | undefined {
	let at: Json | undefined = root;
	for (const token of tokensOf(pointer)) at = member(at, token);
	return at;
}

/** Returns the value at a reference's fragment, `#/$defs/a%20b`, whose tokens are also percent-encoded. */
export function atFragment(root: Json, reference: string): Json | undefined {
	if (reference === '#') return root;
	return reference.startsWith('#/') ? atPointer(root, reference.slice(1).split('/').map(decoded).join('/')) : undefined;
}

function decoded(token: string): string {
	try {
		return decodeURIComponent(token);
	} catch {
		return token;
	}
}

function member(value: Json | undefined, name: string): Json | undefined {
	if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined;
	// An array's index is the name of its member, too.
	return (value as JsonObject)[name];
}
