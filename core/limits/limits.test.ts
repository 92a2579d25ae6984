// The windows that a request counts in, and for whom: a server without gateways, whose only routes are those with windows of their own, so that
// every path is counted by its address.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Server, ServerInjectResponse } from '@hapi/hapi';
import { ROUTE_WINDOWS } from '../../test/catalog/limits.ts';
import { spanOf } from '../../test/helpers/clock.ts';
import { freePort } from '../../test/helpers/ports.ts';
import { silent } from '../../test/helpers/silent.ts';
import { loadConfig } from '../config/config.ts';
import { GatewayError } from '../contract/errors.ts';
import type { GatewayRoute } from '../contract/kinds.ts';
import { reservedSegments } from '../http/reserved.ts';
import { createServer } from '../server.ts';
import { joinReplicas } from '../shared/presence.ts';
import { createShared } from '../shared/redis.ts';
import { gatewayRouteLimits } from './classes.ts';
import { createLimits, type Limits } from './limits.ts';
import { type LimitTable, limitTable } from './table.ts';
import { createWindows } from './windows.ts';

const REAL = limitTable({ rateLimit: { max: 100, windowSeconds: 60 } });
const of = (max: number) => ({ max, seconds: 60 });
const SMALL: LimitTable = { ...REAL, global: of(3), gateways: of(3), routes: {} };

const AT_GATEWAYS = 'POST /:org/:gw/register';
const OWN = Object.entries(ROUTE_WINDOWS)
	.filter(([name]) => name !== AT_GATEWAYS)
	.map(([name, window]) => [...(name.split(' ') as ['GET' | 'POST', string]), window] as const);
const GATEWAY_ROUTES: GatewayRoute[] = [
	{
		method: 'POST',
		path: '/register',
		limit: ROUTE_WINDOWS[AT_GATEWAYS] ?? assert.fail(),
		handler: () => assert.fail('there is no gateway'),
	},
];

interface Options {
	table?: LimitTable;
	trustProxy?: string;
	onLog?: (fields: object) => void;
}

const start = async (t: TestContext, options: Options = {}): Promise<Server> => (await startWith(t, options)).server;

async function startWith(t: TestContext, { table = REAL, trustProxy = '', onLog }: Options): Promise<{ server: Server; limits: Limits }> {
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-limits-'));
	const config = loadConfig({ SVC_DATA_DIR: folder, PORT: String(await freePort()), TRUST_PROXY: trustProxy });
	const shared = await createShared(null, silent);
	const windows = createWindows(shared, await joinReplicas(shared, 'one'), silent);
	const log = onLog ? { ...silent, info: onLog } : silent;
	const gatewayRoutes = gatewayRouteLimits([{ routes: GATEWAY_ROUTES }]);
	const limits = createLimits(table, windows, config, { gatewayRoutes });
	const server = createServer({
		config,
		log,
		limits,
		reserved: reservedSegments(),
		store: { deadline: () => ({ leftMs: 2000, allMs: 2000 }) },
	});
	for (const [method, path, ownLimit] of OWN)
		server.route({ method, path, handler: () => null, options: { plugins: { ownLimit }, auth: false } });
	t.after(async () => {
		await server.stop();
		windows.close();
		rmSync(folder, { recursive: true, force: true });
	});
	return { server, limits };
}

interface From {
	method?: string;
	remoteAddress?: string;
	headers?: Record<string, string>;
}

const ask = (server: Server, url: string, from: From = {}): Promise<ServerInjectResponse> => server.inject({ method: 'GET', url, ...from });

const limitOf = ({ headers }: ServerInjectResponse): number | undefined => {
	const value = headers['x-ratelimit-limit'];
	return value === undefined ? undefined : Number(value);
};

/** Returns the remaining requests of the last request's window. */
async function remainingAfter(server: Server, urls: string[], from: From = {}): Promise<number> {
	let last: ServerInjectResponse | undefined;
	for (const url of urls) last = await ask(server, url, from);
	return Number(last?.headers['x-ratelimit-remaining']);
}

