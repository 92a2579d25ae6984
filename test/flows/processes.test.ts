// The service as processes: its start-up faults, its workers, its end.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type TestDatabase, testDatabase } from '../helpers/postgres.ts';
import { type TestRedis, testRedis } from '../helpers/redis.ts';
import { databaseVariables, freePort, SECRETS, send } from '../helpers/service.ts';

const MAIN = fileURLToPath(new URL('../../core/main.ts', import.meta.url));
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

interface Started {
	child: ChildProcess;
	output(): string;
	ended: Promise<number | null>;
}

function start(env: Record<string, string>, args: string[] = []): Started {
	const child = spawn(process.execPath, [MAIN, ...args], {
		env: { PATH: process.env['PATH'], SVC_DATA_DIR: folder, ...env },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let output = '';
	child.stdout?.on('data', (chunk) => {
		output += chunk;
	});
	child.stderr?.on('data', (chunk) => {
		output += chunk;
	});
	return { child, output: () => output, ended: new Promise((resolve) => child.on('exit', resolve)) };
}

const complete = (): Record<string, string> => ({
	...databaseVariables(database.database),
	REDIS_HOST: redis.host,
	REDIS_PORT: String(redis.port),
	...SECRETS,
	HOST: '127.0.0.1',
});

async function listening(url: string): Promise<void> {
	for (let waited = 0; waited < 15_000; waited += 50) {
		if (
			await send(`${url}/health/ready`, 'GET').then(
				({ status }) => status === 200,
				() => false,
			)
		)
			return;
		await sleep(50);
	}
	assert.fail(`nothing listens at ${url}`);
}

test('every fault of the configuration is told at once, and ends the start', async () => {
	const started = start({ DATABASE_HOST: 'x', PORT: 'x' });
	assert.equal(await started.ended, 1);
	assert.match(started.output(), /PORT must be/);
	assert.match(started.output(), /JWT_SECRET is required/);
	assert.ok(!started.output().includes('    at '), 'a sentence, no stack');
});

test('a plugin package that is not installed ends the start with a sentence naming it', async () => {
	const started = start({ ...complete(), GATEWAY_PLUGINS: 'gatehouse-not-there' });
	assert.equal(await started.ended, 1);
	assert.match(started.output(), /GATEWAY_PLUGINS: gatehouse-not-there: the package is not installed/);
});

test('a database that cannot be reached ends the start', async () => {
	const started = start({ ...complete(), DATABASE_PORT: String(await freePort()) });
	assert.equal(await started.ended, 1);
});

test('an unknown command ends the start, naming what is known', async () => {
	const started = start(complete(), ['serve']);
	assert.equal(await started.ended, 1);
	assert.match(started.output(), /known: migrate/);
});

test('SIGTERM ends it with 0, after what is in flight', async () => {
	const port = await freePort();
	const started = start({ ...complete(), PORT: String(port) });
	await listening(`http://127.0.0.1:${port}`);
	started.child.kill('SIGTERM');
	assert.equal(await started.ended, 0);
});

test('WEB_CONCURRENCY=2 serves from two workers, replaces one that dies, and ends with its first process', async () => {
	const port = await freePort();
	const started = start({ ...complete(), PORT: String(port), WEB_CONCURRENCY: '2' });
	await listening(`http://127.0.0.1:${port}`);
	const count = (): number => started.output().split('"msg":"listening"').length - 1;
	for (let waited = 0; count() < 2 && waited < 10_000; waited += 50) await sleep(50);
	assert.equal(count(), 2);
	const [, pid] = /"workerPid":(\d+)/.exec(started.output()) ?? [];
	process.kill(Number(pid), 'SIGKILL');
	for (let waited = 0; count() < 3 && waited < 10_000; waited += 50) await sleep(50);
	assert.equal(count(), 3, 'another took its place');
	started.child.kill('SIGTERM');
	assert.equal(await started.ended, 0);
	await assert.rejects(send(`http://127.0.0.1:${port}/health/live`, 'GET'));
});
