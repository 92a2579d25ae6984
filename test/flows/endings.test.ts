// Tests how the service ends: by Ctrl-C in a terminal, through npm, and slowly behind a load balancer.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createListener } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbedded } from '../../db/embedded/server.ts';
import { freePort } from '../helpers/ports.ts';
import { administer, testDatabase } from '../helpers/postgres.ts';
import { ready, start, startProgram, until } from '../helpers/processes.ts';
import { startRedis } from '../helpers/redis.ts';
import { createHttpTool, databaseVariables, must, publishGateway, registerAccount, SECRETS, send } from '../helpers/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-endings-'));
after(() => rmSync(folder, { recursive: true, force: true }));
/** The embedded database of all that start one, one after the other: making one takes longer than the rest. */
const dataDir = join(folder, 'embedded');

/** A delay longer than the time within which signals count as one request to stop. */
const NEXT_SIGNAL_MS = 1100;

async function upstream(listener: RequestListener): Promise<{ url: string; close(): void }> {
	const port = await freePort();
	const server = createServer(listener).listen(port, '127.0.0.1');
	await once(server, 'listening');
	return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

async function isFree(port: number): Promise<boolean> {
	const listener = createListener().listen(port, '127.0.0.1');
	const [error] = await Promise.race([once(listener, 'listening'), once(listener, 'error')]);
	listener.close();
	return error === undefined;
}

test('Ctrl-C in a terminal ends the embedded database last: every run that was answered is recorded', async () => {
	const [port, slow] = [await freePort(), await upstream((_request, response) => setTimeout(() => response.end('ok'), 20))];
	const url = `http://127.0.0.1:${port}`;
	await using started = start({ SVC_DATA_DIR: dataDir, PORT: String(port), EGRESS_ALLOW: '127.0.0.1' });
	await ready(url, started);
	const account = await registerAccount(url);
	const toolId = await createHttpTool(account, { name: 'slow', url: slow.url });
	let answered = 0;
	const path = `/organizations/${account.organization.id}/tools/${toolId}/execute`;
	// The callers stop when the service refuses, and stay within one user's limit of runs per minute.
	const callers = Array.from({ length: 8 }, async () => {
		for (let call = 0; call < 7; call++) {
			const answer = await account.post(path, {}).catch(() => null);
			if (answer?.status !== 200 || answer.body.data.status === 'failed') return;
			answered++;
			if (answered === 12) started.signalGroup('SIGINT');
		}
	});
	await Promise.all(callers);
	assert.equal(await started.ended, 0, started.output());
	slow.close();
	assert.ok(answered >= 12);
	assert.ok(!started.output().includes('ended by itself'), started.output());
	const embedded = await startEmbedded({ dataDir, durable: false });
	const rows = await administer(embedded.database, `SELECT count(*)::int AS n FROM request_log WHERE kind = 'tool'`);
	await embedded.stop();
	assert.ok(Number(rows[0]?.['n']) >= answered, `${answered} were answered, ${JSON.stringify(rows)} recorded`);
});

for (const [signal, toAll] of [
	['SIGTERM', false],
	['SIGINT', true],
] as const) {
	test(`npm start hands ${signal} on${toAll ? ', also where the terminal has sent it to all' : ''}: nothing is left behind`, async () => {
		const port = await freePort();
		const env = { SVC_DATA_DIR: dataDir, PORT: String(port) };
		await using started = startProgram(['npm', 'start'], env);
		await ready(`http://127.0.0.1:${port}`, started);
		if (toAll) started.signalGroup(signal);
		else started.child.kill(signal);
		assert.equal(await started.ended, 0, started.output());
		assert.ok(await isFree(port), 'its port is free');
		const stopping = started.lines().filter(({ msg }) => msg === 'stopping');
		assert.deepEqual(
			stopping.map(({ time }) => typeof time),
			['string'],
			'it was told once, with the time of day',
		);
		assert.ok(!started.output().includes('could not be written'), started.output());
	});
}

test('with SHUTDOWN_DELAY_SECONDS it is not ready and serves on, until the delay is over or somebody cannot wait', async () => {
	await using owned = await testDatabase();
	const redis = await startRedis();
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	const shared = { REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS };
	const env = { ...databaseVariables(owned.database), ...shared, HOST: '127.0.0.1', PORT: String(port), SHUTDOWN_DELAY_SECONDS: '300' };
	await using started = start({ ...env, SVC_DATA_DIR: folder });
	await ready(url, started);
	started.child.kill('SIGTERM');
	// A second signal that follows at once belongs to the same request to stop.
	started.child.kill('SIGINT');
	await until(() => started.lines().some(({ msg }) => msg === 'stopping'), 'stopping', started);
	const answer = await send(`${url}/health/ready`, 'GET');
	assert.deepEqual([answer.status, answer.body.data.status], [503, 'stopping']);
	await sleep(NEXT_SIGNAL_MS);
	const account = await registerAccount(url);
	const gateway = await publishGateway(account);
	const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
	const headers = { 'x-api-key': gateway.key, accept: 'application/json, text/event-stream' };
	must(await send(`${url}${new URL(gateway.url).pathname}`, 'POST', { body: list, headers }), 200);
	started.child.kill('SIGTERM');
	assert.equal(await started.ended, 0, started.output());
	await redis.stop();
});

test('with SHUTDOWN_DELAY_SECONDS every worker serves on, and a second signal reaches them all', async () => {
	await using owned = await testDatabase();
	const redis = await startRedis();
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	const shared = { REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS, WEB_CONCURRENCY: '2' };
	const env = { ...databaseVariables(owned.database), ...shared, HOST: '127.0.0.1', PORT: String(port), SHUTDOWN_DELAY_SECONDS: '300' };
	await using started = start({ ...env, SVC_DATA_DIR: folder });
	await ready(url, started);
	const told = (message: string): number => started.lines().filter(({ msg }) => msg === message).length;
	await until(() => told('listening') === 2, 'two workers', started);
	// The workers receive the signal from the terminal, and from the first process.
	started.signalGroup('SIGINT');
	await until(() => told('stopping') === 3, 'three processes that stop', started);
	await sleep(NEXT_SIGNAL_MS);
	must(await send(`${url}/health/live`, 'GET'), 200);
	must(await send(`${url}/health/ready`, 'GET'), 503);
	started.signalGroup('SIGINT');
	assert.equal(await started.ended, 0, started.output());
	assert.equal(told('stopping sooner'), 3);
	await redis.stop();
});
