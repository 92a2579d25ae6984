// Tests of management routes of an auth plugin that take bodies, here one from an npm package: they are operations like those of core.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addMember } from '../../../test/helpers/members.ts';
import { type InstalledPackages, installPackages } from '../../../test/helpers/packages.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';

const WORD = 'a word that nobody else knows';

let packages: InstalledPackages;
let service: TestService;
let account: Account;
let viewer: Account;
let gateway: { id: string; url: string };
const lines: string[] = [];

before(async () => {
	packages = installPackages('guestbook-plugin');
	service = await startTestService({ env: { GATEWAY_PLUGINS: packages.names.join(',') }, onLog: (line) => lines.push(line) });
	account = await registerAccount(service.url, 'Acme');
	viewer = await addMember(account, 'viewer');
	gateway = await publishGateway(account, { auth: 'guestbook', endpoint: '/main' });
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
});

const at = (rest = ''): string => `/gateways/${gateway.id}/guests${rest}`;
const inAcme = () => ({ 'x-organization-id': account.organization.id });
const put = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
	send(service.url + path, 'PUT', { body, headers: { authorization: `Bearer ${account.token}`, ...headers } });
const add = (name: string, more: object = {}): Promise<Answer> => account.post(at(), { name, word: WORD, ...more });
const etagOf = ({ headers }: Answer): string => headers.get('etag') ?? '';

/** Calls the gateway as a guest. */
const enter = (guest: string, word: string): Promise<Answer> =>
	send(gateway.url, 'POST', {
		body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
		headers: { 'x-guest': guest, 'x-word': word, accept: 'application/json, text/event-stream' },
	});

test('a POST creates with 201 and the defaults of its schema, and takes effect; an action answers 200', async () => {
	assert.deepEqual(must(await add('ada'), 201).body.data, { name: 'ada', seats: 1 });
	must(await enter('ada', WORD), 200);
	must(await enter('ada', 'another word'), 401);
	assert.deepEqual(must(await account.post(at('/ada/greet')), 200).body.data, { greeting: 'Welcome, ada.' });
	assert.equal((await add('ada')).status, 409);
	assert.equal((await account.post(at('/nobody/greet'))).status, 404);
});

const BAD: [title: string, body: unknown, paths: string[]][] = [
	['no body', undefined, ['']],
	['null', null, ['']],
	['a list', [], ['']],
	['a text', '"bob"', ['']],
	['no fields', {}, ['/name', '/word']],
	['a field of its own', { name: 'bob', word: WORD, admin: true }, ['/admin']],
	['a number in words', { name: 'bob', word: WORD, seats: '2' }, ['/seats']],
	['several faults', { name: 'BOB', word: 'short', seats: 0 }, ['/name', '/word', '/seats']],
	['a NUL', { name: 'bob', word: 'open\0sesame' }, ['/word']],
];
for (const [title, body, paths] of BAD) {
	test(`a body with ${title} is a 400 that names each field, and shows no value`, async () => {
		const answer = must(await account.post(at(), body), 400);
		assert.equal(answer.body.error, 'VALIDATION_FAILED');
		assert.deepEqual(
			answer.body.details.map(({ path }: { path: string }) => path),
			paths,
		);
		assert.doesNotMatch(JSON.stringify(answer.body), /short|sesame|nobody else/);
	});
}

test('a body of another type is a 415, one that is too large a 413, no JSON a 400', async () => {
	const headers = { authorization: `Bearer ${account.token}` };
	const typed = { ...headers, 'content-type': 'text/plain' };
	must(await send(service.url + at(), 'POST', { body: '{"name":"bob"}', headers: typed }), 415);
	must(await add('bob', { word: 'x'.repeat(1_100_000) }), 413);
	must(await account.post(at(), '{"name":'), 400);
});

test('writing requires gateway:write, in the organization that has the gateway, and the query is checked', async () => {
	must(await add('cleo', { seats: 3 }), 201);
	const stranger = await registerAccount(service.url);
	const body = { name: 'dan', word: WORD };
	assert.equal((await viewer.post(at(), body, inAcme())).status, 403);
	assert.equal((await stranger.post(at(), body)).status, 404);
	assert.equal((await send(service.url + at(), 'POST', { body })).status, 401);
	assert.equal((await put(at('/cleo'), { word: WORD }, { authorization: `Bearer ${stranger.token}` })).status, 404);
	const { guests } = must(await viewer.get(at('?seats=3'), inAcme()), 200).body.data;
	assert.deepEqual(guests, [{ name: 'cleo', seats: 3 }]);
	for (const bad of ['?seats=0', '?seats=x', '?places=1', '?limit=0']) assert.equal((await account.get(at(bad))).status, 400, bad);
	assert.equal((await account.patch(at('/cleo'), {})).status, 405);
});

