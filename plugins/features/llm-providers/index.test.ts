// Tests of LLM providers over the management API: their rules, keys, sessions, costs and budgets, tenancy, and what never is in the log.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { modelServer } from '../../../test/helpers/models.ts';
import { type Account, must, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';
import { soon } from '../../../test/helpers/soon.ts';
import { KEY, type ModelBehaviour } from '../../../testing/provider.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

const PRICES = { 'small-2026': { input: 2, output: 10, cached: 1, written: 3, hour: 4 }, 'tiny-2026': { input: 0.05, output: 0.07 } };
/** The cost of the server’s answers by these prices: 200 fresh, 1,000 cached and 34 written tokens. */
const COST = (200 * 2 + 1000 * 1 + 34 * 10) / 1_000_000;

async function connect(t: TestContext, behaviour: ModelBehaviour = 'echo', more: object = {}) {
	const { origin, requests } = await modelServer(t, behaviour);
	const body = { name: 'Models', provider: 'custom', apiKey: KEY, baseUrl: origin, model: 'small', prices: PRICES, ...more };
	const created = must(await account.post('/llm-providers', body), 201).body.data;
	return { ...created, path: `/llm-providers/${created.id}`, origin, requests } as {
		id: string;
		path: string;
		origin: string;
		requests(): number;
	} & Record<string, unknown>;
}

test('a provider is added, shown without its key, tested, changed and removed', async (t) => {
	const { id, path, origin, ...shown } = await connect(t);
	assert.deepEqual(
		[shown['name'], shown['provider'], shown['model'], shown['status'], shown['totalCost'], shown['baseUrl']],
		['Models', 'custom', 'small', 'active', 0, origin],
	);
	assert.deepEqual(shown['prices'], PRICES);
	const tested = must(await account.post(`${path}/test`, undefined), 200).body.data;
	assert.deepEqual([tested.status, tested.model, typeof tested.responseTime], ['ok', 'small-2026', 'number']);
	assert.deepEqual(must(await account.get(`${path}/models`), 200).body.data, { models: [{ id: 'small' }] });
	must(await account.patch(path, { name: 'Ours', status: 'inactive' }), 200);
	await soon(async () => (await account.post(`${path}/chat`, { message: 'x' })).status === 409, 'the refusal');
	const { llmProviders } = must(await account.get('/llm-providers?q=Ours'), 200).body.data;
	assert.ok(!JSON.stringify(llmProviders).includes(KEY));
	assert.deepEqual(must(await account.del(path), 200).body.data, { id, removed: { months: 1, sessions: 0 } });
	assert.equal((await account.get(path)).status, 404);
});

test('what is no provider is a 400 that names the field', async () => {
	const good = { name: 'a', provider: 'custom', apiKey: KEY, baseUrl: 'https://models.example.com' };
	const bad: [more: object, path: string][] = [
		[{ provider: 'nobody' }, '/provider'],
		[{ apiKey: undefined }, '/apiKey'],
		[{ baseUrl: undefined }, '/baseUrl'],
		[{ baseUrl: 'http://10.0.0.1/v1' }, '/baseUrl'],
		[{ baseUrl: 'https://user:pass@models.example.com' }, '/baseUrl'],
		[{ provider: 'local', baseUrl: 'http://169.254.169.254/v1' }, '/baseUrl'],
		[{ configuration: { temperature: 3 } }, '/configuration/temperature'],
		[{ budget: {} }, '/budget'],
		[{ options: { unknown: 1 } }, '/options/unknown'],
		[{ provider: 'openai', options: { organization: 7 } }, '/options/organization'],
	];
	for (const [more, path] of bad) {
		const { status, body } = await account.post('/llm-providers', { ...good, ...more });
		assert.deepEqual([status, body.details?.[0]?.path], [400, path], JSON.stringify(more));
	}
});

test('a key is for one origin: another base URL needs it again', async (t) => {
	const { path } = await connect(t);
	const other = await modelServer(t, 'echo');
	const refused = await account.patch(path, { baseUrl: other.origin });
	assert.deepEqual([refused.status, refused.body.details[0].path], [400, '/apiKey']);
	assert.equal(other.requests(), 0);
	must(await account.patch(path, { baseUrl: other.origin, apiKey: 'another-key' }), 200);
	must(await account.patch(path, { baseUrl: `${other.origin}/`, model: 'small' }), 200);
});

test('a chat tells its tokens and its cost, which add up; an unknown cost is null', async (t) => {
	const { path } = await connect(t);
	const { data } = must(await account.post(`${path}/chat`, { message: 'hello' }), 200).body;
	const { responseTime, ...answer } = data;
	assert.equal(typeof responseTime, 'number');
	assert.deepEqual(answer, {
		...{ message: 'hello', model: 'small-2026', finishReason: 'stop', sessionId: null },
		usage: { inputTokens: 1200, outputTokens: 34, cachedTokens: 1000 },
		cost: COST,
	});
	must(await account.patch(path, { prices: null }), 200);
	const unpriced = await connect(t, 'echo', { prices: null });
	assert.equal(must(await account.post(`${unpriced.path}/chat`, { message: 'x' }), 200).body.data.cost, null);
	const shown = must(await account.get(path), 200).body.data;
	assert.ok(Math.abs(shown.totalCost - COST) < 1e-9);
	assert.deepEqual(must(await account.get(unpriced.path), 200).body.data.usage.unpricedCalls, 1);
});

test('an answer is streamed in pieces, and ends with the whole', async (t) => {
	const { path } = await connect(t);
	const headers = { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' };
	const url = `${service.url}${path}/chat/stream`;
	const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ message: 'abc', sessionId: 's' }) });
	assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
	const text = await answer.text();
	assert.equal(text.match(/event: delta/g)?.length, 3);
	assert.match(text, /event: done\ndata: \{"message":"abc","model":"small-2026"/);
	const broken = await connect(t, 'break');
	const second = await fetch(`${service.url}${broken.path}/chat/stream`, { method: 'POST', headers, body: '{"message":"x"}' });
	assert.match(await second.text(), /event: delta[\s\S]*event: error\ndata: \{"error":"UPSTREAM_FAILED"/);
});

