// Tests alerts of the whole service, at a receiver that checks each signature: one message when something begins, one when it is over.

import assert from 'node:assert/strict';
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../testing/waiting.ts';
import { addMember } from '../helpers/members.ts';
import { type Account, createHttpTool, must, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';
import { tagOf } from '../helpers/versions.ts';

let service: TestService;
let replica: TestService;
let account: Account;
let receiver: string;
let api: { origin: string; status: number; document: object };
const lines: string[] = [];
const ends: (() => unknown)[] = [];

interface Message {
	headers: IncomingMessage['headers'];
	text: string;
	// biome-ignore lint/suspicious/noExplicitAny: tests read into messages
	body: any;
}
const messages: Message[] = [];
/** The next answers of the receiver; 200 when there is none. */
const answers: number[] = [];

const operation = (id: string) => ({ post: { operationId: id, responses: { 200: { description: 'ok' } } } });
const documentWith = (...names: string[]): object => ({
	...{ openapi: '3.0.3', info: { title: 'Pets', version: '1' } },
	components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
	security: [{ token: [] }],
	paths: Object.fromEntries(names.map((name) => [`/${name}`, operation(name)])),
});

async function read(request: IncomingMessage): Promise<string> {
	let text = '';
	for await (const part of request) text += String(part);
	return text;
}

before(async () => {
	// A server of tests needs no more of its test than when it ends.
	const ending = { after: (end: () => unknown) => void ends.push(end) } as unknown as Parameters<typeof httpUpstream>[0];
	receiver = (
		await httpUpstream(ending, async (request, response) => {
			const text = await read(request);
			const status = answers.shift() ?? 200;
			if (status === 200) messages.push({ headers: request.headers, text, body: JSON.parse(text) });
			response.writeHead(status).end();
		})
	).origin;
	const upstream = await httpUpstream(ending, (request, response) => {
		const isDocument = request.url === '/openapi.json';
		response.writeHead(isDocument ? 200 : api.status, { 'content-type': 'application/json' });
		response.end(JSON.stringify(isDocument ? api.document : { ok: true }));
	});
	api = { origin: upstream.origin, status: 200, document: documentWith('get_pet') };
	const alertPace = { everyMs: 100, watchMs: 1000 };
	service = await startTestService({ alertPace, onLog: (line) => void lines.push(line) });
	replica = await startTestService({ alertPace, replicaOf: service });
	account = await registerAccount(service.url, 'Acme');
});
after(async () => {
	await replica.stop();
	await service.stop();
	for (const end of ends) end();
});

const made = async (fields: object): Promise<{ id: string; secret: string }> =>
	must(await account.post('/alerts', { name: 'rule', url: `${receiver}/token-in-path`, ...fields }), 201).body.data;

const of = (rule: { id: string }): Message[] => messages.filter(({ body }) => body.data.rule.id === rule.id);
const arrived = (rule: { id: string }, count: number): Promise<void> =>
	until(
		() => of(rule).length >= count,
		() => `${count} messages: ${JSON.stringify(of(rule).map(({ body }) => body))}`,
	);

function assertSigned({ headers, text }: Message, secret: string): void {
	const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
	const expected = createHmac('sha256', key).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`).digest();
	const [version, given = ''] = String(headers['webhook-signature']).split(',');
	assert.equal(version, 'v1');
	assert.ok(timingSafeEqual(Buffer.from(given, 'base64'), expected));
}

const run = async (toolId: string, times: number): Promise<void> => {
	for (let at = 0; at < times; at++) must(await account.post(`/organizations/${account.organization.id}/tools/${toolId}/execute`, {}), 200);
};

async function importedApi(): Promise<{ id: string; toolId: string }> {
	const { id } = must(await account.post('/apis', { name: 'Pets', type: 'openapi', baseUrl: api.origin }), 201).body.data;
	must(await account.post(`/apis/${id}/import-schema`, { schemaUrl: `${api.origin}/openapi.json` }), 200);
	must(await account.post(`/apis/${id}/generate-tools`, {}), 200);
	const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${id}`), 200).body.data;
	return { id, toolId: tools[0].id };
}

test('a tool that fails too often is told once, and once when it is over; two replicas tell no more', async () => {
	const toolId = await createHttpTool(account, { name: 'flaky', url: `${api.origin}/flaky` });
	const rule = await made({ kind: 'error_rate', toolId, bound: 0.5, minCalls: 4, windowMinutes: 30 });
	const every = await made({ kind: 'error_rate', bound: 0.5, minCalls: 4, windowMinutes: 30 });
	const lazy = await made({ kind: 'error_rate', toolId, bound: 0.5, minCalls: 1000, windowMinutes: 30 });
	api.status = 500;
	await run(toolId, 6);
	await arrived(rule, 1);
	await arrived(every, 1);
	const [opened = assert.fail()] = of(rule);
	assertSigned(opened, rule.secret);
	assert.equal(opened.headers['webhook-event'], 'alert.opened');
	assert.equal(opened.body.type, 'alert.opened');
	assert.deepEqual(opened.body.data.subject, { type: 'tool', id: toolId, name: 'flaky' });
	assert.ok(opened.body.data.value > 0.5);
	api.status = 200;
	await run(toolId, 27);
	await arrived(rule, 2);
	await arrived(every, 2);
	assert.deepEqual(
		of(rule).map(({ body }) => body.type),
		['alert.opened', 'alert.recovered'],
	);
	assert.ok((of(rule)[1]?.body.data.value ?? 1) <= 0.4);
	assert.equal(of(rule)[1]?.body.data.incidentId, opened.body.data.incidentId);
	assert.deepEqual(of(lazy), []);
});

