// The direction of imports (core/README.md), held by a test instead of goodwill.

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ROOMS = ['core', 'db', 'adapters', 'importers', 'plugins', 'demo'];
const IMPORT = /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+'([^']+)'|(?:^|\n)\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'/g;

interface Source {
	file: string;
	imports: string[];
	text: string;
}

const isTest = (file: string): boolean => file.endsWith('.test.ts') || /(^|\/)(test|fixtures)\//.test(file);

const sources: Source[] = globSync(`{${ROOMS.join(',')}}/**/*.ts`, { cwd: ROOT })
	.filter((file) => !isTest(file) && !file.endsWith('.d.ts'))
	.map((file) => {
		const text = readFileSync(join(ROOT, file), 'utf8');
		const imports = [...text.matchAll(IMPORT)].map(([, a, b, c]) => a ?? b ?? c ?? '');
		return { file, text, imports: imports.map((name) => (name.startsWith('.') ? normalize(join(dirname(file), name)) : name)) };
	});

/** The folder that is one plugin: two parts deep in adapters and importers, three in plugins. */
function pluginFolder(file: string): string | null {
	const parts = file.split('/');
	if (parts[0] === 'adapters' || parts[0] === 'importers') return parts.slice(0, 2).join('/');
	return parts[0] === 'plugins' ? parts.slice(0, 3).join('/') : null;
}

const local = (name: string): boolean => ROOMS.some((room) => name.startsWith(`${room}/`)) || name.startsWith('test/');

/** @returns every import that breaks the rule, as `file → import` */
function broken(rule: (source: Source, name: string) => boolean): string[] {
	return sources.flatMap((source) => source.imports.filter((name) => !rule(source, name)).map((name) => `${source.file} → ${name}`));
}

test('the scan sees the source tree', () => {
	assert.ok(sources.length > 40, `only ${sources.length} sources found`);
	assert.ok(sources.flatMap(({ imports }) => imports).length > 100);
});

test('a plugin imports its door of core and its own folder, nothing else of ours: features core/features.ts, all others core/index.ts', () => {
	assert.deepEqual(
		broken(({ file }, name) => {
			const own = pluginFolder(file);
			if (own === null || !local(name) || name.startsWith(`${own}/`)) return true;
			return name === (file.startsWith('plugins/features/') ? 'core/features.ts' : 'core/index.ts');
		}),
		[],
	);
});

test('core imports only core, and main.ts alone the database', () => {
	assert.deepEqual(
		broken(({ file }, name) => {
			if (!file.startsWith('core/') || !local(name) || name.startsWith('core/')) return true;
			return file === 'core/main.ts' && name === 'db/index.ts';
		}),
		[],
	);
});

test('the package exports both doors, as they are built', () => {
	const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: Record<string, object> };
	const built = (door: string): object => ({ types: `./dist/core/${door}.d.ts`, default: `./dist/core/${door}.js` });
	assert.deepEqual(exports, { '.': built('index'), './features': built('features') });
});

/** From the ground upwards. */
const FLOORS = [
	...['contract', 'kit', 'store', 'process', 'config', 'secrets', 'egress', 'http', 'registry', 'shared', 'arguments', 'mail'],
	...['limits', 'lanes', 'upstreams', 'identity', 'imports', 'tools', 'management', 'gateways'],
];
const DOORS = ['main', 'server', 'cluster', 'housekeeping', 'key-check', 'features', 'index'];

/** Above all rooms: the files of core itself. */
function floorOf(file: string): number {
	const [, room = '', inside] = file.split('/');
	return inside === undefined ? FLOORS.length : FLOORS.indexOf(room);
}

test('a room of core imports only itself and rooms below it', () => {
	assert.deepEqual(
		broken(({ file }, name) => !file.startsWith('core/') || !name.startsWith('core/') || floorOf(name) <= floorOf(file)),
		[],
	);
});

test('core has the rooms that stand in the list of floors, and seven files of its own', () => {
	const files = sources.filter(({ file }) => file.startsWith('core/')).map(({ file }) => file.split('/').slice(1));
	const own = files.filter(({ length }) => length === 1).map(([name = '']) => name.replace('.ts', ''));
	assert.deepEqual(own.sort(), [...DOORS].sort());
	const rooms = new Set(files.filter(({ length }) => length > 1).map(([room]) => room));
	assert.deepEqual([...rooms].sort(), [...FLOORS].sort());
});

