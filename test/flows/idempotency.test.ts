// Tests `Idempotency-Key` over the whole service (decisions, 13): a request that is sent again gets the same answer and has no further
// effect, on whichever replica it arrives.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

let first: TestService;
let second: TestService;
let account: Account;
let calls = 0;
/** Lets the upstream answer. */
let release: (() => void) | null = null;
const upstream = createServer((request, response) => {
	calls++;
	if (request.url === '/slow') release = () => void response.end('"slow"');
	else response.end('"quick"');
});

before(async () => {
	await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
	first = await startTestService();
	second = await startTestService({ replicaOf: first });
	account = await registerAccount(first.url);
});
after(async () => {
	await second.stop();
	await first.stop();
	upstream.close();
});

let keys = 0;
const newKey = (): string => `key-${++keys}`;

const post = (
	path: string,
	body: unknown,
	{ key, at = first, token = account.token }: { key: string; at?: TestService; token?: string },
): Promise<Answer> => send(at.url + path, 'POST', { body, headers: { authorization: `Bearer ${token}`, 'idempotency-key': key } });

const gateway = (endpoint: string) => ({ name: 'g', type: 'mcp', endpoint });

test('the second time, on the other replica too, the answer is the same to the byte, and nothing is made', async () => {
	const key = newKey();
	const made = must(await post('/gateways', gateway('/once'), { key }), 201);
	assert.equal(made.headers.get('idempotency-replayed'), null);
	for (const at of [first, second]) {
		const again = must(await post('/gateways', gateway('/once'), { key, at }), 201);
		assert.deepEqual(again.body, made.body);
		assert.equal(again.headers.get('idempotency-replayed'), 'true');
		assert.equal(again.headers.get('etag'), made.headers.get('etag'));
	}
	assert.equal(must(await account.get('/gateways?q=g'), 200).body.data.gateways.length, 1);
});

test('of fifty requests at once over two replicas one is executed, and the others get its answer or a 409', async () => {
	const key = newKey();
	const answers = await Promise.all(
		Array.from({ length: 50 }, (_, at) => post('/organizations', { name: 'Racer' }, { key, at: at % 2 ? first : second })),
	);
	const done = answers.filter(({ status }) => status === 201);
	assert.ok(done.length >= 1);
	assert.equal(new Set(done.map(({ body }) => body.data.id)).size, 1);
	for (const { status, body, headers } of answers.filter(({ status: code }) => code !== 201)) {
		assert.deepEqual([status, body.error, headers.get('retry-after')], [409, 'CONFLICT', '1']);
	}
	const { organizations } = must(await account.get('/organizations'), 200).body.data;
	assert.equal(organizations.filter(({ name }: { name: string }) => name === 'Racer').length, 1);
});

test('another body, query or path under the same key is a 422; another user’s key is another', async () => {
	const key = newKey();
	const organization = { 'x-organization-id': account.organization.id };
	const ask = (path: string, body: unknown) =>
		send(first.url + path, 'POST', {
			body,
			headers: { authorization: `Bearer ${account.token}`, 'idempotency-key': key, ...organization },
		});
	must(await ask('/gateways', gateway('/keyed')), 201);
	for (const [path, body] of [
		['/gateways', gateway('/other')],
		[`/organizations/${account.organization.id}/tools`, gateway('/keyed')],
	] as const) {
		const answer = await ask(
			path,
			path === '/gateways' ? body : { name: 't', type: 'http', executionConfig: { method: 'GET', url: 'https://example.com' } },
		);
		assert.deepEqual([answer.status, answer.body.error], [422, 'IDEMPOTENCY_KEY_REUSED'], path);
	}
	const stranger = await registerAccount(first.url);
	must(await post('/gateways', gateway('/theirs'), { key, token: stranger.token }), 201);
});

test('while the first is under way the second is a 409; then it gets the answer, and the tool ran once', async () => {
	const { port } = upstream.address() as AddressInfo;
	const tool = await createHttpTool({ ...account, post: withOrganization('POST') }, { name: 'slow', url: `http://127.0.0.1:${port}/slow` });
	const path = `/organizations/${account.organization.id}/tools/${tool}/execute`;
	const key = newKey();
	const before = calls;
	const running = post(path, { parameters: {} }, { key });
	while (release === null) await new Promise((resolve) => setTimeout(resolve, 10));
	assert.equal((await post(path, { parameters: {} }, { key, at: second })).status, 409);
	release();
	const done = must(await running, 200);
	assert.equal(done.body.data.result, 'slow');
	const again = must(await post(path, { parameters: {} }, { key, at: second }), 200);
	assert.deepEqual(again.body, done.body);
	assert.equal(calls, before + 1);
});

const withOrganization =
	(method: string) =>
	(path: string, body?: unknown): Promise<Answer> =>
		send(first.url + path, method, {
			body,
			headers: { authorization: `Bearer ${account.token}`, 'x-organization-id': account.organization.id },
		});

test('a request that failed had no effect, so its key may be used again', async () => {
	const key = newKey();
	const path = `/organizations/${account.organization.id}/tools`;
	const tool = (type: string) => ({ name: 'again', type, executionConfig: { method: 'GET', url: 'https://example.com/' } });
	assert.equal((await post(path, tool('nothing'), { key })).status, 400);
	must(await post(path, tool('http'), { key }), 201);
});

test('a key is forgotten after a day', async () => {
	const key = newKey();
	const made = must(await post('/organizations', { name: 'Yesterday' }, { key }), 201).body.data;
	assert.ok(first.config.database);
	await administer(
		first.config.database,
		`UPDATE idempotency_keys SET started_at = started_at - interval '25 hours', ended_at = ended_at - interval '25 hours'`,
	);
	const later = must(await post('/organizations', { name: 'Yesterday' }, { key }), 201).body.data;
	assert.notEqual(later.id, made.id);
});

for (const key of ['', ' ', 'x'.repeat(256), 'ümlaut', 'a\tb']) {
	test(`${JSON.stringify(key).slice(0, 20)} is no key: 400, and nothing is made`, async () => {
		const raw = Buffer.from(key, 'utf8').toString('latin1');
		const answer = await send(`${first.url}/organizations`, 'POST', {
			body: { name: 'Unkeyed' },
			headers: { authorization: `Bearer ${account.token}`, 'idempotency-key': raw },
		});
		assert.equal(answer.status, 400, JSON.stringify(answer.body));
		assert.equal(answer.body.details[0].path, 'header/idempotency-key');
	});
}

test('where an answer shows a secret once, the key is ignored: each request creates a new one', async () => {
	const key = newKey();
	const one = must(await post('/access-keys', { name: 'k' }, { key }), 201).body.data;
	const two = must(await post('/access-keys', { name: 'k' }, { key }), 201).body.data;
	assert.notEqual(one.key, two.key);
	assert.ok(first.config.database);
	const rows = await administer(first.config.database, 'SELECT * FROM idempotency_keys');
	assert.ok(!JSON.stringify(rows).includes('ak_live_'));
});
