// Tests of tools that run before their task is stored: which job takes them over, and what becomes of them where there is no place for one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CallOptions, GatewayError, type Records } from '../../core/index.ts';
import { Agent, type Any, like } from '../../test/helpers/a2a-agent.ts';
import { PATIENCE_MS, until } from '../../test/helpers/clock.ts';
import { fakeCall } from '../../testing/index.ts';
import { runEarly } from './early.ts';
import a2a from './index.ts';
import { answered } from './questions.ts';
import { find, newTask, open } from './tasks.ts';
import { begin, outcome } from './work.ts';

const RETENTION = { taskRetentionHours: 24 };
/** Those of one account. */
const PLACES = 100;
const parameters: Any = { type: 'object', properties: {} };
const found: Any = { content: [], structured: { found: true } };

/** A tool that runs until it is let go, and counts its runs. */
function heldTool() {
	const held = Promise.withResolvers<void>();
	const tool = {
		...{ name: 'look', parameters, annotations: { readOnlyHint: true } },
		runs: 0,
		async run() {
			tool.runs += 1;
			await held.promise;
			return found;
		},
	};
	return { tool, letGo: held.resolve };
}
const waits = { name: 'waits', parameters, run: () => new Promise<never>(() => {}) };

test('a tool that takes longer gets a job, which ends its task; the tool runs once', async () => {
	const { tool, letGo } = heldTool();
	const agent = new Agent({ tools: [tool] });
	const sending = agent.send({ skill: 'look' }, { contextId: 'slow' });
	await until(async () => (await agent.result('ListTasks', { contextId: 'slow' })).totalSize === 1, 'its task is stored');
	letGo();
	assert.deepEqual([(await sending).status.state, tool.runs], ['TASK_STATE_COMPLETED', 1]);
	await agent.close();
});

test('where no place is free for its job, none is ever begun: its task is stored when it ends', async () => {
	const { tool, letGo } = heldTool();
	await using fake = fakeCall({ plugin: a2a as Any, tools: [tool, waits] });
	const taskOf = (skill: string) => newTask({ contextId: 'c', state: 'TASK_STATE_WORKING', skill, args: {}, modes: null }, fake.call);
	const ids: string[] = [];
	for (let at = 0; at < PLACES; at++) {
		const task = taskOf('waits');
		await open(task, fake.call, RETENTION);
		ids.push(await begin(task, fake.call, { isAwaited: false }));
	}
	const added: Promise<unknown>[] = [];
	const { jobs } = fake.call;
	const add: typeof jobs.add = (...given) => {
		const job = jobs.add(...given);
		added.push(job);
		return job;
	};
	const call = like(fake.call, { jobs: like(jobs, { add }) });
	const task = { ...taskOf('look'), isRepeatable: true };
	const running = runEarly(task, { call, retention: RETENTION });
	await until(() => added.length > 0, 'it wants a job');
	await assert.rejects(added[0] ?? assert.fail(), { code: 'rate_limited' });
	for (const id of ids) await jobs.cancel(id);
	await assert.rejects(find(task.id, fake.call), { reason: 'TASK_NOT_FOUND' });
	letGo();
	const { task: ended, jobId } = await running;
	assert.deepEqual([ended.state, jobId, added.length], ['TASK_STATE_COMPLETED', null, 1]);
	assert.deepEqual(await find(task.id, fake.call), ended);
	await fake.runJobs();
	assert.equal(tool.runs, 1);
});

