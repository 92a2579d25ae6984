// Tests the service as processes: its start-up faults, its workers, its end.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../helpers/ports.ts';
import { type TestDatabase, testDatabase } from '../helpers/postgres.ts';
import { ready, start as startWith, until } from '../helpers/processes.ts';
import { type TestRedis, testRedis } from '../helpers/redis.ts';
import { databaseVariables, SECRETS, send } from '../helpers/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-processes-'));
let database: TestDatabase;
let redis: TestRedis;
before(async () => {
	database = await testDatabase();
	redis = await testRedis();
});
after(async () => {
	await database.drop();
	await redis.stop();
	rmSync(folder, { recursive: true, force: true });
});

const start = (env: Record<string, string>, args: string[] = []) => startWith({ SVC_DATA_DIR: folder, ...env }, args);

const complete = (): Record<string, string> => ({
	...databaseVariables(database.database),
	REDIS_HOST: redis.host,
	REDIS_PORT: String(redis.port),
	...SECRETS,
	HOST: '127.0.0.1',
});

test('every fault of the configuration is told at once, and ends the start', async () => {
	const started = start({ DATABASE_HOST: 'x', PORT: 'x' });
	assert.equal(await started.ended, 1);
	assert.match(started.output(), /PORT must be/);
	assert.match(started.output(), /JWT_SECRET is required/);
	assert.ok(!started.output().includes('    at '), 'a sentence, no stack');
});

test('a plugin package that is not installed ends the start with a sentence naming it', async () => {
	const started = start({ ...complete(), PORT: String(await freePort()), GATEWAY_PLUGINS: 'gatehouse-not-there' });
	assert.equal(await started.ended, 1);
	assert.match(started.output(), /GATEWAY_PLUGINS: gatehouse-not-there: the package is not installed/);
});

test('a database that cannot be reached ends the start', async () => {
	const [port, databasePort] = [await freePort(), await freePort()];
	const started = start({ ...complete(), PORT: String(port), DATABASE_PORT: String(databasePort) });
	assert.equal(await started.ended, 1);
	assert.match(started.output(), new RegExp(String(databasePort)));
});

test('an unknown command ends the start, naming what is known', async () => {
	const started = start(complete(), ['serve']);
	assert.equal(await started.ended, 1);
	assert.match(started.output(), /known: check, dev, migrate/);
});

test('SIGTERM ends it with 0, after what is in flight', async () => {
	const port = await freePort();
	const started = start({ ...complete(), PORT: String(port) });
	await ready(`http://127.0.0.1:${port}`, started);
	started.child.kill('SIGTERM');
	assert.equal(await started.ended, 0);
});

test('WEB_CONCURRENCY=2 serves from two workers, replaces one that dies, and ends with its first process', async () => {
	const port = await freePort();
	const started = start({ ...complete(), PORT: String(port), WEB_CONCURRENCY: '2' });
	await ready(`http://127.0.0.1:${port}`, started);
	const count = (): number => started.output().split('"msg":"listening"').length - 1;
	await until(() => count() === 2, 'two workers', started);
	const [, pid] = /"workerPid":(\d+)/.exec(started.output()) ?? [];
	process.kill(Number(pid), 'SIGKILL');
	await until(() => count() === 3, 'another in its place', started);
	started.child.kill('SIGTERM');
	assert.equal(await started.ended, 0);
	await assert.rejects(send(`http://127.0.0.1:${port}/health/live`, 'GET'));
});
