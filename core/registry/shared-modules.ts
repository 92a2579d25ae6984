// Gives the packages of plugins the modules of this process: one copy of core, whose errors and helpers then are those that run, and one of
// Joi.

import { registerHooks } from 'node:module';
import { sep } from 'node:path';
import { pathToFileURL } from 'node:url';

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const doorAt = (path: string): string => new URL(`../../${path}.${extension}`, import.meta.url).href;

/** The URLs of modules by the names under which packages import them. */
const SHARED: ReadonlyMap<string, string> = new Map([
	['gatehouse', doorAt('core/index')],
	['gatehouse/features', doorAt('core/features')],
	['gatehouse/testing', doorAt('testing/index')],
	['joi', import.meta.resolve('joi')],
]);

/** The folders of packages, as URLs that end in a slash. */
const folders = new Set<string>();

/** Lets the modules in the folder of a package import what is shared, wherever that package is installed; its dependencies keep theirs. */
export function shareModulesWith(folder: string): void {
	if (folders.size === 0) {
		registerHooks({
			resolve(specifier, context, next) {
				const url = SHARED.get(specifier);
				return url !== undefined && isOfPackage(context.parentURL) ? { url, shortCircuit: true } : next(specifier, context);
			},
		});
	}
	folders.add(pathToFileURL(folder + sep).href);
}

function isOfPackage(parent: string | undefined): boolean {
	if (parent === undefined) return false;
	for (const folder of folders) if (parent.startsWith(folder) && !parent.includes('/node_modules/', folder.length - 1)) return true;
	return false;
}
