import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Joi from 'joi';
import { PATIENCE_MS } from '../../test/helpers/clock.ts';
import { VERSION } from '../config/version.ts';
import type { Log } from '../contract/nouns.ts';
import { checkRoutes } from '../gateways/mount.ts';
import { KIND_NAMES } from './kinds.ts';
import { closePlugins, loadPlugins } from './loader.ts';
import { Registry } from './registry.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const run = promisify(execFile);
type RunError = { code: number | null; signal: string | null; stderr: string };

/** A line of the log: its level, its fields, its text. */
type Line = [level: string, fields: object, text: string];

function logInto(lines: Line[]): Log {
	const at =
		(level: string) =>
		(fields: object, text: string): void =>
			void lines.push([level, fields, text]);
	return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Creates a tree of rooms with these files, from which our dependencies resolve. */
function rooms(files: Record<string, string>): { root: string } & Disposable {
	const root = mkdtempSync(join(tmpdir(), 'gatehouse-loader-'));
	symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
	for (const [file, text] of Object.entries(files)) {
		mkdirSync(join(root, file, '..'), { recursive: true });
		writeFileSync(join(root, file), text);
	}
	return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

const plugin = (kind: string, name: string, more: string): string =>
	`import Joi from 'joi';\nexport default { kind: '${kind}', name: '${name}', summary: 'One.', config: Joi.object({}), ${more} };`;

const AUTH = 'authenticate: async () => null';
const ROUTE = "routes: [{ method: 'POST', path: '/same', handler: async () => ({ status: 200 }) }]";

test('a folder is a plugin, whose stored name has _ where the folder has -', async () => {
	using tree = rooms({ 'plugins/auth/my-method/index.ts': plugin('auth', 'my_method', AUTH) });
	const registry = await loadPlugins(tree.root);
	assert.equal(registry.get('auth', 'my_method')?.summary, 'One.');
	assert.match(registry.source('auth', 'my_method') ?? '', /my-method\/index\.ts$/);
});

const BROKEN: [id: string, files: Record<string, string>, message: RegExp][] = [
	['has no index', { 'adapters/x/other.ts': '' }, /^adapters\/x: the folder has no index\.ts/],
	['has a syntax error', { 'adapters/x/index.ts': 'export default {' }, /^adapters\/x: did not load: /],
	['throws when it is loaded', { 'importers/x/index.ts': "throw new Error('boom');" }, /^importers\/x: did not load: boom/],
	[
		'exports nothing by default',
		{ 'adapters/x/index.ts': 'export const a = 1;' },
		/^adapters\/x: the default export must be a plugin.* it is missing, while a is exported by name/,
	],
	['exports another name', { 'plugins/auth/x/index.ts': plugin('auth', 'y', AUTH) }, /^plugins\/auth\/x: .* name "x"/],
	['exports another kind', { 'adapters/x/index.ts': plugin('auth', 'x', AUTH) }, /^adapters\/x: .* kind "transport"/],
	[
		'lacks a part of its kind',
		{ 'plugins/auth/x/index.ts': plugin('auth', 'x', '') },
		/^plugins\/auth\/x: auth:x: authenticate is missing/,
	],
	['has a bad name', { 'plugins/auth/X/index.ts': plugin('auth', 'X', AUTH) }, /^plugins\/auth\/X: auth:X: name must match/],
	[
		'has a config that is no Joi schema',
		{ 'plugins/auth/x/index.ts': `export default { kind: 'auth', name: 'x', summary: 'One.', config: {}, ${AUTH} };` },
		/^plugins\/auth\/x: auth:x: config must be a schema of Joi.*index\.ts\)\.$/,
	],
];

for (const [id, files, message] of BROKEN) {
	test(`a folder that ${id} stops the start with a sentence naming it`, async () => {
		using tree = rooms(files);
		await assert.rejects(loadPlugins(tree.root), (error: Error) => message.test(error.message) || assert.fail(error.message));
	});
}

test('two plugins of one kind and name stop the start', async () => {
	using tree = rooms({ 'plugins/auth/x/index.ts': plugin('auth', 'x', AUTH) });
	const registry = await loadPlugins(tree.root);
	assert.throws(() => registry.add(registry.get('auth', 'x')), /auth:x: there are two plugins/);
});

test('two plugins that one gateway could carry with the same route stop the start (decisions, 17)', async () => {
	using tree = rooms({
		'adapters/wire/index.ts': plugin('transport', 'wire', ROUTE),
		'plugins/auth/odd/index.ts': plugin('auth', 'odd', `${AUTH}, ${ROUTE}`),
	});
	const registry = await loadPlugins(tree.root);
	assert.throws(
		() => checkRoutes(registry),
		/^Error: transport:wire \(adapters\/wire\) and auth:odd \(plugins\/auth\/odd\) both have the route POST \/same/,
	);
});

/** Writes a package of this name into a tree, which has our dependencies as links. */
function packaged(name: string, text: string, described: object = {}): { root: string } & Disposable {
	const root = mkdtempSync(join(tmpdir(), 'gatehouse-loader-'));
	const folder = join(root, 'node_modules', name);
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, 'index.js'), text);
	writeFileSync(
		join(folder, 'package.json'),
		JSON.stringify({ name, version: '1.2.3', type: 'module', exports: './index.js', ...described }),
	);
	symlinkSync(join(ROOT, 'node_modules/joi'), join(root, 'node_modules/joi'));
	return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

