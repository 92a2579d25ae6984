// Tests of calls as plugins receive them: the tools within reach, the order of refusals, and the data private to each.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Joi from 'joi';
import { until } from '../../test/helpers/clock.ts';
import { startCore, type TestCore } from '../../test/helpers/core.ts';
import { failure, textOfBody } from '../../test/helpers/egress.ts';
import { addGateway, addTenant, addTool } from '../../test/helpers/samples.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import { sampleSkill } from '../../testing/skills.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Caller, Gateway, Scope, Tool } from '../contract/nouns.ts';
import { PluginCall } from './call.ts';
import type { CallParts } from './call-parts.ts';
import type { ToolEntry } from './entry.ts';
import { managementContext } from './management-context.ts';
import { NO_IDENTITY } from './no-identity.ts';

const ALL: Scope[] = ['tools:read', 'tools:execute'];
const callerWith = (...scopes: Scope[]): Caller => ({ method: 'x', subject: 'x', scopes });

let core: TestCore;
let organizationId: string;
let gateway: Gateway;
let entry: ToolEntry;
/** The steps that were taken, in order. */
let steps: string[];

before(async () => {
	core = await startCore({
		plugins: [
			{
				...{ kind: 'executor', name: 'odd', summary: 'Prints.', config: Joi.object({}) },
				async execute(_args, _config, call) {
					steps.push('run');
					call.progress(1, 2, 'half');
					return { content: [], logs: ['log: printed'] };
				},
			},
		],
	});
	const tenant = await addTenant(core.store);
	({ organizationId } = tenant);
	const row = await addGateway(core.store, organizationId);
	gateway = { ...row, organizationSlug: tenant.slug, organizationName: tenant.slug, url: 'https://gatehouse.example/acme/main' };
	const tool = await addTool(core.store, organizationId, { executor: 'odd', executionConfig: {} });
	const limit = { assignmentId: randomUUID(), perMinute: 1 };
	entry = core.services.invoker.prepare(tool, { api: null, credentials: [], limit });
});
after(() => core[Symbol.asyncDispose]());
beforeEach(() => {
	steps = [];
	core.runs.length = 0;
});

const SKILL = sampleSkill({ name: 'paint' }).skill;

const callOf = (parts: Partial<CallParts> = {}): PluginCall =>
	new PluginCall(core.services, {
		...{ plugin: 'transport:x', organizationId, gateway, caller: callerWith(...ALL), identity: NO_IDENTITY, entry: null, listener: null },
		shelf: {
			list: () => [entry.tool],
			skills: () => [],
			find(ref) {
				steps.push('find');
				return 'name' in ref && ref.name === 'getPet' ? entry : null;
			},
		},
		countTool: async () => void steps.push('count'),
		signal: new AbortController().signal,
		...parts,
	});

test('tools are listed for callers who may read them', async () => {
	assert.deepEqual(
		(await callOf().tools()).map(({ name }: Tool) => name),
		['getPet'],
	);
	assert.deepEqual(await callOf({ shelf: null }).tools(), []);
	for (const caller of [null, callerWith(), callerWith('tools:execute')]) await failure(callOf({ caller }).tools(), 'insufficient_scope');
});

test('skills are for callers who may read tools, and without a caller for routes that declare that they list', async () => {
	const shelf = { list: () => [], skills: () => [SKILL], find: () => null };
	assert.deepEqual(await callOf({ shelf }).skills(), [SKILL]);
	assert.deepEqual(await callOf({ shelf, caller: null, lists: true }).skills(), [SKILL]);
	assert.deepEqual(await callOf({ shelf: null }).skills(), []);
	await failure(callOf({ shelf, caller: callerWith('tools:execute'), lists: true }).skills(), 'insufficient_scope');
	for (const refused of [callOf({ shelf, caller: null }).skills(), callOf({ shelf, caller: null }).skillFile(SKILL.id, 'SKILL.md')])
		await assert.rejects(refused, /skills\(\) was called on a public route that does not declare lists: true/);
});

test('a missing scope is reported with the challenge of the method that admitted the caller', async () => {
	const challenge = (_caller: Caller, scope: Scope) => `Bearer scope="${scope}"`;
	const refused = await failure(
		callOf({ caller: callerWith('tools:read'), challenge }).invoke({ name: 'getPet' }, {}),
		'insufficient_scope',
	);
	assert.deepEqual(refused.headers, { 'www-authenticate': 'Bearer scope="tools:execute"' });
	assert.deepEqual((await failure(callOf({ caller: callerWith(), challenge: () => null }).tools(), 'insufficient_scope')).headers, {});
	assert.deepEqual((await failure(callOf({ caller: null, challenge }).tools(), 'insufficient_scope')).headers, {});
});

test('a call checks the scope first, then finds the tool, counts it by its limit, and runs it', async () => {
	await failure(callOf({ caller: callerWith('tools:read') }).invoke({ name: 'getPet' }, {}), 'insufficient_scope');
	assert.deepEqual(steps.splice(0), []);
	await failure(callOf().invoke({ name: 'other' }, {}), 'tool_not_found');
	assert.deepEqual(steps.splice(0), ['find']);
	const countTool = () => Promise.reject(new GatewayError('rate_limited', 'too many'));
	await failure(callOf({ countTool }).invoke({ name: 'getPet' }, {}), 'rate_limited');
	assert.deepEqual([steps.splice(0), core.runs], [['find'], []]);
	await callOf().invoke({ name: 'getPet' }, {});
	await nextTurn();
	assert.deepEqual([steps, core.runs.length], [['find', 'count', 'run'], 1]);
});

