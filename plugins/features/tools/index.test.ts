// Tests of tools over REST: versions, changes, and answers that match the document.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { type Judge, readDocument, shownBody } from '../../../test/helpers/document.ts';
import { freePort } from '../../../test/helpers/ports.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	registerAccount,
	type SharedService,
	sharedService,
} from '../../../test/helpers/service.ts';
import { assertChangesOnly, assertVersioned } from '../../../test/helpers/versions.ts';

let service: SharedService;
let account: Account;
let judge: Judge;
let tools: string;
let origin: string;
const upstream = createServer((request, response) => {
	if (request.url === '/text') return void response.end('plain');
	if (request.url === '/huge') return void response.setHeader('content-type', 'application/json').end('{"size":1e400,"id":1}');
	if (request.url === '/echo') return void request.setEncoding('utf8').on('data', (sent) => response.end(sent));
	response.statusCode = request.url === '/broken' ? 500 : 200;
	response.setHeader('content-type', 'application/json').end('{"ok":true}');
});
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	judge = await readDocument(service.url);
	tools = `/organizations/${account.organization.id}/tools`;
	const port = await freePort();
	await new Promise<void>((resolve) => upstream.listen(port, '127.0.0.1', resolve));
	origin = `http://127.0.0.1:${port}`;
});
after(async () => {
	upstream.close();
	await service.stop();
});

const HTTP = { name: 'pet', type: 'http', executionConfig: { method: 'GET', url: 'https://pets.example.com/' } };

test('of fifty parallel changes of one version of a tool one succeeds, and the others are a 412', async () => {
	const created = must(await account.post(tools, HTTP), 201);
	await assertVersioned(account, `/tools/${created.body.data.id}`, created);
});

test('a change of a tool changes what it names, and nothing else', async () => {
	const { id } = must(await account.post(tools, { ...HTTP, description: 'first' }), 201).body.data;
	await assertChangesOnly(account, `/tools/${id}`, [
		{ name: 'dog' },
		{ description: '' },
		{ parameters: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] } },
		{ executionConfig: { method: 'POST', url: 'https://pets.example.com/{id}' } },
		{ status: 'inactive' },
		{ name: 'both', status: 'active' },
	]);
	for (const [field, body] of [
		['body', {}],
		['type', { type: 'http' }],
		['version', { version: 3 }],
		['status', { status: 'removed' }],
		['description', { description: null }],
	] as const) {
		const { status, body: answer } = await account.patch(`/tools/${id}`, body);
		assert.equal(status, 400, field);
		assert.match(answer.message, new RegExp(field));
	}
});

test('a stale If-Match is refused before anything is written, and a foreign tool stays a 404', async () => {
	const { id } = must(await account.post(tools, HTTP), 201).body.data;
	const stranger = await registerAccount(service.url);
	for (const tag of [`"1.${'x'.repeat(22)}"`, '*']) {
		assert.equal((await stranger.patch(`/tools/${id}`, { name: 'x' }, { 'if-match': tag })).status, 404);
		assert.equal((await stranger.del(`/tools/${id}`, undefined, { 'if-match': tag })).status, 404);
	}
	assert.equal(must(await account.get(`/tools/${id}`), 200).body.data.name, 'pet');
});

test('faults of a new tool are named by their location in the body', async () => {
	const wrong: [change: object, error: string, at: string][] = [
		[{ code: 'return 1' }, 'VALIDATION_FAILED', '/code'],
		[{ executionConfig: { method: 'GET', url: 'http://10.0.0.1/{id}' } }, 'EGRESS_REFUSED', '/executionConfig/url'],
		[{ type: 'graphql', executionConfig: { endpoint: 'http://10.0.0.1/', query: '{ a }' } }, 'EGRESS_REFUSED', '/executionConfig/endpoint'],
		[{ type: 'javascript', executionConfig: {}, code: undefined }, 'VALIDATION_FAILED', '/code'],
	];
	for (const [change, error, at] of wrong) {
		const { body } = must(await account.post(tools, { ...HTTP, ...change }), 400);
		assert.deepEqual([body.error, body.details[0].path], [error, at]);
	}
	const lower = { ...HTTP, executionConfig: { ...HTTP.executionConfig, method: 'get' } };
	const { details } = must(await account.post(tools, lower), 400).body;
	assert.deepEqual([details.length, details[0].path], [1, '/executionConfig/method'], 'one fault is told once');
	const { id } = must(await account.post(tools, HTTP), 201).body.data;
	assert.equal(must(await account.patch(`/tools/${id}`, { code: 'return 1' }), 400).body.details[0].path, '/code');
});

test('faults of arguments are named by their location in the body, which may be absent', async () => {
	const parameters = { type: 'object', properties: { id: { type: 'string' } } };
	const id = await createHttpTool(account, { name: 'strict', url: `${origin}/{id}`, parameters });
	const run = (body?: unknown) => account.post(`${tools}/${id}/execute`, body);
	for (const body of [{ parameters: { id: 7 } }, { parameters: { id: '..' } }, { parameters: {} }, {}, undefined])
		assert.equal(must(await run(body), 400).body.details[0].path, '/parameters/id', JSON.stringify(body));
	const easy = await createHttpTool(account, { name: 'easy', url: `${origin}/json` });
	assert.deepEqual(must(await account.post(`${tools}/${easy}/execute`), 200).body.data.result, { ok: true });
});

