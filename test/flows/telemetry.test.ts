// Tests what a collector receives of one story: calls over MCP and REST, an agent with a model and a tool, and a run that another replica ends.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ATTRIBUTES as A, METRICS } from '../../core/telemetry/names.ts';
import { until } from '../helpers/clock.ts';
import { fileContext } from '../helpers/file-context.ts';
import { ask, CALL } from '../helpers/gateway-auth.ts';
import { type GrpcServer, grpcServer } from '../helpers/grpc.ts';
import { type CollectedSpan, type Collector, startCollector } from '../helpers/otlp.ts';
import { scriptedModels } from '../helpers/scripted-models.ts';
import { type Account, createHttpTool, must, publishGateway, registerAccount, startTestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

const CANARY = 'canary7e5a';
const SECRET = 'collector-secret-1';
const TRACES = {
	http: '4bf92f3577b34da6a3ce929d0e0e4736',
	meta: '5cf92f3577b34da6a3ce929d0e0e4737',
	agent: '6df92f3577b34da6a3ce929d0e0e4738',
	boss: '7ef92f3577b34da6a3ce929d0e0e4739',
	grpc: '8ff92f3577b34da6a3ce929d0e0e473a',
};
const PARENT = '00f067aa0ba902b7';
const parentOf = (trace: string): string => `00-${trace}-${PARENT}-01`;
const META = { traceparent: parentOf(TRACES.meta), tracestate: 'vendor=1' };

let collector: Collector;
let account: Account;
/** The headers that upstreams and models received, by path. */
const received: { path: string; headers: Record<string, unknown> }[] = [];
const log: string[] = [];
let taken = '';
let grpc: GrpcServer;
let gatewayName = '';
const context = fileContext();

before(async () => {
	collector = await startCollector(context);
	const upstream = await httpUpstream(context, (request, response) => {
		received.push({ path: request.url ?? '', headers: request.headers });
		if (request.url === '/broken') response.statusCode = 503;
		response.setHeader('content-type', 'application/json').end('{"ok":true}');
	});
	const models = await scriptedModels(context, () => ({ pieces: [`Hello ${CANARY}`] }));
	const env = {
		OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
		OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${SECRET}`,
		OTEL_SERVICE_NAME: 'gate',
		OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20one',
		LOG_LEVEL: 'info',
	};
	const first = await startTestService({ env, onLog: (line) => log.push(line) });
	const second = await startTestService({ env, replicaOf: first });
	account = await registerAccount(first.url);
	await callGateway(upstream.origin);
	grpc = await grpcServer(context);
	await callGrpc(grpc);
	await runAgents({ upstream: upstream.origin, models: models.origin, second: second.url, stopSecond: () => second.stop() });
	await first.stop();
});
after(() => assert.ok(collector.raw().length > 0));

async function callGateway(origin: string): Promise<void> {
	const tools = [
		await createHttpTool(account, { name: 'greet', url: `${origin}/greet/${CANARY}?q=${CANARY}` }),
		await createHttpTool(account, { name: 'broken', url: `${origin}/broken`, method: 'POST' }),
	];
	const { url, key } = await publishGateway(account, { toolIds: tools });
	gatewayName = new URL(url).pathname.split('/')[2] ?? '';
	const call = (name: string, more: object = {}) => ({ ...CALL, params: { name, arguments: {}, ...more } });
	const headers = { 'x-api-key': key, 'user-agent': CANARY, baggage: `user=${CANARY}` };
	must(await ask(url, { ...headers, traceparent: parentOf(TRACES.http) }, call('greet')), 200);
	must(await ask(url, { ...headers, traceparent: parentOf(TRACES.http) }, call('broken', { _meta: META })), 200);
	must(await ask(`${url}?q=${CANARY}`, { ...headers, traceparent: 'not one' }), 200);
}

const SHOP = `syntax = "proto3"; package shop.v1;
service Shop { rpc GetItem(GetItemRequest) returns (Item); }
message GetItemRequest { string name = 1; } message Item { string name = 1; string title = 2; int64 version = 3; }`;

async function callGrpc({ port }: GrpcServer): Promise<void> {
	const api = { name: 'Shop', type: 'protobuf', baseUrl: `http://127.0.0.1:${port}` };
	const apiId = must(await account.post('/apis', api), 201).body.data.id;
	must(await account.post(`/apis/${apiId}/import-schema`, { schemaContent: SHOP, generateTools: true }), 200);
	const list = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200).body.data.tools;
	const { url, key } = await publishGateway(account, { toolIds: list.map(({ id }: { id: string }) => id) });
	const body = { ...CALL, params: { name: list[0].name, arguments: { name: 'x' } } };
	const answer = must(await ask(url, { 'x-api-key': key, traceparent: parentOf(TRACES.grpc) }, body), 200);
	assert.match(JSON.stringify(answer.body), /A chair/);
}

async function runAgents({
	upstream,
	models,
	second,
	stopSecond,
}: {
	upstream: string;
	models: string;
	second: string;
	stopSecond(): Promise<void>;
}) {
	const connection = { name: 'Models', provider: 'custom', apiKey: `sk-${CANARY}-0123456789`, baseUrl: models, model: 'small' };
	const providerId = must(await account.post('/llm-providers', connection), 201).body.data.id;
	const toolId = await createHttpTool(account, { name: 'lookup', url: `${upstream}/lookup` });
	const agentOf = async (name: string, nodes: object[]): Promise<string> => {
		const all = [{ id: 'in', type: 'input', data: {} }, ...nodes, { id: 'out', type: 'output', data: {} }] as { id: string }[];
		const edges = all.slice(1).map(({ id }, at) => ({ id: `e${at}`, source: all[at]?.id, target: id }));
		return must(await account.post('/agents', { name, pipeline: { nodes: all, edges } }), 201).body.data.id;
	};
	const talker = await agentOf('Talker', [
		{ id: 'say', type: 'llm_call', data: { providerId, userPromptTemplate: `Say ${CANARY}.` } },
		{ id: 'look', type: 'tool_call', data: { toolId, arguments: {} } },
	]);
	const trace = { traceparent: parentOf(TRACES.agent) };
	must(await account.post(`/agents/${talker}/invoke`, { input: {} }, trace), 200);
	const boss = await agentOf('Boss', [{ id: 'ask', type: 'sub_agent', data: { agentId: talker } }]);
	must(await account.post(`/agents/${boss}/invoke`, { input: {} }, { traceparent: parentOf(TRACES.boss) }), 200);
	const asker = await agentOf('Asker', [
		{ id: 'ask', type: 'approval', data: { message: CANARY } },
		{ id: 'look', type: 'tool_call', data: { toolId, arguments: {} } },
	]);
	const elsewhere = { ...account, url: second };
	const { executionId, url } = must(await invokeAt(elsewhere, asker), 202).body.data;
	taken = executionId;
	await until(async () => (await account.get(`/agents/${asker}/approvals`)).body.data.approvals.length > 0, 'the question');
	await stopSecond();
	must(await account.post(`/agents/${asker}/executions/${executionId}/approve`, { answer: { approved: true } }), 200);
	await until(async () => (await account.get(url)).body.data.status === 'success', 'the end');
}

const invokeAt = async ({ url, token }: Account, agent: string) => {
	const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
	const response = await fetch(`${url}/agents/${agent}/invoke?async=true`, { method: 'POST', headers, body: '{"input":{}}' });
	return { status: response.status, headers: response.headers, body: await response.json() };
};

/** Returns the spans of a trace as lines of parents and children. */
function tree(spans: readonly CollectedSpan[]): string[] {
	const lines: string[] = [];
	const known = new Set(spans.map(({ spanId }) => spanId));
	const add = (span: CollectedSpan, depth: number): void => {
		lines.push(`${'  '.repeat(depth)}${span.name}`);
		for (const child of spans.filter(({ parentSpanId }) => parentSpanId === span.spanId)) add(child, depth + 1);
	};
	for (const span of spans.filter(({ parentSpanId = '' }) => !known.has(parentSpanId))) add(span, 0);
	return lines;
}

const ofTrace = (id: string): CollectedSpan[] => collector.spans.filter(({ traceId }) => traceId === id);
const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan =>
	spans.find((span) => span.name === name) ?? assert.fail(`${name} among ${spans.map((span) => span.name).join(', ')}`);

test('a call over MCP is a trace from the client’s context to the upstream, which gets its context', () => {
	const spans = ofTrace(TRACES.http);
	assert.deepEqual(tree(spans), [...['POST /{org}/{gateway}/', '  tools/call greet', '    GET'], 'POST /{org}/{gateway}/']);
	const root = named(spans, 'POST /{org}/{gateway}/');
	assert.deepEqual([root.kind, root.parentSpanId], [2, PARENT]);
	assert.equal(root.attributes[A.httpStatus], 200);
	assert.equal(root.attributes[A.organization], account.organization.slug);
	assert.equal(root.attributes[A.gateway], gatewayName);
	const message = named(spans, 'tools/call greet');
	assert.deepEqual([message.kind, message.attributes[A.mcpMethod], message.attributes[A.tool]], [2, 'tools/call', 'greet']);
	// It is the span of the tool, too.
	assert.deepEqual([message.attributes[A.operation], message.attributes[A.toolType]], ['execute_tool', 'http']);
	assert.equal(message.attributes[A.organizationId], account.organization.id);
	const client = named(spans, 'GET');
	assert.deepEqual([client.kind, client.attributes[A.serverAddress], client.attributes[A.httpStatus]], [3, '127.0.0.1', 200]);
	const sent = received.find(({ path }) => path.startsWith('/greet'))?.headers ?? {};
	assert.equal(sent['traceparent'], `00-${TRACES.http}-${client.spanId}-01`);
	assert.equal(sent['baggage'], undefined);
});

test('a call over gRPC has a span, and the server gets its context as metadata', () => {
	const spans = ofTrace(TRACES.grpc);
	const exchange = named(spans, 'exchange');
	assert.deepEqual([exchange.kind, exchange.attributes[A.serverAddress], exchange.attributes[A.serverPort]], [3, '127.0.0.1', grpc.port]);
	assert.equal(spans.find(({ spanId }) => spanId === exchange.parentSpanId)?.name, 'tools/call Shop_GetItem');
	assert.deepEqual(grpc.metadata[0]?.get('traceparent'), [`00-${TRACES.grpc}-${exchange.spanId}-01`]);
});

test('the context in _meta is the parent of a message, the request is linked, and a failure is told by its code', () => {
	const spans = ofTrace(TRACES.meta);
	assert.deepEqual(tree(spans), ['tools/call broken', '  POST']);
	const message = named(spans, 'tools/call broken');
	assert.equal(message.parentSpanId, PARENT);
	const linked = ofTrace(TRACES.http).find(({ spanId }) => spanId === message.links[0]?.spanId);
	assert.equal(linked?.name, 'POST /{org}/{gateway}/');
	assert.deepEqual([message.attributes[A.errorType], message.status.code, message.status.message], ['tool_error', 2, undefined]);
	assert.equal(message.attributes[A.outcome], 'tool_error');
	assert.equal(named(spans, 'POST').attributes[A.errorType], '503');
	const sent = received.find(({ path }) => path === '/broken')?.headers ?? {};
	assert.equal(sent['tracestate'], 'vendor=1');
});

test('a run of an agent has its nodes, models and tools below it, in the trace of the request that began it', () => {
	const spans = ofTrace(TRACES.agent);
	assert.deepEqual(tree(spans), [
		...['POST /agents/{id}/invoke', '  invoke_agent Talker', '    node input', '    node llm_call', '      chat small', '        POST'],
		...['    node tool_call', '      execute_tool lookup', '        GET', '    node output'],
	]);
	const { attributes } = named(spans, 'chat small');
	assert.deepEqual(
		[A.operation, A.provider, A.requestModel, A.inputTokens, A.outputTokens, A.cachedTokens].map((name) => attributes[name]),
		['chat', 'custom', 'small', 7, 3, 2],
	);
	assert.equal(named(spans, 'invoke_agent Talker').attributes[A.agent], 'Talker');
});

test('an agent that another one runs is below the node that runs it', () => {
	const spans = ofTrace(TRACES.boss);
	const inner = named(spans, 'invoke_agent Talker');
	const around = spans.find(({ spanId }) => spanId === inner.parentSpanId);
	assert.equal(around?.name, 'node sub_agent');
	assert.equal(spans.find(({ spanId }) => spanId === around?.parentSpanId)?.name, 'invoke_agent Boss');
	named(spans, 'execute_tool lookup');
});

test('a run that another replica goes on with stays in its trace', () => {
	const runs = collector.spans.filter(({ attributes }) => attributes[A.runId] === taken);
	const attempts = runs.map(({ attributes }) => Number(attributes[A.runAttempt])).sort();
	assert.ok(attempts.length >= 1 && (attempts.at(-1) ?? 0) >= 2, attempts.join());
	assert.equal(new Set(runs.map(({ traceId }) => traceId)).size, 1);
	const trace = ofTrace(runs[0]?.traceId ?? '');
	assert.ok(new Set(trace.map(({ resource }) => resource['service.instance.id'])).size >= 2, 'spans of both replicas');
	named(trace, 'POST /agents/{id}/invoke');
	named(trace, 'execute_tool lookup');
});

test('metrics have the names, units and labels of the mapping', () => {
	const known = new Map(Object.values(METRICS).map((metric) => [metric.name as string, metric]));
	for (const { name, unit, points } of collector.metrics) {
		const metric = known.get(name) ?? assert.fail(`${name} is in the mapping`);
		assert.equal(unit, metric.unit, name);
		for (const { attributes } of points)
			for (const label of Object.keys(attributes)) assert.ok((metric.labels as readonly string[]).includes(label), `${name} ${label}`);
	}
	// Each process tells its own sums, again and again, and any of them may run a part.
	const sum = (name: string, label: string, value: string): number => {
		const byProcess = new Map<unknown, number>();
		for (const { resource, points } of collector.metrics.filter((metric) => metric.name === name)) {
			const process = resource['service.instance.id'] ?? assert.fail('a process tells which it is');
			const of = points.filter(({ attributes }) => attributes[label] === value);
			const told = of.reduce((all, { count, asDouble, asInt }) => all + Number(count ?? asDouble ?? asInt), 0);
			byProcess.set(process, Math.max(told, byProcess.get(process) ?? 0));
		}
		return [...byProcess.values()].reduce((all, told) => all + told, 0);
	};
	assert.equal(sum(METRICS.message.name, A.mcpMethod, 'tools/call'), 3);
	assert.equal(sum(METRICS.tool.name, A.tool, 'greet'), 1);
	assert.equal(sum(METRICS.inputTokens.name, A.requestModel, 'small'), 14);
	assert.equal(sum(METRICS.outputTokens.name, A.requestModel, 'small'), 6);
	assert.equal(sum(METRICS.gateway.name, A.gateway, gatewayName), 3);
	assert.ok(sum(METRICS.agent.name, A.outcome, 'success') >= 1);
});

test('logs are sent as they are written, with their severity and their trace', () => {
	const line =
		collector.logs.find(({ body, traceId }) => body === 'request' && traceId === TRACES.http) ?? assert.fail('a line of the call');
	assert.deepEqual([line.severityText, line.severityNumber], ['info', 9]);
	const { attributes } = line;
	assert.equal(attributes[A.organization], account.organization.slug);
	assert.equal(attributes[A.gateway], gatewayName);
	assert.equal(attributes[A.tool], 'greet');
	assert.match(String(attributes['gatehouse.log.caller']), /./);
});

test('who sends is told by the standard variables, and the collector’s credentials by its headers only', () => {
	for (const { resource } of [...collector.spans, ...collector.metrics, ...collector.logs]) {
		assert.equal(resource['service.name'], 'gate');
		assert.equal(resource['deployment.environment.name'], 'test one');
	}
	assert.ok(collector.headers.every((headers) => headers['x-collector-key'] === SECRET));
	assert.deepEqual([...new Set(collector.headers.map(({ path }) => path))].sort(), ['/v1/logs', '/v1/metrics', '/v1/traces']);
	assert.ok(!log.join('\n').includes(SECRET) && !collector.raw().includes(SECRET));
});

test('nothing that a client, an upstream or a model sent is told: no query, header, body, argument, prompt or answer', () => {
	assert.ok(received.some(({ path }) => path.includes(CANARY)));
	assert.ok(!collector.raw().includes(CANARY), 'canary');
	for (const secret of [account.password, account.token]) assert.ok(!collector.raw().includes(secret));
	for (const { events } of collector.spans) assert.equal(events.length, 0);
});
