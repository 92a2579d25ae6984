// The HTTP edge of the whole service, over real sockets: one error body, headers on every answer, CORS, deadlines.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { isReserved } from '../../core/reserved.ts';
import { type Account, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let account: Account;
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

/** Bytes as they are; what came back before the other side closed. */
function exchange(bytes: string | Buffer, { waitMs = 2000 } = {}): Promise<string> {
	const { hostname, port } = new URL(service.url);
	return new Promise((resolve, reject) => {
		const socket = connect(Number(port), hostname);
		let answer = '';
		const timer = setTimeout(() => socket.destroy(), waitMs);
		socket.on('data', (chunk) => {
			answer += chunk.toString();
		});
		socket.on('error', reject);
		socket.on('close', () => {
			clearTimeout(timer);
			resolve(answer);
		});
		socket.write(bytes);
	});
}

const lines = (...parts: string[]): string => `${parts.join('\r\n')}\r\n\r\n`;

interface Case {
	id: string;
	method?: string;
	path: string;
	body?: unknown;
	headers?: Record<string, string>;
	status: number;
	error: string;
	/** A path that `details` must name. */
	names?: string;
}

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const GATEWAY = { name: 'g', type: 'mcp', endpoint: '/g' };

const CASES: Case[] = [
	{ id: 'unknown route', path: '/nothing', status: 404, error: 'NOT_FOUND' },
	{ id: 'root', path: '/', status: 404, error: 'NOT_FOUND' },
	{ id: 'mistyped management path', path: '/health/zz', status: 404, error: 'NOT_FOUND' },
	{ id: 'reserved first segment in capitals', path: '/Gateways/x', status: 404, error: 'NOT_FOUND' },
	{ id: 'first segment with a dot', path: '/.env/x', status: 404, error: 'NOT_FOUND' },
	{ id: 'first segment with @', path: '/@acme/x', status: 404, error: 'NOT_FOUND' },
	{ id: 'wrong method of a management path', method: 'PUT', path: '/gateways/1', status: 405, error: 'METHOD_NOT_ALLOWED' },
	{
		id: 'TRACE is refused by the parser of fetch, PROPFIND here',
		method: 'PROPFIND',
		path: '/gateways',
		status: 405,
		error: 'METHOD_NOT_ALLOWED',
	},
	{ id: 'unknown gateway', method: 'POST', path: '/nobody/nothing', status: 404, error: 'NOT_FOUND' },
	{ id: 'well-known of an unknown gateway', path: '/.well-known/oauth-protected-resource/nobody/nothing', status: 404, error: 'NOT_FOUND' },
	{ id: 'malformed JSON', method: 'POST', path: '/gateways', body: '{"name":', status: 400, error: 'VALIDATION_FAILED' },
	{ id: 'no body', method: 'POST', path: '/gateways', status: 400, error: 'VALIDATION_FAILED' },
	{ id: 'an array for a body', method: 'POST', path: '/gateways', body: [], status: 400, error: 'VALIDATION_FAILED' },
	{ id: 'a string for a body', method: 'POST', path: '/gateways', body: '"x"', status: 400, error: 'VALIDATION_FAILED' },
	{
		id: 'unknown field',
		method: 'POST',
		path: '/gateways',
		body: { ...GATEWAY, owner: 1 },
		status: 400,
		error: 'VALIDATION_FAILED',
		names: '/owner',
	},
	{
		id: 'mass assignment',
		method: 'POST',
		path: '/gateways',
		body: { ...GATEWAY, organizationId: 'x' },
		status: 400,
		error: 'VALIDATION_FAILED',
		names: '/organizationId',
	},
	{
		id: 'wrong type',
		method: 'POST',
		path: '/gateways',
		body: { ...GATEWAY, name: 7 },
		status: 400,
		error: 'VALIDATION_FAILED',
		names: '/name',
	},
	{
		id: 'object for a string',
		method: 'POST',
		path: '/gateways',
		body: { ...GATEWAY, name: { like: '%' } },
		status: 400,
		error: 'VALIDATION_FAILED',
		names: '/name',
	},
	{
		id: 'unknown gateway type',
		method: 'POST',
		path: '/gateways',
		body: { ...GATEWAY, type: 'ftp' },
		status: 400,
		error: 'VALIDATION_FAILED',
		names: '/type',
	},
	{
		id: 'two segments for an endpoint',
		method: 'POST',
		path: '/gateways',
		body: { ...GATEWAY, endpoint: '/a/b' },
		status: 400,
		error: 'VALIDATION_FAILED',
		names: '/endpoint',
	},
	{
		id: 'NUL in a string',
		method: 'POST',
		path: '/gateways',
		body: { ...GATEWAY, name: 'a\0b' },
		status: 400,
		error: 'VALIDATION_FAILED',
		names: '/name',
	},
	{ id: 'NUL in a key', method: 'POST', path: '/gateways', body: { ...GATEWAY, 'a\0b': 1 }, status: 400, error: 'VALIDATION_FAILED' },
	{
		id: 'lone surrogate',
		method: 'POST',
		path: '/gateways',
		body: '{"name":"\\ud800","type":"mcp","endpoint":"/g"}',
		status: 400,
		error: 'VALIDATION_FAILED',
		names: '/name',
	},
	{
		id: '__proto__',
		method: 'POST',
		path: '/gateways',
		body: '{"__proto__":{"a":1},"name":"g","type":"mcp","endpoint":"/g"}',
		status: 400,
		error: 'VALIDATION_FAILED',
	},
	{
		id: '__proto__ escaped',
		method: 'POST',
		path: '/gateways',
		body: '{"\\u005f_proto__":{"a":1}}',
		status: 400,
		error: 'VALIDATION_FAILED',
	},
	{
		id: 'constructor.prototype',
		method: 'POST',
		path: '/gateways',
		body: { ...GATEWAY, constructor: { prototype: {} } },
		status: 400,
		error: 'VALIDATION_FAILED',
	},
	{
		id: '400,000 levels of JSON',
		method: 'POST',
		path: '/gateways',
		body: `{"name":"g","configuration":${deep(400_000)}}`,
		status: 400,
		error: 'VALIDATION_FAILED',
	},
	{
		id: '65 levels of JSON',
		method: 'POST',
		path: '/gateways',
		body: `{"name":"g","type":"mcp","endpoint":"/g","configuration":{"a":${deep(65)}}}`,
		status: 400,
		error: 'VALIDATION_FAILED',
	},
	{
		id: '2 MB body',
		method: 'POST',
		path: '/gateways',
		body: JSON.stringify({ name: 'x'.repeat(2_000_000) }),
		status: 413,
		error: 'PAYLOAD_TOO_LARGE',
	},
	{
		id: 'text/plain body',
		method: 'POST',
		path: '/gateways',
		body: '{}',
		headers: { 'content-type': 'text/plain' },
		status: 415,
		error: 'UNSUPPORTED_MEDIA_TYPE',
	},
	{ id: 'unknown query parameter', path: '/gateways?order=name', status: 400, error: 'VALIDATION_FAILED', names: 'query/order' },
	{ id: 'repeated query parameter', path: '/gateways?limit=1&limit=2', status: 400, error: 'VALIDATION_FAILED', names: 'query/limit' },
	{ id: 'limit over 100', path: '/gateways?limit=101', status: 400, error: 'VALIDATION_FAILED', names: 'query/limit' },
	{ id: 'a cursor that is not ours', path: '/gateways?cursor=x', status: 400, error: 'VALIDATION_FAILED', names: 'query/cursor' },
	{ id: 'an id that is no UUID', path: "/gateways/1'%20or%20'1'='1", status: 404, error: 'NOT_FOUND' },
	{ id: 'NUL in a path', path: '/gateways/%00', status: 400, error: 'VALIDATION_FAILED' },
	{ id: 'broken percent-encoding', path: '/gateways/%E0%A4%A', status: 400, error: 'VALIDATION_FAILED' },
	{ id: 'organization header of nobody', path: '/gateways', headers: { 'x-organization-id': 'x' }, status: 400, error: 'NO_ORGANIZATION' },
	{
		id: 'empty change',
		method: 'PATCH',
		path: '/gateways/00000000-0000-4000-8000-000000000000',
		body: {},
		status: 400,
		error: 'VALIDATION_FAILED',
	},
];

for (const { id, method = 'GET', path, body, headers = {}, status, error, names } of CASES) {
	test(`${id}: ${status} ${error} in the one error body`, async () => {
		const answer = await send(service.url + path, method, { body, headers: { authorization: `Bearer ${account.token}`, ...headers } });
		assert.equal(answer.status, status, JSON.stringify(answer.body).slice(0, 500));
		assert.equal(answer.body.success, false);
		assert.equal(answer.body.error, error);
		assert.equal(answer.body.statusCode, status);
		assert.equal(answer.body.requestId, answer.headers.get('x-request-id'));
		assert.equal(typeof answer.body.message, 'string');
		assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
		if (names)
			assert.ok(
				answer.body.details.some((detail: { path: string }) => detail.path === names),
				JSON.stringify(answer.body.details),
			);
		if (status === 405) assert.ok(answer.headers.get('allow'));
	});
}

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
	const head = lines(
		'POST /gateways HTTP/1.1',
		'host: x',
		`authorization: Bearer ${account.token}`,
		'content-type: application/json',
		'content-length: 300000000',
	);
	const started = performance.now();
	const answer = await exchange(head, { waitMs: 3000 });
	assert.match(answer, /^HTTP\/1\.1 413 /);
	assert.ok(performance.now() - started < 2500, 'the connection was closed');
});

