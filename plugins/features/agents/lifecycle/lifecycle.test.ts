// Tests of versions, files, schedules and tests of agents over the management API.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as jsonOf } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { until } from '../../../../test/helpers/clock.ts';
import { administer } from '../../../../test/helpers/postgres.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	sharedService,
} from '../../../../test/helpers/service.ts';
import { tagOf } from '../../../../test/helpers/versions.ts';
import { TEMPLATES } from '../templates/index.ts';
import type { AgentFile } from './transfer.ts';

let service: SharedService;
let account: Account;
let models: { origin: string; close(): void };
before(async () => {
	service = await sharedService();
	[account, models] = await Promise.all([registerAccount(service.url), modelServer()]);
});
after(() => {
	models.close();
	return service.stop();
});

/** A model that calls the first tool that it is offered, and else answers with JSON of the schema, or with the last message. */
async function modelServer() {
	const server = createServer(async (request, response) => {
		const {
			messages,
			tools,
			response_format: format,
		} = (await jsonOf(request)) as {
			messages: { role: string; content: unknown }[];
			tools?: { function: { name: string } }[];
			response_format?: { json_schema?: { schema: object } };
		};
		const called = messages.some(({ role }) => role === 'tool');
		const [tool] = tools ?? [];
		const text = String(messages.at(-1)?.content ?? '');
		const verdict = { reason: 'It says so.', passed: text.includes('Output:\n{"greeting":"Hello') };
		const schema = format?.json_schema?.schema;
		const answer = schema ? JSON.stringify(JSON.stringify(schema).includes('"passed"') ? verdict : sampleOf(schema)) : text;
		const call = { index: 0, id: 'call1', type: 'function', function: { name: tool?.function.name, arguments: '{}' } };
		const delta = tool && !called ? { role: 'assistant', tool_calls: [call] } : { role: 'assistant', content: answer };
		const choice = { index: 0, delta, finish_reason: tool && !called ? 'tool_calls' : 'stop' };
		const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } };
		const events = [{ choices: [choice] }, usage].map((one) => `data: ${JSON.stringify({ id: 'c', model: 'm', ...one })}\n\n`);
		response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${events.join('')}data: [DONE]\n\n`);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => void server.close() };
}

function sampleOf(schema: { type?: unknown; enum?: unknown[]; properties?: Record<string, object> }): unknown {
	if (schema.enum) return schema.enum[0];
	const [type] = [schema.type].flat();
	if (type === 'object') return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, one]) => [name, sampleOf(one)]));
	return { string: 'text', number: 1, integer: 1, boolean: true, array: [] }[String(type)] ?? null;
}

const SCHEMA = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const pipelineOf = (mapping: object) => ({
	nodes: [
		{ id: 'in', type: 'input', data: { schema: SCHEMA } },
		{ id: 'out', type: 'output', data: { mapping } },
	],
	edges: [{ id: 'e', source: 'in', target: 'out' }],
});
const GREETING = { greeting: 'Hello, {{input.name}}.' };

async function makeAgent(mapping: object = GREETING, owner = account) {
	const { body, headers } = must(await owner.post('/agents', { name: 'Greeter', description: 'x', pipeline: pipelineOf(mapping) }), 201);
	return { id: body.data.id as string, path: `/agents/${body.data.id}`, etag: headers.get('etag') ?? '' };
}

async function addModels(owner: Account, name = 'Models'): Promise<string> {
	const prices = { m: { input: 2, output: 10, cached: 1 } };
	const connection = { name, provider: 'custom', apiKey: 'key', baseUrl: models.origin, model: 'm', prices };
	return must(await owner.post('/llm-providers', connection), 201).body.data.id;
}

const invoke = (path: string, input: object = { name: 'Ada' }) => account.post(`${path}/invoke`, { input });

test('versions are saved, listed, shown and compared, and name the runs that they are of', async () => {
	const { path, etag } = await makeAgent();
	const first = must(await account.post(`${path}/versions`, { changelog: 'First.' }, { 'if-match': etag }), 201).body.data;
	assert.deepEqual([first.versionIndex, first.changelog, first.createdBy, first.isCurrent], [0, 'First.', account.email, true]);
	const ran = must(await invoke(path), 200).body.executionId;
	must(await account.post(`${path}/deactivate`, undefined), 200);
	must(await account.post(`${path}/activate`, undefined), 200);
	assert.equal((await account.get(`${path}/versions`)).body.data.versions[0].isCurrent, true, 'a switch of the status changes no run');
	const again = must(await invoke(path), 200).body.executionId;
	must(await account.patch(path, { pipeline: pipelineOf({ greeting: 'Bye.' }), settings: { timeoutMs: 5000 } }), 200);
	assert.equal((await account.get(`${path}/versions`)).body.data.versions[0].isCurrent, false, 'it runs as no version says');
	assert.equal((await account.post(`${path}/versions`, { changelog: 'x' }, { 'if-match': etag })).status, 412);
	const listed = `${etag}, ${must(await account.get(path), 200).headers.get('etag')}`;
	for (const verb of ['activate', 'deactivate'] as const) {
		must(await account.post(`${path}/${verb}`, undefined, { 'if-match': `W/${etag}` }), 412);
		must(await account.post(`${path}/${verb}`, undefined, { 'if-match': etag }), 412);
	}
	must(await account.post(`${path}/activate`, undefined, { 'if-match': listed }), 200);
	const unsaved = must(await invoke(path), 200).body.executionId;
	const diff = must(await account.get(`${path}/versions/diff`), 200).body.data;
	assert.deepEqual([diff.from, diff.to, diff.isEqual, diff.nodes.added, diff.edges.changed], [0, null, false, [], []]);
	const fields = [{ path: '/data/mapping/greeting', from: 'Hello, {{input.name}}.', to: 'Bye.' }];
	assert.deepEqual(diff.nodes.changed, [{ id: 'out', fields }]);
	assert.deepEqual(diff.settings, [{ path: '/timeoutMs', to: 5000 }]);
	assert.equal(must(await account.post(`${path}/versions`, { changelog: 'Second.' }), 201).body.data.versionIndex, 1);
	const { executions } = must(await account.get(`${path}/executions`), 200).body.data;
	const ofRun = new Map(executions.map((one: { executionId: string; versionIndex: number }) => [one.executionId, one.versionIndex]));
	assert.deepEqual(
		[ran, again, unsaved].map((id) => ofRun.get(id)),
		[0, 0, 1],
	);
	const whole = must(await account.get(`${path}/versions/0`), 200).body.data;
	assert.deepEqual([whole.pipeline, whole.settings, whole.name], [pipelineOf(GREETING), {}, 'Greeter']);
	for (const missing of ['versions/2', 'versions/x', 'versions/diff?from=7'])
		assert.equal((await account.get(`${path}/${missing}`)).status, 404);
});

test('a rollback makes the agent what it was, and is a version of its own', async () => {
	const { path } = await makeAgent();
	must(await account.post(`${path}/versions`, { changelog: 'First.' }), 201);
	const changed = must(await account.patch(path, { name: 'Other', pipeline: pipelineOf({ x: 1 }), settings: { timeoutMs: 5000 } }), 200);
	const etag = changed.headers.get('etag') ?? '';
	must(await account.patch(path, { description: 'y' }), 200);
	assert.equal((await account.post(`${path}/versions/0/rollback`, undefined, { 'if-match': etag })).status, 412);
	const { agent, version } = must(await account.post(`${path}/versions/0/rollback`, undefined), 200).body.data;
	assert.deepEqual([agent.name, agent.description, agent.settings, agent.pipeline], ['Greeter', 'x', {}, pipelineOf(GREETING)]);
	assert.deepEqual([version.versionIndex, version.restoredFrom, version.isCurrent], [1, 0, true]);
	assert.deepEqual(must(await invoke(path), 200).body.output, { greeting: 'Hello, Ada.' });
	assert.equal(must(await account.get(`${path}/versions/diff?from=0&to=1`), 200).body.data.isEqual, true);
	assert.equal((await account.post(`${path}/versions/9/rollback`, undefined)).status, 404);
	const log = must(await account.get(`${path}/audit-log`), 200).body.data.entries;
	assert.deepEqual(log.filter((one: { resourceType: string }) => one.resourceType === 'agent_version').length, 2);
});

test('a rollback to a pipeline that names what is gone is refused, and changes nothing', async () => {
	const { path } = await makeAgent();
	const providerId = await addModels(account, 'Leaving models');
	const say = { id: 'say', type: 'llm_call', data: { providerId, userPromptTemplate: '{{input.name}}' } };
	const { nodes, edges } = pipelineOf(GREETING);
	const asking = { nodes: [...nodes, say], edges: [...edges, { id: 'f', source: 'in', target: 'say' }] };
	must(await account.patch(path, { pipeline: asking }), 200);
	must(await account.post(`${path}/versions`, { changelog: 'It asks.' }), 201);
	must(await account.patch(path, { pipeline: pipelineOf(GREETING) }), 200);
	must(await account.del(`/llm-providers/${providerId}`), 200);
	const { status, body } = await account.post(`${path}/versions/0/rollback`, undefined);
	assert.deepEqual([status, body.details[0].path], [400, '/pipeline/nodes/2/data/providerId']);
	assert.deepEqual(must(await account.get(path), 200).body.data.pipeline, pipelineOf(GREETING));
	assert.equal((await account.get(`${path}/versions`)).body.data.versions.length, 1);
});

test('a file names what it uses, arrives in another organization, and gives the same bytes there', async () => {
	const other = await registerAccount(service.url);
	const inner = await makeAgent();
	const [providerId, toolId] = [
		await addModels(account, 'Fine models'),
		await createHttpTool(account, { name: 'load', url: `${models.origin}/` }),
	];
	const nodes = [
		{ id: 'in', type: 'input', data: { schema: SCHEMA } },
		{ id: 'say', type: 'llm_call', data: { providerId, userPromptTemplate: providerId } },
		{
			id: 'each',
			type: 'map',
			data: {
				items: [1],
				body: {
					nodes: [
						{ id: 'tool', type: 'tool_call', data: { toolId } },
						{ id: 'end', type: 'output', data: {} },
					],
					edges: [{ id: 'b', source: 'tool', target: 'end' }],
				},
			},
		},
		{ id: 'sub', type: 'sub_agent', data: { agentId: inner.id, input: { name: '{{input.name}}' } } },
		{ id: 'out', type: 'output', data: { mapping: { z: 1, a: '{{nodes.sub.output}}' } } },
	];
	const edges = nodes.slice(1).map(({ id }, at) => ({ id: `e${at}`, source: nodes[at]?.id, target: id }));
	const made = must(await account.post('/agents', { name: 'Mover', pipeline: { nodes, edges }, settings: { timeoutMs: 9000 } }), 201).body
		.data;
	const file = must(await account.get(`/agents/${made.id}/export`), 200).body;
	const text = JSON.stringify(file);
	for (const id of [toolId, inner.id, made.id]) assert.ok(!text.includes(id), 'the file has no ids');
	assert.equal(file.pipeline.nodes[1].data.userPromptTemplate, providerId, 'a text that looks like an id is none');
	assert.deepEqual(
		file.references.map(({ key, usedBy }: { key: string; usedBy: object[] }) => [key, usedBy]),
		[
			['provider:Fine models', [{ node: 'say', path: '/providerId' }]],
			['tool:load', [{ node: 'tool', path: '/toolId' }]],
			['agent:Greeter', [{ node: 'sub', path: '/agentId' }]],
		],
	);
	const refused = await other.post('/agents/import', file);
	assert.deepEqual(
		[refused.status, refused.body.details.map(({ path }: { path: string }) => path)],
		[400, ['/references/0', '/references/1', '/references/2']],
	);
	await makeAgent(GREETING, other);
	await makeAgent(GREETING, other);
	await addModels(other, 'Fine models');
	const tool = await createHttpTool(other, { name: 'load', url: `${models.origin}/` });
	const twice = await other.post('/agents/import', file);
	assert.match(twice.body.message, /several rows for the agent "Greeter"/);
	const mapping = { 'agent:Greeter': (await makeAgent(GREETING, other)).id };
	const foreign = await other.post('/agents/import', { ...file, mapping: { 'agent:Greeter': inner.id } });
	assert.deepEqual([foreign.status, foreign.body.details[0].path], [400, '/pipeline/nodes/3/data/agentId']);
	const arrived = must(await other.post('/agents/import', { ...file, mapping }), 201).body.data;
	assert.deepEqual([arrived.pipeline.nodes[2].data.body.nodes[0].data.toolId, arrived.settings], [tool, { timeoutMs: 9000 }]);
	assert.equal(JSON.stringify(must(await other.get(`/agents/${arrived.id}/export`), 200).body), text);
});

test('a file that names places which are not there is refused with all of them', async () => {
	const references = [
		{
			key: 'k',
			kind: 'agent',
			name: 'x',
			usedBy: [
				{ node: 'in', path: '/__proto__/x' },
				{ node: 'no', path: '/a' },
			],
		},
	];
	const file = { format: 'gatehouse.agent/1', name: 'x', pipeline: pipelineOf({}), references, mapping: { k: 'id', other: 'id' } };
	const { status, body } = await account.post('/agents/import', file);
	assert.deepEqual(
		[status, body.details.map(({ path }: { path: string }) => path)],
		[400, ['/references/0/usedBy/0', '/references/0/usedBy/1', '/mapping/other']],
	);
});

test('a version that is saved or restored again under its Idempotency-Key is the first one', async () => {
	const { path } = await makeAgent();
	const keyed = (verb: string, key: string) => account.post(`${path}/${verb}`, { changelog: 'Once.' }, { 'idempotency-key': key });
	for (const verb of ['versions', 'versions/0/rollback']) {
		const [first, again] = [await keyed(verb, `${path} ${verb}`), await keyed(verb, `${path} ${verb}`)];
		assert.deepEqual([first.body.success, again.body], [true, first.body], verb);
	}
	assert.equal((await keyed('versions', `${path} versions/0/rollback`)).status, 422);
	assert.equal((await account.get(`${path}/versions`)).body.data.versions.length, 2);
});

test('a schedule is set, shown with its next times, starts the agent, and leaves with it', async () => {
	const { id, path } = await makeAgent();
	for (const [body, at] of [
		[{ cron: '* * * *' }, '/cron'],
		[{ cron: '* * * * * *' }, '/cron'],
		[{ cron: '0 0 30 2 *' }, '/cron'],
		[{ cron: '0 0 * * *', timeZone: 'Mars/Base' }, '/timeZone'],
		[{ cron: '0 0 * * *', input: { name: 7 } }, '/input/name'],
	] as const) {
		const { status, body: answer } = await account.post(`${path}/schedule`, { input: { name: 'Ada' }, ...body });
		assert.deepEqual([status, answer.details[0].path], [400, at], JSON.stringify(body));
	}
	assert.equal((await account.get(`${path}/schedule`)).status, 404);
	const input = { name: 'Ada' };
	const berlin = { cron: '30 2 * * *', timeZone: 'Europe/Berlin', overlap: 'queue', missed: 'once', input };
	const set = must(await account.post(`${path}/schedule`, berlin), 200);
	assert.equal(set.body.data.nextRuns.length, 5);
	const shown = must(await account.post(`${path}/schedule`, { cron: '* * * * *', input }), 200).body.data;
	assert.deepEqual([shown.timeZone, shown.overlap, shown.missed, shown.input, shown.problem], ['UTC', 'skip', 'skip', input, null]);
	assert.equal((await account.post(`${path}/schedule`, berlin, { 'if-match': set.headers.get('etag') ?? '' })).status, 412);
	await due(id);
	const runs = async () => must(await account.get(`${path}/executions?trigger=schedule&status=success`), 200).body.data.executions;
	await until(async () => (await runs()).length > 0, 'the run of the schedule');
	assert.deepEqual([(await runs())[0].startedBy], [null]);
	must(await account.post(`${path}/deactivate`, undefined), 200);
	await due(id);
	await until(async () => (await account.get(`${path}/schedule`)).body.data.problem !== null, 'the problem of the schedule');
	assert.match((await account.get(`${path}/schedule`)).body.data.problem, /not active/);
	must(await account.del(`${path}/schedule`, undefined, { 'if-match': tagOf(99) }), 412);
	const current = must(await account.get(`${path}/schedule`), 200).headers.get('etag') ?? '';
	must(await account.del(`${path}/schedule`), 200);
	assert.equal((await account.del(`${path}/schedule`)).status, 404);
	assert.equal((await account.post(`${path}/schedule`, berlin, { 'if-match': current })).status, 412, 'it is not there any more');
	assert.deepEqual(await due(id), [], 'the engine has forgotten it');
	must(await account.post(`${path}/schedule`, berlin), 200);
	must(await account.del(path), 200);
	assert.deepEqual(await due(id), []);
});

/** Makes the time of a schedule come now. */
async function due(agentId: string): Promise<object[]> {
	const database = service.config.database ?? assert.fail();
	return administer(
		database,
		`UPDATE run_schedules SET next_at = date_trunc('milliseconds', now()) WHERE agent_id = '${agentId}' RETURNING key`,
	);
}

test('a test runs each case in two versions side by side, and says what each lacks and costs', async () => {
	const { path } = await makeAgent();
	const providerId = await addModels(account, 'Judges');
	must(await account.post(`${path}/versions`, { changelog: 'First.' }), 201);
	must(await account.patch(path, { pipeline: pipelineOf({ greeting: 'Bye.' }), status: 'inactive' }), 200);
	const judge = { providerId, criteria: 'It greets.' };
	const cases = [
		{ name: 'equal', input: { name: 'Ada' }, expect: { equals: { greeting: 'Hello, Ada.' } } },
		{ input: { name: 'Ada' }, expect: { contains: 'ADA', judge } },
		{ input: { name: 'Ada' }, expect: { schema: { type: 'object', required: ['greeting'] } } },
		{ input: { name: 7 } },
	];
	const { results, differing } = must(await account.post(`${path}/test`, { cases, versions: [0, null] }), 200).body.data;
	const statuses = results.map((one: { cases: { status: string }[] }) => one.cases.map(({ status }) => status));
	assert.deepEqual(statuses, [
		['passed', 'passed', 'passed', 'error'],
		['failed', 'failed', 'passed', 'error'],
	]);
	assert.deepEqual([results[0].version, results[0].passed, results[0].failed, results[1].version, differing], [0, 3, 1, null, [0, 1]]);
	assert.ok(Math.abs(results[0].cost - 0.00007) < 1e-9, `${results[0].cost}`);
	assert.deepEqual(
		results[0].cases[1].checks.map(({ expects }: { expects: string }) => expects),
		['contains', 'judge'],
	);
	assert.equal(results[0].cases[3].error.code, 'validation_failed');
	const ran = must(await account.get(`${path}/executions/${results[0].cases[0].executionId}`), 200).body.data;
	assert.deepEqual([ran.versionIndex, ran.startedBy], [0, `${account.email} (test)`]);
	const unknown = await account.post(`${path}/test`, { cases: [{ input: {}, expect: { judge: { ...judge, providerId: 'x' } } }] });
	assert.deepEqual([unknown.status, unknown.body.details[0].path], [400, '/cases/0/expect/judge/providerId']);
	const unfit = await account.post(`${path}/test`, { cases: [{ input: {}, expect: { schema: { type: 'strange' } } }] });
	assert.deepEqual([unfit.status, unfit.body.details[0].path], [400, '/cases/0/expect/schema']);
	assert.equal((await account.post(`${path}/test`, { cases, versions: [5] })).status, 404);
});

const INPUTS: Record<string, object> = {
	summarise: { text: 'A long text.' },
	'classify-and-route': { message: 'My invoice is wrong.' },
	'extract-to-schema': { document: 'Invoice 7' },
	'research-with-tools': { question: 'Who is it?' },
	'approve-before-acting': { recipient: 'Ada', purpose: 'thanks' },
	'map-over-a-list': { task: 'Say it.', items: ['a', 'b'] },
	'support-triage': { message: 'It is broken.', customer: 'c1' },
	'nightly-report': { recipient: 'Ada' },
};

test('each template is imported as it is shown, runs, and is exported as it was', async () => {
	const owner = await registerAccount(service.url);
	await addModels(owner);
	const target = createServer((_request, response) => response.setHeader('content-type', 'application/json').end('{"figure":7}'));
	await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
	const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
	const [tool] = await Promise.all(['load_figures', 'send_message'].map((name) => createHttpTool(owner, { name, url })));
	for (const name of ['Research', 'Support']) {
		const { id } = await publishGateway(owner, { toolIds: [tool ?? ''] });
		must(await owner.patch(`/gateways/${id}`, { name }), 200);
	}
	const { templates } = must(await owner.get('/agents/templates'), 200).body.data;
	assert.deepEqual(templates.map(({ id }: { id: string }) => id).sort(), Object.keys(INPUTS).sort());
	for (const { id, agent } of templates as { id: string; agent: AgentFile }[]) {
		const made = must(await owner.post('/agents/import', agent), 201).body.data;
		const path = `/agents/${made.id}`;
		assert.deepEqual(must(await owner.get(`${path}/export`), 200).body, agent, id);
		const started = must(await owner.post(`${path}/invoke?async=true`, { input: INPUTS[id] }), 202).body.data.executionId;
		const seen = async () => must(await owner.get(`${path}/executions/${started}`), 200).body.data;
		await until(async () => {
			const { status, statusDetail, error } = await seen();
			assert.notEqual(status, 'failed', `${id}: ${JSON.stringify(error)}`);
			if (statusDetail === 'waiting_approval') await owner.post(`${path}/executions/${started}/approve`, { answer: { approved: true } });
			return status === 'success';
		}, id);
		assert.ok(Object.keys((await seen()).output).length > 0, id);
	}
	assert.equal(templates.length, TEMPLATES.length);
	target.close();
});
