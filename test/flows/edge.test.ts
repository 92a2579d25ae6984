// Tests the HTTP edge of the whole service, over real sockets: one error body, headers on every answer, CORS, deadlines.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { reservedSegments } from '../../core/http/reserved.ts';
import * as edge from '../catalog/edge.ts';
import * as wire from '../catalog/wire.ts';
import { managementRoutes } from '../helpers/routes.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { exchange } from '../helpers/wire.ts';

let service: TestService;
let account: Account;
/** The placeholders for ids in the catalog's requests, with their values. */
let ids: [placeholder: string, id: string][];
const warnings: string[] = [];
const onWarning = (warning: Error): void => void warnings.push(warning.message);
before(async () => {
	process.on('warning', onWarning);
	service = await startTestService();
	account = await registerAccount(service.url);
	const tool = await createHttpTool(account, { name: 'probe', url: 'https://example.com/' });
	const { id: gateway } = await publishGateway(account, { toolIds: [tool] });
	const api = must(await account.post('/apis', { name: 'a', type: 'openapi', baseUrl: 'https://example.com' }), 201).body.data.id;
	const { organization, gateway: ofGateway, tool: ofTool, api: ofApi } = edge.IDS;
	ids = [
		[organization, account.organization.id],
		[ofGateway, gateway],
		[ofTool, tool],
		[ofApi, api],
	];
});
after(async () => {
	process.off('warning', onWarning);
	await service.stop();
});

const filled = (text: string): string => ids.reduce((made, [placeholder, id]) => made.replaceAll(placeholder, id), text);

