import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkRoutes } from '../gateways/mount.ts';
import { loadPlugins } from './loader.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

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
	['exports nothing by default', { 'adapters/x/index.ts': 'export const a = 1;' }, /^adapters\/x: exports no plugin by default/],
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
		/^plugins\/auth\/x: auth:x: config must be a Joi 18 object schema/,
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
	assert.throws(() => checkRoutes(registry), /auth:odd: the route POST \/same .* another plugin of the same gateway has it/);
});
