// Tests of agents over the management API: saving, invoking, executions, approvals, costs, tenancy, and what never is in the log.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { until } from '../../../test/helpers/clock.ts';
import { addMember } from '../../../test/helpers/members.ts';
import { modelServer } from '../../../test/helpers/models.ts';
import { administer } from '../../../test/helpers/postgres.ts';
import { type Account, must, registerAccount, type SharedService, send, sharedService } from '../../../test/helpers/service.ts';
import { KEY } from '../../../testing/provider.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

const SCHEMA = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const edges = (...pairs: [string, string][]) => pairs.map(([source, target], at) => ({ id: `e${at}`, source, target }));
const INPUT = { id: 'in', type: 'input', data: { schema: SCHEMA } };
const OUTPUT = { id: 'out', type: 'output', data: { mapping: { greeting: 'Hello, {{input.name}}.' } } };
const GREETER = { nodes: [INPUT, OUTPUT], edges: edges(['in', 'out']) };
const ASKING = {
	nodes: [
		INPUT,
		{ id: 'ask', type: 'approval', data: { message: 'Greet {{input.name}}?' } },
		{ id: 'out', type: 'output', data: { mapping: { answer: '{{nodes.ask.output}}' } } },
	],
	edges: edges(['in', 'ask'], ['ask', 'out']),
};
const PRICES = { 'small-2026': { input: 2, output: 10, cached: 1 }, small: { input: 2, output: 10, cached: 1 } };

async function makeAgent(pipeline: object = GREETER, more: object = {}, owner = account) {
	const { body, headers } = must(await owner.post('/agents', { name: 'Greeter', pipeline, ...more }), 201);
	return { ...body.data, path: `/agents/${body.data.id}`, etag: headers.get('etag') ?? '' } as {
		id: string;
		path: string;
		etag: string;
	} & Record<string, unknown>;
}

/** An agent that asks a model. */
async function withModel(t: TestContext, behaviour: Parameters<typeof modelServer>[1] = 'echo', more: object = {}) {
	const { origin, requests } = await modelServer(t, behaviour);
	const connection = { name: 'Models', provider: 'custom', apiKey: KEY, baseUrl: origin, model: 'small', prices: PRICES };
	const providerId = must(await account.post('/llm-providers', connection), 201).body.data.id;
	const nodes = [
		INPUT,
		{ id: 'say', type: 'llm_call', data: { providerId, userPromptTemplate: 'Greet {{input.name}}' } },
		{ id: 'out', type: 'output', data: { mapping: { said: '{{nodes.say.output}}' } } },
	];
	const agent = await makeAgent({ nodes, edges: edges(['in', 'say'], ['say', 'out']) }, more);
	return { ...agent, requests, providerId };
}

const invoke = (path: string, input: object = { name: 'Ada' }, options?: object, headers = {}) =>
	account.post(`${path}/invoke`, { input, ...(options && { options }) }, headers);

async function waiting(path: string): Promise<string> {
	const { data } = must(await account.post(`${path}/invoke?async=true`, { input: { name: 'Ada' } }), 202).body;
	await until(async () => (await account.get(`${path}/approvals`)).body.data.approvals.length > 0, 'the question');
	return data.executionId;
}

test('an agent is created, listed bare, changed by its version, switched, copied and removed', async () => {
	const made = await makeAgent();
	assert.deepEqual([made['status'], made['totalExecutions'], made['description']], ['active', 0, '']);
	const list = must(await account.get('/agents?q=greeter&sort=-createdAt'), 200).body;
	assert.deepEqual([list.success, list.agents[0].id], [undefined, made.id]);
	const changed = must(await account.patch(made.path, { name: 'Other' }, { 'if-match': made.etag }), 200);
	assert.equal(changed.body.data.name, 'Other');
	assert.equal((await account.patch(made.path, { name: 'x' }, { 'if-match': made.etag })).status, 412);
	assert.equal(must(await account.post(`${made.path}/deactivate`, undefined), 200).body.data.status, 'inactive');
	assert.equal((await invoke(made.path)).status, 409);
	must(await account.post(`${made.path}/activate`, undefined), 200);
	must(await invoke(made.path), 200);
	const copy = must(await account.post(`${made.path}/duplicate`, undefined), 201).body.data;
	assert.deepEqual([copy.name, copy.totalExecutions, copy.pipeline], ['Copy of Other', 0, made['pipeline']]);
	const removed = must(await account.del(made.path), 200).body.data.removed;
	assert.deepEqual(removed, { executions: 1, webhooks: 0, accessKeys: 0 });
	assert.equal((await account.get(made.path)).status, 404);
});

