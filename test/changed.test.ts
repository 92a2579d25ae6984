// Tests which test files a change calls for, on the current tree.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testsOf } from './changed.ts';
import { allSources } from './rooms.ts';
import { testsIn } from './together.ts';

const sources = allSources();
const all = testsIn(sources);
const of = (...changed: string[]): string[] => testsOf(changed, sources);
const has = (tests: string[], start: string): boolean => tests.some((file) => file.startsWith(start));

test('the sources are read, tests among them', () => {
	assert.ok(sources.length > 500 && all.length > 100, `${sources.length} sources, ${all.length} tests`);
});

test('a room of core calls for itself, the rooms above it, plugins and the flows of the service, and for nothing below', () => {
	const tests = of('core/identity/members.ts');
	for (const start of [
		'core/identity/',
		'core/tools/',
		'core/gateways/',
		'core/server.test.ts',
		'adapters/mcp/',
		'plugins/auth/',
		'test/flows/main-job',
	])
		assert.ok(has(tests, start), start);
	for (const start of ['core/kit/', 'core/egress/', 'core/upstreams/', 'db/']) assert.ok(!has(tests, start), start);
});

test('the database calls for itself and for what runs the whole service; the port that it implements, for the database', () => {
	const tests = of('db/people/accounts.ts');
	for (const start of ['db/gateways/', 'test/flows/main-job']) assert.ok(has(tests, start), start);
	for (const start of ['core/kit/', 'core/arguments/']) assert.ok(!has(tests, start), start);
	assert.ok(has(of('core/store/store.ts'), 'db/'));
	assert.ok(!has(of('core/kit/json.ts'), 'db/'));
});

test('a plugin calls for itself and for the flows, not for the next plugin', () => {
	const tests = of('plugins/auth/jwt/index.ts');
	assert.ok(has(tests, 'plugins/auth/jwt/') && has(tests, 'test/flows/'));
	for (const start of ['plugins/auth/oauth2/', 'core/', 'db/']) assert.ok(!has(tests, start), start);
});

test('a test calls for itself, a helper for the tests that import it', () => {
	const always = of();
	assert.deepEqual(
		of('core/kit/race.test.ts').filter((file) => !always.includes(file)),
		['core/kit/race.test.ts'],
	);
	const tests = of('test/helpers/core.ts');
	assert.ok(tests.includes('core/server.test.ts') && !tests.includes('core/kit/race.test.ts'));
});

test('the proxy calls for its own tests', () => {
	const tests = of('proxy/session/tools.ts').filter((file) => !of().includes(file));
	assert.ok(tests.length > 1 && tests.every((file) => /^(test\/)?proxy\//.test(file)), tests.join());
});

test('packages of strangers call for the tests of all of them, and so does whatever is packed', () => {
	for (const file of ['test/outside/acme-sql/src/index.ts', 'testing/executor.ts', 'plugins/executors/http/index.ts'])
		assert.ok(has(of(file), 'test/outside/'), file);
	assert.ok(!has(of('test/helpers/core.ts'), 'test/outside/'));
});

test('documents call for the tests that read them, files that concern everything for all tests, and a removed file for its room', () => {
	assert.deepEqual(of('README.md'), of());
	assert.deepEqual(of('package.json'), all.toSorted());
	assert.ok(has(of('core/limits/removed.ts'), 'core/limits/'));
});
