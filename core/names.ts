// Names of tools that importers make: valid, unique without regard to case, and the same whatever the order of the document.

import { createHash } from 'node:crypto';

/** Clients put `mcp__server__` before it, and many stop at 64 characters. */
export const MAX_NAME_CHARS = 48;
const HASH_CHARS = 8;

export interface Named {
	method: string;
	path: string;
	operationId: string | null;
}

/** One name per operation, in the order given. When two collide, both get the hash of what they are. */
export function nameOperations(operations: readonly Named[]): string[] {
	const bases = operations.map(baseName);
	const hashChars: number[] = bases.map((base) => (base.length === 0 || base.length > MAX_NAME_CHARS ? HASH_CHARS : 0));
	for (;;) {
		const names = operations.map((operation, index) => withHash(bases[index] ?? '', operation, hashChars[index] ?? 0));
		const collided = indexesOfCollisions(names);
		if (collided.length === 0) return names;
		// Method and path tell any two operations apart, so some length of hash does too.
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

function withHash(base: string, { method, path, operationId }: Named, hashChars: number): string {
	if (hashChars === 0) return base;
	const hash = createHash('sha256')
		.update(`${method} ${path} ${operationId ?? ''}`)
		.digest('hex')
		.slice(0, hashChars);
	const head = base.slice(0, Math.max(0, MAX_NAME_CHARS - 1 - hash.length)).replace(/[_-]+$/, '');
	return head ? `${head}_${hash}` : hash;
}

function indexesOfCollisions(names: readonly string[]): number[] {
	const groups = Map.groupBy(names.keys(), (index) => names[index]?.toLowerCase());
	return [...groups.values()].filter((group) => group.length > 1).flat();
}
