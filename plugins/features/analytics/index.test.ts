// Tests of analytics over the management API: each call is found in the log and in the sums, by its own organization, without its contents.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXPORT_FORMATS } from '../../../core/features.ts';
import { ask } from '../../../test/helpers/gateway-auth.ts';
import { administer } from '../../../test/helpers/postgres.ts';
import { rounds } from '../../../test/helpers/sampled.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';

const CANARY = 'canary-5e1f';
/** Several pages of the list, and a multiple of all kinds of calls. */
const CALLS = rounds({ few: 600, all: 2000 });
const AT_ONCE = 40;

let service: TestService;
let replica: TestService;
let account: Account;
const lines: string[] = [];

before(async () => {
	service = await startTestService({ onLog: (line) => lines.push(line), env: { LOG_LEVEL: 'trace' } });
	replica = await startTestService({ replicaOf: service });
	account = await registerAccount(service.url);
});
after(async () => {
	await replica.stop();
	await service.stop();
});

const call = (name: string, args: object = {}) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
const data = async (path: string, of = account) => must(await of.get(`/analytics/${path}`), 200).body.data;

/** Waits until the log has this many lines of a kind. */
async function logged(kind: 'gateway' | 'tool' | 'agent', calls: number, of = account): Promise<void> {
	while ((await data('overview', of))[kind].calls < calls) await sleep(50);
}

test('many calls at two replicas: lines and sums equal the calls, by count and by sum', async (t) => {
	const upstream = await httpUpstream(t, (request, response) => {
		response.writeHead(request.url?.startsWith('/bad') ? 500 : 200, { 'content-type': 'application/json' }).end(`{"result":"${CANARY}"}`);
	});
	const parameters = { type: 'object', properties: { secret: { type: 'string' }, n: { type: 'integer' } } };
	const good = await createHttpTool(account, { name: 'good', url: `${upstream.origin}/good`, parameters });
	const bad = await createHttpTool(account, { name: 'bad', url: `${upstream.origin}/bad`, parameters });
	const gateway = await publishGateway(account, { toolIds: [good, bad] });
	const urls = [gateway.url, gateway.url.replace(service.url, replica.url)];
	const headers = { 'x-api-key': gateway.key, 'user-agent': 'load-test/1.0' };
	let received = 0;
	const send = async (n: number): Promise<void> => {
		const body = n % 20 === 1 ? call('good', { n: 'none' }) : call(n % 10 === 0 ? 'bad' : 'good', { secret: CANARY });
		const answer = await ask(urls[n % 2] ?? '', { ...headers, 'x-request-id': `load-${n}` }, body);
		received += Number(answer.headers.get('content-length') ?? 0);
		assert.equal(answer.status, 200);
	};
	for (let n = 0; n < CALLS; n += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => send(n + at)));
	const stranger = await registerAccount(service.url);
	await logged('gateway', CALLS);
	await logged('tool', CALLS);
	const overview = await data('overview');
	const failed = CALLS / 10 + CALLS / 20;
	assert.deepEqual([overview.gateway.calls, overview.gateway.failed, overview.gateway.lost], [CALLS, 0, 0]);
	assert.deepEqual([overview.tool.calls, overview.tool.failed], [CALLS, failed]);
	assert.equal(overview.gateway.bytesOut, received);
	assert.ok(overview.tool.duration.p50 <= overview.tool.duration.p95 && overview.tool.duration.upstream <= overview.tool.duration.mean);
	const [rows] = await administer(
		service.config.database ?? assert.fail(),
		`SELECT count(*)::int AS calls, count(*) FILTER (WHERE outcome <> 'success')::int AS failed, count(DISTINCT request_id)::int AS ids
		FROM request_log WHERE kind = 'tool'`,
	);
	assert.deepEqual(rows, { calls: CALLS, failed, ids: CALLS });

	const tools = await data('tools');
	assert.deepEqual(
		tools.items.map(({ value, calls }: { value: string; calls: number }) => [value, calls]),
		[
			[good, CALLS - CALLS / 10],
			[bad, CALLS / 10],
		],
	);
	for (const [path, value] of [
		['gateways', gateway.id],
		['clients', 'load-test'],
	] as const)
		assert.deepEqual([(await data(path)).items[0].value, (await data(path)).items[0].calls], [value, CALLS]);
	assert.match((await data('keys')).items[0].value, /^key:/);
	assert.deepEqual((await data('agents')).items, []);
	assert.deepEqual((await data('costs')).days, []);

	const errors = (await data('errors')).items;
	assert.deepEqual(
		errors.map(({ kind, error, id, calls }: Record<string, unknown>) => [kind, error, id, calls]),
		[
			['tool', errors[0].error, bad, CALLS / 10],
			['tool', 'validation_failed', good, CALLS / 20],
		],
	);
	const [sample] = (await data(`requests?requestId=${errors[0].requestId}&kind=tool`)).requests;
	assert.deepEqual([sample.toolId, sample.outcome, sample.client, sample.gatewayId], [bad, errors[0].error, 'load-test', gateway.id]);

	const series = await data(`timeseries?kind=tool&toolId=${bad.toUpperCase()}&interval=hour`);
	assert.equal(series.points.length, (Date.parse(series.until) - Date.parse(series.since)) / 3_600_000);
	assert.equal(
		series.points.reduce((sum: number, { calls }: { calls: number }) => sum + calls, 0),
		CALLS / 10,
	);
	assert.ok(series.points.some(({ calls, duration }: Record<string, unknown>) => calls === 0 && (duration as { p50: null }).p50 === null));

	for (const path of [
		'overview',
		'tools',
		'gateways',
		'errors',
		'requests',
		'live',
		`timeseries?kind=tool&toolId=${bad}`,
		`requests?toolId=${bad}`,
	])
		assert.doesNotMatch(JSON.stringify(await data(path, stranger)), /load|"calls":[1-9]/, path);
	const exported = must(await account.get('/analytics/requests/export?kind=tool'), 200)
		.body.trimEnd()
		.split('\r\n');
	assert.equal(exported.length, CALLS + 1);
	assert.match(exported[0], /^startedAt,kind,requestId,/);
	const dump = await administer(
		service.config.database ?? assert.fail(),
		`SELECT (SELECT string_agg(l::text, '') FROM request_log l) || (SELECT string_agg(m::text, '') FROM metrics m) AS text`,
	);
	assert.ok(!String(dump[0]?.['text']).includes(CANARY) && !String(dump[0]?.['text']).includes(gateway.key));
	assert.ok(!lines.join('').includes(CANARY));
});