const COMMONJS = `const Joi = require('joi');
Object.defineProperty(exports, '__esModule', { value: true });
exports.default = { kind: 'auth', name: 'x', api: 1, summary: 'One.', config: Joi.object({}), ${AUTH} };`;

const WELL: [id: string, text: string, described: object][] = [
	['is a module', plugin('auth', 'x', `api: 1, ${AUTH}`), {}],
	['exports for import only', plugin('auth', 'x', `api: 1, ${AUTH}`), { exports: { import: './index.js' } }],
	['was compiled to CommonJS', COMMONJS, { type: 'commonjs' }],
	['has a fitting peer', plugin('auth', 'x', `api: 1, ${AUTH}`), { peerDependencies: { gatehouse: `>=${VERSION}`, joi: '^18.1.0' } }],
];

for (const [id, text, described] of WELL)
	test(`a package that ${id} is loaded, and described with its name and version`, async () => {
		using tree = packaged('acme-x', text, described);
		const lines: Line[] = [];
		const registry = await loadPlugins(tree.root, ['acme-x'], { log: logInto(lines) });
		const [one] = registry.describe();
		assert.deepEqual([one?.name, one?.api, one?.package], ['x', 1, { name: 'acme-x', version: '1.2.3' }]);
		assert.deepEqual(lines, [['info', { package: 'acme-x', version: '1.2.3' }, 'loading a package of plugins']]);
	});

test('a package that does not say its contract is taken for one of version 1, with one warning', async () => {
	using tree = packaged(
		'acme-x',
		`${plugin('auth', 'x', AUTH).replace('export default ', 'const x = ')}\nexport default [x, { ...x, name: 'y' }];`,
	);
	const lines: Line[] = [];
	const registry = await loadPlugins(tree.root, ['acme-x'], { log: logInto(lines) });
	assert.deepEqual(
		lines.filter(([level]) => level === 'warn').map(([, fields, text]) => [fields, /“api: 1”/.test(text)]),
		[[{ package: 'acme-x', plugins: ['auth:x', 'auth:y'] }, true]],
	);
	assert.deepEqual(
		registry.describe().map(({ api }) => api),
		[null, null],
	);
});

test('a package that is absent, or named twice, stops the start', async () => {
	using tree = packaged('acme-x', plugin('auth', 'x', AUTH));
	await assert.rejects(loadPlugins(tree.root, ['acme-y']), /^Error: GATEWAY_PLUGINS: acme-y: the package is not installed in /);
	await assert.rejects(loadPlugins(tree.root, ['acme-x', 'acme-x']), /^Error: GATEWAY_PLUGINS names acme-x twice\.$/);
});