test('a tool without a limit is not counted, and an unknown name is shortened in the error', async () => {
	const free = { ...entry, limit: null };
	await callOf({ shelf: { list: () => [], skills: () => [], find: () => free } }).invoke({ name: 'getPet' }, {});
	assert.deepEqual(steps, ['run']);
	const { message } = await failure(callOf().invoke({ name: 'x'.repeat(1000) }, {}), 'tool_not_found');
	assert.ok(message.length < 200);
});

test('the output that a tool prints is recorded, and not shown to clients', async () => {
	const result = await callOf().invoke({ name: 'getPet' }, {});
	assert.equal('logs' in result, false);
	await nextTurn();
	assert.match(JSON.stringify(core.runs[0]?.logs), /printed/);
});

test('progress goes to the listener of the call, or to that of a call derived from it', async () => {
	const heard: unknown[] = [];
	const listener = (...told: unknown[]) => void heard.push(told);
	await callOf({ listener }).invoke({ name: 'getPet' }, {});
	await callOf().with({ progress: listener }).invoke({ name: 'getPet' }, {});
	await callOf().invoke({ name: 'getPet' }, {});
	assert.deepEqual(heard, [
		[1, 2, 'half'],
		[1, 2, 'half'],
	]);
});

test('a call derived from another ends with it or with its own signal; a detached one with its own alone', () => {
	const [outer, own] = [new AbortController(), new AbortController()];
	const call = callOf({ signal: outer.signal });
	const [joined, detached, free] = [
		call.with({ signal: own.signal }),
		call.with({ signal: own.signal, detached: true }),
		call.with({ detached: true }),
	];
	outer.abort();
	assert.deepEqual(
		[call, joined, detached, free].map(({ signal }) => signal.aborted),
		[true, true, false, false],
	);
	own.abort();
	assert.deepEqual([detached.signal.aborted, free.signal.aborted], [true, false]);
});

test('cached and stored data belongs to one plugin of one gateway, or of one organization if there is no gateway', async () => {
	const remember = (parts: Partial<CallParts>) => callOf(parts).memo('a', 60_000, async () => JSON.stringify(parts));
	const other = { ...gateway, id: randomUUID() };
	for (const parts of [{}, { plugin: 'auth:x' }, { gateway: other }, { gateway: null }, { gateway: null, organizationId: randomUUID() }])
		assert.equal(await remember(parts), JSON.stringify(parts));
	assert.equal(await remember({ listener: () => undefined }), '{}');
	await callOf().kv.put('k', '1', 60_000);
	assert.equal(await callOf().kv.get('k'), '1');
	assert.equal(await callOf({ plugin: 'auth:x' }).kv.get('k'), null);
});

test('records belong to one plugin of one gateway, or of one organization if there is no gateway', async () => {
	await callOf().records.put('a', { n: 1 });
	assert.deepEqual((await callOf().records.get('a'))?.value, { n: 1 });
	assert.equal(await callOf({ plugin: 'auth:x' }).records.get('a'), null);
	assert.equal(await callOf({ gateway: null }).records.get('a'), null);
	await callOf({ gateway: null }).records.put('a', { n: 2 });
	assert.deepEqual((await callOf({ gateway: null }).records.get('a'))?.value, { n: 2 });
	assert.deepEqual((await callOf().records.get('a'))?.value, { n: 1 });
	const other = await addTenant(core.store);
	assert.equal(await callOf({ gateway: null, organizationId: other.organizationId }).records.get('a'), null);
});

test('outside of an executor nothing is signed or renewed, and an exchange is made at once', async () => {
	const request = { method: 'GET', url: 'https://pets.example/' } as const;
	const call = callOf();
	assert.equal(await call.sign(request), request);
	assert.equal(await call.renew(request), null);
	assert.equal(await call.exchange(request.url, async () => 'done'), 'done');
	assert.deepEqual([call.tool, call.api], [null, null]);
});

test('in a route of the management API there is no caller, no tool, and no identity', async () => {
	const { records } = core.store;
	const context = managementContext(core.services, {
		plugin: 'auth:x',
		organizationId: gateway.organizationId,
		gateway,
		records,
		signal: new AbortController().signal,
	});
	const { identity } = context as PluginCall;
	await failure((context as PluginCall).tools(), 'insufficient_scope');
	await failure(identity.token('a'), 'unauthorized');
	const nobody = [identity.credential('a'), identity.password('a', 'b'), identity.member('a'), identity.forgotPassword('a')];
	assert.deepEqual(await Promise.all(nobody), [null, null, null, undefined]);
});

test('outside of an executor a stream is repeated before its answer, and ends with the call or with a signal of its own', async (t) => {
	let requests = 0;
	const upstream = await httpUpstream(t, (_request, response) => {
		requests += 1;
		if (requests === 1) response.writeHead(503).end();
		else response.write('begun');
	});
	const [client, own] = [new AbortController(), new AbortController()];
	const call = callOf({ signal: client.signal });
	const ask = () => call.stream({ method: 'GET', url: upstream.origin, signal: own.signal });
	const [first, second] = [await ask(), await ask()];
	assert.deepEqual([first.status, second.status, requests], [200, 200, 3]);
	const reading = textOfBody(first);
	client.abort(new Error('the client is gone'));
	await assert.rejects(reading, /the client is gone/);
	const other = await callOf().stream({ method: 'GET', url: upstream.origin, signal: own.signal });
	const waiting = textOfBody(other);
	own.abort(new Error('enough'));
	await assert.rejects(waiting, /enough/);
	await assert.rejects(callOf().stream({ method: 'GET', url: 'http://10.0.0.1' }), { code: 'egress_refused' });
	await until(() => upstream.open() === 0, 'the connections are closed', 5);
});