test('each path counts in the window of its category, all others in the global one (8.1)', async (t) => {
	const server = await start(t);
	const expected: Record<string, number> = {
		'/auth/profile': 10,
		'/auth': 10,
		'/apis': 120,
		'/apis/1/operations': 120,
		'/tools/1': 120,
		'/gateways/1/tools/bulk': 120,
		'/agents': 100,
		'/agents/1': 100,
		'/agents/1/invoke': 60,
		'/agents/1/invoke/more': 100,
		'/agents/1/v1/chat/completions': 60,
		'/agents/1/v1/models': 100,
		'/mcp': 300,
		'/a2a/x': 300,
		'/utcp': 300,
		'/.well-known/x/utcp': 300,
		'/.well-known/x/apis': 100,
		'/.well-known/oauth-protected-resource/mcp': 300,
		'/.well-known/oauth-protected-resource/acme/main': 300,
		'/.well-known/oauth-protected-resource': 100,
		'/acme/main': 300,
		'/acme/main/.well-known/oauth-protected-resource': 300,
		'/acme/main/authorize': 300,
		'/analytics/usage': 30,
		'/organizations/1/tools': 100,
		'/access-keys': 100,
		'/audit-log': 100,
		'/plugins': 100,
		'/': 100,
		'/nothing': 100,
	};
	const shown: Record<string, number | undefined> = {};
	for (const path of Object.keys(expected)) shown[path] = limitOf(await ask(server, path));
	assert.deepEqual(shown, expected);
	const runs = ['/agents/1/invoke', '/agents/2/v1/chat/completions'];
	assert.equal(await remainingAfter(server, runs, { remoteAddress: '192.0.2.7' }), 58);
});

test('a route with a limit class counts in it alone, under any path and per caller', async (t) => {
	const server = await start(t);
	const plugins = { limitClass: { name: 'class:hooks:deliveries', max: 3, seconds: 60 } };
	for (const path of ['/apis/hooks', '/hooks/{id}'])
		server.route({ method: 'GET', path, handler: () => null, options: { plugins, auth: false } });
	assert.equal(await remainingAfter(server, ['/apis/hooks', '/hooks/1']), 1);
	assert.equal(limitOf(await ask(server, '/hooks/1')), 3);
	const refused = await ask(server, '/hooks/2');
	assert.deepEqual([refused.statusCode, refused.headers['x-ratelimit-remaining']], [429, '0']);
	assert.equal((await ask(server, '/hooks/1', { remoteAddress: '192.0.2.7' })).statusCode, 204);
	assert.equal(await remainingAfter(server, ['/apis']), 119);
});

test('health has no limit and no limit headers (4.8)', async (t) => {
	const server = await start(t);
	for (const path of ['/health', '/health/live', '/health/ready', '/health?x=1', '/health/']) {
		const names = Object.keys((await ask(server, path)).headers).filter((name) => name.startsWith('x-ratelimit'));
		assert.deepEqual(names, [], path);
	}
});

test('the windows of 8.2 apply in addition, and the headers show the one with the least left', async (t) => {
	const server = await start(t);
	const post = { method: 'POST' };
	assert.equal(limitOf(await ask(server, '/auth/forgot-password', post)), 5);
	assert.equal(limitOf(await ask(server, '/acme/main/register', post)), 10);
	assert.equal(limitOf(await ask(server, '/other/gateway/register', post)), 10, 'of all gateways that there are not together');
	assert.equal(await remainingAfter(server, ['/acme/main/register'], post), 7);
	assert.equal(limitOf(await ask(server, '/acme/main/register')), 300, 'another method is another route');
	const table = { ...REAL, routes: { 'GET /auth/check-organization-name': of(5) } };
	const strict = await start(t, { table });
	assert.equal(await remainingAfter(strict, ['/auth/check-organization-name', '/auth/check-organization-name?name=x']), 3);
	assert.equal(await remainingAfter(strict, ['/auth/check-organization-name'], { method: 'HEAD' }), 2, 'HEAD is GET');
});

test('every number of 8.2 can be used up, without counting in the category’s window', async (t) => {
	const server = await start(t);
	for (const [at, [route, { max }]] of Object.entries(ROUTE_WINDOWS).entries()) {
		const [method = '', path = ''] = route.replace('/:org/:gw', '/acme/main').split(' ');
		const from: From = { method, remoteAddress: `10.1.0.${at}` };
		for (let tries = 0; tries < max; tries++) assert.notEqual((await ask(server, path, from)).statusCode, 429, `${route}: ${tries}`);
		const refused = await ask(server, path, from);
		assert.deepEqual([refused.statusCode, limitOf(refused)], [429, max], route);
		assert.equal(await remainingAfter(server, ['/auth/profile'], { ...from, method: 'GET' }), 9, route);
	}
});

test('with two full windows, a client that waits as told is admitted', async (t) => {
	const server = await start(t, { table: { ...REAL, global: of(10) } });
	const logIn = (): Promise<ServerInjectResponse> => ask(server, '/auth/login', { method: 'POST' });
	for (let tries = 0; tries < 10; tries++) await logIn();
	const { value, toMs } = await spanOf(logIn);
	assert.ok(Number(value.headers['retry-after']) > 240, 'five minutes of the route, not one of the global window');
	assert.ok(Number(value.headers['x-ratelimit-reset']) - toMs / 1000 > 240);
});

