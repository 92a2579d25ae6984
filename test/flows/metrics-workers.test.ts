// Tests several workers: their `/metrics`, and what becomes of them when one dies and when the service ends.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../helpers/ports.ts';
import { type TestDatabase, testDatabase } from '../helpers/postgres.ts';
import { ready, type Started, start, until } from '../helpers/processes.ts';
import { parsePrometheus, type Scraped } from '../helpers/prometheus.ts';
import { type TestRedis, testRedis } from '../helpers/redis.ts';
import { databaseVariables, SECRETS, send } from '../helpers/service.ts';

const TOKEN = 'a-token-of-metrics-1234';
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-metrics-'));
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

/** Starts the service with what it needs. @returns it, and its URL */
async function startService(env: Record<string, string>): Promise<{ started: Started; url: string }> {
	const port = String(await freePort());
	const given = { ...databaseVariables(database.database), REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS };
	const started = start({ ...given, SVC_DATA_DIR: folder, HOST: '127.0.0.1', PORT: port, ...env });
	const url = `http://127.0.0.1:${port}`;
	await ready(url, started);
	return { started, url };
}

test('one of two workers that dies is replaced, any answers metrics with the sum of all, an ended one’s too, and all end with the first process', async () => {
	const port = String(await freePort());
	const { started, url } = await startService({ WEB_CONCURRENCY: '2', METRICS_PORT: port, METRICS_TOKEN: TOKEN });
	const scrape = async (): Promise<Scraped> => {
		const { status, body } = await send(`http://127.0.0.1:${port}/metrics`, 'GET', { headers: { authorization: `Bearer ${TOKEN}` } });
		assert.equal(status, 200);
		return parsePrometheus(body);
	};
	await until(() => started.output().split('"msg":"listening"').length === 3, 'two workers', started);
	// Each on a connection of its own, so that both workers answer some.
	for (let count = 0; count < 20; count++) await send(`${url}/missing-here`, 'GET', { headers: { connection: 'close' } });
	const count = ({ sum }: Scraped): number => sum('http_server_request_duration_count', { http_response_status_code: '404' });
	// A request is counted when its connection has taken the answer.
	await until(async () => count(await scrape()) >= 20, 'all requests', started);
	const told = await scrape();
	assert.equal(count(told), 20);
	assert.equal(told.values('process_uptime', 'gatehouse_worker').length, 2);
	const [, pid] = /"workerPid":(\d+)/.exec(started.output()) ?? [];
	process.kill(Number(pid), 'SIGKILL');
	await until(() => started.output().split('"msg":"listening"').length === 4, 'another in its place', started);
	assert.equal(count(await scrape()), 20);
	started.child.kill('SIGTERM');
	assert.equal(await started.ended, 0);
	await assert.rejects(send(`${url}/health/live`, 'GET'));
});
