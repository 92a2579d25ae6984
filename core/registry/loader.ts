// Finds plugins: one folder each in the rooms of the kinds, then the npm packages that GATEWAY_PLUGINS names.
// A plugin that fails to load stops the start: skipping an auth plugin would leave a door open.

import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Kind, Plugin } from '../contract/kinds.ts';
import type { Log } from '../contract/nouns.ts';
import { KIND_NAMES, KINDS } from './kinds.ts';
import { inTime, inTimeOrBlocked, type LoadOptions, placeOf, reasonOf } from './loading.ts';
import { CONTRACT } from './manifest.ts';
import { type FoundPackage, findPackage, type Origin } from './packages.ts';
import { Registry } from './registry.ts';
import { shareModulesWith } from './shared-modules.ts';

/** `.ts` in the repository, `.js` in the build. */
const ENTRIES = ['index.ts', 'index.js'];

/** A module to load. */
interface Module extends Origin {
	source: string;
	/** Path of the folder of the plugin. */
	folder: string;
}

/**
 * Loads all plugins. @param root folder that holds the rooms
 * @param packages names of npm packages, found from the working folder, then from `root`
 * @throws Error naming the folder or the package, why it did not load, and the file
 */
export async function loadPlugins(root: string, packages: readonly string[] = [], options: LoadOptions = {}): Promise<Registry> {
	const registry = new Registry();
	for (const kind of KIND_NAMES)
		for (const name of foldersOf(join(root, KINDS[kind].folder))) await loadFolder(registry, root, { kind, name }, options);
	const twice = packages.find((name, at) => packages.indexOf(name) < at);
	if (twice !== undefined) throw new Error(`GATEWAY_PLUGINS names ${twice} twice.`);
	for (const name of packages) await loadPackage(registry, findPackage(name, root), options);
	for (const found of options.found ?? []) await loadPackage(registry, found, options);
	return registry;
}

function foldersOf(room: string): string[] {
	if (!existsSync(room)) return [];
	return readdirSync(room, { withFileTypes: true })
		.filter((entry) => entry.isDirectory())
		.map((entry) => entry.name)
		.sort();
}

async function loadFolder(
	registry: Registry,
	root: string,
	{ kind, name }: { kind: Kind; name: string },
	options: LoadOptions,
): Promise<void> {
	const title = `${KINDS[kind].folder}/${name}`;
	const folder = join(root, title);
	const entry = ENTRIES.map((file) => join(folder, file)).find((file) => existsSync(file));
	if (!entry) throw new Error(`${title}: the folder has no index.ts.`);
	const module: Module = { title, source: pathToFileURL(entry).href, folder, package: null };
	const plugin = await importDefault(module, (loading) => inTime(`${title}: loading`, loading(), options));
	const expected = { kind, name: name.replaceAll('-', '_') };
	const found = (plugin ?? {}) as { kind?: unknown; name?: unknown };
	if (found.kind !== expected.kind || found.name !== expected.name) {
		throw fault(module, `index.ts must export by default a plugin of kind "${expected.kind}" and name "${expected.name}".`);
	}
	register(registry, module, plugin);
}

/** Loads a package, which exports one plugin, or a list of them, by default. */
async function loadPackage(registry: Registry, module: FoundPackage, options: LoadOptions): Promise<void> {
	const { name, version } = module.package;
	shareModulesWith(module.folder);
	options.log?.info({ package: name, version }, 'loading a package of plugins');
	const exported = await importDefault(module, (loading) => inTimeOrBlocked(`${module.title}: loading`, loading, options));
	const plugins = Array.isArray(exported) ? exported : [exported];
	if (plugins.length === 0) throw fault(module, 'the default export is an empty list, and must have a plugin.');
	for (const [at, plugin] of plugins.entries()) {
		const title = plugins.length === 1 ? module.title : `${module.title}: plugin ${at + 1} of ${plugins.length}`;
		register(registry, module, plugin, title);
	}
	const silent = plugins.filter(({ api }) => api === undefined).map((plugin) => `${plugin.kind}:${plugin.name}`);
	if (silent.length > 0)
		options.log?.warn(
			{ package: name, plugins: silent },
			`the package does not say its version of the plugin contract (“api: ${CONTRACT}”) and is taken for one of version 1`,
		);
}