test('a window of 8.2 has the length of its definition', async (t) => {
	const server = await start(t);
	for (let tries = 0; tries < 5; tries++) await ask(server, '/auth/forgot-password', { method: 'POST' });
	const refused = await ask(server, '/auth/forgot-password', { method: 'POST' });
	assert.equal(refused.statusCode, 429);
	assert.ok(Math.abs(Number(refused.headers['retry-after']) - 3600) <= 1);
});

test('a path has one bucket whatever its case, slashes, query and encoding (83)', async (t) => {
	const spellings = ['/auth/login', '/AUTH/Login', '//auth//login', '/auth/login/', '/auth/login//', '/auth/login?a=1', '/%61uth/login'];
	const server = await start(t);
	assert.equal(await remainingAfter(server, spellings, { method: 'POST' }), 10 - spellings.length);
	const gateways = ['/acme/main', '/ACME/main', '/acme//main', '/acme/main/', '/acme/main?api_key=x', '/acme/other', '/else/where/deep'];
	assert.equal(await remainingAfter(server, gateways), 300 - gateways.length, 'made-up gateways bring no fresh window');
});

test('categories are independent of each other and from the global window', async (t) => {
	const server = await start(t);
	assert.equal(await remainingAfter(server, ['/apis', '/apis/1', '/apis']), 117);
	assert.equal(await remainingAfter(server, ['/tools', '/agents', '/agents/1']), 98);
});

test('each address has its own windows; X-Forwarded-For counts only from trusted proxies', async (t) => {
	const direct = await start(t);
	const forwarded = (address: string, remoteAddress = '10.0.0.1'): From => ({ remoteAddress, headers: { 'x-forwarded-for': address } });
	assert.equal(await remainingAfter(direct, ['/x', '/x'], forwarded('1.2.3.4')), 98);
	assert.equal(await remainingAfter(direct, ['/x'], forwarded('5.6.7.8')), 97, 'the header is the client’s own');
	assert.equal(await remainingAfter(direct, ['/x'], { remoteAddress: '10.0.0.2' }), 99);
	const behind = await start(t, { trustProxy: '10.0.0.0/8' });
	assert.equal(await remainingAfter(behind, ['/x', '/x'], forwarded('1.2.3.4')), 98);
	assert.equal(await remainingAfter(behind, ['/x'], forwarded('5.6.7.8')), 99);
	assert.equal(await remainingAfter(behind, ['/x'], forwarded('9.9.9.9, 1.2.3.4')), 97, 'what the client put before is not believed');
	assert.equal(await remainingAfter(behind, ['/x'], forwarded('1.2.3.4', '192.0.2.1')), 99, 'who is no proxy is not believed');
});

test('all addresses of an IPv6 /64 are one client, and an IPv4 address is the same in both notations', async (t) => {
	const server = await start(t);
	const from = (remoteAddress: string): From => ({ remoteAddress });
	assert.equal(await remainingAfter(server, ['/x'], from('2001:db8:1:2::1')), 99);
	assert.equal(await remainingAfter(server, ['/x'], from('2001:db8:1:2:ffff:1:2:3')), 98);
	assert.equal(await remainingAfter(server, ['/x'], from('2001:db8:1:3::1')), 99);
	assert.equal(await remainingAfter(server, ['/x'], from('192.0.2.7')), 99);
	assert.equal(await remainingAfter(server, ['/x'], from('::ffff:192.0.2.7')), 98);
});

test('the answer over the limit is exactly that of section 7', async (t) => {
	const server = await start(t, { table: SMALL });
	await remainingAfter(server, ['/x', '/x', '/x']);
	const { value: refused, fromMs, toMs } = await spanOf(() => ask(server, '/x'));
	assert.equal(refused.statusCode, 429);
	const after = Number(refused.headers['retry-after']);
	assert.ok(after >= 30 && after <= 60);
	assert.deepEqual(JSON.parse(refused.payload), {
		success: false,
		message: `Too many requests: retry after ${after} seconds.`,
		error: 'RATE_LIMITED',
		statusCode: 429,
	});
	assert.equal(refused.headers['x-ratelimit-limit'], '3');
	assert.equal(refused.headers['x-ratelimit-remaining'], '0');
	const toldAt = Number(refused.headers['x-ratelimit-reset']) - after;
	assert.ok(toldAt >= fromMs / 1000 - 1 && toldAt <= toMs / 1000 + 1);
	assert.equal((await ask(server, '/health')).statusCode, 404, 'only what has a limit is refused');
});

