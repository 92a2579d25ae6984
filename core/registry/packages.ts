// Finds npm packages by name, and reads from their package.json what the service has to know before it loads them.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import satisfies from 'semver/functions/satisfies.js';
import { VERSION } from '../config/version.ts';

export interface PackageInfo {
	name: string;
	/** Null when its package.json has none. */
	version: string | null;
}

/** The origin of a plugin. */
export interface Origin {
	/** The folder, or the package as the configuration names it: `GATEWAY_PLUGINS: acme-x`. */
	title: string;
	/** URL of the module. */
	source: string | null;
	package: PackageInfo | null;
}

/** The origin of a plugin that was not loaded, but made in this process. */
export const THIS_PROCESS: Omit<Origin, 'source'> = { title: 'this process', package: null };

/** A package that was found, and not loaded yet. */
export interface FoundPackage {
	title: string;
	/** URL of its module. */
	source: string;
	/** Path of its folder. */
	folder: string;
	package: PackageInfo;
}

/**
 * Finds a package, from the working folder or else from `root`. @param title what errors begin with
 * @throws Error naming it: it is missing, or is for another Gatehouse
 */
export function findPackage(name: string, root: string, title = `GATEWAY_PLUGINS: ${name}`): FoundPackage {
	const source = resolve(name, root, title);
	// An export for `import` alone is resolved without a look at the disk.
	if (!existsSync(fileURLToPath(source))) throw unbuilt(title, fileURLToPath(source));
	const { folder, described } = nearestPackage(dirname(fileURLToPath(source)), name);
	return foundPackage({ title, source, folder }, { ...described, name: described.name ?? name });
}

/** @throws Error naming the package: it is for another Gatehouse */
export function foundPackage(at: Omit<FoundPackage, 'package'>, described: PackageJson & { name: string }): FoundPackage {
	const { title, folder } = at;
	const wanted = described.peerDependencies?.['gatehouse'];
	if (wanted !== undefined && !isFit(wanted))
		throw new Error(
			`${title}: peerDependencies.gatehouse is ${JSON.stringify(wanted)}, and this is Gatehouse ${VERSION} (in ${join(folder, 'package.json')}).`,
		);
	return { ...at, package: { name: described.name, version: described.version ?? null } };
}

/** Whether this version is in the range; a text that is no range fits nothing. Pre-releases are in a range by their order. */
const isFit = (range: unknown): boolean => typeof range === 'string' && satisfies(VERSION, range, { includePrerelease: true });

function resolve(name: string, root: string, title: string): string {
	for (const base of [process.cwd(), root]) {
		try {
			return pathToFileURL(createRequire(base + sep).resolve(name)).href;
		} catch (error) {
			const { code, message } = error as NodeJS.ErrnoException;
			if (code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') return resolveForImport(name, base, title);
			if (code === 'MODULE_NOT_FOUND' && message.startsWith(`Cannot find module '${name}'`)) continue;
			const absent = code === 'MODULE_NOT_FOUND' ? /^Cannot find (?:module|package) '(\/[^'\n]*)'/.exec(message)?.[1] : undefined;
			throw absent === undefined ? new Error(`${title}: ${message}`) : unbuilt(title, absent);
		}
	}
	throw new Error(`${title}: the package is not installed in ${process.cwd()} or ${root}.`);
}

/** The error of a package that is there without the file that it names: mostly one that nobody has built. */
const unbuilt = (title: string, file: string): Error =>
	new Error(
		`${title}: its package.json names ${file}, which does not exist. Build the package (npm run build in its folder), then install it.`,
	);

/** Resolves a package that exports for `import` only, which `require` does not find. */
function resolveForImport(name: string, base: string, title: string): string {
	const parentURL = pathToFileURL(join(base, 'index.js')).href;
	const hook = registerHooks({ resolve: (specifier, context, next) => next(specifier, { ...context, parentURL }) });
	try {
		return import.meta.resolve(name);
	} catch (error) {
		throw new Error(`${title}: ${(error as Error).message}`);
	} finally {
		hook.deregister();
	}
}

export interface PackageJson {
	name?: string;
	version?: string;
	peerDependencies?: Record<string, unknown>;
}

/** Returns the path of the folder of the package that a module belongs to. @param source URL of the module */
export const packageFolderOf = (source: string): string => nearestPackage(dirname(fileURLToPath(source)), '').folder;

/** Reads the first package.json above a module that has a name: builds put one without beside it, to say `"type": "commonjs"`. */
function nearestPackage(folder: string, name: string): { folder: string; described: PackageJson } {
	for (let at = folder; ; at = dirname(at)) {
		const file = join(at, 'package.json');
		if (existsSync(file)) {
			const described = JSON.parse(readFileSync(file, 'utf8')) as PackageJson;
			if (described.name !== undefined) return { folder: at, described };
		}
		if (at === dirname(at)) return { folder, described: { name } };
	}
}