test('a chunked body is counted while it comes, and refused with 413', async () => {
	const head = lines(
		'POST /gateways HTTP/1.1',
		'host: x',
		`authorization: Bearer ${account.token}`,
		'content-type: application/json',
		'transfer-encoding: chunked',
	);
	const chunk = `80000\r\n${'x'.repeat(0x80000)}\r\n`;
	assert.match(await exchange(head + chunk.repeat(4)), /^HTTP\/1\.1 413 /);
});

const RAW: [id: string, bytes: string, status: RegExp][] = [
	[
		'Content-Length beside Transfer-Encoding',
		lines('POST /gateways HTTP/1.1', 'host: x', 'content-length: 5', 'transfer-encoding: chunked'),
		/^HTTP\/1\.1 400 /,
	],
	['two Content-Lengths', lines('POST /gateways HTTP/1.1', 'host: x', 'content-length: 5', 'content-length: 6'), /^HTTP\/1\.1 400 /],
	[
		'an unknown transfer coding before chunked',
		`${lines('POST /gateways HTTP/1.1', 'host: x', 'transfer-encoding: xchunked, chunked')}0\r\n\r\n`,
		/^HTTP\/1\.1 (400|501) /,
	],
	['a header of 20 KB', lines('GET /health HTTP/1.1', 'host: x', `x-long: ${'a'.repeat(20_000)}`), /^HTTP\/1\.1 431 /],
	['a space before the colon', lines('GET /health HTTP/1.1', 'host: x', 'x-odd : 1'), /^HTTP\/1\.1 400 /],
	['TRACE', lines('TRACE /acme/main HTTP/1.1', 'host: x', 'connection: close'), /^HTTP\/1\.1 405 /],
	['no HTTP at all', 'hello\r\n\r\n', /^HTTP\/1\.1 400 /],
];

