// Tests telemetry in processes of the service: what is loaded, and `/metrics` of several workers.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../helpers/ports.ts';
import { type TestDatabase, testDatabase } from '../helpers/postgres.ts';
import { ROOT, ready, type Started, startProgram, until } from '../helpers/processes.ts';
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

/** Tells on stderr of each module of OpenTelemetry that is loaded, by whichever way. */
const WATCH = `data:text/javascript,${encodeURIComponent(`
	import { registerHooks } from 'node:module';
	registerHooks({
		load(url, context, next) {
			if (url.includes('@opentelemetry')) process.stderr.write('LOADED ' + url + '\\n');
			return next(url, context);
		},
	});`)}`;

/** Starts the service with what it needs. @returns it, and its URL */
async function startWatched(env: Record<string, string>): Promise<{ started: Started; url: string }> {
	const port = String(await freePort());
	const given = { ...databaseVariables(database.database), REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS };
	const all = { ...given, SVC_DATA_DIR: folder, HOST: '127.0.0.1', PORT: port, ...env };
	const started = startProgram([process.execPath, '--import', WATCH, join(ROOT, 'core/main.ts')], all);
	const url = `http://127.0.0.1:${port}`;
	await ready(url, started);
	return { started, url };
}

test('nothing of OpenTelemetry is in memory while nothing is configured', async () => {
	const off = await startWatched({});
	assert.equal((await send(`${off.url}/metrics`, 'GET')).status, 404);
	off.started.child.kill('SIGTERM');
	assert.equal(await off.started.ended, 0);
	assert.doesNotMatch(off.started.output(), /LOADED/);
});

test('the answer of any worker holds the sum of all, and keeps what an ended worker had counted', async () => {
	const port = String(await freePort());
	const { started, url } = await startWatched({ WEB_CONCURRENCY: '2', METRICS_PORT: port, METRICS_TOKEN: TOKEN });
	const scrape = async (): Promise<Scraped> => {
		const { status, body } = await send(`http://127.0.0.1:${port}/metrics`, 'GET', { headers: { authorization: `Bearer ${TOKEN}` } });
		assert.equal(status, 200);
		return parsePrometheus(body);
	};
	assert.match(started.output(), /LOADED/);
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
});