test('the log is walked page by page, and exported as NDJSON', async () => {
	const ids: string[] = [];
	for (let cursor: string | null = ''; cursor !== null; ) {
		const { requests, nextCursor }: { requests: { requestId: string }[]; nextCursor: string | null } = await data(
			`requests?kind=gateway&limit=100${cursor && `&cursor=${cursor}`}`,
		);
		ids.push(...requests.map(({ requestId }) => requestId));
		cursor = nextCursor;
	}
	assert.deepEqual([ids.length, new Set(ids).size], [CALLS, CALLS]);
	const response = await fetch(`${service.url}/analytics/requests/export?kind=gateway&format=ndjson`, {
		headers: { authorization: `Bearer ${account.token}` },
	});
	const text = await response.text();
	const rows = text.trimEnd().split('\n');
	assert.deepEqual(
		rows.map((row) => JSON.parse(row).requestId),
		ids,
	);
});

test('a refused request is a line of its gateway, with its error and without a caller', async () => {
	const own = await registerAccount(service.url);
	const gateway = await publishGateway(own);
	assert.equal((await ask(gateway.url, { 'x-api-key': CANARY, 'user-agent': '=cmd()' })).status, 401);
	await logged('gateway', 1, own);
	const [line] = (await data('requests', own)).requests;
	assert.deepEqual([line.outcome, line.status, line.caller, line.gatewayId], ['unauthorized', 401, null, gateway.id]);
	const csv = must(await own.get('/analytics/requests/export'), 200).body;
	const [, mark] = /has a `(.)` before it/.exec(EXPORT_FORMATS) ?? [];
	assert.ok(csv.includes(`,${mark}=cmd(),`) && !csv.includes(CANARY));
});

