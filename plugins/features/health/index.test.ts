// Tests of health over REST: what it shows, and when it reports a failure. An unreachable Redis is tested in test/flows/outages.test.ts.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createConnection, createServer, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { isBeforeTimer } from '../../../test/helpers/clock.ts';
import { type Judge, readDocument } from '../../../test/helpers/document.ts';
import { freePort } from '../../../test/helpers/ports.ts';
import { createHttpTool, must, registerAccount, send, startTestService, type TestService } from '../../../test/helpers/service.ts';

let service: TestService;
let judge: Judge;
before(async () => {
	service = await startTestService();
	judge = await readDocument(service.url);
});
after(() => service.stop());

const get = (path: string, url = service.url) => send(url + path, 'GET');

test('health shows database, Redis, disk and memory, each with its state and figures (4.8)', async () => {
	const answer = must(await get('/health'), 200);
	assert.equal(judge.fault('GET /health', answer), null);
	const { status, checks } = answer.body.data;
	assert.equal(status, 'ok');
	assert.deepEqual(Object.keys(checks), ['database', 'redis', 'disk', 'memory']);
	for (const name of ['database', 'redis']) assert.ok(checks[name].status === 'ok' && checks[name].ms >= 0, name);
	for (const name of ['disk', 'memory']) {
		const { status: state, freeBytes, totalBytes } = checks[name];
		assert.equal(state, freeBytes < totalBytes / 20 ? 'low' : 'ok', name);
		assert.ok(freeBytes > 0 && totalBytes > freeBytes, name);
	}
	assert.ok(checks.memory.residentBytes > 1_000_000);
});

test('liveness and readiness match the document; health has no rate limit and accepts no query (4.8)', async () => {
	for (const path of ['/health/live', '/health/ready', '/health']) {
		const answer = must(await get(path), 200);
		assert.equal(judge.fault(`GET ${path}`, answer), null);
		assert.equal(answer.body.success, true);
		assert.equal(answer.headers.get('x-ratelimit-limit'), null);
		const refused = await get(`${path}?deep=1`);
		assert.deepEqual([refused.status, refused.body.details[0].path], [400, 'query/deep']);
		assert.equal(judge.fault(`GET ${path}`, refused), null);
	}
});

test('with a database that has gone silent, readiness and health are a 503 that names it; the process lives', async () => {
	const pipe = await silenceable(service.config.database ?? assert.fail('no database'));
	const env = { DATABASE_PORT: String(pipe.port) };
	const behind = await startTestService({ env, replicaOf: service, databaseWaits: {} });
	try {
		must(await get('/health/ready', behind.url), 200);
		pipe.silence();
		for (const path of ['/health/ready', '/health']) {
			const asked = get(path, behind.url);
			assert.ok(await isBeforeTimer(20_000, asked), path);
			const answer = must(await asked, 503);
			assert.equal(judge.fault(`GET ${path}`, answer), null);
			const { success, data } = answer.body;
			assert.deepEqual([success, data.status, data.checks.database.status], [false, 'unavailable', 'unreachable']);
			assert.equal(data.checks.redis.status, 'ok');
		}
		must(await get('/health/live', behind.url), 200);
	} finally {
		pipe.end();
		await behind.stop();
	}
});

test('while the service stops, running requests are finished and readiness is a 503 that says so', async () => {
	const other = await startTestService();
	const account = await registerAccount(other.url);
	const upstream = createHttpServer();
	const port = await freePort();
	upstream.listen(port, '127.0.0.1');
	const asked = once(upstream, 'request');
	const toolId = await createHttpTool(account, { name: 'slow', url: `http://127.0.0.1:${port}/` });
	const running = account.post(`/organizations/${account.organization.id}/tools/${toolId}/execute`, {});
	const [, response] = await asked;
	const before = await other.server.inject('/health/ready');
	const stopped = other.stop();
	const during = await other.server.inject('/health/ready');
	response.end('done');
	assert.equal(must(await running, 200).body.data.result, 'done');
	await stopped;
	upstream.close();
	assert.equal(before.statusCode, 200);
	assert.deepEqual([during.statusCode, JSON.parse(during.payload).data.status], [503, 'stopping']);
});

/** Starts a proxy to the database that can stop forwarding without closing connections. */
async function silenceable(target: { host: string; port: number }) {
	const sockets: Socket[] = [];
	let isSilent = false;
	const pipe = createServer((near) => {
		near.on('error', () => undefined);
		sockets.push(near);
		if (isSilent) return;
		const far = createConnection(target);
		far.on('error', () => undefined);
		sockets.push(far);
		near.pipe(far).pipe(near);
	});
	const port = await freePort();
	await once(pipe.listen(port, '127.0.0.1'), 'listening');
	return {
		port,
		silence: () => {
			isSilent = true;
			for (const socket of sockets) socket.unpipe().pause();
		},
		end: () => {
			for (const socket of sockets) socket.destroy();
			pipe.close();
		},
	};
}
