// Tests rate limits over the whole service (specification 8): two replicas on one PostgreSQL and one Redis, behind a trusted proxy, so that
// each test has clients at addresses of its own.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LimitTable, limitTable } from '../../core/limits/table.ts';
import { ROUTE_WINDOWS } from '../catalog/limits.ts';
import { freePort } from '../helpers/ports.ts';
import { scriptedModels } from '../helpers/scripted-models.ts';
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
import { soon } from '../helpers/soon.ts';

const perMinute = (max: number) => ({ max, seconds: 60 });
const REAL = limitTable({ rateLimit: { max: 100, windowSeconds: 60 } });
/** Limits that are low where a test has to reach them, and high elsewhere. */
const TABLE: LimitTable = {
	...REAL,
	global: perMinute(10_000),
	gateways: perMinute(100),
	routes: { ...ROUTE_WINDOWS, 'POST /auth/register': perMinute(1000) },
	categories: { ...REAL.categories, auth: perMinute(100), apis: perMinute(50), gateways: perMinute(10_000), tools: perMinute(10_000) },
};
const PROXY = { TRUST_PROXY: '127.0.0.1' };
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const ACCEPT = { accept: 'application/json, text/event-stream' };

let first: TestService;
let second: TestService;
before(async () => {
	first = await startTestService({ limits: TABLE, env: PROXY });
	second = await startTestService({ limits: TABLE, env: PROXY, replicaOf: first });
});
after(async () => {
	await second.stop();
	await first.stop();
});

let clients = 0;
/** Returns the header of a client at an address that was not used before. */
const newcomer = (): Record<string, string> => ({ 'x-forwarded-for': `10.0.${++clients >> 8}.${clients & 255}` });

/** Sends requests all at once, half of them to each replica. */
const flood = (count: number, ask: (url: string) => Promise<Answer>): Promise<Answer[]> =>
	Promise.all(Array.from({ length: count }, (_none, at) => ask(at % 2 === 0 ? first.url : second.url)));

/** Counts the answers by status. */
function tally(answers: Answer[]): Record<number, number> {
	const counts: Record<number, number> = {};
	for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
	return counts;
}

const listAt = (url: string, headers: Record<string, string>, replica = new URL(url).origin): Promise<Answer> =>
	send(replica + new URL(url).pathname, 'POST', { body: LIST, headers: { ...ACCEPT, ...headers } });

const remaining = ({ headers }: Answer): number => Number(headers.get('x-ratelimit-remaining'));

test('of 400 requests that one key sends at once through two replicas exactly the limit pass (8)', async () => {
	const account = await registerAccount(first.url);
	const { url, key } = await publishGateway(account);
	const answers = await flood(400, (replica) => listAt(url, { 'x-api-key': key, ...newcomer() }, replica));
	assert.deepEqual(tally(answers), { 200: 100, 429: 300 });
	const left = answers.filter(({ status }) => status === 200).map(remaining);
	assert.deepEqual(
		left.toSorted((a, b) => a - b),
		Array.from({ length: 100 }, (_none, at) => at),
		'each was told another number of what is left',
	);
});

test('a login and all access keys of a user are one client; another user is another', async () => {
	const account = await registerAccount(first.url);
	const other = await registerAccount(first.url);
	const keys = await Promise.all(
		['a', 'b'].map(async (name) => must(await account.post('/access-keys', { name }), 201).body.data.key as string),
	);
	const tokens = [account.token, ...keys];
	const answers: Answer[] = [];
	// One after the other, so that no busy database answers in place of the limit; the test above sends all at once.
	for (let at = 0; at < 72; at++) {
		const headers = { authorization: `Bearer ${tokens[at % tokens.length]}`, ...newcomer() };
		answers.push(await send(`${at % 2 === 0 ? first.url : second.url}/apis`, 'GET', { headers }));
	}
	assert.deepEqual(tally(answers), { 200: 50, 429: 22 });
	assert.equal(remaining(must(await other.get('/apis'), 200)), 49);
	assert.equal((await account.get('/tools/00000000-0000-4000-8000-000000000000')).status, 404, 'the other categories are untouched');
});