test('a run over the management API is a line with the id of its request', async (t) => {
	const own = await registerAccount(service.url);
	const upstream = await httpUpstream(t, (_request, response) => response.end('x'));
	const tool = await createHttpTool(own, { name: 'one', url: upstream.origin });
	must(await own.post(`/organizations/${own.organization.id}/tools/${tool}/execute`, {}, { 'x-request-id': 'by-hand' }), 200);
	await logged('tool', 1, own);
	const [line] = (await data('requests?requestId=by-hand', own)).requests;
	assert.deepEqual([line.kind, line.toolId, line.gatewayId, line.method, line.outcome], ['tool', tool, null, 'management', 'success']);
});

test('live statistics come as events, and name what happened in the window', async () => {
	const controller = new AbortController();
	const response = await fetch(`${service.url}/analytics/live`, {
		headers: { authorization: `Bearer ${account.token}`, accept: 'text/event-stream' },
		signal: controller.signal,
	});
	assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
	let text = '';
	for await (const chunk of response.body ?? []) {
		text += Buffer.from(chunk).toString();
		if (/event: stats\ndata: .*\n\n/.test(text)) break;
	}
	controller.abort();
	const event = JSON.parse(/event: stats\ndata: (.*)\n/.exec(text)?.[1] ?? '');
	assert.deepEqual([event.windowSeconds, event.gateway.calls, event.model.calls], [300, CALLS, 0]);
});

test('what cannot be asked is a 400 that names the parameter', async () => {
	const old = '2020-01-01';
	for (const [path, parameter] of [
		[`timeseries?since=${old}&until=2020-01-02&interval=minute`, 'interval'],
		['timeseries?since=2026-01-02&until=2026-01-01', 'since'],
		[`overview?since=${old}`, 'since'],
		['overview?since=9999-12-30&until=9999-12-31T00:00:01Z', 'until'],
		[`costs?since=2026-01-01&until=2026-06-01`, 'since'],
		['timeseries?toolId=x', 'toolId'],
		['timeseries?client=a&caller=b', ''],
		['tools?limit=1000', 'limit'],
		['requests?cursor=x', 'cursor'],
		['requests?organizationId=x', 'organizationId'],
		['requests/export?format=xlsx', 'format'],
	]) {
		const { status, body } = await account.get(`/analytics/${path}`);
		assert.equal(status, 400, path);
		assert.match(JSON.stringify(body.details), new RegExp(parameter ?? ''), path);
	}
});

test('runs of agents leave a line each: those that succeed, fail, and are cancelled', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.writeHead(404).end());
	const owner = await registerAccount(service.url);
	const pipeline = (middle: object) => ({
		nodes: [
			{ id: 'in', type: 'input', data: { schema: { type: 'object' } } },
			{ id: 'step', ...middle },
			{ id: 'out', type: 'output', data: { mapping: '{{nodes.step.output}}' } },
		],
		edges: [
			{ id: 'e1', source: 'in', target: 'step' },
			{ id: 'e2', source: 'step', target: 'out' },
		],
	});
	const made = async (name: string, middle: object): Promise<string> =>
		must(await owner.post('/agents', { name, pipeline: pipeline(middle) }), 201).body.data.id;
	const good = await made('good', { type: 'transform', data: { template: { a: '{{input.a}}' } } });
	const tool = { type: 'http', executionConfig: { method: 'GET', url: upstream.origin } };
	const bad = await made('bad', { type: 'tool_call', data: { tool, arguments: {} } });
	const asking = await made('asking', { type: 'approval', data: { message: CANARY } });
	must(await owner.post(`/agents/${good}/invoke`, { input: { a: CANARY } }), 200);
	must(await owner.post(`/agents/${bad}/invoke`, { input: {} }), 422);
	const { executionId } = must(await owner.post(`/agents/${asking}/invoke?async=true`, { input: {} }), 202).body.data;
	must(await owner.post(`/agents/${asking}/executions/${executionId}/cancel`, undefined), 200);
	await logged('agent', 3, owner);
	const { requests } = await data('requests?kind=agent', owner);
	const outcomes = new Map(requests.map((one: { agentId: string; outcome: string }) => [one.agentId, one.outcome]));
	assert.equal(outcomes.get(good), 'success');
	assert.match(String(outcomes.get(bad)), /egress_refused|upstream_failed/);
	assert.equal(outcomes.get(asking), 'cancelled');
	assert.ok(!JSON.stringify(requests).includes(CANARY));
	const agents = await data('agents', owner);
	assert.equal(JSON.stringify(agents).includes(good), true);
});