test('two plugins alike are both named by their origins', async () => {
	using tree = rooms({
		'plugins/auth/x/index.ts': plugin('auth', 'x', AUTH),
		'acme-x/index.js': plugin('auth', 'x', AUTH),
		'acme-x/package.json': '{"name":"acme-x","type":"module","exports":"./index.js"}',
	});
	rmSync(join(tree.root, 'node_modules'));
	mkdirSync(join(tree.root, 'node_modules'));
	symlinkSync(join(ROOT, 'node_modules/joi'), join(tree.root, 'node_modules/joi'));
	symlinkSync(join(tree.root, 'acme-x'), join(tree.root, 'node_modules/acme-x'));
	await assert.rejects(
		loadPlugins(tree.root, ['acme-x']),
		/^Error: GATEWAY_PLUGINS: acme-x: auth:x: there are two plugins .*, of plugins\/auth\/x and of GATEWAY_PLUGINS: acme-x \(in .*acme-x\/index\.js\)\.$/,
	);
});

test('what is waited for is logged, and named when the time is over', async () => {
	using tree = packaged('acme-x', 'await new Promise(() => {});');
	const lines: Line[] = [];
	const loading = loadPlugins(tree.root, ['acme-x'], { log: logInto(lines), waits: { noticeMs: 10, limitMs: 100, blockedMs: 60_000 } });
	await assert.rejects(loading, /^Error: GATEWAY_PLUGINS: acme-x: loading took longer than 0\.1 s\.$/);
	assert.deepEqual(lines.at(-1), ['warn', { limitSeconds: 0.1 }, 'still waiting: GATEWAY_PLUGINS: acme-x: loading']);
});

/** Loads the package in a process that does nothing else. */
async function loadAlone(root: string, waits: object): Promise<RunError> {
	const program = `import { loadPlugins } from ${JSON.stringify(new URL('./loader.ts', import.meta.url).href)};
loadPlugins(${JSON.stringify(root)}, ['acme-x'], { waits: ${JSON.stringify(waits)} }).catch((error) => {
	console.error(error.message);
	process.exitCode = 1;
});`;
	return run(process.execPath, ['--input-type=module', '--eval', program], { timeout: PATIENCE_MS, killSignal: 'SIGKILL' }).then(
		() => assert.fail('it loaded'),
		(error: RunError) => error,
	);
}

test('a process in which nothing else goes on does not end before the time is over', async () => {
	using tree = packaged('acme-x', 'await new Promise(() => {});');
	const { code, stderr } = await loadAlone(tree.root, { noticeMs: 10, limitMs: 100, blockedMs: 60_000 });
	assert.deepEqual([code, stderr], [1, 'GATEWAY_PLUGINS: acme-x: loading took longer than 0.1 s.\n']);
});

test('a package that computes for ever ends the process with a sentence', async () => {
	using tree = packaged('acme-x', 'while (true);');
	const { signal, stderr } = await loadAlone(tree.root, { noticeMs: 10, limitMs: 100, blockedMs: 500 });
	assert.deepEqual([signal, stderr], ['SIGKILL', 'GATEWAY_PLUGINS: acme-x: loading blocked the process for 0.5 s.\n']);
});

test('each plugin is closed; one that fails and one that never ends are logged by their names', async () => {
	const registry = new Registry();
	const closed: string[] = [];
	const closing: Record<string, () => void | Promise<void>> = {
		fails: () => {
			throw new Error('busy');
		},
		hangs: () => new Promise(() => undefined),
		ends: async () => void closed.push('ends'),
	};
	for (const [name, close] of Object.entries(closing))
		registry.add({ kind: 'auth', name, summary: 'One.', config: Joi.object({}), authenticate: async () => null, close });
	const lines: Line[] = [];
	await closePlugins(registry, logInto(lines), { noticeMs: 1000, limitMs: 50 });
	assert.deepEqual(closed, ['ends']);
	assert.deepEqual(lines, [
		['error', { error: 'this process: auth:fails: close failed: busy.' }, 'a plugin could not be closed'],
		['error', { error: 'this process: auth:hangs: close took longer than 0.05 s.' }, 'a plugin could not be closed'],
	]);
});

test('the marks of secrets of every plugin of this project are valid, which no start checks', async () => {
	const registry = await loadPlugins(ROOT);
	const plugins = KIND_NAMES.flatMap((kind) => registry.list(kind));
	assert.ok(plugins.length > 40, String(plugins.length));
	for (const { kind, name } of plugins) assert.equal(typeof registry.hasSecrets(kind, name), 'boolean');
});