test('at a gateway each key counts for itself, a member by name, and anonymous callers by address', async () => {
	const account = await registerAccount(first.url);
	const gateway = await publishGateway(account);
	const another = must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'another' }), 201).body.data.key as string;
	const member = must(await account.post('/access-keys', { name: 'member' }), 201).body.data.key as string;
	const left = async (key: string): Promise<number> => remaining(must(await listAt(gateway.url, { 'x-api-key': key }), 200));
	assert.deepEqual([await left(gateway.key), await left(gateway.key), await left(another)], [99, 98, 99]);
	assert.deepEqual([await left(member), await left(account.token)], [99, 98]);
	const open = await publishGateway(account, { auth: 'none' });
	const [one, two] = [newcomer(), newcomer()];
	const leftOpen = async (from: Record<string, string>): Promise<number> => remaining(must(await listAt(open.url, from), 200));
	assert.deepEqual([await leftOpen(one), await leftOpen(one), await leftOpen(two)], [99, 98, 99]);
});

test('an address that sent too many bad credentials learns nothing of further ones, right or wrong', async () => {
	const account = await registerAccount(first.url);
	const guesser = newcomer();
	const guess = (replica: string, secret = 'ak_live_wrong'): Promise<Answer> =>
		send(`${replica}/apis`, 'GET', { headers: { authorization: `Bearer ${secret}`, ...guesser } });
	assert.deepEqual(tally(await flood(120, guess)), { 401: 50, 429: 70 });
	for (const { url } of [first, second]) {
		const [right, wrong] = [await guess(url, account.token), await guess(url)];
		assert.deepEqual([right.status, wrong.status], [429, 429]);
		assert.deepEqual(Object.keys(right.body), ['success', 'message', 'error', 'statusCode']);
	}
	assert.equal(remaining(must(await account.get('/apis', newcomer()), 200)), 49, 'the user has lost nothing by it');
});

test('a replica that has seen none of an address’s bad credentials refuses its good one, too', async () => {
	const account = await registerAccount(first.url);
	const { url, key } = await publishGateway(account);
	const guesser = newcomer();
	const wrong = { authorization: 'Bearer ak_live_wrong', ...guesser };
	for (let tries = 0; tries < 50; tries++) must(await send(`${first.url}/apis`, 'GET', { headers: wrong }), 401);
	const right = { authorization: `Bearer ${account.token}`, ...guesser };
	assert.equal((await send(`${second.url}/apis`, 'GET', { headers: right })).status, 429);
	for (let tries = 0; tries < 100; tries++) must(await listAt(url, { 'x-api-key': 'svc_gw_wrong', ...guesser }, first.url), 401);
	assert.equal((await listAt(url, { 'x-api-key': key, ...guesser }, second.url)).status, 429);
});

test('so it is at gateways: all of them count one address’s bad keys together', async () => {
	const account = await registerAccount(first.url);
	const gateways = [await publishGateway(account), await publishGateway(account)];
	const guesser = newcomer();
	let at = 0;
	const answers = await flood(250, (replica) =>
		listAt(gateways[at++ % 2]?.url ?? '', { 'x-api-key': 'svc_gw_wrong', ...guesser }, replica),
	);
	assert.deepEqual(tally(answers), { 401: 100, 429: 150 });
	for (const { url, key } of gateways) assert.equal((await listAt(url, { 'x-api-key': key, ...guesser })).status, 429);
	const [gateway] = gateways;
	assert.ok(gateway);
	must(await listAt(gateway.url, { 'x-api-key': gateway.key, ...newcomer() }), 200);
});

test('logins are counted by address whatever they bring, and a right password helps no more (8.2)', async () => {
	const { email, password } = await registerAccount(first.url);
	const guesser = newcomer();
	const logIn = (replica: string, secret = 'Wrong1Password'): Promise<Answer> =>
		send(`${replica}/auth/login`, 'POST', { body: { email, password: secret }, headers: guesser });
	assert.deepEqual(tally(await flood(14, logIn)), { 401: 10, 429: 4 });
	const refused = await logIn(second.url, password);
	assert.equal(refused.status, 429);
	assert.ok(Number(refused.headers.get('retry-after')) > 240, 'for the five minutes of its own window');
	assert.equal(refused.headers.get('x-ratelimit-limit'), '10');
	must(await send(`${first.url}/auth/login`, 'POST', { body: { email, password }, headers: newcomer() }), 200);
});

test('a refresh counts by address, with a good token as with a bad one (8.2)', async () => {
	const { token } = await registerAccount(first.url);
	const from = newcomer();
	const refresh = (secret: string): Promise<Answer> =>
		send(`${first.url}/auth/refresh`, 'POST', { headers: { authorization: `Bearer ${secret}`, ...from } });
	assert.equal(remaining(must(await refresh(token), 200)), 19);
	assert.equal(remaining(must(await refresh('bad'), 401)), 18);
	assert.equal(remaining(must(await refresh(token), 200)), 17);
});