/** The headers of every answer of the service. */
const SECURITY_HEADERS = {
	'x-content-type-options': 'nosniff',
	'x-frame-options': 'DENY',
	'referrer-policy': 'no-referrer',
	'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};
/** Words that would reveal the service's components to outsiders. */
const INSIDES = /sequelize|postgres|\bselect\b|\binsert\b|\bjoi\b|node_modules|\.ts:\d|\bat \w+ \(|ECONN/i;

function assertOneBody({ status, headers, body }: Pick<Answer, 'status' | 'headers' | 'body'>): void {
	assert.equal(body.success, false);
	assert.equal(body.statusCode, status);
	assert.equal(body.requestId, headers.get('x-request-id'));
	assert.equal(typeof body.message, 'string');
	assert.doesNotMatch(body.message, INSIDES);
	assert.equal(headers.get('cache-control'), 'no-store');
	for (const [name, value] of Object.entries(SECURITY_HEADERS)) assert.equal(headers.get(name), value, name);
	if (status === 405) assert.notEqual(headers.get('allow'), null);
}

for (const { row, id, method = 'GET', path, body, headers = {}, status, error, names } of edge.INPUT_CASES) {
	test(`${row ?? 'the edge'}: ${id}: ${status} ${error} in the one error body`, async () => {
		const raw = body === undefined || Buffer.isBuffer(body) ? body : filled(typeof body === 'string' ? body : JSON.stringify(body));
		const given = { body: raw, headers: { authorization: `Bearer ${account.token}`, ...headers } };
		const answer = await send(service.url + filled(path), method, given);
		assert.equal(answer.status, status, JSON.stringify(answer.body).slice(0, 500));
		assert.equal(answer.body.error, error);
		assertOneBody(answer);
		if (names === undefined) return;
		const named = answer.body.details?.map((detail: { path: string }) => detail.path) ?? [];
		assert.ok(named.includes(names), `${names} is not among ${JSON.stringify(named)}`);
	});
}

for (const { row, id, bytes, status, next } of wire.WIRE_CASES) {
	test(`${row}: on the wire, ${id}: ${status ?? 'closed'}${next === undefined ? ', and nothing after it is processed' : ''}`, async () => {
		const { answers, closed } = await exchange(service.url, bytes.replaceAll(wire.TOKEN, account.token));
		const [first] = answers;
		const statuses = answers.map((answer) => answer.status);
		assert.deepEqual(
			statuses,
			[status, next].filter((each) => typeof each === 'number'),
			first?.body,
		);
		assert.ok(closed, 'the connection was left open');
		if (!first || first.status < 400) return;
		const body = JSON.parse(first.body);
		assertOneBody({ status: first.status, headers: new Headers([...first.headers]), body });
		assert.match(body.requestId, /^[0-9a-f-]{36}$/);
	});
}

test('33: smuggled requests would have had an effect, and had none', async () => {
	const endpoints = async (): Promise<string[]> =>
		must(await account.get('/gateways'), 200).body.data.gateways.map(({ endpoint }: { endpoint: string }) => endpoint);
	assert.ok(!(await endpoints()).includes(wire.SMUGGLED_ENDPOINT));
	const { answers } = await exchange(service.url, wire.SMUGGLED.replaceAll(wire.TOKEN, account.token), { enough: 1 });
	assert.equal(answers[0]?.status, 201);
	assert.ok((await endpoints()).includes(wire.SMUGGLED_ENDPOINT));
});

test('38: nothing got into the prototypes of this process', () => {
	for (const made of [{}, [], () => undefined, '', 0] as object[]) assert.equal(Reflect.get(Object(made), 'polluted'), undefined);
	assert.deepEqual(Object.keys(Object.prototype), []);
});

test('no warning was written: no listener leaked, nothing deprecated was reached', () => assert.deepEqual(warnings, []));

for (const [id, headers] of Object.entries({
	'no token': {},
	'another scheme': { authorization: 'Basic YTpi' },
	'no token after Bearer': { authorization: 'Bearer ' },
	'a broken token': { authorization: 'Bearer a.b.c' },
})) {
	test(`the management API answers 401 with a challenge to ${id}`, async () => {
		const answer = await send(`${service.url}/gateways`, 'GET', { headers: headers as Record<string, string> });
		assert.equal(answer.status, 401);
		assert.equal(answer.body.error, 'UNAUTHORIZED');
	});
}

test('a request id is echoed when it is a plain token, and minted when it is not', async () => {
	const echoed = await send(`${service.url}/health/live`, 'GET', { headers: { 'x-request-id': 'trace-1.2:3' } });
	assert.equal(echoed.headers.get('x-request-id'), 'trace-1.2:3');
	const minted = await send(`${service.url}/health/live`, 'GET', { headers: { 'x-request-id': '<script>' } });
	assert.match(minted.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
});

test('a body whose length is over the limit is refused before it is sent', async () => {
	const head = wire.lines(
		'POST /gateways HTTP/1.1',
		'host: x',
		`authorization: Bearer ${account.token}`,
		'content-type: application/json',
		'content-length: 300000000',
	);
	const { answers, closed } = await exchange(service.url, head);
	assert.equal(answers[0]?.status, 413);
	assert.ok(closed, 'the connection was left open');
});

test('a chunked body is counted while it comes, and refused with 413', async () => {
	const head = wire.lines(
		'POST /gateways HTTP/1.1',
		'host: x',
		`authorization: Bearer ${account.token}`,
		'content-type: application/json',
		'transfer-encoding: chunked',
	);
	const chunk = `80000\r\n${'x'.repeat(0x80000)}\r\n`;
	assert.equal((await exchange(service.url, head + chunk.repeat(4))).answers[0]?.status, 413);
});

test('a client that waits for “100 Continue” gets it before it sends its body, at a gateway as anywhere else', async () => {
	const tool = await createHttpTool(account, { name: 'waited', url: 'https://example.com/' });
	const { url, key } = await publishGateway(account, { toolIds: [tool] });
	for (const [to, body, headers] of [
		[url, '{"jsonrpc":"2.0","id":1,"method":"ping"}', { 'x-api-key': key, accept: 'application/json, text/event-stream' }],
		[`${service.url}/auth/login`, '{"email":"nobody@example.com","password":"x"}', {}],
	] as const) {
		const length = { 'content-length': String(body.length), 'content-type': 'application/json' };
		const sending = request(to, { method: 'POST', headers: { ...headers, ...length, expect: '100-continue' } });
		const answered = once(sending, 'response');
		sending.flushHeaders();
		await once(sending, 'continue');
		sending.end(body);
		const [answer] = await answered;
		assert.equal(answer.statusCode, to === url ? 200 : 401);
		answer.resume();
	}
});

test('a client that asks for a tunnel and resets the connection ends nothing; one that stays is left', async () => {
	const { hostname, port } = new URL(service.url);
	for (let attempt = 0; attempt < 10; attempt++) {
		const socket = connect(Number(port), hostname);
		socket.on('error', () => undefined);
		socket.write('CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n');
		await once(socket, 'data');
		socket.resetAndDestroy();
	}
	// An error that nobody hears would end this process.
	const staying = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
	staying.write('CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n');
	staying.resume();
	await once(staying, 'end');
	const left = new Promise((resolve) => staying.on('error', () => undefined).once('close', resolve));
	// Writing finds out that nobody reads any more.
	const writing = setInterval(() => staying.write('x'), 50);
	await left.finally(() => clearInterval(writing));
	assert.equal((await send(`${service.url}/health/live`, 'GET')).status, 200);
});

test('CORS of gateways: any page, without credentials; the preflight needs no caller', async () => {
	const preflight = await send(`${service.url}/acme/main`, 'OPTIONS', {
		headers: {
			origin: 'https://page.example',
			'access-control-request-method': 'POST',
			'access-control-request-headers': 'x-api-key, mcp-name',
		},
	});
	assert.equal(preflight.status, 204);
	assert.equal(preflight.headers.get('access-control-allow-origin'), '*');
	assert.equal(preflight.headers.get('access-control-allow-credentials'), null);
	assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /x-api-key/);
	const plain = await send(`${service.url}/acme/main`, 'OPTIONS', { headers: { origin: 'https://page.example' } });
	const allowed = plain.headers.get('access-control-allow-headers') ?? '';
	for (const name of ['x-api-key', 'mcp-session-id', 'authorization', 'last-event-id']) assert.match(allowed, new RegExp(name));
	const answer = await send(`${service.url}/acme/main`, 'GET', { headers: { origin: 'https://page.example' } });
	assert.match(answer.headers.get('access-control-expose-headers') ?? '', /mcp-session-id/);
});

test('the reserved list holds the first segment of every route, so that no organization takes it (decisions, 16)', () => {
	const own = managementRoutes(service);
	const reserved = reservedSegments();
	assert.ok(own.length > 30, 'the routes were found');
	const open = own.map(({ path }) => path.split('/')[1] ?? '').filter((segment) => !reserved.has(segment));
	assert.deepEqual(open, []);
});

test('no partial content is served: a Range header is ignored', async () => {
	const { status, headers } = await fetch(`${service.url}/openapi.json`, { headers: { range: 'bytes=0-9' } });
	assert.deepEqual([status, headers.get('content-range'), headers.get('accept-ranges')], [200, null, null]);
});

test('health: the figures of every part, and readiness', async () => {
	const health = await send(`${service.url}/health`, 'GET');
	assert.equal(health.status, 200);
	assert.deepEqual(Object.keys(health.body.data.checks), ['database', 'redis', 'disk', 'memory']);
	assert.equal(health.body.data.checks.redis.status, 'ok');
	assert.equal((await send(`${service.url}/health/ready`, 'GET')).status, 200);
	assert.equal((await send(`${service.url}/health/live`, 'GET')).status, 200);
});

test('rows 33 to 44 of the catalog are all here, with more than 120 cases', () => {
	const { INPUT_CASES, HOST_CASES, ORIGIN_CASES, CSRF_TYPES, CSRF_METHODS } = edge;
	const cases = [wire.WIRE_CASES, wire.SLOW_CASES, INPUT_CASES, HOST_CASES, ORIGIN_CASES, CSRF_TYPES].flat();
	const ofRows = cases.flatMap(({ row }) => row ?? []);
	assert.ok(ofRows.length >= 500, `${ofRows.length} cases`);
	const missing = Array.from({ length: 44 - 32 }, (_none, at) => at + 33).filter((row) => !ofRows.includes(row));
	assert.deepEqual([missing, CSRF_METHODS.length > 0], [[], true]);
	const named = [wire.WIRE_CASES, wire.SLOW_CASES, INPUT_CASES, HOST_CASES, ORIGIN_CASES].flat().map(({ row, id }) => `${row} ${id}`);
	assert.deepEqual(
		named.filter((name, at) => named.indexOf(name) !== at),
		[],
	);
});
