// Tests the verbs of the contract in the hands of a protocol's author: a transport like UTCP of somebody else, at its gateways in each spelling
// and over all of an organization, on two replicas whose clients alternate between them.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, before, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { until } from '../helpers/clock.ts';
import { openEvents } from '../helpers/event-client.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { type Account, must, publishGateway, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let packages: InstalledPackages;
let replicas: [TestService, TestService];

before(async () => {
	packages = installPackages('manual-plugin');
	const env = { GATEWAY_PLUGINS: packages.names.join(',') };
	const first = await startTestService({ env });
	replicas = [first, await startTestService({ env, replicaOf: first })];
});
after(async () => {
	await replicas[1].stop();
	await replicas[0].stop();
	packages[Symbol.dispose]();
});

let turn = 0;
/** The replicas take turns. */
const next = (): string => (replicas[turn++ % 2] ?? assert.fail()).url;

async function createRelay(account: Account, name: string, url: string): Promise<string> {
	const parameters = { type: 'object', properties: { word: { type: 'string' } } };
	const body = { name, type: 'relay', description: `Calls ${name}`, parameters, executionConfig: { url } };
	return must(await account.post(`/organizations/${account.organization.id}/tools`, body), 201).body.data.id;
}

interface Manual {
	account: Account;
	id: string;
	path: string;
	key: string;
	bodies: string[];
	/** The answers that the upstream has begun. */
	answers: ServerResponse[];
}

/** Makes an organization with a gateway and a tool, whose upstream says one line and waits. */
async function manual(t: TestContext, name = 'say'): Promise<Manual> {
	const bodies: string[] = [];
	const answers: ServerResponse[] = [];
	const { origin } = await httpUpstream(t, async (request, response) => {
		let body = '';
		for await (const chunk of request) body += chunk;
		bodies.push(body);
		response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write('one\n');
		answers.push(response);
	});
	const account = await registerAccount(next());
	const { id, url, key } = await publishGateway(account, {
		type: 'manual',
		endpoint: '/main',
		toolIds: [await createRelay(account, name, origin)],
	});
	return { account, id, path: new URL(url).pathname, key, bodies, answers };
}

const get = (path: string, headers: Record<string, string> = {}) => send(next() + path, 'GET', { headers });
/** Ends the upstream's answers once there are so many. */
async function finish({ answers }: Manual, count: number): Promise<void> {
	await until(() => answers.length >= count, 'the upstream is called');
	for (const answer of answers) answer.end('two\n');
}

test('the manual is public by published() and admission(), fresh by its tag, and the same place in every spelling', async (t) => {
	const { path, key } = await manual(t);
	const document = `${next() + path}/.well-known/utcp`;
	const { body, headers } = must(await send(document, 'GET'), 200);
	const [tool] = body.tools;
	assert.deepEqual(Object.keys(body), ['utcp_version', 'manual_version', 'tools']);
	const template = tool.tool_call_template;
	assert.deepEqual(template.auth, { auth_type: 'api_key', api_key: '$' + '{API_KEY}', var_name: 'X-API-Key', location: 'header' });
	assert.equal(new URL(template.url).pathname, `${path}/tools/say`);
	const etag = headers.get('etag');
	// Proxies that compress answers weaken their tags.
	for (const tag of [`${etag}`, `W/${etag}`, `"other", W/${etag}`])
		assert.equal((await send(document, 'GET', { headers: { 'if-none-match': tag } })).status, 304, tag);
	for (const spelt of [path, `${path}.git`, path.replace('/', '/@'), `${path.replace('/', '/@')}.git`]) {
		const own = must(await get(spelt, { 'x-api-key': key }), 200).body;
		assert.equal(new URL(own.tools[0].tool_call_template.url).pathname, `${path}/tools/say`);
		assert.match(must(await get(`${spelt}/info/refs`, { 'x-api-key': key }), 200).body, /^[0-9a-f]{40}\trefs\/tools\/say\n$/);
	}
});

