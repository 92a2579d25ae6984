// The state of sources, which names what is built from them once.

import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from '../rooms.ts';

/** Hashes the names and contents of files, without those of tests. @param patterns relative to the repository */
export function stateOf(patterns: readonly string[]): string {
	const hash = createHash('sha256');
	for (const entry of globSync(patterns, { cwd: ROOT, withFileTypes: true }).filter((one) => one.isFile())) {
		const file = join(entry.parentPath, entry.name);
		if (!file.endsWith('.test.ts')) hash.update(`${relative(ROOT, file)}\0`).update(readFileSync(file));
	}
	return hash.digest('hex').slice(0, 16);
}
