// Plugins that a test writes itself, as packages that GATEWAY_PLUGINS names.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The folder lies inside `node_modules`, so that `joi` is found. */
const ROOM = join(ROOT, 'node_modules/.cache/');

/** The address of the features' entry point, for the source of a package. */
export const FEATURES = pathToFileURL(join(ROOT, 'core/features.ts')).href;

/** Writes packages and makes their folder the working directory until it is disposed of. @param sources the module of each, by its name */
export function writePackages(sources: Readonly<Record<string, string>>): { folder: string } & Disposable {
	mkdirSync(ROOM, { recursive: true });
	const folder = mkdtempSync(join(ROOM, 'written-'));
	for (const [name, source] of Object.entries(sources)) {
		const place = join(folder, 'node_modules', name);
		mkdirSync(place, { recursive: true });
		writeFileSync(join(place, 'package.json'), JSON.stringify({ name, version: '1.0.0', type: 'module', exports: './index.js' }));
		writeFileSync(join(place, 'index.js'), source);
	}
	const before = process.cwd();
	process.chdir(folder);
	return {
		folder,
		[Symbol.dispose]() {
			process.chdir(before);
			rmSync(folder, { recursive: true, force: true });
		},
	};
}
