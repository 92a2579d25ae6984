// Packages get this process's copy of core and of Joi, their dependencies their own.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import Joi from 'joi';
import { GatewayError } from '../contract/errors.ts';
import { loadPlugins } from './loader.ts';

/** Makes a folder with packages, in which nothing of ours is installed. */
function installed(files: Record<string, string>): { root: string } & Disposable {
	const root = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-shared-')));
	for (const [file, text] of Object.entries(files)) {
		mkdirSync(dirname(join(root, file)), { recursive: true });
		writeFileSync(join(root, file), text);
	}
	return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

const described = (name: string, more: object = {}): string => JSON.stringify({ name, version: '1.0.0', ...more });
const REST =
	"api: 1, kind: 'executor', summary: 'One.', config: Joi.object({}), execute: () => { throw new GatewayError('not_found', own); }";
const MODULE = `import Joi from 'joi';\nimport { GatewayError } from 'gatehouse';\nimport { operation } from 'gatehouse/features';
import own from 'own';\nexport const joi = Joi;\nexport default { name: 'acme', close: operation, ${REST} };`;
const COMMON_JS = `const Joi = require('joi');\nconst { GatewayError } = require('gatehouse');\nconst own = require('own');
module.exports = { name: 'common', ${REST} };`;

const thrownBy = (execute: () => unknown): unknown => {
	try {
		return execute();
	} catch (error) {
		return error;
	}
};

/** Schemas of one copy of Joi have the same class. */
const classOf = (schema: object | undefined): unknown => schema?.constructor;

test('a package that has no copy of ours, or another one, gets the running one, as a module and as CommonJS; its dependencies do not', async () => {
	const theirs = "module.exports = require('joi').mark;";
	using tree = installed({
		'node_modules/acme/package.json': described('acme', { type: 'module', exports: './index.js' }),
		'node_modules/acme/index.js': MODULE,
		'node_modules/acme/node_modules/own/index.js': theirs,
		'node_modules/acme/node_modules/joi/index.js': "exports.mark = 'the Joi of another';",
		'node_modules/acme/node_modules/gatehouse/index.js': 'throw new Error("another copy");',
		'node_modules/common/package.json': described('common', { main: './index.cjs' }),
		'node_modules/common/index.cjs': COMMON_JS,
		'node_modules/common/node_modules/own/index.js': theirs,
		'node_modules/common/node_modules/joi/index.js': "exports.mark = 'the Joi of another';",
	});
	const registry = await loadPlugins(tree.root, ['acme', 'common']);
	for (const name of ['acme', 'common']) {
		const plugin = registry.get('executor', name);
		assert.ok(plugin && classOf(plugin.config) === classOf(Joi.object({})), `the Joi of ${name}`);
		const error = thrownBy(() => (plugin.execute as () => unknown)());
		assert.ok(error instanceof GatewayError, String(error));
		assert.equal(error.message, 'the Joi of another');
	}
});