test('every answer says where its caller stands: good ones, errors of all kinds, and streams (8.3)', async (t) => {
	const account = await registerAccount(first.url);
	const slow = await upstream(t, 1300);
	const toolId = await createHttpTool(account, { name: 'slow', url: slow.url });
	const { url, key } = await publishGateway(account, { toolIds: [toolId] });
	const stream = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow', arguments: {}, _meta: { progressToken: 1 } } };
	const keyed = { 'x-api-key': key, ...ACCEPT };
	const answers: [number, Answer][] = [
		[200, await account.get('/gateways')],
		[400, await account.post('/gateways', { name: 1 })],
		[401, await send(`${first.url}/gateways`, 'GET')],
		[404, await account.get('/gateways/00000000-0000-4000-8000-000000000000')],
		[405, await account.del('/gateways')],
		[413, await account.post('/gateways', { name: 'x'.repeat(1_100_000) })],
		[200, await send(url, 'POST', { body: stream, headers: keyed })],
		[401, await send(url, 'POST', { body: LIST, headers: ACCEPT })],
		[404, await send(`${url}/nothing`, 'POST', { body: LIST, headers: keyed })],
		[405, await send(url, 'PUT', { body: LIST, headers: keyed })],
		[413, await send(url, 'POST', { body: { ...LIST, params: 'x'.repeat(1_100_000) }, headers: keyed })],
		[204, await send(url, 'OPTIONS', { headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' } })],
	];
	for (const [status, answer] of answers) {
		assert.equal(answer.status, status, JSON.stringify(answer.body));
		for (const [name, form] of [['limit', /^\d+$/] as const, ['remaining', /^\d+$/] as const, ['reset', /^\d{10}$/] as const]) {
			assert.match(answer.headers.get(`x-ratelimit-${name}`) ?? 'none', form, `${status} ${name}`);
		}
		assert.equal(answer.headers.get('retry-after'), null);
	}
	assert.match(answers[6]?.[1].headers.get('content-type') ?? '', /^text\/event-stream/);
	assert.equal((await send(`${first.url}/health`, 'GET')).headers.get('x-ratelimit-limit'), null);
});

// ── a tool's own limit ─────────────────────────────────────────────────────────────────────────────────────────────

/** Starts an upstream that counts its requests. */
async function upstream(t: TestContext, delayMs = 0): Promise<{ url: string; asked: () => number }> {
	let asked = 0;
	const server = createServer((_request, response) => {
		asked++;
		setTimeout(() => response.end('{}'), delayMs);
	});
	const port = await freePort();
	await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
	t.after(() => server.close());
	return { url: `http://127.0.0.1:${port}/`, asked: () => asked };
}

interface Assigned {
	account: Account;
	gateway: Awaited<ReturnType<typeof publishGateway>>;
	asked: () => number;
	call(name: string, more?: { key?: string; replica?: string; meta?: object }): Promise<Answer>;
	limit(rateLimit: number | null): Promise<unknown>;
}

/** Creates a gateway with two tools, of which `limited` has a limit. */
async function assign(t: TestContext, rateLimit: number): Promise<Assigned> {
	const account = await registerAccount(first.url);
	const { url, asked } = await upstream(t);
	const toolIds = [await createHttpTool(account, { name: 'limited', url }), await createHttpTool(account, { name: 'free', url })];
	const gateway = await publishGateway(account, { toolIds });
	const { tools } = must(await account.get(`/gateways/${gateway.id}/tools`), 200).body.data;
	const { gatewayToolId } = tools.find(({ name }: { name: string }) => name === 'limited');
	const limit = async (value: number | null) =>
		must(await account.patch(`/gateways/${gateway.id}/tools/${gatewayToolId}`, { rateLimit: value }), 200);
	await limit(rateLimit);
	const call: Assigned['call'] = (name, { key = gateway.key, replica = first.url, meta } = {}) =>
		send(replica + new URL(gateway.url).pathname, 'POST', {
			body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, ...(meta && { _meta: meta }) } },
			headers: { 'x-api-key': key, ...ACCEPT },
		});
	// The other replica may hold the tool without its limit for up to a second.
	await soon(async () => limitOf(await call('limited', { replica: second.url })) === rateLimit, 'the limit');
	return { account, gateway, asked, call, limit };
}

const limitOf = ({ headers }: Answer): number => Number(headers.get('x-ratelimit-limit'));

test('a tool’s rateLimit is a 429 of HTTP before anything runs, on all replicas together, for each caller and this tool only', async (t) => {
	const { account, gateway, asked, call } = await assign(t, 20);
	// The key is new, since `assign` has already made a call with the other one.
	const key = must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'fresh' }), 201).body.data.key as string;
	const before = asked();
	const answers = await flood(60, (replica) => call('limited', { key, replica }));
	assert.deepEqual(tally(answers), { 200: 20, 429: 40 });
	assert.equal(asked() - before, 20);
	const refused = await call('limited', { key, meta: { progressToken: 'p' } });
	assert.equal(refused.status, 429, 'also where progress was asked for');
	assert.deepEqual(Object.keys(refused.body), ['success', 'message', 'error', 'statusCode']);
	assert.deepEqual([limitOf(refused), remaining(refused)], [20, 0]);
	assert.ok(Number(refused.headers.get('retry-after')) > 50);
	must(await call('free', { key }), 200);
	must(await call('limited'), 200);
});

