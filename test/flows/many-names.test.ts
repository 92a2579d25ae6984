// Tests JSON with more different names of members than are parsed at once, from callers of each kind and from an upstream.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	sharedService,
} from '../helpers/service.ts';

const named = (count: number): Record<string, number> => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, 1]));
const MANY = named(60_000);
const SAID = /more than 10000 different names of members: send fewer at once/;

let service: SharedService;
let account: Account;
let toolId: string;
let answered: object = {};
let calls = 0;
const upstream = createServer((_request, response) => {
	calls++;
	response.setHeader('content-type', 'application/json').end(JSON.stringify(answered));
});

before(async () => {
	upstream.listen(0, '127.0.0.1');
	service = await sharedService();
	account = await registerAccount(service.url);
	const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
	toolId = await createHttpTool(account, { name: 'look', url, parameters: { type: 'object', properties: { filter: { type: 'object' } } } });
});
after(async () => {
	await service.stop();
	upstream.close();
});

const tools = (): string => `/organizations/${account.organization.id}/tools`;
const run = (parameters: object): Promise<Answer> => account.post(`${tools()}/${toolId}/execute`, { parameters });

test('the management API refuses such a body with 400, and nothing is called', async () => {
	for (const answer of [
		await run({ filter: MANY }),
		await account.post('/apis', MANY),
		await account.patch(`/tools/${toolId}`, { meta: MANY }),
	]) {
		assert.deepEqual([answer.status, answer.body.error], [400, 'VALIDATION_FAILED']);
		assert.match(answer.body.message, SAID);
		assert.deepEqual(answer.body.details, [{ path: '', message: answer.body.message }]);
	}
	assert.equal(calls, 0);
});

test('arguments in a JSON text have the same bound', async () => {
	const { status, body } = await run({ filter: JSON.stringify(MANY) });
	assert.deepEqual([status, body.error], [400, 'VALIDATION_FAILED']);
	assert.match(body.message, /\/filter must be object, got string/);
	must(await run({ filter: JSON.stringify(named(10_000)) }), 200);
});

const called = { name: 'look', arguments: { filter: MANY } };
const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params });
const message = { messageId: 'm', role: 'user', parts: [{ kind: 'data', data: { skill: 'look', arguments: { filter: named(30_000) } } }] };
const CALLS: [type: string, path: string, body: object][] = [
	['mcp', '', rpc('tools/call', called)],
	['a2a', '', rpc('message/send', { message })],
	['utcp', '/tools/look', { filter: MANY }],
	['skills', '/tools/look', { filter: MANY }],
];
for (const [type, path, body] of CALLS)
	test(`a gateway of ${type} refuses such a body in its own form, and nothing is called`, async () => {
		const { url, key } = await publishGateway(account, { type, toolIds: [toolId] });
		const before = calls;
		const headers = { 'x-api-key': key, accept: 'application/json, text/event-stream' };
		const answer = await send(url + path, 'POST', { body, headers });
		assert.ok(answer.status === 400 || (type === 'a2a' && answer.status === 200), `${answer.status} ${JSON.stringify(answer.body)}`);
		assert.match(JSON.stringify(answer.body), SAID);
		if (type === 'mcp' || type === 'a2a') assert.equal(answer.body.error.code, -32600);
		assert.equal(calls, before);
	});

test('an upstream may answer so: the result is the text, and a note', async () => {
	answered = MANY;
	const { result } = must(await run({}), 200).body.data;
	answered = { a: 1 };
	const told = JSON.stringify(result);
	assert.ok(told.includes('more than 10000 different names of members, so it is not read as data'), told.slice(-300));
});