test('a number beyond a double is refused with its place, and in an answer it leaves a text', async () => {
	const id = await createHttpTool(account, { name: 'huge', url: `${origin}/huge` });
	for (const number of ['1e400', '-1.5E+999', `1${'0'.repeat(309)}`, `${'9'.repeat(300)}e10`]) {
		const { body } = must(await account.post(`${tools}/${id}/execute`, `{"parameters":{"a":[0,${number}]}}`), 400);
		assert.deepEqual(
			[body.details[0].path, body.message],
			['/parameters/a/1', '/parameters/a/1 is a number beyond 1.8e308, which no double holds.'],
		);
	}
	const { status, result } = must(await account.post(`${tools}/${id}/execute`), 200).body.data;
	assert.equal(status, 'success');
	assert.match(JSON.stringify(result), /1e400.*not read as data/);
});

test('a long integer reaches a tool with all its digits as a text, and is rounded where a number fits, and refused with its place where an integer does', async () => {
	const properties = { any: {}, text: { type: 'string' }, id: { type: 'integer' }, at: { type: ['number', 'null'], minimum: 1 } };
	const parameters = { type: 'object', properties };
	const id = await createHttpTool(account, { name: 'echo', method: 'POST', url: `${origin}/echo`, parameters });
	const run = (args: string) => account.post(`${tools}/${id}/execute`, `{"parameters":${args}}`);
	const args = '{"any":[1234567890123456789,1e21,9007199254740992],"text":-9007199254740993,"at":1764380000123456789}';
	const sent = must(await run(args), 200).body.data.result;
	const any = ['1234567890123456789', 1e21, 9007199254740992];
	assert.deepEqual(sent, { any, text: '-9007199254740993', at: Number('1764380000123456789') });
	assert.match(must(await run('{"at":-1764380000123456789}'), 400).body.details[0].message, /must be >= 1/);
	const { details } = must(await run('{"id":1234567890123456789}'), 400).body;
	assert.equal(details[0].path, '/parameters/id');
	assert.match(details[0].message, /must be integer, got string "1234567890123456789": a number with more digits than a double holds/);
	const bounds = '{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807,"default":9223372036854775807}}}';
	const bounded = `{"name":"bounded","type":"http","parameters":${bounds},"executionConfig":{"method":"GET","url":"https://pets.example.com/"}}`;
	assert.deepEqual(must(await account.post(tools, bounded), 201).body.data.parameters, JSON.parse(bounds));
});

test('answers are what the document says, from making a tool to removing it, and its examples pass', async () => {
	const told = (operation: string, answer: Answer) => {
		assert.equal(judge.fault(operation, answer), null, operation);
		assert.ok(answer.status < 300, `${operation}: ${JSON.stringify(answer.body)}`);
		return answer.body.data;
	};
	const { id } = told(
		'POST /organizations/{orgId}/tools',
		await account.post(tools, shownBody(judge, 'POST /organizations/{orgId}/tools')),
	);
	told('PATCH /tools/{id}', await account.patch(`/tools/${id}`, shownBody(judge, 'PATCH /tools/{id}')));
	told('GET /tools/{id}', await account.get(`/tools/${id}`));
	told('GET /organizations/{orgId}/tools', await account.get(`${tools}?limit=1`));
	told('DELETE /tools/{id}', await account.del(`/tools/${id}`));
	assert.equal(judge.fault('GET /tools/{id}', await account.get(`/tools/${id}`)), null);

	const execute = 'POST /organizations/{orgId}/tools/{id}/execute';
	const ran: [path: string, status: string, result: unknown][] = [
		['/json', 'success', { ok: true }],
		['/text', 'success', 'plain'],
		['/broken', 'failed', null],
	];
	for (const [path, status, result] of ran) {
		const tool = await createHttpTool(account, { name: 'run', url: origin + path });
		const run = told(execute, await account.post(`${tools}/${tool}/execute`, {}));
		assert.deepEqual([run.status, run.result], [status, result]);
	}
	const tool = await createHttpTool(account, {
		name: 'strict',
		url: `${origin}/json`,
		parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
	});
	told(execute, await account.post(`${tools}/${tool}/execute`, shownBody(judge, execute)));
	const refused = must(await account.post(`${tools}/${tool}/execute`, { parameters: { id: 7 } }), 400);
	assert.equal(judge.fault(execute, refused), null);
});

test('a tool has the annotations that its author gives it', async () => {
	const annotations = { title: 'A pet', readOnlyHint: true };
	const { id, annotations: shown } = must(await account.post(tools, { ...HTTP, annotations }), 201).body.data;
	assert.deepEqual(shown, annotations);
	const changed = must(await account.patch(`/tools/${id}`, { annotations: { destructiveHint: false } }), 200).body.data;
	assert.deepEqual(changed.annotations, { destructiveHint: false });
	for (const wrong of [{ title: 'two\nlines' }, { readOnlyHint: 1 }, { more: true }])
		assert.equal((await account.post(tools, { ...HTTP, annotations: wrong })).status, 400, JSON.stringify(wrong));
});
