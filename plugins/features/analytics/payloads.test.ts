// Tests of what the request log tells of a call: its payloads where the gateway has them kept, the program of the client, and names.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { until } from '../../../test/helpers/clock.ts';
import { ask } from '../../../test/helpers/gateway-auth.ts';
import { administer } from '../../../test/helpers/postgres.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';
import { soon } from '../../../test/helpers/soon.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';

const CANARY = 'canary-77aa';

let service: TestService;
let account: Account;
const lines: string[] = [];

before(async () => {
	service = await startTestService({ onLog: (line) => lines.push(line), env: { LOG_LEVEL: 'trace' } });
	account = await registerAccount(service.url);
});
after(() => service.stop());

const call = (name: string, args: object) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });

/** Publishes a gateway with a tool that answers `answer`. */
async function furnish(t: Parameters<typeof httpUpstream>[0], name: string, answer: object) {
	const upstream = await httpUpstream(t, (_request, response) => {
		response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
	});
	const parameters = { type: 'object', properties: { city: { type: 'string' }, password: { type: 'string' }, n: { type: 'integer' } } };
	const toolId = await createHttpTool(account, { name, url: `${upstream.origin}/`, parameters });
	return { toolId, ...(await publishGateway(account, { toolIds: [toolId] })) };
}

type Line = Record<string, unknown>;

/** Returns the lines of a request, once they are written. */
async function linesOf(requestId: string, count = 2): Promise<Line[]> {
	const read = async (): Promise<Line[]> => must(await account.get(`/analytics/requests?requestId=${requestId}`), 200).body.data.requests;
	// A line waits for the redaction of its payloads, which may have to start a thread.
	await until(async () => (await read()).length >= count, 'the lines are written');
	return read();
}

test('payloads are kept where the gateway says so, from then on, redacted and cut, for whoever may change it', async (t) => {
	const answer = { forecast: 'rain', customer: { email: CANARY }, iban: 'CH93 0076 2011 6238 5295 7', more: 'x'.repeat(2000) };
	const { url, key, id, toolId } = await furnish(t, 'weather', answer);
	const run = async (requestId: string, args: object) =>
		assert.equal((await ask(url, { 'x-api-key': key, 'x-request-id': requestId }, call('weather', args))).status, 200);
	const payloadsOf = async (requestId: string) => {
		await linesOf(requestId);
		return must(await account.get(`/analytics/requests/${requestId}/payloads`), 200).body.data.runs;
	};
	await run('off', { city: CANARY });
	const [off] = await payloadsOf('off');
	assert.deepEqual([off.toolId, off.tool, off.outcome, off.arguments, off.result], [toolId, 'weather', 'success', null, null]);

	const payloadLog = {
		arguments: true,
		results: true,
		redactPaths: ['/customer/email'],
		redactPatterns: ['CH\\d{2}[ \\d]+'],
		maxBytes: 256,
	};
	const changed = must(await account.patch(`/gateways/${id}`, { payloadLog }), 200).body.data;
	assert.deepEqual(changed.payloadLog, payloadLog);
	await run('on', { city: 'Bern', password: CANARY });
	const [on] = await payloadsOf('on');
	assert.deepEqual(JSON.parse(on.arguments), { city: 'Bern', password: '[redacted]' });
	assert.ok(Buffer.byteLength(on.result) <= 256 && on.result.endsWith('…'), on.result);
	assert.ok(on.result.startsWith('{"forecast":"rain","customer":{"email":"[redacted]"},"iban":"[redacted]","more":"xxx'), on.result);
	await run('refused', { n: 'none' });
	const [refused] = await payloadsOf('refused');
	assert.deepEqual([refused.outcome, refused.arguments, refused.result], ['validation_failed', '{"n":"none"}', null]);

	must(await account.patch(`/gateways/${id}`, { payloadLog: null }), 200);
	await run('over', { city: CANARY });
	assert.equal((await payloadsOf('over'))[0].arguments, null);

	const listed = JSON.stringify(must(await account.get('/analytics/requests'), 200).body);
	assert.ok(!listed.includes('Bern') && !listed.includes('arguments'), 'lists show no payloads');
	const dump = await administer(
		service.config.database ?? assert.fail(),
		`SELECT (SELECT string_agg(l::text, '') FROM request_log l) || (SELECT string_agg(m::text, '') FROM metrics m) AS text`,
	);
	assert.ok(!String(dump[0]?.['text']).includes(CANARY));
	assert.ok(!lines.join('').includes(CANARY));
});

test('a payload for which the patterns take too long is hidden as a whole, and the call is answered', async (t) => {
	const { url, key, id } = await furnish(t, 'slow', { ok: 'a'.repeat(8000) });
	const redactPatterns = ['b', 'c', 'd', 'e', 'f'].map((end) => `a*${end}|a`);
	must(await account.patch(`/gateways/${id}`, { payloadLog: { arguments: true, results: true, redactPatterns, maxBytes: 8192 } }), 200);
	const answer = await ask(url, { 'x-api-key': key, 'x-request-id': 'slow-1' }, call('slow', { city: CANARY }));
	assert.equal(answer.status, 200);
	await linesOf('slow-1');
	const [run] = must(await account.get('/analytics/requests/slow-1/payloads'), 200).body.data.runs;
	assert.deepEqual([run.outcome, run.arguments, run.result], ['success', '"[redacted]"', '"[redacted]"']);
});