test('a slow tool is told with how slow it is', async () => {
	const toolId = await createHttpTool(account, { name: 'slow', url: `${api.origin}/slow` });
	const rule = await made({ kind: 'latency', toolId, bound: 0.001, minCalls: 2, windowMinutes: 30 });
	const fast = await made({ kind: 'latency', toolId, bound: 600_000, minCalls: 2, windowMinutes: 30 });
	await run(toolId, 3);
	await arrived(rule, 1);
	assert.ok(of(rule)[0]?.body.data.value > 0.001);
	assert.deepEqual(of(fast), []);
});

test('a credential that stops working is told after three refusals, and when it works again', async () => {
	const { id, toolId } = await importedApi();
	must(await account.post(`/apis/${id}/credentials`, { type: 'bearer_token', credentials: { token: 'old-token-8c1' } }), 201);
	const rule = await made({ kind: 'credential' });
	api.status = 401;
	await run(toolId, 2);
	api.status = 200;
	await run(toolId, 1);
	api.status = 401;
	await run(toolId, 3);
	await arrived(rule, 1);
	assert.equal(of(rule)[0]?.body.data.subject.id, id);
	await run(toolId, 3);
	api.status = 200;
	await run(toolId, 1);
	await arrived(rule, 2);
	assert.deepEqual(
		of(rule).map(({ body }) => body.type),
		['alert.opened', 'alert.recovered'],
	);
	for (const { text } of of(rule)) assert.ok(!text.includes('old-token-8c1'));
});

test('an alert about an API that is removed is over', async () => {
	const { id, toolId } = await importedApi();
	must(await account.post(`/apis/${id}/credentials`, { type: 'bearer_token', credentials: { token: 'old-token-8c2' } }), 201);
	const rule = await made({ kind: 'credential' });
	api.status = 401;
	await run(toolId, 3);
	await arrived(rule, 1);
	api.status = 200;
	must(await account.del(`/apis/${id}`, undefined), 200);
	await arrived(rule, 2);
	const [opened, over] = of(rule).map(({ body }) => body);
	assert.deepEqual(
		[over.type, over.data.subject, over.data.incidentId],
		['alert.recovered', { type: 'api', id, name: null }, opened.data.incidentId],
	);
});

test('an alert is over when the credential is removed, or the rule is switched off; switched on again, it alerts again', async () => {
	const { id, toolId } = await importedApi();
	const credential = { type: 'bearer_token', credentials: { token: 'old-token-8c3' } };
	must(await account.post(`/apis/${id}/credentials`, credential), 201);
	const [rule, measured] = [
		await made({ kind: 'credential', apiId: id }),
		await made({ kind: 'error_rate', toolId, bound: 0.1, minCalls: 1 }),
	];
	const types = (which: { id: string }): string[] => of(which).map(({ body }) => body.type);
	api.status = 401;
	await run(toolId, 3);
	await Promise.all([arrived(rule, 1), arrived(measured, 1)]);
	must(await account.del(`/apis/${id}/credentials/bearer_token`, undefined), 200);
	must(await account.del(`/alerts/${measured.id}`, undefined, { 'if-match': tagOf(99) }), 412);
	must(await account.patch(`/alerts/${measured.id}`, { status: 'inactive' }), 200);
	await Promise.all([arrived(rule, 2), arrived(measured, 2)]);
	const { subject } = of(measured)[1]?.body.data ?? {};
	assert.deepEqual([subject.type, subject.id], ['tool', toolId]);
	must(await account.patch(`/alerts/${measured.id}`, { status: 'active' }), 200);
	must(await account.post(`/apis/${id}/credentials`, credential), 201);
	// The replica that is called learns at its next turn that the former alert is over.
	for (let tries = 0; tries < 30 && of(rule).length < 3; tries++) {
		await run(toolId, 1);
		await sleep(50);
	}
	await Promise.all([arrived(rule, 3), arrived(measured, 3)]);
	api.status = 200;
	for (const one of [rule, measured]) assert.deepEqual(types(one), ['alert.opened', 'alert.recovered', 'alert.opened']);
});

