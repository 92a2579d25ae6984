// Tests of a run of a tool from its arguments to its record, with executors that answer, refuse, fail, hang, and expose secrets.

import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import Joi from 'joi';
import { startCore, type TestCore } from '../../test/helpers/core.ts';
import { failure } from '../../test/helpers/egress.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addTenant, addTool } from '../../test/helpers/samples.ts';
import type { Call } from '../contract/context.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Caller, JsonObject, ToolResult } from '../contract/nouns.ts';
import type { RunResult } from '../contract/results.ts';
import type { NewTool } from '../store/store.ts';

const caller: Caller = { method: 'management', subject: 'user:1', scopes: ['tools:execute'] };
const PARAMETERS = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'], additionalProperties: false };

type Execute = (args: JsonObject, config: unknown, call: Call) => Promise<ToolResult>;

/** The behaviour of the executor in the test that runs. */
let execute: Execute;
/** The arguments with which the executor was called. */
let ran: JsonObject[];
let core: TestCore;
let organizationId: string;

const text = (said: string): ToolResult => ({ content: [{ type: 'text', text: said }] });

before(async () => {
	const config = Joi.object({ token: Joi.string().meta({ secret: true }) });
	core = await startCore({
		plugins: [
			{
				...{ kind: 'executor', name: 'odd', summary: 'Does what the test says.', config },
				execute: (args, its, call) => {
					ran.push(args);
					return execute(args, its, call);
				},
			},
			{
				...{ kind: 'executor', name: 'patient', summary: 'Has an hour.', config, deadlineMs: 3_600_000 },
				execute: (args, its, call) => execute(args, its, call),
			},
		],
	});
	({ organizationId } = await addTenant(core.store));
});
after(() => core[Symbol.asyncDispose]());
beforeEach(() => {
	execute = async () => text('done');
	ran = [];
	core.runs.length = 0;
	core.lines.length = 0;
});

const add = (change: Partial<NewTool> = {}) =>
	addTool(core.store, organizationId, { type: 'odd', executor: 'odd', parameters: PARAMETERS, executionConfig: {}, ...change });

interface Asked {
	args?: unknown;
	signal?: AbortSignal;
	tool?: Partial<NewTool>;
}

async function run({ args = { id: 1 }, signal = new AbortController().signal, tool = {} }: Asked = {}): Promise<RunResult> {
	const { id } = await add(tool);
	// Tests pass arguments of every shape on purpose.
	return core.services.invoker.execute(organizationId, id, args as JsonObject, { caller, signal });
}

const recorded = () => core.runs.map(({ outcome }) => outcome);

test('a run returns the executor’s result, and is recorded with the caller and the duration', async () => {
	const { content, isError } = await run();
	assert.deepEqual([content, isError, ran], [text('done').content, undefined, [{ id: 1 }]]);
	const [row] = core.runs;
	assert.deepEqual([row?.organizationId, row?.caller, row?.gatewayId, row?.outcome], [organizationId, 'user:1', null, 'success']);
	assert.ok((row?.durationMs ?? -1) >= 0);
});

test('arguments that violate the parameters never reach the executor, and no run is recorded', async () => {
	for (const args of [{}, { id: 'x' }, { id: 1, more: true }, [], null, 'x']) await failure(run({ args }), 'validation_failed');
	assert.deepEqual([ran, core.runs], [[], []]);
});

test('a failure that a tool itself reports is recorded as one, and its result is unchanged', async () => {
	execute = async () => ({ ...text('no such pet'), isError: true });
	const { error, content, isError } = await run();
	assert.deepEqual([error, content, isError], [undefined, text('no such pet').content, true]);
	assert.deepEqual(recorded(), ['tool_error']);
});

test('a failure of the upstream is a result with its message, and the code is recorded', async () => {
	for (const code of ['upstream_failed', 'upstream_timeout', 'egress_refused', 'rate_limited'] as const) {
		execute = async () => {
			throw new GatewayError(code, `It is ${code}.`);
		};
		const { error, isError, content } = await run();
		assert.deepEqual([error, isError, content], [{ code, message: `It is ${code}.` }, true, text(`It is ${code}.`).content]);
		assert.deepEqual(recorded().at(-1), code);
	}
});

test('a fault of the caller or of the service is thrown, and no run is recorded', async () => {
	for (const code of ['validation_failed', 'tool_not_found', 'insufficient_scope', 'unavailable', 'not_implemented'] as const) {
		execute = () => Promise.reject(new GatewayError(code, 'no'));
		await failure(run(), code);
	}
	assert.deepEqual(core.runs, []);
});