test('a change of a tool’s rateLimit is effective within a second, and so is its end', async (t) => {
	const { call, limit } = await assign(t, 3);
	await soon(async () => (await call('limited')).status === 429, 'the limit is reached');
	await limit(50);
	for (const replica of [first.url, second.url])
		await soon(async () => (await call('limited', { replica })).status === 200, 'the wider limit');
	await limit(1);
	for (const replica of [first.url, second.url])
		await soon(async () => (await call('limited', { replica })).status === 429, 'the narrower limit');
	await limit(null);
	for (const replica of [first.url, second.url]) {
		await soon(async () => limitOf(await call('limited', { replica })) === 100, 'no limit of its own');
		must(await call('limited', { replica }), 200);
	}
});

test('a tool’s rateLimit holds for each agent that calls it at the gateway, by a node or by its model (8.3)', async (t) => {
	const { account, gateway, asked } = await assign(t, 1);
	const before = asked();
	const byName = await addAgent(account, 'tool_call', { gatewayId: gateway.id, toolName: 'limited' });
	must(await byName.invoke(), 200);
	assert.equal(must(await byName.invoke(), 422).body.reason, 'rate_limited');
	assert.equal(asked() - before, 1);
	const { origin, asked: told } = await scriptedModels(t, ({ messages }, at) =>
		at < 2 ? { calls: [{ id: `c${at}`, name: 'limited', args: {} }] } : { pieces: [String(messages.at(-1)?.content)] },
	);
	const connection = { name: 'Models', provider: 'custom', apiKey: 'key', baseUrl: origin, model: 'small' };
	const providerId = must(await account.post('/llm-providers', connection), 201).body.data.id;
	const byModel = await addAgent(account, 'agent', { providerId, prompt: 'Go.', gatewayIds: [gateway.id] });
	assert.match(must(await byModel.invoke(), 200).body.output, /Too many requests/);
	assert.deepEqual([told.length, asked() - before], [3, 2], 'the other agent has a limit of its own');
});

/** Adds an agent with one node between its input and its output. */
async function addAgent(account: Account, type: string, data: object): Promise<{ invoke(): Promise<Answer> }> {
	const nodes = [
		{ id: 'in', type: 'input', data: {} },
		{ id: 'it', type, data },
		{ id: 'out', type: 'output', data: {} },
	];
	const edges = [
		{ id: 'a', source: 'in', target: 'it' },
		{ id: 'b', source: 'it', target: 'out' },
	];
	const { id } = must(await account.post('/agents', { name: 'Caller', pipeline: { nodes, edges } }), 201).body.data;
	return { invoke: () => account.post(`/agents/${id}/invoke`, { input: {} }) };
}

test('a window ends, and takes as many again', async (t) => {
	const seconds = 2;
	const short = await startTestService({ limits: { ...TABLE, gateways: { max: 5, seconds } } });
	t.after(() => short.stop());
	const { url, key } = await publishGateway(await registerAccount(short.url));
	const burst = (): Promise<Answer[]> => Promise.all(Array.from({ length: 10 }, () => listAt(url, { 'x-api-key': key })));
	const answers = await burst();
	assert.deepEqual(tally(answers), { 200: 5, 429: 5 });
	const wait = Math.max(...answers.map(({ headers }) => Number(headers.get('retry-after'))));
	assert.ok(wait >= 1 && wait <= seconds);
	await sleep(wait * 1000);
	assert.deepEqual(tally(await burst()), { 200: 5, 429: 5 }, 'whoever waits as told is let in');
});
