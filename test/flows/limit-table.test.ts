// Compares the windows of every route with the tables of specification 8: each operation of the document and each route of a gateway is asked
// once, from an address of its own, and tells the window in which it was counted.

import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { GatewayRoute } from '../../core/contract/kinds.ts';
import type { Window } from '../../core/contract/limits.ts';
import { limitTable } from '../../core/limits/table.ts';
import { CATEGORY_WINDOWS, GLOBAL, ROUTE_WINDOWS } from '../catalog/limits.ts';
import { spanOf } from '../helpers/clock.ts';
import { guardedGateway } from '../helpers/gateway-auth.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { type Account, must, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';
import { ROOT } from '../rooms.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const AT_GATEWAYS = '/:org/:gw';
/** The class of gateways' own paths (decisions, 28): that of `/mcp/*`. */
const GATEWAYS = CATEGORY_WINDOWS['/mcp/*'];

let packages: InstalledPackages;
let service: TestService;
let owner: Account;
before(async () => {
	packages = installPackages('limits-plugin');
	const limits = limitTable({ rateLimit: { max: GLOBAL.max, windowSeconds: GLOBAL.seconds } });
	service = await startTestService({ limits, env: { TRUST_PROXY: '127.0.0.1', GATEWAY_PLUGINS: packages.names.join(',') } });
	owner = await registerAccount(service.url);
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
});

let clients = 0;
const newcomer = (): Record<string, string> => ({ 'x-forwarded-for': `10.7.${++clients >> 8}.${clients & 255}` });

interface Counted {
	/** The tightest window; null when the answer tells none. */
	window: Window | null;
	/** Whether the request counted in the global window. */
	isGlobal: boolean;
}

/** Sends one request from a new address. */
async function countedAt(method: string, url: string): Promise<Counted> {
	const headers = newcomer();
	const { value, fromMs, toMs } = await spanOf(() => send(url, method.toUpperCase(), { headers }));
	const neutral = await send(`${service.url}/nothing`, 'GET', { headers });
	const isGlobal = Number(neutral.headers.get('x-ratelimit-remaining')) === GLOBAL.max - 2;
	const max = value.headers.get('x-ratelimit-limit');
	if (max === null) return { window: null, isGlobal };
	const reset = Number(value.headers.get('x-ratelimit-reset'));
	const candidates = [60, 300, 3600].filter((seconds) => reset - seconds >= fromMs / 1000 - 1 && reset - seconds <= toMs / 1000 + 2);
	assert.equal(candidates.length, 1, `${method} ${url}: ${reset - toMs / 1000}`);
	return { window: { max: Number(max), seconds: candidates[0] ?? 0 }, isGlobal };
}

/** Windows that features declare beyond those of the tables: where codes are guessed or issued, and where programs wait. */
const DECLARED: Record<string, Counted> = {
	...Object.fromEntries(
		['POST /device/authorize', 'POST /device/revoke', 'POST /approvals/look', 'POST /approvals/answer'].map((name) => [
			name,
			{ window: { max: 30, seconds: 300 }, isGlobal: true },
		]),
	),
	...Object.fromEntries(
		['GET /device/logins/{userCode}', 'POST /device/logins/{userCode}/approve', 'POST /device/logins/{userCode}/deny'].map((name) => [
			name,
			{ window: { max: 20, seconds: 300 }, isGlobal: true },
		]),
	),
	'POST /gateways/{id}/explain': { window: { max: 10, seconds: 60 }, isGlobal: false },
	'POST /alerts/{alertId}/test': { window: { max: 10, seconds: 60 }, isGlobal: true },
	'POST /agents/{id}/test': { window: { max: 10, seconds: 60 }, isGlobal: false },
	'POST /device/token': { window: { max: 120, seconds: 60 }, isGlobal: false },
};

/** Looks up a path in the tables: a route of its own, else the longest category, else the global window. */
function promised(method: string, path: string): Counted {
	const declared = DECLARED[`${method.toUpperCase()} ${path}`];
	if (declared) return declared;
	const own = ROUTE_WINDOWS[`${method.toUpperCase()} ${path}`];
	if (own) return { window: own, isGlobal: !path.startsWith(AT_GATEWAYS) };
	if (path.startsWith(AT_GATEWAYS)) return { window: GATEWAYS ?? null, isGlobal: false };
	const [first = ''] = path.slice(1).split('/');
	// Chat completions count with invocations (decisions, 28).
	const shown = path.replaceAll(/\{\w+\}/g, ':id').replace(/\/v1\/chat\/completions$/, '/invoke');
	const name = [shown, `/${first}/*`, `/${first}*`].find((one) => Object.hasOwn(CATEGORY_WINDOWS, one));
	return name === undefined ? { window: GLOBAL, isGlobal: true } : { window: CATEGORY_WINDOWS[name] ?? null, isGlobal: false };
}

