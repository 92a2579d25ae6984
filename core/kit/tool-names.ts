// Names for the tools of an import: valid, unique ignoring case, and independent of the order of the document.

import { createHash } from 'node:crypto';

/** Clients prefix names with `mcp__server__`, and many allow 64 characters. */
export const MAX_NAME_CHARS = 48;
const HASH_CHARS = 8;

export interface Named {
	method: string;
	path: string;
	operationId: string | null;
}

/** Returns one name per operation, in the order given. When names collide, each gets a hash of the operation's identity. */
export function nameOperations(operations: readonly Named[]): string[] {
	const bases = operations.map(baseName);
	const identities = distinct(operations.map(({ method, path, operationId }) => `${method} ${path} ${operationId ?? ''}`));
	const hashChars: number[] = bases.map((base) => (base.length === 0 || base.length > MAX_NAME_CHARS ? HASH_CHARS : 0));
	for (;;) {
		const names = operations.map((_operation, index) => withHash(bases[index] ?? '', identities[index] ?? '', hashChars[index] ?? 0));
		const collided = indexesOfCollisions(names);
		if (collided.length === 0) return names;
		// Identities differ for any two operations, so some length of hash separates their names.
		for (const index of collided) hashChars[index] = (hashChars[index] ?? 0) + HASH_CHARS;
	}
}

function baseName({ method, path, operationId }: Named): string {
	return sanitize(operationId ?? '') || sanitize(`${method.toLowerCase()}_${path}`);
}

const sanitize = (text: string): string =>
	text
		.replace(/[^A-Za-z0-9_-]+/g, '_')
		.replace(/_{2,}/g, '_')
		.replace(/^[_-]+|[_-]+$/g, '');

/** Numbers duplicates: nothing else distinguishes them. */
function distinct(texts: readonly string[]): string[] {
	const seen = new Map<string, number>();
	return texts.map((text) => {
		const before = seen.get(text) ?? 0;
		seen.set(text, before + 1);
		return before === 0 ? text : JSON.stringify([text, before]);
	});
}

function withHash(base: string, identity: string, hashChars: number): string {
	if (hashChars === 0) return base;
	const hash = createHash('sha256').update(identity).digest('hex').slice(0, hashChars);
	const head = base.slice(0, Math.max(0, MAX_NAME_CHARS - 1 - hash.length)).replace(/[_-]+$/, '');
	return head ? `${head}_${hash}` : hash;
}

function indexesOfCollisions(names: readonly string[]): number[] {
	const groups = Map.groupBy(names.keys(), (index) => names[index]?.toLowerCase());
	return [...groups.values()].filter((group) => group.length > 1).flat();
}