test('a graph with faults is refused with all of them, each with its node', async () => {
	const nodes = [
		INPUT,
		{ id: 'a', type: 'nothing_like_it', data: {} },
		{ id: 'out', type: 'output', data: { mapping: { x: '{{nodes.missing.output}}' } } },
	];
	const { status, body } = await account.post('/agents', { name: 'x', pipeline: { nodes, edges: edges(['in', 'out']) } });
	assert.equal(status, 400);
	const paths = body.details.map(({ path }: { path: string }) => path);
	assert.ok(paths.length >= 2 && paths.every((path: string) => path.startsWith('/pipeline/')), paths.join());
	assert.match(JSON.stringify(body.details), /missing/);
	assert.match(JSON.stringify(body.details), /nothing_like_it/);
});

test('the message of several faults is whole sentences', async () => {
	const nodes = [
		INPUT,
		{ id: 'call', type: 'tool_call', data: {} },
		{ id: 'out', type: 'output', data: { mapping: '{{nodes.none.output}}' } },
	];
	const { body } = await account.post('/agents', { name: 'x', pipeline: { nodes, edges: edges(['in', 'call'], ['call', 'out']) } });
	assert.match(body.message, /^Node "call": "data" must [^.]+\. There are \d+ faults in all\.$/);
});

test('a graph that is too large is refused with its bound', async () => {
	const nodes = [INPUT, { id: 'out', type: 'output', data: { mapping: 'x'.repeat(500_000) } }];
	const { status, body } = await account.post('/agents', { name: 'x', pipeline: { nodes, edges: edges(['in', 'out']) } });
	assert.deepEqual([status, body.details], [400, [{ path: '/pipeline', message: '"pipeline" may have 500000 characters as JSON' }]]);
});

test('an invocation answers bare, with the trace when it is asked for; bad input names the field', async () => {
	const { path } = await makeAgent();
	const { executionId, duration, ...answer } = must(await invoke(path), 200).body;
	assert.deepEqual(answer, { output: { greeting: 'Hello, Ada.' }, tokensUsed: 0 });
	assert.deepEqual([typeof executionId, Number.isInteger(duration)], ['string', true]);
	const traced = must(await invoke(path, { name: 'Ada' }, { trace: true }), 200).body.trace;
	assert.deepEqual(
		traced.map(({ nodeId, type, status }: Record<string, string>) => [nodeId, type, status]),
		[
			['in', 'input', 'success'],
			['out', 'output', 'success'],
		],
	);
	const bad = await invoke(path, { name: 7 });
	assert.deepEqual([bad.status, bad.body.details[0].path], [400, '/input/name']);
	const none = await invoke(path, {});
	assert.deepEqual([none.status, none.body.details[0].path.startsWith('/input')], [400, true]);
});