test('a session keeps what was said, also of turns at once; it is its user’s, listed and deleted', async (t) => {
	const { path } = await connect(t);
	const say = (message: string) => account.post(`${path}/chat`, { message, sessionId: 'one' });
	must(await say('first'), 200);
	for (const answer of await Promise.all(['a', 'b', 'c'].map(say))) must(answer, 200);
	const { turns, messages } = must(await account.get(`${path}/sessions/one`), 200).body.data;
	assert.deepEqual([turns, messages.length, messages[0]], [4, 8, { role: 'user', content: 'first' }]);
	const { sessions } = must(await account.get(`${path}/sessions`), 200).body.data;
	assert.deepEqual(
		sessions.map(({ sessionId }: { sessionId: string }) => sessionId),
		['one'],
	);
	must(await account.del(`${path}/sessions/one`), 200);
	assert.equal((await account.get(`${path}/sessions/one`)).status, 404);
});

test('failures are the provider’s, are repeated before the first piece, and a refused key is not', async (t) => {
	const cases: [behaviour: ModelBehaviour, status: number, requests: number][] = [
		['fail', 502, 3],
		['key', 502, 1],
		['refuse', 400, 1],
		['break', 502, 1],
	];
	for (const [behaviour, status, requests] of cases) {
		const made = await connect(t, behaviour);
		const answer = await account.post(`${made.path}/chat`, { message: 'prompt-canary' });
		assert.deepEqual([answer.status, made.requests()], [status, requests], behaviour);
		assert.ok(!JSON.stringify(answer.body).includes(KEY), behaviour);
	}
});