/** The rooms without which nothing is served; the root is core's own files. */
const NEEDED = ['contract', 'config', 'registry', 'root', 'http', 'limits', 'gateways', 'tools', 'egress', 'secrets', 'store', 'shared'];
/** Whoever must raise it says for what. */
const MAX_LINES = 7600;

test(`the rooms without which nothing is served have at most ${MAX_LINES} lines`, (t) => {
	const counts = new Map(NEEDED.map((room) => [room, 0]));
	for (const { file, text } of sources) {
		const [folder, room = '', inside] = file.split('/');
		const name = inside === undefined ? 'root' : room;
		const count = folder === 'core' ? counts.get(name) : undefined;
		if (count !== undefined) counts.set(name, count + text.split('\n').length - 1);
	}
	const lines = [...counts.values()].reduce((sum, count) => sum + count, 0);
	t.diagnostic(`${lines} lines: ${[...counts].map(([room, count]) => `${room} ${count}`).join(', ')}`);
	assert.ok(
		[...counts.values()].every((count) => count > 0),
		'each room was found',
	);
	assert.ok(lines <= MAX_LINES, `${lines} lines`);
});

/** Beyond it a folder hides its rooms. */
const MAX_SOURCES = 25;
/** Folders of sources that are alike. */
const ALIKE = ['db/migrations'];

test(`no folder has more than ${MAX_SOURCES} sources`, () => {
	const counts = new Map<string, number>();
	for (const { file } of sources) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
	const full = [...counts].filter(([folder, count]) => count > MAX_SOURCES && !ALIKE.includes(folder));
	assert.deepEqual(full, []);
});

const hasReadme = (folder: string): boolean => existsSync(join(ROOT, folder, 'README.md'));

/** Every room of core and of db, and each folder beside them that has a README. */
const DESCRIBED = [
	...FLOORS.map((room) => `core/${room}`),
	...['embedded', 'people', 'gateways', 'imports'].map((room) => `db/${room}`),
	...['core', 'db', ...globSync('{adapters/*,importers/*,plugins/*/*}', { cwd: ROOT }).filter(hasReadme)],
];

/** Files that the tables of a README name, before its decisions. */
function namedIn(room: string, readme: string): string[] {
	const [tables = ''] = readme.split('\n## Decisions\n');
	const cells = [...tables.matchAll(/^\|([^|]*)\|/gm)].map(([, cell = '']) => cell);
	return cells.flatMap((cell) => [...cell.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name = '']) => join(room, name)));
}

/** Sources of a room, but for those of folders that answer for themselves, by a README of their own or a line of the table. */
function sourcesOf(room: string, readme: string): Source[] {
	const others = globSync(`${room}/*/`, { cwd: ROOT }).filter(
		(folder) => hasReadme(folder) || readme.includes(`| \`${basename(folder)}/\` |`),
	);
	return sources.filter(({ file }) => file.startsWith(`${room}/`) && !others.some((folder) => file.startsWith(join(folder, '/'))));
}

/** `ajv/dist/2020.js` is a file of ajv. */
const packageOf = (name: string): string => name.match(/^(?:@[^/]+\/)?[^/]+/)?.[0] ?? name;

test('each room has a README that names its files, no others, and its packages', () => {
	assert.deepEqual(
		DESCRIBED.filter((room) => !hasReadme(room)),
		[],
	);
	const faults = DESCRIBED.flatMap((room) => {
		const readme = readFileSync(join(ROOT, room, 'README.md'), 'utf8');
		const named = namedIn(room, readme);
		const inside = sourcesOf(room, readme);
		const [, dependencies = ''] = readme.split('\n## Dependencies\n');
		const packages = inside.flatMap(({ imports }) => imports).filter((name) => !local(name) && !name.startsWith('node:'));
		return [
			...inside.filter(({ file }) => !named.includes(file)).map(({ file }) => `${room}: ${file} is not in the table`),
			...named.filter((file) => !existsSync(join(ROOT, file))).map((file) => `${room}: there is no ${file}`),
			...new Set(
				packages.map(packageOf).flatMap((name) => (dependencies.includes(name) ? [] : [`${room}: ${name} is not among its dependencies`])),
			),
		];
	});
	assert.deepEqual(faults, []);
});

