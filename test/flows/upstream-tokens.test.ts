// Tests access tokens for connected APIs, on two replicas: fetched once for both, renewed once when they are refused, never lost, never
// shown.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connected, connectApi, get } from '../helpers/connected.ts';
import { textOf } from '../helpers/egress.ts';
import { CLIENT, type GrantOptions, type GrantServer, grantServer, json } from '../helpers/grants.ts';
import { administer } from '../helpers/postgres.ts';
import { type Account, type Answer, must, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let services: TestService[];
let account: Account;
const lines: string[] = [];

before(async () => {
	const onLog = (line: string): void => void lines.push(line);
	const first = await startTestService({ onLog });
	services = [first, await startTestService({ replicaOf: first, onLog })];
	account = await registerAccount(first.url);
});
after(async () => {
	for (const service of services.toReversed()) await service.stop();
});

interface World {
	api: Connected;
	tokens: GrantServer;
	/** Requests to the upstream, each with what it received and answered. */
	seen: { body: string; authorization: string | undefined; status: number }[];
	/** Calls the tool at one of the replicas. */
	call(replica: number): Promise<Answer>;
}

/** Creates a tool that POSTs, on an upstream that accepts only the token server's tokens. */
async function furnish(t: TestContext, { credentials = {}, ...options }: GrantOptions & { credentials?: object } = {}): Promise<World> {
	const tokens = await grantServer(t, options);
	const seen: World['seen'] = [];
	const upstream = await httpUpstream(t, async (request, response) => {
		const body = await textOf(request);
		const { authorization } = request.headers;
		const status = tokens.isGood(authorization) ? 200 : 401;
		seen.push({ body, authorization, status });
		json(response, status, { said: authorization });
	});
	const requestBody = { content: { 'application/json': { schema: { type: 'object' } } }, required: true };
	const paths = { '/a': { post: { operationId: 'a', requestBody, responses: { 200: { description: 'ok' } } } }, '/b': get('b') };
	const api = await connectApi(account, upstream.origin, { paths });
	await api.store('oauth2', { ...CLIENT, tokenUrl: tokens.tokenUrl, ...credentials });
	const path = `/organizations/${account.organization.id}/tools/${api.toolIds['a']}/execute`;
	const headers = { authorization: `Bearer ${account.token}` };
	const call = (replica: number): Promise<Answer> =>
		send(services[replica]?.url + path, 'POST', { body: { parameters: { body: { n: 7 } } }, headers });
	return { api, tokens, seen, call };
}

const many = async (call: World['call'], count: number): Promise<string[]> => {
	const answers = await Promise.all(Array.from({ length: count }, (_, n) => call(n % 2)));
	return answers.map((answer) => must(answer, 200).body.data.status);
};
const successes = (count: number): string[] => Array(count).fill('success');

test('fifty calls at once on two replicas ask for one token, and later ones for none', async (t) => {
	const { tokens, call } = await furnish(t, { takesMs: 300 });
	assert.deepEqual(await many(call, 50), successes(50));
	assert.equal(tokens.asked.length, 1);
	assert.deepEqual(await many(call, 20), successes(20));
	assert.equal(tokens.asked.length, 1);
	assert.deepEqual(Object.fromEntries(tokens.asked[0] ?? []), {
		grant_type: 'client_credentials',
		client_id: CLIENT.clientId,
		client_secret: CLIENT.clientSecret,
	});
});

test('a token is asked for again when its time is over, and not before', async (t) => {
	const { tokens, call } = await furnish(t, { expiresIn: '6' });
	await many(call, 10);
	assert.equal(tokens.asked.length, 1);
	await sleep(6000);
	assert.deepEqual(await many(call, 10), successes(10));
	assert.equal(tokens.asked.length, 2);
});

test('a token that is refused is renewed once for all refused requests, and each is sent again unchanged', async (t) => {
	const { tokens, seen, call } = await furnish(t, { takesMs: 200 });
	await many(call, 2);
	tokens.revoke();
	seen.length = 0;
	assert.deepEqual(await many(call, 30), successes(30));
	assert.equal(tokens.asked.length, 2);
	assert.equal(seen.filter(({ status }) => status === 200).length, 30);
	// Several were refused and sent again; how many arrived after the renewal depends on the load.
	assert.ok(seen.length > 31, String(seen.length));
	assert.deepEqual([...new Set(seen.map(({ body }) => body))], ['{"n":7}']);
});

test('a token that is refused although it is new is reported to the caller, and is not requested over and over', async (t) => {
	const { tokens, seen, call } = await furnish(t, {
		answer: (response) =>
			json(response, 200, { access_token: `canary-void-${tokens.asked.length}`, token_type: 'BEARER', expires_in: 3600 }),
	});
	const { data } = must(await call(0), 200).body;
	assert.deepEqual([data.status, data.error.code], ['failed', 'TOOL_ERROR']);
	assert.match(data.error.message, /HTTP 401/);
	assert.ok(!data.error.message.includes('canary'), data.error.message);
	assert.deepEqual([seen.length, tokens.asked.length], [2, 2]);
	must(await call(0), 200);
	assert.deepEqual([seen.length, tokens.asked.length], [3, 2]);
});

test('a 401 is not retried with a credential that cannot be renewed', async (t) => {
	const { api, seen, call } = await furnish(t, { credentials: {} });
	must(await account.post(`/apis/${api.apiId}/credentials`, { type: 'bearer_token', credentials: { token: 'b' } }), 201);
	// The type that sorts first is sent.
	await soon(async () => must(await call(0), 200).body.data.status === 'failed', 'the bearer token is sent');
	assert.equal(seen.at(-1)?.authorization, 'Bearer b');
	seen.length = 0;
	await call(0);
	assert.equal(seen.length, 1);
});

test('refresh tokens that are exchanged are each used once, whichever replica asks, and survive in the database', async (t) => {
	const refreshToken = 'canary-refresh-1';
	const { tokens, call } = await furnish(t, {
		refreshToken,
		credentials: { refreshToken, scopes: ['read', 'write'] },
		expiresIn: 0.1,
		takesMs: 50,
	});
	for (let round = 0; round < 6; round++) {
		assert.deepEqual(await many(call, 10), successes(10));
		await sleep(150);
	}
	assert.deepEqual(tokens.reused, []);
	const used = tokens.asked.map((form) => form.get('refresh_token'));
	assert.ok(used.length >= 6, String(used.length));
	assert.deepEqual(
		used,
		used.map((_, n) => `canary-refresh-${n + 1}`),
	);
	assert.deepEqual(new Set(tokens.asked.map((form) => form.get('scope'))), new Set(['read write']));
	const { database } = services[0]?.config ?? assert.fail();
	const rows = await administer(database ?? assert.fail(), 'SELECT row_to_json(t)::text AS row FROM upstream_tokens t');
	assert.ok(rows.length > 0);
	for (const { row } of rows) assert.ok(!String(row).includes('canary'), String(row));
});

test('a changed credential voids the token of the former one, on every replica within a second', async (t) => {
	const { api, tokens, seen, call } = await furnish(t);
	await many(call, 4);
	await api.store('oauth2', { ...CLIENT, tokenUrl: tokens.tokenUrl, scopes: ['new'] });
	seen.length = 0;
	must(await call(0), 200);
	assert.equal(tokens.asked.at(-1)?.get('scope'), 'new');
	assert.equal(seen.at(-1)?.authorization, 'Bearer canary-access-2');
	must(await call(1), 200);
	assert.equal(seen.at(-1)?.authorization, 'Bearer canary-access-2');
	assert.equal(tokens.asked.length, 2);
});

for (const clientAuth of ['basic', 'post'] as const) {
	test(`a server that knows its clients by ${clientAuth} only is asked so, by default and when it is said`, async (t) => {
		const { tokens, api, call } = await furnish(t, { clientAuth });
		assert.equal(must(await call(0), 200).body.data.status, 'success');
		const tries = clientAuth === 'basic' ? 2 : 1;
		assert.equal(tokens.asked.length, tries);
		tokens.revoke();
		assert.equal(must(await call(0), 200).body.data.status, 'success');
		assert.equal(tokens.asked.length, tries + 1, 'what it took is remembered');
		await api.store('oauth2', { ...CLIENT, tokenUrl: tokens.tokenUrl, clientAuth });
		assert.equal(must(await call(0), 200).body.data.status, 'success');
		assert.equal(tokens.asked.length, tries + 2);
		assert.equal(tokens.asked.at(-1)?.has('client_secret'), clientAuth === 'post');
	});
}

const REFUSALS: [id: string, answer: GrantOptions['answer'], message: RegExp][] = [
	[
		'an OAuth error',
		(response) => json(response, 400, { error: 'invalid_scope', error_description: 'canary' }),
		/answered 400 with the OAuth error invalid_scope\.$/,
	],
	['an error that is none of OAuth', (response) => json(response, 400, { error: 'canary-client-secret' }), /answered 400\.$/],
	['an error page', (response) => void response.writeHead(500).end('<h1>canary</h1>'), /answered 500\.$/],
	['no JSON', (response) => void response.end('access_token=canary'), /without an access token that can be used\.$/],
	['no token', (response) => json(response, 200, { token_type: 'bearer' }), /without an access token/],
	['a token that is no header', (response) => json(response, 200, { access_token: 'a\nb' }), /without an access token/],
	['a token of another type', (response) => json(response, 200, { access_token: 'canary', token_type: 'mac' }), /another type than Bearer/],
	['a list', (response) => json(response, 200, ['canary']), /without an access token/],
	['a redirect', (response) => void response.writeHead(302, { location: '/token?again' }).end(), /answered 302\.$/],
	['too much', (response) => json(response, 200, { access_token: 'a'.repeat(100_000) }), /more than 65536 bytes/],
];
for (const [id, answer, message] of REFUSALS)
	test(`a token server that answers with ${id} fails the run, and is not quoted`, async (t) => {
		const { seen, call } = await furnish(t, answer ? { answer } : {});
		const { data } = must(await call(0), 200).body;
		assert.deepEqual([data.status, data.error.code], ['failed', 'UPSTREAM_FAILED']);
		assert.match(data.error.message, message);
		assert.ok(!JSON.stringify(data).includes('canary'), JSON.stringify(data));
		assert.equal(seen.length, 0);
	});

test('a token URL that the guard does not let through is not called, though it was saved', async (t) => {
	const { api, tokens } = await furnish(t);
	const { baseUrl } = must(await account.get(`/apis/${api.apiId}`), 200).body.data;
	const strict = await startTestService({ replicaOf: services[0] ?? assert.fail(), env: { EGRESS_ALLOW: new URL(baseUrl).origin } });
	t.after(() => strict.stop());
	const before = tokens.connections();
	const path = `/organizations/${account.organization.id}/tools/${api.toolIds['b']}/execute`;
	const { data } = must(
		await send(strict.url + path, 'POST', { body: {}, headers: { authorization: `Bearer ${account.token}` } }),
		200,
	).body;
	assert.equal(data.error.code, 'EGRESS_REFUSED');
	assert.equal(tokens.connections(), before);
});

test('a caller who leaves while a token is asked for leaves the others their token', async (t) => {
	const { tokens, api, call } = await furnish(t, { takesMs: 300 });
	const path = `/organizations/${account.organization.id}/tools/${api.toolIds['a']}/execute`;
	const headers = { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' };
	const body = JSON.stringify({ parameters: { body: {} } });
	const leaving = fetch(services[0]?.url + path, { method: 'POST', headers, body, signal: AbortSignal.timeout(150) });
	await assert.rejects(leaving);
	assert.equal(must(await call(0), 200).body.data.status, 'success');
	assert.equal(tokens.asked.length, 1);
});

test('no line of the log holds a secret of these', () => {
	assert.ok(lines.length > 100);
	assert.deepEqual(
		lines.filter((line) => line.includes('canary')),
		[],
	);
});