test('the error of an executor that fails unexpectedly is only in the log', async () => {
	for (const thrown of [new Error('canary'), 'canary', null]) {
		core.lines.length = 0;
		execute = () => Promise.reject(thrown);
		const { error, content } = await run();
		assert.deepEqual(error, { code: 'internal', message: 'The tool failed unexpectedly.' });
		assert.doesNotMatch(JSON.stringify(content), /canary/);
		const line = core.lines.find(([level]) => level === 'error') ?? assert.fail('it was not logged');
		assert.match(JSON.stringify(line), thrown === null ? /null/ : /canary/);
	}
	assert.deepEqual(recorded(), Array(3).fill('internal'));
	core.lines.length = 0;
	const asked = { requestId: 'request 1', userAgent: null };
	const { id } = await add();
	await core.services.invoker.execute(organizationId, id, { id: 1 }, { caller, signal: new AbortController().signal, asked });
	assert.match(JSON.stringify(core.lines), /"requestId":"request 1"/, 'the line names the request of the management API');
	execute = () => {
		throw new Error('at once');
	};
	assert.equal((await run()).error?.code, 'internal', 'also before it gives a promise');
});

/** An executor that ends only with its signal. */
const hanging =
	(begun: () => void): Execute =>
	(_args, _config, { signal }) =>
		new Promise((_resolve, reject) => {
			signal.addEventListener('abort', () => reject(signal.reason as Error));
			begun();
		});

test('a caller who disconnects ends the executor’s run, which is recorded and not logged as a fault', async () => {
	const leaving = new AbortController();
	execute = hanging(() => leaving.abort(new Error('The client left.')));
	const { error } = await run({ signal: leaving.signal });
	assert.equal(error?.message, 'The call was cancelled.');
	assert.deepEqual(recorded(), ['cancelled']);
	assert.deepEqual(core.lines, []);
});

test('when the caller left before the run, the executor gets an aborted signal with the reason, and its failure is a cancellation', async () => {
	const left = new Error('The client left.');
	const seen: unknown[] = [];
	execute = async (_args, _config, { signal }) => {
		seen.push(signal.aborted, signal.reason);
		signal.throwIfAborted();
		return text('done');
	};
	const { error, isError } = await run({ signal: AbortSignal.abort(left) });
	assert.deepEqual([seen, ran], [[true, left], [{ id: 1 }]]);
	assert.deepEqual([error, isError], [{ code: 'internal', message: 'The call was cancelled.' }, true]);
	assert.deepEqual([recorded(), core.lines], [['cancelled'], []]);
});

/** Begins a run of a tool as a transport does, on a clock that the test moves. @param begun resolves when the executor was called */
async function runOnClock(
	t: TestContext,
	{ signal = new AbortController().signal, begun, executor = 'odd' }: { signal?: AbortSignal; begun: Promise<void>; executor?: string },
) {
	const { id } = await add({ executor, type: executor });
	const row = (await core.store.tools.get(organizationId, id)) ?? assert.fail();
	const entry = core.services.invoker.prepare(row, { api: null, credentials: [] });
	const around = { plugin: 'transport:x', organizationId, gateway: null, caller, shelf: null, entry: null, listener: null };
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const running = core.services.invoker.run(entry, { id: 1 }, { ...around, identity: {} as never, signal });
	await begun;
	return running;
}

test('a run ends after two minutes, with the code of a timeout', async (t) => {
	const { promise: begun, resolve } = Promise.withResolvers<void>();
	execute = hanging(resolve);
	const running = runOnClock(t, { begun });
	await begun;
	t.mock.timers.tick(119_999);
	assert.deepEqual(core.runs, []);
	t.mock.timers.tick(1);
	assert.deepEqual((await running).error, { code: 'upstream_timeout', message: 'The tool took longer than 120 s.' });
	assert.deepEqual(recorded(), ['upstream_timeout']);
});

test('a run of an executor that sets a longer time ends after that', async (t) => {
	const { promise: begun, resolve } = Promise.withResolvers<void>();
	execute = hanging(resolve);
	const running = runOnClock(t, { begun, executor: 'patient' });
	await begun;
	t.mock.timers.tick(3_599_999);
	assert.deepEqual(core.runs, []);
	t.mock.timers.tick(1);
	assert.deepEqual((await running).error, { code: 'upstream_timeout', message: 'The tool took longer than 3600 s.' });
});