type Exports = Record<string, unknown>;

/** @param wait bounds the time of loading */
async function importDefault(module: Module, wait: (loading: () => Promise<Exports>) => Promise<Exports>): Promise<unknown> {
	const loading = (): Promise<Exports> =>
		import(module.source).catch((cause: unknown) => {
			throw fault(module, `did not load: ${reasonOf(cause)}`, cause);
		});
	return defaultOf(module, await wait(loading));
}

function defaultOf(module: Module, exports: Exports): unknown {
	const given = exports['default'];
	const exported = isCompiled(given) ? given.default : given;
	const found = oddity(exported);
	if (found === null) return exported;
	const others = Object.keys(exports).filter((name) => !['default', 'module.exports', '__esModule'].includes(name));
	const hint = exported === undefined && others.length > 0 ? `, while ${others.join(', ')} is exported by name` : '';
	throw fault(module, `the default export must be a plugin, which is an object, or a list of plugins; it is ${found}${hint}.`);
}

/** A compiler that writes CommonJS puts what was exported by default one level deeper. */
const isCompiled = (value: unknown): value is { default: unknown } =>
	value !== null && typeof value === 'object' && 'default' in value && !('kind' in value);

/** Says what a default export is that is neither an object nor a list; null for these. */
function oddity(value: unknown): string | null {
	if (value === undefined) return 'missing';
	if (typeof value === 'function') return /^class\b/.test(Function.prototype.toString.call(value)) ? 'a class' : 'a function';
	if (value === null || typeof value !== 'object') return value === null ? 'null' : `a ${typeof value}`;
	return 'then' in value && typeof value.then === 'function' ? 'a promise (await it)' : null;
}

function register(registry: Registry, module: Module, plugin: unknown, title = module.title): void {
	try {
		registry.add(plugin, module.source, module);
	} catch (cause) {
		const text = reasonOf(cause).split('\n');
		throw new Error(text.map((line) => fault({ ...module, title }, line).message).join('\n'), { cause });
	}
}

/** Makes an error that names the plugin's origin and the place of the fault. */
function fault(module: Module, reason: string, cause?: unknown): Error {
	const place = placeOf(cause, module.source, module.folder);
	return new Error(`${module.title}: ${reason.replace(/\.$/, '')} (in ${place}).`, { cause });
}

/** Runs a step of a plugin after loading, such as a feature's registration. @throws Error naming its origin, the plugin and the place */
export async function runStep(
	registry: Registry,
	plugin: { kind: Kind; name: string },
	step: { name: string; run: () => void | Promise<void> },
	options: Parameters<typeof inTime>[2],
): Promise<void> {
	const { title, source } = registry.origin(plugin.kind, plugin.name);
	const what = `${title}: ${plugin.kind}:${plugin.name}: ${step.name}`;
	const work = (async () => step.run())().catch((cause: unknown) => {
		const place = source === null ? '' : ` (in ${placeOf(cause, source, dirname(fileURLToPath(source)))})`;
		throw new Error(`${what} failed: ${reasonOf(cause).replace(/\.$/, '')}${place}.`, { cause });
	});
	await inTime(what, work, options);
}

const CLOSING = { noticeMs: 1000, limitMs: 3000 };

/** Ends what the plugins hold open. A plugin that fails or takes too long is logged, and the others are closed all the same. */
export async function closePlugins(registry: Registry, log: Log, waits = CLOSING): Promise<void> {
	const closing = KIND_NAMES.flatMap((kind) => registry.list(kind)).filter((plugin) => plugin.close !== undefined);
	const close = async (plugin: Plugin): Promise<void> => {
		try {
			await runStep(registry, plugin, { name: 'close', run: () => plugin.close?.() }, { log, waits });
		} catch (error) {
			log.error({ error: reasonOf(error) }, 'a plugin could not be closed');
		}
	};
	await Promise.all(closing.map(close));
}