test('a document that changed is told with the difference, which is not imported; and again when it is taken in', async () => {
	const { id } = await importedApi();
	const rule = await made({ kind: 'document', apiId: id });
	must(await account.patch(`/apis/${id}`, { watch: 'daily' }), 200);
	api.document = documentWith('get_pet', 'make_pet');
	await arrived(rule, 1);
	const { changes, subject } = of(rule)[0]?.body.data ?? {};
	assert.equal(subject.id, id);
	assert.deepEqual([changes.added, changes.removed], [1, 0]);
	assert.equal(changes.operations[0].change, 'added');
	assert.equal(must(await account.get(`/apis/${id}/operations`), 200).body.data.operations.length, 1, 'nothing was imported');
	assert.equal(must(await account.get(`/apis/${id}/schemas`), 200).body.data.schemas.length, 1);
	api.document = documentWith('make_pet');
	await until(() => of(rule).some(({ body }) => body.data.changes?.removed === 1), 'another difference');
	must(await account.post(`/apis/${id}/import-schema`, { schemaUrl: `${api.origin}/openapi.json` }), 200);
	await until(() => of(rule).at(-1)?.body.type === 'alert.recovered', 'the end');
	api.document = documentWith('get_pet');
	await until(() => of(rule).at(-1)?.body.type === 'alert.opened', 'one more difference');
	must(await account.patch(`/apis/${id}`, { watch: null }), 200);
	await until(() => of(rule).at(-1)?.body.type === 'alert.recovered', 'the end of an alert about what is no longer watched');
});

test('a test message says that it is one, and is repeated until it is taken', async () => {
	const rule = await made({ kind: 'credential' });
	answers.push(503);
	must(await account.post(`/alerts/${rule.id}/test`, undefined), 200);
	await arrived(rule, 1);
	assert.equal(of(rule)[0]?.body.type, 'alert.test');
	const { secret } = must(await account.post(`/alerts/${rule.id}/secret`, undefined), 200).body.data;
	assert.notEqual(secret, rule.secret);
	must(await account.post(`/alerts/${rule.id}/test`, undefined), 200);
	await arrived(rule, 2);
	assertSigned(of(rule)[1] ?? assert.fail(), secret);
});

test('neither the secret nor the address of a receiver is ever shown again', async () => {
	const rule = await made({ kind: 'credential' });
	const shown = must(await account.get(`/alerts/${rule.id}`), 200).body.data;
	assert.equal(shown.receiver, receiver);
	const all = [shown, must(await account.get('/alerts'), 200).body, must(await account.get('/audit-log?limit=100'), 200).body].map((one) =>
		JSON.stringify(one),
	);
	for (const text of [...all, ...lines]) assert.ok(!text.includes(rule.secret) && !text.includes('token-in-path'), text.slice(0, 300));
});

test('rules that make no sense are refused by field, and an organization has fifty at most', async () => {
	const toolId = await createHttpTool(account, { name: 'any', url: `${api.origin}/any` });
	const url = receiver;
	for (const [fields, path] of [
		[{ kind: 'error_rate' }, '/bound'],
		[{ kind: 'error_rate', bound: 2 }, '/bound'],
		[{ kind: 'latency', bound: 700_000 }, '/bound'],
		[{ kind: 'latency', bound: 10, apiId: toolId }, '/apiId'],
		[{ kind: 'credential', toolId }, '/toolId'],
		[{ kind: 'document', bound: 1 }, '/bound'],
		[{ kind: 'credential', url: 'http://10.0.0.1/' }, '/url'],
		[{ kind: 'credential', windowMinutes: 61 }, '/windowMinutes'],
		[{ kind: 'other' }, '/kind'],
	] as const) {
		const { status, body } = await account.post('/alerts', { name: 'r', url, ...fields });
		assert.deepEqual([status, body.details?.[0]?.path], [400, path], JSON.stringify(body));
	}
	const other = await registerAccount(service.url, 'Other');
	assert.equal((await other.post('/alerts', { name: 'r', kind: 'latency', bound: 1, toolId, url })).status, 404);
	const statuses: number[] = [];
	for (let at = 0; at < 51; at++) statuses.push((await other.post('/alerts', { name: 'r', kind: 'credential', url })).status);
	assert.deepEqual([statuses.slice(0, 50).every((status) => status === 201), statuses[50]], [true, 409]);
	const viewer = await addMember(account, 'viewer');
	assert.equal(
		(await viewer.post('/alerts', { name: 'r', kind: 'credential', url }, { 'x-organization-id': account.organization.id })).status,
		403,
	);
});

test('who may not read analytics is shown no rule, by no way of changing one', async () => {
	const rule = await made({ kind: 'credential' });
	const { key } = must(await account.post('/access-keys', { name: 'narrow', permissions: ['gateway:write'] }), 201).body.data;
	const ways: [method: string, path: string, body: object][] = [
		['POST', '/alerts', { name: 'rule', kind: 'credential', url: receiver }],
		['PATCH', `/alerts/${rule.id}`, { status: 'inactive' }],
		['POST', `/alerts/${rule.id}/secret`, {}],
	];
	for (const [method, path, body] of ways) {
		const answer = await send(service.url + path, method, { headers: { authorization: `Bearer ${key}` }, body });
		assert.equal(answer.status, 403, path);
		assert.match(answer.body.message, /analytics:read/);
	}
});