test('a task that cannot be stored leaves no job behind; its tool runs to its end, and the client is answered', async () => {
	const { tool, letGo } = heldTool();
	await using fake = fakeCall({ plugin: a2a as Any, tools: [tool] });
	const { records, jobs } = fake.call;
	const ids: string[] = [];
	const add: typeof jobs.add = async (...given) => {
		const job = await jobs.add(...given);
		ids.push(job.id);
		return job;
	};
	let refused = 0;
	const put: Records['put'] = async () => {
		refused += 1;
		throw new GatewayError('unavailable', 'It is away.');
	};
	const call = like(fake.call, { jobs: like(jobs, { add }), records: like(records, { put }) });
	const taskOf = () => newTask({ contextId: 'c', state: 'TASK_STATE_WORKING', skill: 'look', args: {}, modes: null }, fake.call);
	const running = runEarly(taskOf(), { call, retention: RETENTION });
	await until(async () => (await jobs.get(ids[0] ?? ''))?.status === 'cancelled', 'its job is cancelled');
	letGo();
	assert.deepEqual([(await running).task.state, tool.runs, refused], ['TASK_STATE_COMPLETED', 1, 2]);
	const quick = await runEarly(taskOf(), { call, retention: RETENTION });
	assert.deepEqual([quick.task.state, tool.runs, refused], ['TASK_STATE_COMPLETED', 2, 3]);
	assert.equal(fake.lines.filter(({ message }) => /could not be stored/.test(message)).length, 2);
	const its: Any = like(fake.call, { invoke: wrongArguments, records: like(records, { put }), with: () => its });
	await assert.rejects(runEarly(taskOf(), { call: its, retention: RETENTION }), { code: 'unavailable' }, 'nothing has run');
	await fake.runJobs();
	assert.deepEqual([ids.length, tool.runs], [1, 2]);
});

const wrongArguments = async (): Promise<never> => {
	throw new GatewayError('validation_failed', 'Something is missing.');
};

test('what a tool told before it had a job is told by its job', async () => {
	const told: Any[] = [];
	const held = Promise.withResolvers<void>();
	await using fake = fakeCall({ plugin: a2a as Any });
	const its = ({ progress }: CallOptions): Any => ({
		async invoke() {
			progress?.(1, 3, 'the first');
			progress?.(2, 3, 'the second');
			await held.promise;
			return found;
		},
		with: its,
	});
	const call = like(fake.call, { with: its });
	const task = newTask({ contextId: 'c', state: 'TASK_STATE_WORKING', skill: 'look', args: {}, modes: null }, fake.call);
	const { jobId } = await runEarly(task, { call, retention: RETENTION });
	const following = (async () => {
		for await (const job of fake.call.jobs.follow(jobId ?? '', AbortSignal.timeout(PATIENCE_MS))) {
			if (job?.progress) told.push(job.progress);
			if (told.length > 0) held.resolve();
		}
	})();
	await following;
	assert.deepEqual(told[0], { text: '2 of 3: the second' });
	assert.equal((await find(task.id, fake.call)).state, 'TASK_STATE_COMPLETED');
});

test('a tool that asks after its task got a job lets the task wait, and runs again with the answer', async () => {
	const held = Promise.withResolvers<void>();
	const runs: unknown[] = [];
	const question = {
		key: 'sure',
		message: 'Sure?',
		schema: { type: 'object' as const, properties: { sure: { type: 'boolean' as const } } },
	};
	await using fake = fakeCall({ plugin: a2a as Any });
	const its = ({ ask, signal = new AbortController().signal }: CallOptions): Any => ({
		async invoke() {
			await held.promise;
			const answer = await ask?.(question, signal);
			runs.push(answer);
			if (answer === 'later') throw new GatewayError('not_implemented', 'It waits for an answer.');
			return found;
		},
		with: its,
	});
	const call = like(fake.call, { with: its });
	const task = newTask({ contextId: 'c', state: 'TASK_STATE_WORKING', skill: 'look', args: {}, modes: null }, fake.call);
	const { jobId } = await runEarly(task, { call, retention: RETENTION });
	held.resolve();
	await until(async () => (await fake.call.jobs.get(jobId ?? ''))?.status === 'succeeded', 'its job has ended');
	const waiting = await find(task.id, fake.call);
	assert.deepEqual([waiting.state, waiting.content.question?.key, runs], ['TASK_STATE_INPUT_REQUIRED', 'sure', ['later']]);
	const told = answered(waiting, waiting.content.question ?? assert.fail(), { parts: [{ text: 'yes' }] } as Any);
	const end = await outcome(told, { call, signal: fake.call.signal, attempt: 1, progress: () => undefined }, false);
	assert.equal(end(told).state, 'TASK_STATE_COMPLETED');
	assert.deepEqual(runs[1], { action: 'accept', content: { sure: true } });
});