test('a 429 for another reason than a window has the same form', async (t) => {
	const server = await start(t);
	server.route({
		method: 'GET',
		path: '/plugins/full',
		handler: () => {
			throw new GatewayError('rate_limited', 'The lane is full.');
		},
	});
	const { statusCode, headers, payload } = await ask(server, '/plugins/full');
	assert.deepEqual(
		[statusCode, headers['retry-after'], headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']],
		[429, '1', '100', '0'],
	);
	const message = 'The lane is full. Retry after 1 seconds.';
	assert.deepEqual(JSON.parse(payload), { success: false, message, error: 'RATE_LIMITED', statusCode: 429 });
});

test('every answer has the client’s standing, and only a 429 the time to retry', async (t) => {
	const server = await start(t);
	const answers = [
		await ask(server, '/nothing'),
		await ask(server, '/acme/main'),
		await ask(server, '/x', { method: 'TRACE' }),
		await ask(server, '/%zz'),
		await ask(server, '/x', { method: 'POST', headers: { 'transfer-encoding': 'gzip, chunked' } }),
	];
	for (const { headers, statusCode } of answers) {
		assert.match(String(headers['x-ratelimit-limit']), /^\d+$/, String(statusCode));
		assert.match(String(headers['x-ratelimit-remaining']), /^\d+$/);
		assert.match(String(headers['x-ratelimit-reset']), /^\d{10}$/);
		assert.equal(headers['retry-after'], undefined);
	}
});

test('a preflight gets the standing, costs nothing and is never refused', async (t) => {
	const server = await start(t, { table: SMALL });
	const preflight = (): Promise<ServerInjectResponse> =>
		ask(server, '/acme/main', { method: 'OPTIONS', headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' } });
	for (let tries = 0; tries < 5; tries++) {
		const { statusCode, headers } = await preflight();
		assert.deepEqual([statusCode, headers['x-ratelimit-remaining']], [204, '3']);
	}
	await remainingAfter(server, ['/acme/main', '/acme/main', '/acme/main']);
	const { statusCode, headers } = await preflight();
	assert.deepEqual([statusCode, headers['x-ratelimit-remaining']], [204, '0']);
});

test('an invalid HTTP message also gets the standing of its address', async (t) => {
	const server = await start(t);
	await server.start();
	const answer = await new Promise<string>((resolve, reject) => {
		const socket = createConnection(server.info.port as number, '127.0.0.1', () => socket.write('NONSENSE\r\n\r\n'));
		let text = '';
		socket.on('data', (chunk) => {
			text += chunk;
		});
		socket.on('end', () => resolve(text)).on('error', reject);
	});
	assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*\r\nx-ratelimit-limit: 100\r\nx-ratelimit-remaining: 100\r\nx-ratelimit-reset: \d{10}\r\n/);
});

test('the log of requests names the client, not the proxy', async (t) => {
	const lines: object[] = [];
	const server = await start(t, { trustProxy: '10.0.0.1', onLog: (fields) => lines.push(fields) });
	await ask(server, '/x', { remoteAddress: '10.0.0.1', headers: { 'x-forwarded-for': '1.2.3.4' } });
	assert.equal((lines.at(-1) as { address?: string }).address, '1.2.3.4');
});

for (const route of ['POST /auth/login', 'POST /auth/forgot-password'] as const) {
	test(`a page of a gateway that does what ${route} does counts in the windows of both`, async (t) => {
		const { server, limits } = await startWith(t, { table: { ...REAL, routes: { [route]: of(4) } } });
		const [, path = ''] = route.split(' ');
		const direct = (from: From = {}): Promise<ServerInjectResponse> => ask(server, path, { method: 'POST', ...from });
		server.route({
			method: 'POST',
			path: '/acme/main/authorize',
			handler: async (request) => {
				await limits.ofRoute(request, route);
				return 'done';
			},
		});
		const page = (from: From = {}): Promise<ServerInjectResponse> => ask(server, '/acme/main/authorize', { method: 'POST', ...from });
		const remaining = ({ headers }: ServerInjectResponse): number => Number(headers['x-ratelimit-remaining']);
		const asked = [await direct(), await page(), await direct(), await page()];
		assert.deepEqual(asked.map(remaining), [3, 2, 1, 0]);
		assert.deepEqual([(await page()).statusCode, (await direct()).statusCode], [429, 429]);
		assert.equal((await page({ remoteAddress: '10.0.0.9' })).statusCode, 200, 'another address has its own');
		assert.equal(await remainingAfter(server, ['/auth/profile']), 9, 'the category counts none of them');
		assert.equal(await remainingAfter(server, ['/nothing']), 95, 'the global window counts the four that passed');
	});
}