test('the doors offer no name for nobody', () => {
	const doors = sources.filter(({ file }) => file === 'core/index.ts' || file === 'core/features.ts');
	const offered = doors.flatMap(({ text }) =>
		[...text.matchAll(/^export (?:type )?\{([^}]*)\} from/gm)].flatMap(([, names = '']) =>
			names
				.split(',')
				.map(
					(name) =>
						name
							.trim()
							.replace(/^type /, '')
							.split(' as ')
							.at(-1) ?? '',
				)
				.filter((name) => name !== ''),
		),
	);
	assert.ok(offered.length > 100);
	const plugins = globSync('{adapters,importers,plugins}/**/*.ts', { cwd: ROOT }).map((file) => readFileSync(join(ROOT, file), 'utf8'));
	const taken = new Set(
		plugins.flatMap((text) =>
			[...text.matchAll(/import (?:type )?\{([^}]*)\} from '[^']*core\/(?:index|features)\.ts'/g)].flatMap(([, names = '']) =>
				names.split(',').map(
					(name) =>
						name
							.trim()
							.replace(/^type /, '')
							.split(' as ')[0] ?? '',
				),
			),
		),
	);
	assert.deepEqual(
		offered.filter((name) => !taken.has(name)),
		[],
	);
});

test('core names no plugin', () => {
	const names = globSync('{adapters/*,importers/*,plugins/auth/*,plugins/executors/*}/index.ts', { cwd: ROOT }).map(dirname);
	const folders = names.map((folder) => relative(ROOT, join(ROOT, folder)));
	assert.ok(folders.length >= 5, 'the plugins were found');
	assert.deepEqual(
		broken(({ file }, name) => !(file.startsWith('core/') && folders.some((folder) => name.startsWith(folder)))),
		[],
	);
});

test('the database knows only the storage port and the nouns of core', () => {
	const known = ['core/store/', 'core/contract/', 'core/config/config.ts'];
	assert.deepEqual(
		broken(
			({ file }, name) => !file.startsWith('db/') || !local(name) || name.startsWith('db/') || known.some((room) => name.startsWith(room)),
		),
		[],
	);
});

test('a driver is imported in one room only', () => {
	const rooms: Record<string, (file: string) => boolean> = {
		sequelize: (file) => file.startsWith('db/'),
		pg: (file) => file.startsWith('db/'),
		umzug: (file) => file.startsWith('db/'),
		ioredis: (file) => file === 'core/shared/redis.ts',
		bullmq: (file) => file === 'core/shared/redis.ts',
		bottleneck: (file) => file.startsWith('core/lanes/'),
		undici: (file) => file.startsWith('core/egress/'),
		nodemailer: (file) => file.startsWith('core/mail/'),
	};
	assert.deepEqual(
		broken(({ file }, name) => rooms[name]?.(file) ?? true),
		[],
	);
});

test('only core/config reads the environment; the embedded database hands it on to the programs it starts', () => {
	const readers = sources
		.filter(({ file, text }) => /\bprocess\.env\b/.test(text) && !file.startsWith('demo/') && !file.startsWith('db/embedded'))
		.map(({ file }) => file);
	assert.deepEqual(readers, ['core/config/config.ts']);
});

test('model fields are declared, not defined: a field would shadow the column', () => {
	const shadows = sources
		.filter(({ file }) => file.startsWith('db/'))
		.flatMap(({ file, text }) =>
			[...text.matchAll(/class \w+ extends Model[^{]*\{([\s\S]*?)\n\}/g)].map(([, body]) => ({ file, body: body ?? '' })),
		)
		.flatMap(({ file, body }) =>
			body
				.split('\n')
				.filter((line) => /^\t\w+[!?]?:/.test(line))
				.map((line) => `${file}: ${line.trim()}`),
		);
	assert.deepEqual(shadows, []);
});