test('an executor that goes on although its signal aborted is left behind after five seconds', async (t) => {
	const leaving = new AbortController();
	const { promise: begun, resolve } = Promise.withResolvers<void>();
	execute = () => new Promise(() => resolve());
	const running = runOnClock(t, { signal: leaving.signal, begun });
	await begun;
	leaving.abort(new Error('The client left.'));
	t.mock.timers.tick(4999);
	assert.deepEqual(core.runs, []);
	t.mock.timers.tick(1);
	assert.equal((await running).error?.message, 'The call was cancelled.');
	assert.deepEqual(recorded(), ['cancelled']);
	const left = core.lines.filter(([level]) => level === 'error');
	assert.equal(left.length, 1, 'the log tells of it once');
	assert.match(JSON.stringify(left), /executor:odd: execute did not end within 5 s after its signal aborted\..*"plugin":"executor:odd"/);
});

test('an executor that ends with its signal is not told of as left behind', async (t) => {
	const leaving = new AbortController();
	const { promise: begun, resolve } = Promise.withResolvers<void>();
	execute = hanging(resolve);
	const running = runOnClock(t, { signal: leaving.signal, begun });
	await begun;
	leaving.abort(new Error('The client left.'));
	await running;
	t.mock.timers.tick(5000);
	assert.deepEqual(
		core.lines.filter(([level]) => level === 'error'),
		[],
	);
});

test('what an executor returns is checked, and a wrong result is a failed run that the log explains', async () => {
	execute = async () => ({ content: [{ type: 'video' }] }) as never;
	assert.deepEqual((await run()).error, { code: 'internal', message: 'The tool failed unexpectedly.' });
	const [, fields] = core.lines.find(([level]) => level === 'error') ?? assert.fail('it was not logged');
	assert.match(JSON.stringify(fields), /executor:odd.*content\/0: type must be one of/);
	execute = async () => text('x'.repeat(17_000_000));
	assert.equal((await run()).error?.code, 'upstream_failed');
	assert.deepEqual(recorded(), ['internal', 'upstream_failed']);
});

test('what an executor receives is frozen', async () => {
	const { id } = await add({ executionConfig: { token: 'x' } });
	const row = (await core.store.tools.get(organizationId, id)) ?? assert.fail();
	const entry = core.services.invoker.prepare(row, { api: null, credentials: [] });
	const { config } = entry.ready();
	for (const shared of [config, entry.tool, entry.tool.parameters, entry.tool.parameters['properties'], entry.tool.annotations])
		assert.ok(Object.isFrozen(shared));
	assert.deepEqual(entry.tool.parameters, PARAMETERS);
});

test('a secret that cannot be opened is a failed run that names it, and the executor is not called', async () => {
	const elsewhere = { organizationId, table: 'tools', row: organizationId } as const;
	const executionConfig = core.registry.seal('executor', 'odd', { token: 'canary' }, core.secrets, elsewhere);
	const { error } = await run({ tool: { executionConfig } });
	assert.equal(error?.code, 'secret_unreadable');
	assert.match(error?.message ?? '', /token/);
	assert.deepEqual([ran, recorded()], [[], ['secret_unreadable']]);
});

test('a secret of the config is opened for the executor, once for all runs of an entry', async () => {
	const { id } = await add();
	const place = { organizationId, table: 'tools', row: id } as const;
	const executionConfig = core.registry.seal('executor', 'odd', { token: 'canary' }, core.secrets, place);
	assert.doesNotMatch(JSON.stringify(executionConfig), /canary/);
	const row = (await core.store.tools.update(organizationId, id, { executionConfig })) ?? assert.fail();
	const entry = core.services.invoker.prepare(row, { api: null, credentials: [] });
	assert.deepEqual(entry.ready().config, { token: 'canary' });
	assert.equal(entry.ready(), entry.ready());
});

test('a tool that is not there, of another organization, or without its executor is not run', async () => {
	const signal = new AbortController().signal;
	const { id } = await add();
	const { organizationId: other } = await addTenant(core.store);
	const ask = (of: string, toolId: string) => core.services.invoker.execute(of, toolId, { id: 1 }, { caller, signal });
	await failure(ask(other, id), 'not_found');
	await failure(ask(organizationId, organizationId), 'not_found');
	await failure(run({ tool: { executor: 'gone' } }), 'not_implemented');
	await administer(core.store.database, `UPDATE tools SET removed = true WHERE id = '${id}'`);
	await failure(ask(organizationId, id), 'conflict');
	assert.deepEqual([ran, core.runs], [[], []]);
});