const filled = (path: string): string => path.replaceAll(/\{\w+[*?]?\}/g, '00000000-0000-4000-8000-000000000000');

test('the tables were read', () => {
	assert.deepEqual(CATEGORY_WINDOWS['/agents/:id/invoke'], { max: 60, seconds: 60 });
	assert.deepEqual([CATEGORY_WINDOWS['/health*'], Object.keys(CATEGORY_WINDOWS).length], [null, 10]);
	assert.deepEqual(ROUTE_WINDOWS['POST /auth/refresh'], { max: 20, seconds: 300 });
	assert.equal(Object.keys(ROUTE_WINDOWS).length, 6);
});

test('every operation of the document counts in exactly the window of the tables', async () => {
	const { paths } = must(await send(`${service.url}/openapi.json`, 'GET'), 200).body as { paths: Record<string, object> };
	const own = Object.entries(paths).filter(([path]) => !path.startsWith('/limited') && !path.startsWith('/analytics'));
	const met = new Set<string>();
	const [found, expected]: Record<string, Counted>[] = [{}, {}];
	for (const [path, item] of own) {
		for (const method of METHODS.filter((one) => one in item)) {
			const name = `${method.toUpperCase()} ${path}`;
			met.add(name);
			Object.assign(found ?? {}, { [name]: await countedAt(method, service.url + filled(path)) });
			Object.assign(expected ?? {}, { [name]: promised(method, path) });
		}
	}
	assert.ok(met.size > 60, `${met.size} operations`);
	assert.deepEqual(found, expected);
	const missing = Object.keys(ROUTE_WINDOWS).filter((name) => !name.includes(AT_GATEWAYS) && !met.has(name));
	assert.deepEqual(missing, [], 'each row of 8.2 is an operation');
});

test('paths without a route count in the window of their prefix, also for capabilities that are not there', async () => {
	const paths = [
		'/auth/x',
		'/apis/x/y',
		'/tools/x',
		'/gateways/x/y/z',
		'/agents/x',
		'/agents/x/invoke',
		'/mcp',
		'/mcp/x',
		'/a2a',
		'/utcp/x',
	];
	for (const path of [...paths, '/analytics/x', '/health/x', '/nothing'])
		assert.deepEqual(await countedAt('post', service.url + path), promised('post', path.replace('/agents/x/', '/agents/:id/')), path);
	assert.deepEqual((await countedAt('get', `${service.url}/mcp`)).window, CATEGORY_WINDOWS['/mcp/*']);
	const discovery = await countedAt('get', `${service.url}/.well-known/oauth-protected-resource/mcp`);
	assert.deepEqual(discovery.window, CATEGORY_WINDOWS['/mcp/*'], 'the document of the universal endpoint');
});

/** Lists the routes of all transports and methods in the tree. */
async function gatewayRoutes(): Promise<GatewayRoute[]> {
	const files = globSync('{adapters/*,plugins/auth/*}/index.ts', { cwd: ROOT });
	const plugins = await Promise.all(files.map(async (file) => (await import(join(ROOT, file))).default as { routes?: GatewayRoute[] }));
	return plugins.flatMap(({ routes = [] }) => routes);
}

test('every route that a gateway may have counts in exactly the window of the tables, and so do unknown gateways', async () => {
	const routes = await gatewayRoutes();
	assert.ok(routes.some(({ path }) => path === '/register'));
	const { url } = await guardedGateway(owner, [{ type: 'oauth2' }]);
	for (const at of [service.url + new URL(url).pathname, `${service.url}/nobody/nothing`]) {
		for (const { method, path, limit } of routes) {
			const counted = await countedAt(method, at + (path === '/' ? '' : filled(path)));
			const { window, isGlobal } = promised(method, AT_GATEWAYS + (path === '/' ? '' : path));
			// A route's own window stands beside that of the gateway: the narrower one shows.
			const shown = limit && window && limit.max / limit.seconds < window.max / window.seconds ? limit : window;
			assert.deepEqual(counted, { window: shown, isGlobal }, `${method} ${at}${path}`);
		}
	}
});

// ── windows of outside plugins ─────────────────────────────────────────────────────────────────────────────────────

const LIST = '/limited/class';