test('payloads are those of the own organization, and nobody sees them who may only read', async (t) => {
	const { url, key, id } = await furnish(t, 'own', { ok: true });
	must(await account.patch(`/gateways/${id}`, { payloadLog: { arguments: true } }), 200);
	await ask(url, { 'x-api-key': key, 'x-request-id': 'own-1' }, call('own', { city: 'Bern' }));
	await linesOf('own-1');
	const path = '/analytics/requests/own-1/payloads';
	assert.equal(must(await account.get(path), 200).body.data.runs[0].arguments, '{"city":"Bern"}');
	const stranger = await registerAccount(service.url);
	assert.equal((await stranger.get(path)).status, 404);
	assert.equal((await account.get('/analytics/requests/absent/payloads')).status, 404);
	const reading = must(await account.post('/access-keys', { name: 'reading', permissions: ['analytics:read', 'gateway:read'] }), 201).body
		.data;
	const answer = await fetch(service.url + path, {
		headers: { authorization: `Bearer ${reading.key}`, 'x-organization-id': account.organization.id },
	});
	assert.equal(answer.status, 403);
});

test('settings of payloads that cannot be kept are refused, naming the field', async () => {
	const { id } = await publishGateway(account);
	const wrong: [field: string, payloadLog: object][] = [
		['payloadLog/arguments', { arguments: 'yes' }],
		['payloadLog/redactPaths/0', { redactPaths: ['customer'] }],
		['payloadLog/redactPaths', { redactPaths: Array(21).fill('/a') }],
		['payloadLog/redactPatterns/0', { redactPatterns: ['(?=a)'] }],
		['payloadLog/redactPatterns/1', { redactPatterns: ['a', '((a{1,100}){1,100}){1,9}'] }],
		['payloadLog/redactPatterns/0', { redactPatterns: ['(.{1,100}){1,10}'] }],
		['payloadLog/redactPatterns', { redactPatterns: Array(6).fill('a') }],
		['payloadLog/maxBytes', { maxBytes: 9000 }],
		['payloadLog/other', { other: 1 }],
	];
	for (const [field, payloadLog] of wrong) {
		const { status, body } = await account.patch(`/gateways/${id}`, { payloadLog });
		assert.deepEqual([status, body.details?.[0]?.path], [400, `/${field}`], JSON.stringify([payloadLog, body]));
	}
	assert.equal(must(await account.get(`/gateways/${id}`), 200).body.data.payloadLog, null);
});

test('a client is known by the name that it gives, in its session and in each request', async (t) => {
	const { url, key } = await furnish(t, 'named', { ok: true });
	const client = new Client({ name: 'Notebook of Ada', version: '1.2.3' });
	await client.connect(
		new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { 'x-api-key': key, 'x-request-id': 'legacy-1' } } }),
	);
	await client.callTool({ name: 'named', arguments: {} });
	await client.close();
	const legacy = await linesOf('legacy-1', 4);
	assert.deepEqual([...new Set(legacy.map(({ clientInfo, client: program }) => `${clientInfo} as ${program}`))].toSorted(), [
		'Notebook of Ada/1.2.3 as notebook of ada',
	]);
	const meta = {
		'io.modelcontextprotocol/protocolVersion': '2026-07-28',
		'io.modelcontextprotocol/clientCapabilities': {},
		'io.modelcontextprotocol/clientInfo': { name: '@acme/bot', version: '4/5' },
	};
	const body = { ...call('named', {}), params: { name: 'named', arguments: {}, _meta: meta } };
	const headers = { 'x-api-key': key, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'named' };
	assert.equal((await ask(url, { ...headers, 'x-request-id': 'modern-1' }, body)).status, 200);
	for (const line of await linesOf('modern-1')) assert.deepEqual([line['clientInfo'], line['client']], ['@acme/bot/4_5', '@acme/bot']);
	const clients = must(await account.get('/analytics/clients'), 200).body.data.items.map(({ value }: { value: string }) => value);
	assert.ok(clients.includes('notebook of ada') && clients.includes('@acme/bot'), clients.join());
});

test('lines and sums tell the present names of what their ids stand for', async (t) => {
	const { url, key, id, toolId } = await furnish(t, 'told', { ok: true });
	await ask(url, { 'x-api-key': key, 'x-request-id': 'told-1' }, call('told', {}));
	must(await account.patch(`/gateways/${id}`, { name: 'Renamed' }), 200);
	const [tool] = (await linesOf('told-1')).filter(({ kind }) => kind === 'tool');
	const keys = must(await account.get(`/gateways/${id}/auth/api-keys`), 200).body.data.apiKeys;
	assert.deepEqual(tool?.['names'], {
		gateway: 'Renamed',
		tool: 'told',
		agent: null,
		provider: null,
		key: keys[0].name,
		user: null,
	});
	await soon(async () => {
		const { items } = must(await account.get('/analytics/tools'), 200).body.data;
		return items.some(({ value, name }: Line) => value === toolId && name === 'told');
	}, 'sums have names');
});