test('executions are listed by status and trigger, and shown with their input, output and trace', async (t) => {
	const { path } = await withModel(t);
	const done = must(await invoke(path), 200).body;
	assert.equal(done.output.said, 'Greet Ada');
	assert.equal(done.tokensUsed, 1234);
	const list = must(await account.get(`${path}/executions?limit=5&status=success&trigger=manual`), 200).body.data;
	assert.deepEqual([list.total, list.limit, list.offset, list.executions[0].executionId], [1, 5, 0, done.executionId]);
	const [shown] = list.executions;
	assert.deepEqual([shown.status, shown.tokensUsed, shown.startedBy, 'output' in shown], ['success', 1234, account.email, false]);
	assert.ok(Math.abs(shown.cost - 0.00174) < 1e-9, `${shown.cost}`);
	assert.deepEqual(must(await account.get(`${path}/executions?status=failed`), 200).body.data.executions, []);
	const whole = must(await account.get(`${path}/executions/${done.executionId}`), 200).body.data;
	assert.deepEqual([whole.input, whole.output], [{ name: 'Ada' }, { said: 'Greet Ada' }]);
	assert.deepEqual(
		whole.trace.map(({ nodeId, status }: Record<string, string>) => [nodeId, status]),
		[
			['in', 'success'],
			['say', 'success'],
			['out', 'success'],
		],
	);
	const one = must(await account.get(`${path}/executions/${done.executionId}/trace?key=say`), 200).body.data.trace;
	assert.deepEqual([one.length, one[0].nodeId, one[0].tokensUsed, one[0].cost], [1, 'say', 1234, whole.cost]);
	assert.equal((await account.get(`${path}/executions/${done.executionId}/trace?key=other`)).status, 404);
	const other = await makeAgent();
	assert.equal((await account.get(`${other.path}/executions/${done.executionId}`)).status, 404);
	assert.equal((await account.get(`${path}/executions?limit=0`)).status, 400);
	assert.equal(must(await account.get(path), 200).body.data.totalExecutions, 1);
});

test('a failed run is a 422 that names the execution; it is retried as one of its own', async (t) => {
	const { path } = await withModel(t, 'refuse');
	const key = { 'idempotency-key': 'failed-once' };
	const failed = await invoke(path, { name: 'Ada' }, undefined, key);
	assert.deepEqual([failed.status, failed.body.error, failed.body.success], [422, 'AGENT_FAILED', false]);
	const { executionId, reason } = failed.body;
	assert.deepEqual([failed.headers.get('x-execution-id'), typeof reason], [executionId, 'string']);
	const again = await invoke(path, { name: 'Ada' }, undefined, key);
	assert.deepEqual([again.status, again.body.executionId], [422, executionId]);
	const retried = must(await account.post(`${path}/executions/${executionId}/retry`, undefined), 201).body.data;
	assert.deepEqual([retried.retryOf, retried.status], [executionId, 'running']);
	const end = async () => (await account.get(`${path}/executions/${retried.executionId}`)).body.data;
	await until(async () => (await end()).status === 'failed', 'the end of the retry');
	assert.equal(must(await account.get(`${path}/executions?status=failed`), 200).body.data.total, 2);
	const done = must(await invoke((await makeAgent()).path), 200).body;
	assert.equal((await account.post(`/agents/${done.executionId}/executions/${done.executionId}/retry`, undefined)).status, 404);
});

test('a run past its time limit has failed as timed out', async (t) => {
	const { path } = await withModel(t, 'hang');
	const { status, body } = await invoke(path, { name: 'Ada' }, { timeout: 300.5 });
	assert.deepEqual([status, body.reason], [422, 'timed_out']);
});