test('If-Match holds for PUT and DELETE, and every answer has the ETag for the next', async () => {
	must(await add('eve'), 201);
	const shown = must(await account.get(at('/eve')), 200);
	assert.match(etagOf(shown), /^"\d+\.[\w-]{22}"$/);
	const notModified = await account.get(at('/eve'), { 'if-none-match': etagOf(shown) });
	assert.equal(notModified.status, 304);
	const changed = must(await put(at('/eve'), { word: WORD, seats: 2 }, { 'if-match': etagOf(shown) }), 200);
	assert.deepEqual(changed.body.data, { name: 'eve', seats: 2 });
	assert.notEqual(etagOf(changed), etagOf(shown));
	must(await put(at('/eve'), { word: WORD, seats: 9 }, { 'if-match': etagOf(shown) }), 412);
	must(await put(at('/eve'), { word: WORD, seats: 9 }, { 'if-match': '"x"' }), 412);
	assert.equal((await account.del(at('/eve'), undefined, { 'if-match': etagOf(shown) })).status, 412);
	assert.equal(must(await account.get(at('/eve')), 200).body.data.seats, 2);
	must(await account.del(at('/eve'), undefined, { 'if-match': etagOf(changed) }), 200);
	assert.equal((await put(at('/eve'), { word: WORD })).status, 404);
});

test('of changes at once under one ETag, one is made', async () => {
	must(await add('fay'), 201);
	const tag = { 'if-match': etagOf(must(await account.get(at('/fay')), 200)) };
	const answers = await Promise.all([2, 3, 4, 5].map((seats) => put(at('/fay'), { word: WORD, seats }, tag)));
	assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412, 412, 412]);
});

test('a POST is repeated under its Idempotency-Key, another body refused', async () => {
	const key = { 'idempotency-key': 'guest-1' };
	const body = { name: 'gil', word: WORD };
	const first = must(await account.post(at(), body, key), 201);
	const second = must(await account.post(at(), body, key), 201);
	assert.deepEqual(second.body, first.body);
	assert.equal(second.headers.get('idempotency-replayed'), 'true');
	assert.equal((await account.post(at(), { ...body, seats: 2 }, key)).status, 422);
});

test('all changes are in the audit log with their author, and neither there nor in the log is a word', async () => {
	must(await add('hal'), 201);
	must(await put(at('/hal'), { word: WORD, seats: 4 }), 200);
	must(await account.del(at('/hal')), 200);
	const { entries } = must(await account.get('/audit-log?resourceType=guest&limit=100'), 200).body.data;
	const told = entries
		.filter(({ resourceName }: { resourceName: string }) => resourceName === 'hal')
		.map(({ action, actor }: { action: string; actor: { email: string } | null }) => [action, actor?.email ?? null]);
	assert.deepEqual(told.sort(), [
		['create', account.email],
		['delete', account.email],
		['update', account.email],
	]);
	assert.ok(!JSON.stringify(entries).includes(WORD) && !lines.join('').includes(WORD));
});

test('the document describes bodies, statuses and headers; a secret is writeOnly and has no example', async () => {
	const { paths } = must(await send(`${service.url}/openapi.json`, 'GET'), 200).body;
	const { get, post } = paths['/gateways/{id}/guests'];
	const one = paths['/gateways/{id}/guests/{name}'];
	const { schema } = post.requestBody.content['application/json'];
	assert.deepEqual(schema.properties.word, {
		type: 'string',
		minLength: 8,
		maxLength: 100,
		description: 'What the guest says.',
		writeOnly: true,
	});
	assert.deepEqual([schema.required, schema.additionalProperties, post.requestBody.required], [['name', 'word'], false, true]);
	assert.ok(post.responses['201'] && post.responses['409'] && !post.responses['200']);
	assert.ok(paths['/gateways/{id}/guests/{name}/greet'].post.responses['200']);
	const parameters = ({ parameters: list }: { parameters: object[] }): string => JSON.stringify(list);
	assert.match(parameters(post), /IdempotencyKey/);
	assert.match(parameters(one.put), /IfMatch/);
	assert.match(parameters(one.delete), /IfMatch/);
	assert.match(parameters(get), /"seats".*limit|limit.*"seats"/);
	assert.match(post.description, /gateway:write/);
});

test('a page may send and read the headers that the method declares', async () => {
	const headers = { origin: 'https://page.example', 'access-control-request-method': 'POST' };
	const { headers: told } = await send(gateway.url, 'OPTIONS', { headers });
	assert.match(told.get('access-control-allow-headers') ?? '', /x-guest, x-word/);
	assert.match(told.get('access-control-expose-headers') ?? '', /x-seats/);
});
