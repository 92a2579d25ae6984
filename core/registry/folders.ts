// Finds the package of plugins in a folder, which is under development: it need not be installed, nor built if it exports its sources.

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type FoundPackage, foundPackage, type PackageJson } from './packages.ts';

/** The folder that holds the rooms of plugins. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The condition of `exports` under which a package names its sources, as bundlers know it. */
const SOURCE = 'source';

interface Manifest extends PackageJson {
	exports?: unknown;
}

/** Tells a path from the name of a package: a path begins with `.` or `/`, or a drive. */
export const isPath = (text: string): boolean => /^(?:\.{0,2}[/\\]|\.{1,2}$|[A-Za-z]:[/\\])/.test(text);

/** @param path of the folder. @throws Error naming it: it is no package, has no module, or is for another Gatehouse */
export function findFolder(path: string): FoundPackage {
	if (!isFolder(path)) throw new Error(`${path}: there is no such folder.`);
	const folder = realpathSync(path);
	const described = manifestOf(path, folder);
	const { name } = described;
	if (name === undefined) throw new Error(`${path}: its package.json has no name.`);
	const source = entryOf(path, folder, { ...described, name });
	return foundPackage({ title: path, source, folder }, { ...described, name });
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function manifestOf(path: string, folder: string): Manifest {
	const file = join(folder, 'package.json');
	if (!existsSync(file)) throw new Error(`${path}: the folder has no package.json.`);
	try {
		const described: unknown = JSON.parse(readFileSync(file, 'utf8'));
		if (described !== null && typeof described === 'object') return described;
	} catch (cause) {
		throw new Error(`${path}: its package.json is no JSON: ${(cause as Error).message} (in ${file}).`, { cause });
	}
	throw new Error(`${path}: its package.json is no object (in ${file}).`);
}

function entryOf(path: string, folder: string, { name, exports }: Manifest & { name: string }): string {
	try {
		const source = exports === undefined ? mainOf(folder) : exportedBy(folder, name);
		if (existsSync(fileURLToPath(source))) return source;
		throw new Error(`there is no ${fileURLToPath(source)}; is the package built?`);
	} catch (cause) {
		throw new Error(`${path}: its module was not found: ${(cause as Error).message.split('\n')[0]}`, { cause });
	}
}

/** Resolves `main`, or else index.js, as Node does without `exports`. */
const mainOf = (folder: string): string => pathToFileURL(createRequire(folder + sep).resolve(folder)).href;

/** Resolves the package's own name from inside it. Node strips no types below node_modules, so there the sources do not count. */
function exportedBy(folder: string, name: string): string {
	const parentURL = pathToFileURL(join(folder, 'index.js')).href;
	const further = folder.includes(`${sep}node_modules${sep}`) ? [] : [SOURCE];
	const hook = registerHooks({
		resolve: (specifier, context, next) => next(specifier, { ...context, parentURL, conditions: [...further, ...context.conditions] }),
	});
	try {
		return import.meta.resolve(name);
	} finally {
		hook.deregister();
	}
}
