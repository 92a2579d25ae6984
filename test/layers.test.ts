// Tests the direction of imports (core/README.md).

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { test } from 'node:test';
import { FLOORS, floorOf, pluginFolder, ROOMS, ROOT, readSources, type Source } from './rooms.ts';

const isTest = (file: string): boolean => file.endsWith('.test.ts') || /(^|\/)(test|fixtures)\//.test(file);

const sources = readSources(`{${ROOMS.join(',')}}/**/*.ts`).filter(({ file }) => !isTest(file));

const local = (name: string): boolean => ROOMS.some((room) => name.startsWith(`${room}/`)) || name.startsWith('test/');

/** Finds every import that breaks the rule. @returns lines of the form `file → import` */
function broken(rule: (source: Source, name: string) => boolean): string[] {
	return sources.flatMap((source) => source.imports.filter((name) => !rule(source, name)).map((name) => `${source.file} → ${name}`));
}

test('the scan sees the source tree', () => {
	assert.ok(sources.length > 40, `only ${sources.length} sources found`);
	assert.ok(sources.flatMap(({ imports }) => imports).length > 100);
});

/** An importer writes the config of this executor, so it may import the executor's types, but no code. */
const WRITES_FOR: Readonly<Record<string, string>> = {
	'importers/graphql': 'plugins/executors/graphql/',
	'importers/openapi': 'plugins/executors/http/',
	'importers/protobuf': 'plugins/executors/grpc/',
	'importers/soap': 'plugins/executors/soap/',
};

/** Tells whether every statement that imports the module is an `import type`. */
function isTypeOnly({ file, text }: Source, name: string): boolean {
	const statements = [...text.matchAll(/(?:^|\n)\s*((?:import|export)\s[^;]*?)from\s+'([^']+)'/g)];
	const found = statements.filter(([, , from = '']) => normalize(join(dirname(file), from)) === name);
	return found.length > 0 && found.every(([, statement = '']) => statement.startsWith('import type '));
}

test('a plugin imports only its own folder and its entry point of core: features core/features.ts, all others core/index.ts', () => {
	assert.deepEqual(
		broken((source, name) => {
			const { file } = source;
			const own = pluginFolder(file);
			if (own === null || !local(name) || name.startsWith(`${own}/`)) return true;
			const executor = WRITES_FOR[own];
			if (executor !== undefined && name.startsWith(executor)) return isTypeOnly(source, name);
			return name === (file.startsWith('plugins/features/') ? 'core/features.ts' : 'core/index.ts');
		}),
		[],
	);
});

test('core imports only core, and its composition root alone the database', () => {
	assert.deepEqual(
		broken(({ file }, name) => {
			if (!file.startsWith('core/') || !local(name) || name.startsWith('core/')) return true;
			return ['core/main.ts', 'core/assembly.ts'].includes(file) && name === 'db/index.ts';
		}),
		[],
	);
});

test('the package exports its three entry points, as built', () => {
	const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: Record<string, object> };
	const built = (door: string): object => ({ types: `./dist/${door}.d.ts`, default: `./dist/${door}.js` });
	assert.deepEqual(exports, { '.': built('core/index'), './features': built('core/features'), './testing': built('testing/index') });
});

test('the kit of authors imports only core, and nothing outside imports more of it than its entry point', () => {
	assert.deepEqual(
		broken(({ file }, name) => !file.startsWith('testing/') || !local(name) || name.startsWith('core/') || name.startsWith('testing/')),
		[],
	);
	assert.deepEqual(
		broken(({ file }, name) => file.startsWith('testing/') || !name.startsWith('testing/')),
		[],
	);
});

test('the proxy is a package of its own: it imports nothing of the others, nothing but Node.js, and nothing imports it', () => {
	assert.deepEqual(
		broken(({ file }, name) => !file.startsWith('proxy/') || name.startsWith('proxy/') || name.startsWith('node:')),
		[],
	);
	assert.deepEqual(
		broken(({ file }, name) => file.startsWith('proxy/') || !name.startsWith('proxy/')),
		[],
	);
});

const DOORS = ['assembly', 'main', 'service', 'server', 'cluster', 'housekeeping', 'key-check', 'features', 'index'];