test('a class below no prefix stands in place of the global window; a route’s own window beside it', async () => {
	assert.deepEqual(await countedAt('get', service.url + LIST), { window: { max: 500, seconds: 60 }, isGlobal: false });
	assert.deepEqual(await countedAt('get', `${service.url}/limited/x1/own`), { window: { max: 3, seconds: 300 }, isGlobal: true });
});

test('one operation has one window whatever its parameters', async () => {
	const headers = newcomer();
	const left: string[] = [];
	for (const id of ['a', 'b', 'A', 'c'])
		left.push((await send(`${service.url}/limited/${id}/own`, 'GET', { headers })).headers.get('x-ratelimit-remaining') ?? '');
	assert.deepEqual(left, ['2', '1', '0', '0']);
});

test('a class cannot loosen the window of a prefix: a wider one counts beside it, a narrower one alone', async () => {
	const narrow = await countedAt('get', `${service.url}/analytics/narrow`);
	assert.deepEqual(narrow.window, { max: 5, seconds: 60 });
	const headers = newcomer();
	const statuses: number[] = [];
	for (let turn = 0; turn < 32; turn++) statuses.push((await send(`${service.url}/analytics/wide`, 'GET', { headers })).status);
	assert.deepEqual([statuses.indexOf(429), statuses.lastIndexOf(200)], [30, 29]);
	const slow = newcomer();
	for (let turn = 0; turn < 30; turn++) await send(`${service.url}/analytics/slow`, 'GET', { headers: slow });
	const refused = await send(`${service.url}/analytics/slow`, 'GET', { headers: slow });
	assert.deepEqual([refused.status, refused.headers.get('x-ratelimit-limit')], [429, '30'], 'more in an hour, but not at once');
});

// ── a window of a gateway's route ──────────────────────────────────────────────────────────────────────────────────

test('a window that a gateway’s route declares counts beside the gateway’s, for each caller, with the headers and the answer of every 429', async () => {
	const { id, url } = await guardedGateway(owner, [{ type: 'api_key' }, { type: 'limited' }]);
	const path = service.url + new URL(url).pathname;
	const mint = async (name: string): Promise<string> =>
		must(await owner.post(`/gateways/${id}/auth/api-keys`, { name }), 201).body.data.key;
	const [one, other] = [await mint('one'), await mint('other')];
	const ask = (key: string, at = '/limited') => send(path + at, 'GET', { headers: { 'x-api-key': key, ...newcomer() } });
	const left = async (key: string, at?: string) => (await ask(key, at)).headers.get('x-ratelimit-remaining');
	assert.deepEqual([await left(one), await left(one), await left(other)], ['1', '0', '1'], 'each key has its own');
	const refused = must(await ask(one), 429);
	assert.deepEqual(Object.keys(refused.body), ['success', 'message', 'error', 'statusCode']);
	assert.equal(refused.headers.get('x-ratelimit-limit'), '2');
	assert.ok(Number(refused.headers.get('retry-after')) > 60, 'of its five minutes');
	assert.equal(
		await left(one, '/free'),
		String((GATEWAYS?.max ?? 0) - 3),
		'the gateway’s own window counts those that passed, and this one',
	);
	const again = await guardedGateway(owner, [{ type: 'limited' }, { type: 'none' }]);
	const from = newcomer();
	const open = () => send(`${service.url + new URL(again.url).pathname}/limited`, 'GET', { headers: from });
	assert.deepEqual(
		[(await open()).status, (await open()).status, (await open()).status],
		[200, 200, 429],
		'callers without a name by address',
	);
});

test('a window that a gateway’s route declares is one over all replicas', async () => {
	const limits = limitTable({ rateLimit: { max: GLOBAL.max, windowSeconds: GLOBAL.seconds } });
	const env = { TRUST_PROXY: '127.0.0.1', GATEWAY_PLUGINS: packages.names.join(',') };
	const replica = await startTestService({ limits, env, replicaOf: service });
	try {
		const { id, url } = await guardedGateway(owner, [{ type: 'api_key' }, { type: 'limited' }]);
		const { key } = must(await owner.post(`/gateways/${id}/auth/api-keys`, { name: 'one' }), 201).body.data;
		const statusAt = async ({ url: at }: { url: string }): Promise<number> =>
			(await send(`${at + new URL(url).pathname}/limited`, 'GET', { headers: { 'x-api-key': key, ...newcomer() } })).status;
		const statuses: number[] = [];
		for (const at of [service, replica, service, replica]) statuses.push(await statusAt(at));
		assert.deepEqual(statuses, [200, 200, 429, 429]);
	} finally {
		await replica.stop();
	}
});
