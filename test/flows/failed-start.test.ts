// Starts and commands that fail, seen from outside: the sentence on standard error, and the exit code.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../helpers/ports.ts';
import { testDatabase } from '../helpers/postgres.ts';
import { start } from '../helpers/processes.ts';
import { databaseVariables, SECRETS } from '../helpers/service.ts';

test('a package that throws and leaves a timer behind ends the process with its sentence and exit code 1', async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-failed-'));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	const installed = join(folder, 'node_modules/acme-x');
	mkdirSync(installed, { recursive: true });
	writeFileSync(join(installed, 'package.json'), '{"name":"acme-x","version":"1.2.3","type":"module","exports":"./index.js"}');
	writeFileSync(join(installed, 'index.js'), "setInterval(() => undefined, 1000);\nthrow new Error('boom');");
	const places = { SVC_DATA_DIR: join(folder, 'data'), PORT: String(await freePort()), NODE_PATH: join(folder, 'node_modules') };
	await using service = start({ ...places, GATEWAY_PLUGINS: 'acme-x' });
	assert.equal(await service.ended, 1);
	assert.match(service.output(), /^GATEWAY_PLUGINS: acme-x: did not load: boom \(in .*acme-x\/index\.js:2:7\)\.$/m);
	assert.ok(
		service
			.lines()
			.some(({ msg, package: name, version }) => msg === 'loading a package of plugins' && name === 'acme-x' && version === '1.2.3'),
	);
});

test('a command that takes no arguments does nothing with one', async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-asked-'));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	const dataDir = join(folder, 'data');
	for (const [command, argument] of [
		['rotate-key', '--help'],
		['migrate', 'status'],
	] as const) {
		await using asked = start({ SVC_DATA_DIR: dataDir, PORT: String(await freePort()) }, [command, argument]);
		assert.equal(await asked.ended, 1);
		assert.match(asked.output(), new RegExp(`^Usage: ${command}, without arguments; the environment configures it\\.$`, 'm'));
	}
	assert.equal(existsSync(dataDir), false);
});

test('a database that cannot be used is told with its reason, and one without organizations is told to have none', async () => {
	await using made = await testDatabase();
	const { database } = made;
	const required = { ...SECRETS, REDIS_HOST: '127.0.0.1', REDIS_PORT: String(await freePort()) };
	const command = (name: string, ...args: string[]) => start({ ...databaseVariables({ ...database, name }), ...required }, args);
	await using empty = command(database.name, 'verify-audit');
	assert.equal(await empty.ended, 0, empty.output());
	assert.equal(empty.output(), 'There are no organizations.\n');
	await using missing = command('gatehouse_that_is_not_there', 'migrate');
	assert.equal(await missing.ended, 1);
	assert.match(
		missing.output(),
		/^The database cannot be reached .* \(PostgreSQL 3D000: database "gatehouse_that_is_not_there" does not exist\)$/m,
	);
});