test('a call that could exceed a budget is refused before it is sent, naming the budget', async (t) => {
	const dear = { 'small-2026': { input: 2, output: 10 }, small: { input: 2, output: 10 } };
	const call = await connect(t, 'echo', { prices: dear, budget: { perCall: 0.001 }, configuration: { maxTokens: 1000 } });
	const refused = await account.post(`${call.path}/chat`, { message: 'x' });
	assert.deepEqual([refused.status, refused.body.details[0].path, call.requests()], [409, '/budget/perCall', 0]);
	const month = await connect(t, 'echo', { prices: dear, budget: { perMonth: 0.0145 }, configuration: { maxTokens: 1000 } });
	must(await account.post(`${month.path}/chat`, { message: 'x' }), 200);
	const at = await Promise.all(['x', 'y', 'z'].map((message) => account.post(`${month.path}/chat`, { message })));
	assert.deepEqual(at.map(({ status }) => status).sort(), [200, 409, 409]);
	const unknown = await connect(t, 'echo', { prices: null, budget: { perMonth: 1 } });
	const unpriced = await account.post(`${unknown.path}/chat`, { message: 'x' });
	assert.deepEqual([unpriced.status, unpriced.body.details[0].path, unknown.requests()], [409, '/budget/perMonth', 0]);
});

test('another organization’s provider does not exist', async (t) => {
	const { path } = await connect(t);
	must(await account.post(`${path}/chat`, { message: 'x', sessionId: 's' }), 200);
	const stranger = await registerAccount(service.url);
	for (const answer of [
		await stranger.get(path),
		await stranger.patch(path, { name: 'x' }),
		await stranger.del(path),
		await stranger.post(`${path}/test`, undefined),
		await stranger.post(`${path}/chat`, { message: 'x' }),
		await stranger.post(`${path}/chat/stream`, { message: 'x' }),
		await stranger.get(`${path}/models`),
		await stranger.get(`${path}/sessions`),
		await stranger.get(`${path}/sessions/s`),
		await stranger.del(`${path}/sessions/s`),
	])
		assert.equal(answer.status, 404);
});

test('calls by hand are lines of the request log with their user and request, also those that a budget refused', async (t) => {
	const dear = { 'small-2026': { input: 2, output: 10 }, small: { input: 2, output: 10 } };
	const { id, path } = await connect(t, 'echo', { prices: dear });
	const refusing = await connect(t, 'echo', { prices: dear, budget: { perCall: 0.001 }, configuration: { maxTokens: 1000 } });
	const sent = [
		await account.post(`${path}/chat`, { message: 'hello' }),
		await account.post(`${path}/test`, undefined),
		await account.post(`${path}/chat/stream`, { message: 'hello' }),
		await account.post(`${refusing.path}/chat`, { message: 'hello' }),
	];
	assert.deepEqual(
		sent.map(({ status }) => status),
		[200, 200, 200, 409],
	);
	const linesOf = async (providerId: string): Promise<Record<string, unknown>[]> =>
		must(await account.get(`/analytics/requests?providerId=${providerId}`), 200).body.data.requests;
	await soon(async () => (await linesOf(id)).length === 3 && (await linesOf(refusing.id)).length === 1, 'the lines');
	const lines = await linesOf(id);
	const [refused] = await linesOf(refusing.id);
	const shown = ({ kind, method, caller, userId, keyId }: Record<string, unknown>) => [kind, method, caller === `user:${userId}`, keyId];
	for (const line of [...lines, refused ?? {}]) assert.deepEqual(shown(line), ['model', 'management', true, null]);
	assert.equal(new Set([...lines, refused].map((line) => line?.['requestId'])).size, 4);
	assert.deepEqual([refused?.['outcome'], refused?.['upstream'], refused?.['cost'], refused?.['inputTokens']], ['conflict', 0, 0, null]);
	assert.deepEqual([refusing.requests(), lines.map(({ outcome }) => outcome)], [0, ['success', 'success', 'success']]);
});