for (const [id, bytes, status] of RAW) {
	test(`the wire: ${id} is answered ${status.source} with our body`, async () => {
		const answer = await exchange(bytes);
		assert.match(answer, status);
		assert.match(answer, /"success":false/);
	});
}

test('headers that never end are cut off', async () => {
	const started = performance.now();
	const answer = await exchange('GET /health HTTP/1.1\r\nhost: x\r\nx-slow: ', { waitMs: 9000 });
	assert.match(answer, /^HTTP\/1\.1 408 /);
	assert.ok(performance.now() - started < 8000);
});

test('CORS of the management API: FRONTEND_URL with credentials, nobody else', async () => {
	const friend = await send(`${service.url}/gateways`, 'GET', { headers: { origin: service.config.frontendUrl } });
	assert.equal(friend.headers.get('access-control-allow-origin'), service.config.frontendUrl);
	assert.equal(friend.headers.get('access-control-allow-credentials'), 'true');
	for (const origin of ['https://evil.example', 'null', `${service.config.frontendUrl}.evil.example`]) {
		const stranger = await send(`${service.url}/gateways`, 'GET', { headers: { origin } });
		assert.equal(stranger.headers.get('access-control-allow-origin'), null, origin);
		const preflight = await send(`${service.url}/gateways`, 'OPTIONS', { headers: { origin, 'access-control-request-method': 'POST' } });
		assert.equal(preflight.headers.get('access-control-allow-origin'), null, origin);
	}
	const preflight = await send(`${service.url}/gateways`, 'OPTIONS', {
		headers: { origin: service.config.frontendUrl, 'access-control-request-method': 'POST' },
	});
	assert.equal(preflight.status, 204);
	assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /POST/);
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
});

test('the reserved list holds the first segment of every route, so that no organization takes it (decisions, 16)', () => {
	const own = service.server.table().filter(({ path }) => !path.startsWith('/{org}') && !path.startsWith('/.well-known'));
	assert.ok(own.length > 30, 'the routes were found');
	const open = own.map(({ path }) => path.split('/')[1] ?? '').filter((segment) => !isReserved(segment));
	assert.deepEqual(open, []);
});

test('health: the figures of every part, and readiness', async () => {
	const health = await send(`${service.url}/health`, 'GET');
	assert.equal(health.status, 200);
	assert.deepEqual(Object.keys(health.body.data.checks), ['database', 'redis', 'disk', 'memory']);
	assert.equal(health.body.data.checks.redis.status, 'ok');
	assert.equal((await send(`${service.url}/health/ready`, 'GET')).status, 200);
	assert.equal((await send(`${service.url}/health/live`, 'GET')).status, 200);
});
