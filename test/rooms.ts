// The rooms of the source tree with their floors and imports, for the tests and programs that need them.

import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
export const ROOMS = ['core', 'db', 'adapters', 'importers', 'plugins', 'testing', 'demo', 'proxy'];

/** The rooms of core, from the ground upwards. */
export const FLOORS = [
	...[
		'contract',
		'kit',
		'store',
		'process',
		'telemetry',
		'config',
		'secrets',
		'egress',
		'tracker',
		'http',
		'registry',
		'shared',
		'arguments',
		'mail',
	],
	...[
		'limits',
		'lanes',
		'upstreams',
		'models',
		'identity',
		'runs',
		'imports',
		'tools',
		'management',
		'gateways',
		'explain',
		'jobs',
		'alerts',
		'agents',
		'commands',
	],
];

const IMPORT = /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+'([^']+)'|(?:^|\n)\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'/g;
const TYPES = /^\s*(?:import|export)\s+type\s/;

export interface Source {
	/** The path relative to the root, like all paths here. */
	file: string;
	/** The imports: files of ours by their paths, packages by their names. */
	imports: string[];
	/** Those of the imports that are loaded when it runs: all but types. */
	loads: string[];
	text: string;
}

/** Reads the sources. @param pattern of paths, relative to the root */
export const readSources = (pattern: string): Source[] =>
	globSync(pattern, { cwd: ROOT })
		.filter((file) => !file.endsWith('.d.ts'))
		.map((file) => {
			const text = readFileSync(join(ROOT, file), 'utf8');
			const pathOf = (name: string): string => (name.startsWith('.') ? normalize(join(dirname(file), name)) : name);
			const found = [...text.matchAll(IMPORT)].map(([all, a, b, c]) => ({ name: pathOf(a ?? b ?? c ?? ''), isType: TYPES.test(all) }));
			const [imports, loads] = [found, found.filter(({ isType }) => !isType)].map((some) => some.map(({ name }) => name));
			return { file, text, imports: imports ?? [], loads: loads ?? [] };
		});

export const allSources = (): Source[] => readSources(`{${ROOMS.join(',')},test}/**/*.ts`);

/** Returns the folder of the plugin to which a file belongs: two parts deep in adapters and importers, three in plugins. */
export function pluginFolder(file: string): string | null {
	const parts = file.split('/');
	if (parts[0] === 'adapters' || parts[0] === 'importers') return parts.slice(0, 2).join('/');
	return parts[0] === 'plugins' ? parts.slice(0, 3).join('/') : null;
}

/** Returns the floor of a file; core's own files stand above all its rooms. */
export function floorOf(file: string): number {
	const [, room = '', inside] = file.split('/');
	return inside === undefined ? FLOORS.length : FLOORS.indexOf(room);
}
