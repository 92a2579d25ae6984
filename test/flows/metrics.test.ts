// Tests `/metrics` as Prometheus scrapes it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { METRICS, prometheusLabel, prometheusName } from '../../core/telemetry/names.ts';
import { until } from '../helpers/clock.ts';
import { fileContext } from '../helpers/file-context.ts';
import { ask, CALL, MCP } from '../helpers/gateway-auth.ts';
import { freePort } from '../helpers/ports.ts';
import { parsePrometheus, type Scraped } from '../helpers/prometheus.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { httpUpstream, type Upstream } from '../helpers/upstream.ts';

const TOKEN = 'a-token-of-metrics-1234';
const CANARY = 'canary7e5a';
let service: TestService;
let account: Account;
let upstream: Upstream;
const context = fileContext();
before(async () => {
	service = await startTestService({ env: { METRICS_TOKEN: TOKEN } });
	account = await registerAccount(service.url);
	upstream = await httpUpstream(context, (_request, response) => void response.end('{"ok":true}'));
});
after(() => service.stop());

const scrape = async (url = service.url): Promise<Scraped> => {
	const { status, headers, body } = await send(`${url}/metrics`, 'GET', { headers: { authorization: `Bearer ${TOKEN}` } });
	assert.equal(status, 200);
	assert.match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
	return parsePrometheus(body);
};

test('calls of a gateway and its tools are counted by organization, gateway, tool and outcome, and nothing that a client sends is a label', async () => {
	const name = `greet_${CANARY.slice(0, 4)}`;
	const tool = await createHttpTool(account, { name, url: `${upstream.origin}/${CANARY}?q=${CANARY}` });
	const gateway = await publishGateway(account, { toolIds: [tool] });
	const call = { ...CALL, params: { name, arguments: {} } };
	const headers = { 'x-api-key': gateway.key, 'user-agent': CANARY, 'x-request-id': CANARY };
	for (let count = 0; count < 3; count++) must(await ask(gateway.url, headers, call), 200);
	must(await ask(gateway.url, { 'x-api-key': `svc_gw_${CANARY}` }), 401);
	must(await send(`${gateway.url}?${CANARY}`, 'POST', { body: CALL, headers: { ...MCP, ...headers } }), 200);
	// A request is counted when its connection has taken the answer.
	await until(async () => (await scrape()).sum('gatehouse_gateway_request_duration_count') >= 5, 'all requests');
	const { sum, samples } = await scrape();
	const at = { gatehouse_organization: account.organization.slug, gatehouse_gateway: new URL(gateway.url).pathname.split('/')[2] ?? '' };
	assert.equal(sum('gatehouse_gateway_requests_total', { ...at, gatehouse_outcome: 'success' }), 4);
	assert.equal(sum('gatehouse_gateway_requests_total', { ...at, gatehouse_outcome: 'unauthorized' }), 1);
	assert.equal(sum('gatehouse_gateway_request_duration_count', at), 5);
	assert.equal(sum('gen_ai_execute_tool_duration_count', { gen_ai_tool_name: name }), 3);
	assert.equal(sum('gatehouse_upstream_duration_count', { gatehouse_organization: account.organization.slug }), 3);
	assert.ok(sum('http_server_request_duration_count', { http_route: '/{org}/{gateway}/', http_response_status_code: '200' }) >= 4);
	assert.ok(sum('http_server_request_duration_count', { http_route: '/gateways', http_request_method: 'POST' }) >= 1);
	const texts = samples.flatMap(({ labels }) => Object.values(labels));
	assert.ok(texts.length > 100);
	assert.deepEqual(
		texts.filter((text) => text.includes(CANARY)),
		[],
	);
});

test('each metric has the name, the kind and the labels of the mapping, and no other', async () => {
	const { types, samples } = await scrape();
	const known = new Map(Object.values(METRICS).map((metric) => [prometheusName(metric), metric]));
	for (const [name, type] of types) assert.equal(known.get(name)?.kind, type, name);
	for (const { name, labels } of samples) {
		const { labels: allowed = [] } = known.get(name) ?? known.get(name.replace(/_(bucket|sum|count)$/, '')) ?? assert.fail(name);
		const names = [...allowed.map(prometheusLabel), 'le'];
		for (const label of Object.keys(labels)) assert.ok(names.includes(label), `${name} ${label}`);
	}
	for (const name of [
		'process_memory_usage',
		'nodejs_eventloop_delay_p99',
		'db_client_connection_count',
		'gatehouse_runs_unfinished',
		'gatehouse_streams_open',
	])
		assert.ok(types.has(name), name);
	assert.ok((samples.find(({ name }) => name === 'process_memory_usage')?.value ?? 0) > 1e6);
});

test('without its token, or with another one, nothing is told', async () => {
	for (const headers of [{}, { authorization: `Bearer ${TOKEN}x` }, { authorization: `Basic ${TOKEN}` }] as Record<string, string>[]) {
		const { status, body, headers: answered } = await send(`${service.url}/metrics`, 'GET', { headers });
		assert.equal(status, 401);
		assert.equal(answered.get('www-authenticate'), 'Bearer');
		assert.equal(body.error, 'UNAUTHORIZED');
	}
});

test('refusals of rate limits are counted by the window that refused', async (t) => {
	const wide = { max: 1_000_000, seconds: 60 };
	const limits = { global: wide, categories: {}, invoke: wide, gateways: { max: 2, seconds: 60 }, routes: {} };
	const strict = await startTestService({ replicaOf: service, limits, env: { METRICS_TOKEN: TOKEN } });
	t.after(() => strict.stop());
	const { url, key } = await publishGateway(account);
	const own = url.replace(new URL(url).origin, strict.url);
	const statuses: number[] = [];
	for (let count = 0; count < 4; count++) statuses.push((await ask(own, { 'x-api-key': key })).status);
	assert.deepEqual(statuses, [200, 200, 429, 429]);
	assert.equal((await scrape(strict.url)).sum('gatehouse_limit_refusals_total', { gatehouse_limit_window: 'gateway' }), 2);
});

test('a port of its own serves nothing else, and the port of the service then serves no metrics', async (t) => {
	const port = await freePort();
	const replica = await startTestService({ replicaOf: service, env: { METRICS_PORT: String(port), METRICS_TOKEN: TOKEN } });
	t.after(() => replica.stop());
	const own = `http://127.0.0.1:${port}`;
	assert.ok((await scrape(own)).types.has('process_uptime'));
	must(await send(`${own}/metrics`, 'GET'), 401);
	must(await send(`${own}/health/live`, 'GET'), 404);
	must(await send(`${own}/metrics`, 'POST'), 405);
	must(await send(`${replica.url}/metrics`, 'GET', { headers: { authorization: `Bearer ${TOKEN}` } }), 404);
});
