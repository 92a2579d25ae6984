// Tests the service as processes: its start-up faults. `metrics-workers.test.ts` tests its workers and its end, `package.test.ts` unknown commands.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../helpers/ports.ts';
import { type TestDatabase, testDatabase } from '../helpers/postgres.ts';
import { start as startWith } from '../helpers/processes.ts';
import { type TestRedis, testRedis } from '../helpers/redis.ts';
import { databaseVariables, SECRETS } from '../helpers/service.ts';

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
	const dataDir = join(folder, 'never');
	const started = start({ DATABASE_HOST: 'x', PORT: '0', SHUTDOWN_DELAY_SECONDS: '301', SVC_DATA_DIR: dataDir });
	assert.equal(await started.ended, 1);
	assert.match(started.output(), /PORT must be a port, 1 to 65535/);
	assert.match(started.output(), /SHUTDOWN_DELAY_SECONDS must be seconds, 0 to 300/);
	assert.match(started.output(), /JWT_SECRET is required/);
	assert.ok(!started.output().includes('    at '), 'a sentence, no stack');
	assert.equal(existsSync(dataDir), false);
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