test('refusals are problem details, and a 429 is none', async (t) => {
	const { path, key } = await manual(t);
	const unknown = await send(`${next()}${path}/tools/none`, 'POST', { body: {}, headers: { 'x-api-key': key } });
	assert.deepEqual([unknown.status, unknown.headers.get('content-type')], [404, 'application/problem+json']);
	assert.deepEqual([unknown.body.type, unknown.body.instance], ['https://errors.example/#tool_not_found', '/tools/none']);
	const wrong = await send(`${next()}${path}/tools/say`, 'POST', { body: { word: 1 }, headers: { 'x-api-key': key } });
	assert.deepEqual([wrong.status, wrong.body.errors[0].path], [400, '/word']);
	const nobody = await get(path);
	assert.deepEqual([nobody.status, nobody.headers.get('content-type')], [401, 'application/problem+json']);
	assert.ok(nobody.headers.get('www-authenticate'));
});

test('a tool’s answer is streamed while its upstream speaks, and ends with the client', async (t) => {
	const at = await manual(t);
	const stream = await openEvents(`${next()}${at.path}/tools/say`, { word: 'a' }, { 'x-api-key': at.key });
	const [begun] = await stream.until(({ done }) => done === 1);
	assert.deepEqual([begun?.event, begun?.data.message], ['progress', 'one'], 'before the upstream has ended');
	await finish(at, 1);
	assert.deepEqual(
		(await stream.rest()).map(({ event, data }) => [event, data.lines ?? data.message]),
		[
			['progress', 'two'],
			['result', ['one', 'two']],
		],
	);
	const left = await openEvents(`${next()}${at.path}/tools/say`, { word: 'b' }, { 'x-api-key': at.key });
	await left.until(() => true);
	left.leave();
	await until(() => at.answers[1]?.destroyed, 'the upstream’s connection is closed');
});

test('a client that leaves gets the answer of its one call from the other replica', async (t) => {
	const at = await manual(t);
	const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip', 'idempotency-key': randomUUID(), 'x-api-key': at.key };
	const call = (url: string, word = 'c', signal: AbortSignal | null = null) =>
		fetch(`${url}${at.path}/tools/say`, { method: 'POST', headers, body: gzipSync(JSON.stringify({ word })), signal });
	const leaving = new AbortController();
	const first = call(replicas[0].url, 'c', leaving.signal).catch(() => 'left');
	await until(() => at.answers.length === 1, 'the upstream is called');
	leaving.abort();
	assert.equal(await first, 'left');
	const again = call(replicas[1].url);
	assert.equal((await call(replicas[1].url, 'other')).status, 400, 'the key is for one call');
	await finish(at, 1);
	assert.deepEqual(await (await again).json(), { lines: ['one', 'two'] });
	assert.deepEqual(at.bodies, ['{"word":"c"}']);
});

test('one manual over all gateways of an organization, by the same transport, and of no other organization', async (t) => {
	const [at, other] = [await manual(t), await manual(t, 'whisper')];
	const second = await createRelay(at.account, 'shout', 'http://127.0.0.1:9/');
	await publishGateway(at.account, { type: 'manual', endpoint: '/more', toolIds: [second] });
	const headers = { 'x-api-key': at.account.token };
	for (const path of ['', '/.well-known/utcp']) {
		const { body } = must(await get(`/manuals/all${path}`, headers), 200);
		assert.deepEqual(
			body.tools.map(({ tool_call_template: { url } }: { tool_call_template: { url: string } }) => new URL(url).pathname),
			['/manuals/all/tools/say', '/manuals/all/tools/shout'],
		);
	}
	const called = send(`${next()}/manuals/all/tools/say`, 'POST', { body: {}, headers: { ...headers, 'idempotency-key': 'x' } });
	await finish(at, 1);
	assert.deepEqual((await called).body, { lines: ['one', 'two'] });
	const again = await send(`${next()}/manuals/all/tools/say`, 'POST', { body: {}, headers: { ...headers, 'idempotency-key': 'x' } });
	assert.deepEqual([again.body, at.bodies.length], [{ lines: ['one', 'two'] }, 1], 'the records are the organization’s');
	const foreign = await send(`${next()}/manuals/all/tools/whisper`, 'POST', { body: {}, headers });
	assert.deepEqual([foreign.status, foreign.body.type], [404, 'https://all.example/#tool_not_found']);
	assert.equal(other.bodies.length, 0);
	const { body: names } = must(await get('/manuals/names?a=1', headers), 200);
	assert.deepEqual([names.names, names.path], [['say', 'shout'], '/manuals/names']);
	assert.equal((await get('/manuals/names')).status, 401);
	assert.equal((await get('/manuals/all')).status, 401);
});
