// A dependency that dies under the whole service. What the store does without its database is in db/outages.test.ts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startRedis, type TestRedis } from '../helpers/redis.ts';
import { type Account, must, publishGateway, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';

let redis: TestRedis;
let service: TestService;
let account: Account;
before(async () => {
	redis = await startRedis();
	service = await startTestService({ redis });
	account = await registerAccount(service.url);
});
after(() => service.stop());

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

test('without Redis gateways and the management API go on; readiness and health say what is missing within 2 s', async () => {
	const gateway = await publishGateway(account);
	assert.equal((await send(`${service.url}/health/ready`, 'GET')).status, 200);
	await redis.stop();
	const started = performance.now();
	const ready = await send(`${service.url}/health/ready`, 'GET');
	assert.ok(performance.now() - started < 2000);
	assert.equal(ready.status, 503);
	assert.deepEqual([ready.body.data.checks.redis.status, ready.body.data.checks.database.status], ['unreachable', 'ok']);
	assert.equal((await send(`${service.url}/health`, 'GET')).status, 503);
	assert.equal((await send(`${service.url}/health/live`, 'GET')).status, 200);
	const headers = { 'x-api-key': gateway.key, accept: 'application/json, text/event-stream' };
	assert.equal((await send(gateway.url, 'POST', { body: LIST, headers })).status, 200);
	must(await account.get('/gateways'), 200);
	must(await account.post('/gateways', { name: 'made meanwhile', type: 'mcp', endpoint: '/meanwhile' }), 201);
});
