// Tests the lane to an API through two replicas on one PostgreSQL and Redis: set over the management API, used by the API's tools.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { until } from '../helpers/clock.ts';
import { fileContext } from '../helpers/file-context.ts';
import { type OwnRedis, startRedis } from '../helpers/redis.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let takesMs = 100;
/** The number of calls that must be open at once before any is answered. */
let together = 1;
let redis: OwnRedis;
let replicas: TestService[];
let account: Account;
let apiId: string;
let toolId: string;
let gateway: { id: string; url: string; key: string };
let inside = 0;
let most = 0;
const context = fileContext();

before(async () => {
	redis = await startRedis();
	const first = await startTestService({ redis });
	replicas = [first, await startTestService({ replicaOf: first, redis })];
	account = await registerAccount(first.url);
	const { origin } = await httpUpstream(context, async (_request, response) => {
		most = Math.max(most, ++inside);
		await until(() => most >= together, 'all are inside');
		await sleep(takesMs);
		inside--;
		response.setHeader('content-type', 'application/json').end('{"id":1}');
	});
	const paths = { '/pet': { get: { operationId: 'getPet', responses: { 200: { description: 'A pet.' } } } } };
	const schemaContent = JSON.stringify({ openapi: '3.1.0', info: { title: 'Pets', version: '1' }, paths });
	apiId = must(await account.post('/apis', { name: 'Pets', type: 'openapi', baseUrl: origin }), 201).body.data.id;
	must(await account.post(`/apis/${apiId}/import-schema`, { schemaContent, generateTools: true }), 200);
	const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools`), 200).body.data;
	toolId = tools[0].id;
	gateway = await publishGateway(account, { toolIds: [toolId] });
});
after(async () => {
	for (const service of replicas.toReversed()) await service.stop();
});
afterEach(() => {
	takesMs = 100;
	together = 1;
	most = 0;
});

const limit = async (outbound: object | null): Promise<void> => {
	must(await account.patch(`/apis/${apiId}`, { outbound }), 200);
	// A gateway's snapshot may be a second old.
	await sleep(1100);
};

const execute = (at: number): Promise<Answer> =>
	send(`${replicas[at % 2]?.url}/organizations/${account.organization.id}/tools/${toolId}/execute`, 'POST', {
		body: { parameters: {} },
		headers: { authorization: `Bearer ${account.token}` },
	});

const overMcp = (at: number): Promise<Answer> =>
	send(`${replicas[at % 2]?.url}${new URL(gateway.url).pathname}`, 'POST', {
		body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'getPet', arguments: {} } },
		headers: { 'x-api-key': gateway.key, accept: 'application/json, text/event-stream' },
	});

const both = (count: number): Promise<Answer[]> =>
	Promise.all(Array.from({ length: count }, (_, at) => (at % 4 < 2 ? execute(at) : overMcp(at))));

const clients = async (): Promise<string> => {
	const client = new Redis(redis.port, redis.host);
	return String(await client.client('LIST').finally(() => client.disconnect()));
};

test('without limits calls are made as they come, and no lane is opened', async () => {
	together = 8;
	for (const answer of await both(8)) must(answer, 200);
	assert.equal(most, 8);
	assert.doesNotMatch(await clients(), /name=gatehouse-lanes/);
});

test('calls of two replicas, over gateways and the management API, never pass maxConcurrent together, and all are made', async () => {
	await limit({ maxConcurrent: 2 });
	const answers = await both(12);
	for (const [at, { body }] of answers.entries()) {
		if (at % 4 < 2) assert.equal(body.data.status, 'success', JSON.stringify(body));
		else assert.equal(body.result.isError ?? false, false, JSON.stringify(body));
	}
	assert.equal(most, 2);
	assert.match(await clients(), /name=gatehouse-lanes/);
});

test('a call that a full or late lane refuses is a failed run that names the API, for every caller', async () => {
	await limit({ maxConcurrent: 1, maxQueued: 0 });
	const answers = await Promise.all([0, 0, 0, 0].map(execute));
	const failed = answers.map((answer) => must(answer, 200).body.data).filter(({ status }) => status === 'failed');
	assert.equal(failed.length, 3);
	for (const { error } of failed) assert.match(JSON.stringify(error), /rate_limited.*\\"Pets\\" is full/i);

	await limit({ maxConcurrent: 1, maxWaitMs: 100 });
	const late = (await Promise.all([0, 0, 0].map(overMcp))).map((answer) => must(answer, 200).body.result);
	const refused = late.filter(({ isError }) => isError);
	assert.ok(refused.length > 0);
	for (const { content } of refused) assert.match(content[0].text, /"Pets" was busy: the call waited 100 ms/);
});

test('a client that leaves while it waits frees its place in the queue', async () => {
	await limit({ maxConcurrent: 1, maxQueued: 1 });
	takesMs = 8000;
	const running = execute(0);
	await until(() => inside === 1, 'a call under way');
	const controller = new AbortController();
	const url = `${replicas[0]?.url}/organizations/${account.organization.id}/tools/${toolId}/execute`;
	const headers = { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' };
	const leaving = fetch(url, { method: 'POST', headers, body: '{"parameters":{}}', signal: controller.signal });
	await sleep(2000);
	assert.equal((await execute(0)).body.data.status, 'failed', 'it waits by now');
	takesMs = 20;
	controller.abort();
	await assert.rejects(leaving);
	await sleep(2000);
	assert.equal((await execute(0)).body.data.status, 'success');
	assert.equal((await running).body.data.status, 'success');
});

test('limits that are taken away are gone within a second', async () => {
	must(await account.patch(`/apis/${apiId}`, { outbound: null }), 200);
	takesMs = 500;
	await until(async () => {
		most = 0;
		await Promise.all([0, 1, 2, 3, 4, 5].map(overMcp));
		return most > 3;
	}, 'without a lane');
});