test('an asynchronous invocation answers with its place, which can be followed to the end; the same key starts nothing anew', async () => {
	const { path } = await makeAgent();
	const ask = () => account.post(`${path}/invoke?async=true`, { input: { name: 'Ada' } }, { 'idempotency-key': `a-${path}` });
	const { body, headers } = must(await ask(), 202);
	const { executionId, url, status } = body.data;
	assert.deepEqual([headers.get('location'), status], [url, 'running']);
	const again = must(await ask(), 202);
	assert.equal(again.body.data.executionId, executionId);
	await until(async () => (await account.get(url)).body.data.status === 'success', 'the end');
	const request = { headers: { authorization: `Bearer ${account.token}` } };
	const events = await (await fetch(`${service.url}${url}/events`, request)).text();
	assert.match(events, /event: done\ndata: \{"executionId":/);
	assert.ok(!events.includes('Hello, Ada'), 'events have no outputs');
	const [, id = ''] = /id: (\S+)/.exec(events) ?? [];
	const known = await fetch(`${service.url}${url}/events`, { headers: { ...request.headers, 'last-event-id': id } });
	assert.equal(known.status, 204);
});

test('an execution that waits is cancelled once; what has ended is not', async () => {
	const { path } = await makeAgent(ASKING);
	const id = await waiting(path);
	const running = async () => must(await account.get(`${path}/executions?status=running`), 200).body.data.executions;
	// The question is there a moment before the run leaves its process.
	await until(async () => (await running())[0].statusDetail === 'waiting_approval', 'the run to wait');
	assert.equal((await running())[0].executionId, id);
	for (const _ of [1, 2]) {
		const cancelled = must(await account.post(`${path}/executions/${id}/cancel`, undefined), 200).body.data;
		assert.deepEqual([cancelled.status, cancelled.statusDetail], ['failed', 'cancelled']);
	}
	const done = await makeAgent();
	const { executionId } = must(await invoke(done.path), 200).body;
	assert.equal((await account.post(`${done.path}/executions/${executionId}/cancel`, undefined)).status, 409);
	assert.equal((await account.post(`${done.path}/executions/${executionId}/approve`, { answer: { approved: true } })).status, 409);
});

test('a request that is repeated when the first one seems to have died waits for the run that was started', async (t) => {
	const { id, path, requests } = await withModel(t, 'hang');
	const ask = () => invoke(path, { name: 'Ada' }, { timeout: 5000 }, { 'idempotency-key': `died-${id}` });
	const first = ask();
	await until(() => requests() > 0, 'the call of the model');
	const died = `UPDATE idempotency_keys SET started_at = now() - interval '11 minutes' WHERE key = 'died-${id}'`;
	await administer(service.config.database ?? assert.fail(), died);
	const { status, body } = await ask();
	assert.deepEqual([status, body.executionId], [422, (await first).body.executionId]);
	assert.equal(must(await account.get(path), 200).body.data.totalExecutions, 1);
});

test('a caller who leaves cancels the run, unless the agent goes on', async (t) => {
	for (const [onDisconnect, detail] of [
		['cancel', 'cancelled'],
		['continue', null],
	] as const) {
		const { path, requests } = await withModel(t, 'hang', { settings: { onDisconnect } });
		const leaving = new AbortController();
		const headers = { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' };
		const left = fetch(`${service.url}${path}/invoke`, {
			method: 'POST',
			headers,
			body: '{"input":{"name":"Ada"}}',
			signal: leaving.signal,
		});
		left.catch(() => undefined);
		await until(() => requests() > 0, 'the call of the model');
		leaving.abort();
		const shown = async () => must(await account.get(`${path}/executions`), 200).body.data.executions[0];
		if (detail) await until(async () => (await shown()).statusDetail === detail, 'the end');
		else assert.equal((await shown()).status, 'running');
		must(await account.del(path), 200);
	}
});

test('an approval is listed and answered by those who may, by its form, once', async () => {
	const bob = await addMember(account, 'member');
	const org = { 'x-organization-id': account.organization.id };
	const nodes = ASKING.nodes.map((node) =>
		node.id === 'ask' ? { ...node, data: { ...node.data, approvers: { emails: [bob.email] } } } : node,
	);
	const { path } = await makeAgent({ ...ASKING, nodes });
	const { executionId: id } = must(await account.post(`${path}/invoke?async=true`, { input: { name: 'Ada' } }), 202).body.data;
	const listed = async (who: Account) => (await who.get(`${path}/approvals`, org)).body.data.approvals;
	await until(async () => (await listed(bob)).length === 1, 'the question');
	assert.deepEqual(await listed(account), []);
	const [{ message, executionId, approvers }] = await listed(bob);
	assert.deepEqual([message, executionId, approvers], ['Greet Ada?', id, { emails: [bob.email] }]);
	const everywhere = must(await bob.get('/agents/approvals', org), 200).body.data.approvals;
	assert.ok(everywhere.some((one: { executionId: string }) => one.executionId === id));
	const answer = (who: Account, value: unknown, more = {}) => who.post(`${path}/executions/${id}/approve`, { answer: value, ...more }, org);
	assert.equal((await answer(account, { approved: true })).status, 403);
	assert.equal((await answer(await addMember(account, 'viewer'), { approved: true })).status, 403);
	const bad = await answer(bob, { approved: 'maybe' });
	assert.deepEqual([bad.status, bad.body.details[0].path], [400, '/answer/approved']);
	assert.equal((await answer(bob, { approved: true }, { key: 'other' })).status, 400);
	must(await answer(bob, { approved: true, comment: 'Yes.' }), 200);
	assert.equal((await answer(bob, { approved: true })).status, 409);
	const shown = async () => (await account.get(`${path}/executions/${id}`)).body.data;
	await until(async () => (await shown()).status === 'success', 'the end');
	assert.deepEqual((await shown()).output, { answer: { approved: true, comment: 'Yes.' } });
	const log = must(await account.get(`${path}/audit-log`), 200).body.data.entries;
	assert.deepEqual(
		log.map(({ action, resourceType, actor }: { action: string; resourceType: string; actor: { email: string } }) => [
			action,
			resourceType,
			actor.email,
		]),
		[
			['update', 'agent_approval', bob.email],
			['create', 'agent', account.email],
		],
	);
});

test('more questions than are listed at once are all answered by their keys, and hide no other execution that waits', async () => {
	const body = (at: number) => ({
		nodes: [
			{ id: `ask${at}`, type: 'approval', data: { message: 'Sure?' } },
			{ id: `end${at}`, type: 'output', data: {} },
		],
		edges: [{ id: 'b', source: `ask${at}`, target: `end${at}` }],
	});
	const maps = Array.from({ length: 13 }, (_, at) => ({
		...{ id: `map${at}`, type: 'map', data: { items: [1, 2, 3, 4, 5, 6, 7, 8], concurrency: 8, body: body(at) } },
	}));
	const path = edges(
		...maps.flatMap(({ id }): [string, string][] => [
			['in', id],
			[id, 'out'],
		]),
	);
	const agent = await makeAgent({ nodes: [INPUT, ...maps, { id: 'out', type: 'output', data: {} }], edges: path });
	const begun = async () => must(await account.post(`${agent.path}/invoke?async=true`, { input: { name: 'Ada' } }), 202).body.data;
	const keys = async (executionId: string) => {
		const found: string[] = [];
		for (let cursor: string | null = ''; cursor !== null; ) {
			const at: string = `${agent.path}/approvals?limit=100${cursor && `&cursor=${cursor}`}`;
			const { data } = must(await account.get(at), 200).body;
			found.push(
				...data.approvals.filter((one: { executionId: string }) => one.executionId === executionId).map(({ key }: { key: string }) => key),
			);
			cursor = data.nextCursor;
		}
		return found;
	};
	const ids: string[] = [];
	for (let n = 0; n < 2; n++) {
		const { executionId } = await begun();
		ids.push(executionId);
		await until(async () => (await keys(executionId)).length === 104, 'all questions');
	}
	const details = async () =>
		must(await account.get(`${agent.path}/executions`), 200).body.data.executions.map((one: { statusDetail: string }) => one.statusDetail);
	await until(async () => !(await details()).includes(null), 'both wait');
	assert.deepEqual(await details(), ['waiting_approval', 'waiting_approval']);
	const approve = async (key: string) => account.post(`${agent.path}/executions/${ids[0]}/approve`, { key, answer: { approved: true } });
	for (const key of (await keys(ids[0] ?? '')).slice(-2)) must(await approve(key), 200);
	assert.equal((await approve('map0[9]/ask0')).status, 400);
	must(await account.del(agent.path), 200);
});

test('a caller who waits is told that the run waits for people', async () => {
	const { path } = await makeAgent(ASKING);
	const { body } = must(await invoke(path), 202);
	assert.equal(body.data.statusDetail, 'waiting_approval');
	must(await account.post(`${body.data.url}/approve`, { answer: { approved: true } }), 200);
});

test('a caller is told, too, when an agent that the run started waits for people, and who takes the answer', async () => {
	const child = await makeAgent(ASKING);
	const sub = { id: 'sub', type: 'sub_agent', data: { agentId: child.id, input: { name: 'Ada' } } };
	const { path } = await makeAgent({ nodes: [INPUT, sub, OUTPUT], edges: edges(['in', 'sub'], ['sub', 'out']) });
	const { body } = must(await invoke(path), 202);
	assert.equal(body.data.statusDetail, 'waiting_approval');
	const detailOf = async (at: string) => must(await account.get(at), 200).body.data;
	assert.equal((await detailOf(body.data.url)).statusDetail, 'waiting_approval');
	assert.equal((await detailOf(`${path}/executions`)).executions[0].statusDetail, 'waiting_approval');
	const asked = await account.post(`${path}/v1/chat/completions`, { model: 'x', messages: [{ role: 'user', content: 'Ada' }] });
	const { message } = must(asked, 400).body.error;
	const [, approve = ''] = /POST (\S+) takes it/.exec(message) ?? [];
	assert.ok(approve.startsWith(`${child.path}/executions/`), message);
	must(await account.post(approve, { answer: { approved: true } }), 200);
});

test('a cost is estimated from the pipeline, then from history; an unknown price is null', async (t) => {
	const { path, providerId } = await withModel(t);
	const first = must(await account.get(`${path}/cost-estimate`), 200).body.data;
	assert.deepEqual([first.basis, first.currency], ['pipeline', 'USD']);
	assert.ok(first.min > 0 && first.min < first.typical && first.typical < first.max && first.assumptions.length > 1);
	for (let n = 0; n < 5; n++) must(await invoke(path), 200);
	const { basis, executions, typical } = must(await account.get(`${path}/cost-estimate`), 200).body.data;
	assert.deepEqual([basis, executions], ['history', 5]);
	assert.ok(Math.abs(typical - 0.00174) < 1e-9);
	must(await account.patch(`/llm-providers/${providerId}`, { prices: null }), 200);
	must(await account.patch(path, { description: 'Another version.' }), 200);
	const unknown = must(await account.get(`${path}/cost-estimate`), 200).body.data;
	assert.deepEqual([unknown.min, unknown.typical, unknown.max], [null, null, null]);
	assert.match(unknown.assumptions.join(), /unknown at: say/);
});

test('a cost is estimated of nodes that leave fields to their defaults, also in a map', async (t) => {
	const { providerId } = await withModel(t);
	const estimateOf = async (...nodes: object[]) => {
		const path = edges(['in', 'it'], ['it', 'out']);
		const { path: agent } = await makeAgent({ nodes: [INPUT, ...nodes, { id: 'out', type: 'output', data: {} }], edges: path });
		return must(await account.get(`${agent}/cost-estimate`), 200).body.data;
	};
	const agent = { id: 'it', type: 'agent', data: { providerId, prompt: 'Greet {{input.name}}' } };
	const { typical, max } = await estimateOf(agent);
	const once = await estimateOf({ ...agent, data: { ...agent.data, maxIterations: 1 } });
	assert.ok(typical > 0 && max > 9.9 * once.max, `${max} of ten answers, ${once.max} of one`);
	const output = { schema: { type: 'object', properties: { text: { type: 'string' } } } };
	const call = (repair: boolean) => ({
		id: 'it',
		type: 'llm_call',
		data: { providerId, userPromptTemplate: 'Hi', output: { ...output, repair } },
	});
	const [unrepaired, repaired] = [await estimateOf(call(false)), await estimateOf(call(true))];
	assert.equal(unrepaired.typical, repaired.typical);
	assert.ok(repaired.max > 1.9 * unrepaired.max, `${repaired.max} of two answers, ${unrepaired.max} of one`);
	const body = {
		nodes: [
			{ ...agent, id: 'greet' },
			{ id: 'end', type: 'output' },
		],
		edges: [{ id: 'b', source: 'greet', target: 'end' }],
	};
	const inMap = await estimateOf({ id: 'it', type: 'map', data: { items: ['Ada'], body } });
	assert.deepEqual([inMap.typical, inMap.max], [typical, max]);
});

test('a key for one agent reaches it and nothing else', async () => {
	const [mine, other] = [await makeAgent(), await makeAgent()];
	const asked = { name: 'robot', scope: { type: 'agent', id: mine.id } };
	const { key, scope, permissions } = must(await account.post('/access-keys', asked), 201).body.data;
	assert.deepEqual([scope, permissions], [{ type: 'agent', id: mine.id }, ['agents:read', 'agents:execute']]);
	const as = { authorization: `Bearer ${key}` };
	const call = (method: string, path: string, body?: object) => send(service.url + path, method, { headers: as, ...(body && { body }) });
	assert.equal((await call('POST', `${mine.path}/invoke`, { input: { name: 'Ada' } })).status, 200);
	assert.equal((await call('GET', `${mine.path}/executions`)).status, 200);
	assert.equal((await call('PATCH', mine.path, { name: 'x' })).status, 403);
	for (const path of [other.path, '/agents', '/agents/approvals', '/gateways', '/apis'])
		assert.equal((await call('GET', path)).status, 403, path);
	assert.equal((await call('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })).status, 403);
	assert.equal((await account.post('/access-keys', { name: 'x', scope: { type: 'agent', id: account.organization.id } })).status, 404);
	must(await account.del(mine.path), 200);
	assert.equal((await call('GET', `${mine.path}/executions`)).status, 401);
});

test('another organization’s agent does not exist', async () => {
	const { path } = await makeAgent(ASKING);
	const id = await waiting(path);
	const hook = must(await account.post(`${path}/webhooks`, { name: 'x' }), 201).body.data;
	const stranger = await registerAccount(service.url);
	const one = `${path}/executions/${id}`;
	for (const answer of [
		await stranger.get(path),
		await stranger.patch(path, { name: 'x' }),
		await stranger.del(path),
		await stranger.post(`${path}/activate`, undefined),
		await stranger.post(`${path}/deactivate`, undefined),
		await stranger.post(`${path}/duplicate`, undefined),
		await stranger.post(`${path}/invoke`, { input: {} }),
		await stranger.get(`${path}/executions`),
		await stranger.get(one),
		await stranger.get(`${one}/trace`),
		await stranger.get(`${one}/events`),
		await stranger.post(`${one}/cancel`, undefined),
		await stranger.post(`${one}/retry`, undefined),
		await stranger.post(`${one}/approve`, { answer: { approved: true } }),
		await stranger.get(`${path}/approvals`),
		await stranger.get(`${path}/audit-log`),
		await stranger.get(`${path}/cost-estimate`),
		await stranger.get(`${path}/webhooks`),
		await stranger.post(`${path}/webhooks`, { name: 'x' }),
		await stranger.get(`${path}/webhooks/${hook.id}`),
		await stranger.patch(`${path}/webhooks/${hook.id}`, { name: 'x' }),
		await stranger.post(`${path}/webhooks/${hook.id}/secret`, undefined),
		await stranger.del(`${path}/webhooks/${hook.id}`),
	])
		assert.equal(answer.status, 404);
	assert.deepEqual(must(await stranger.get('/agents/approvals'), 200).body.data.approvals, []);
	assert.deepEqual(must(await stranger.get('/agents'), 200).body.agents, []);
	assert.equal(must(await account.get(one), 200).body.data.status, 'running');
});