test('a room of core imports only itself and rooms below it', () => {
	assert.deepEqual(
		broken(({ file }, name) => !file.startsWith('core/') || !name.startsWith('core/') || floorOf(name) <= floorOf(file)),
		[],
	);
});

test('core has the rooms in the list of floors, and nine files of its own', () => {
	const files = sources.filter(({ file }) => file.startsWith('core/')).map(({ file }) => file.split('/').slice(1));
	const own = files.filter(({ length }) => length === 1).map(([name = '']) => name.replace('.ts', ''));
	assert.deepEqual(own.sort(), [...DOORS].sort());
	const rooms = new Set(files.filter(({ length }) => length > 1).map(([room]) => room));
	assert.deepEqual([...rooms].sort(), [...FLOORS].sort());
});

/** The rooms without which nothing is served; the root is core's own files. */
const NEEDED = ['contract', 'config', 'registry', 'root', 'http', 'limits', 'gateways', 'tools', 'egress', 'secrets', 'store', 'shared'];
/**
 * The most lines of these rooms together; raising it needs a reason. The last ones: open streams (what they follow, and who still may),
 * authentication methods at an address over all organizations (`gateways/everywhere.ts`), skills, results that are cut, kept, checked and
 * confirmed in one place for all transports, the sandbox that executors lend, tokens of lists, the request log and its sums, windows that are
 * only looked at, the port of alerts, clients that have left before they are looked for, the bounds of numbers that others tell, former keys and what they sealed,
 * how many sums a write has, the tolerance between clocks, arguments that commands do not take, why the database is away, the parts of an
 * answer that its provider wants back, tokens that are written to a cache, integers of bodies with all their digits, secrets within texts of the request log,
 * tags that a proxy has weakened, names for schemes, who asks a Redis and whether it is encrypted, the time
 * of a request, in one place with its span, descriptions that are read again, and with what, replies of JSON that is only
 * read, ids of requests in the order of time, payloads whose patterns run in threads, times and names for the functions of plugins, ends of runs that
 * are told once, executors that need the formats of values, results that are a part, executors that go on after their runs, packages that nobody has built, the look of pages.
 */
const MAX_LINES = 21_667;

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

/** The most sources of a folder: with more, its structure is hard to see. */
const MAX_SOURCES = 25;
/** Folders of sources of one kind, which may be more. */
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
	...['embedded', 'people', 'gateways', 'imports', 'runs', 'skills', 'llm', 'analytics', 'alerts'].map((room) => `db/${room}`),
	...['core', 'db', 'testing', 'proxy', ...globSync('{adapters/*,importers/*,plugins/*/*}', { cwd: ROOT }).filter(hasReadme)],
];

/** Returns the files that the tables of a README name, before its decisions. */
function namedIn(room: string, readme: string): string[] {
	const [tables = ''] = readme.split('\n## Decisions\n');
	const cells = [...tables.matchAll(/^\|([^|]*)\|/gm)].map(([, cell = '']) => cell);
	return cells.flatMap((cell) => [...cell.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name = '']) => join(room, name)));
}

/** Returns the sources of a room, except those in folders with a README of their own or with a line in the room's table. */
function sourcesOf(room: string, readme: string): Source[] {
	const others = globSync(`${room}/*/`, { cwd: ROOT }).filter(
		(folder) => hasReadme(folder) || readme.includes(`| \`${basename(folder)}/\` |`),
	);
	return sources.filter(({ file }) => file.startsWith(`${room}/`) && !others.some((folder) => file.startsWith(join(folder, '/'))));
}

/** Returns the package of an import: `ajv/dist/2020.js` is a file of ajv. */
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

test('every name that the entry points export is used', () => {
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
	const known = ['core/store/', 'core/contract/', 'core/config/config.ts', 'core/process/around.ts'];
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
		'pg-boss': (file) => file === 'db/runs/engine.ts',
		croner: (file) => file === 'core/runs/schedules.ts',
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

test('only core/config reads the environment, and the proxy its own; the embedded database hands it on to the programs it starts', () => {
	const readers = sources
		.filter(({ file, text }) => /\bprocess\.env\b/.test(text) && !/^(demo|proxy|db\/embedded)/.test(file))
		.map(({ file }) => file);
	assert.deepEqual(readers, ['core/config/config.ts', 'core/config/trust.ts']);
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
