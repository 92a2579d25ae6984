// Finds plugins: one folder each in the rooms below, then the npm packages that GATEWAY_PLUGINS names.
// A plugin that fails to load stops the start: skipping an auth plugin would leave a door open.

import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Kind } from '../contract/kinds.ts';
import { Registry } from './registry.ts';

/** Rooms of plugins, each with the kind of its plugins. */
const ROOMS: readonly (readonly [folder: string, kind: Kind])[] = [
	['plugins/auth', 'auth'],
	['adapters', 'transport'],
	['importers', 'importer'],
	['plugins/executors', 'executor'],
	['plugins/features', 'feature'],
];

/** `.ts` in the repository, `.js` in the build. */
const ENTRIES = ['index.ts', 'index.js'];

/**
 * Loads all plugins. @param root folder that holds the rooms
 * @param packages names of npm packages, found from the working folder, then from `root`
 * @throws Error naming the folder or the package, and why it did not load
 */
export async function loadPlugins(root: string, packages: readonly string[] = []): Promise<Registry> {
	const registry = new Registry();
	for (const [room, kind] of ROOMS) {
		for (const name of foldersOf(join(root, room))) await loadFolder(registry, join(root, room, name), { room, kind, name });
	}
	for (const name of packages) await loadPackage(registry, name, root);
	return registry;
}

function foldersOf(room: string): string[] {
	if (!existsSync(room)) return [];
	return readdirSync(room, { withFileTypes: true })
		.filter((entry) => entry.isDirectory())
		.map((entry) => entry.name)
		.sort();
}

async function loadFolder(registry: Registry, folder: string, place: { room: string; kind: Kind; name: string }): Promise<void> {
	const title = `${place.room}/${place.name}`;
	const entry = ENTRIES.map((file) => join(folder, file)).find((file) => existsSync(file));
	if (!entry) throw new Error(`${title}: the folder has no index.ts.`);
	const source = pathToFileURL(entry).href;
	const [plugin] = await importPlugins(title, source);
	const expected = place.name.replaceAll('-', '_');
	const { kind, name } = (plugin ?? {}) as { kind?: unknown; name?: unknown };
	if (kind !== place.kind || name !== expected) {
		throw new Error(`${title}: index.ts must export by default a plugin of kind "${place.kind}" and name "${expected}".`);
	}
	register(registry, title, plugin, source);
}

/** Loads a package, which exports one plugin, or an array of them, by default. */
async function loadPackage(registry: Registry, name: string, root: string): Promise<void> {
	const source = resolvePackage(name, root);
	for (const plugin of await importPlugins(`GATEWAY_PLUGINS: ${name}`, source)) {
		register(registry, `GATEWAY_PLUGINS: ${name}`, plugin, source);
	}
}

function resolvePackage(name: string, root: string): string {
	for (const base of [process.cwd(), root]) {
		try {
			return pathToFileURL(createRequire(base + sep).resolve(name)).href;
		} catch (error) {
			const { code } = error as NodeJS.ErrnoException;
			// The package exports for `import` only, which `require` cannot resolve but our own module can.
			if (code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') return import.meta.resolve(name);
			if (code !== 'MODULE_NOT_FOUND') throw new Error(`GATEWAY_PLUGINS: ${name}: ${reason(error)}`);
		}
	}
	throw new Error(`GATEWAY_PLUGINS: ${name}: the package is not installed.`);
}

async function importPlugins(title: string, source: string): Promise<unknown[]> {
	const module = await import(source).catch((cause: unknown) => {
		throw new Error(`${title}: did not load: ${reason(cause)}`, { cause });
	});
	const exported: unknown = module.default;
	if (exported === undefined) throw new Error(`${title}: exports no plugin by default.`);
	return Array.isArray(exported) ? exported : [exported];
}

function register(registry: Registry, title: string, plugin: unknown, source: string): void {
	try {
		registry.add(plugin, source);
	} catch (cause) {
		throw new Error(`${title}: ${reason(cause)}`, { cause });
	}
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
