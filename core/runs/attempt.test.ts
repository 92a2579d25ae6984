// One attempt at a run, without a database.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';
import type { ClaimedRun, FinishedStep, Run } from '../store/store.ts';
import { Attempt } from './attempt.ts';
import type { RunContext } from './context.ts';
import { FULL, LOST, MAX_KEPT_CHARS } from './faults.ts';
import type { Keeper } from './keeper.ts';

const CLAIMED = {
	run: { id: 'r', organizationId: 'o', attempt: 1, kind: 'k', definition: null, input: null, deadlineAt: null, priority: 0 },
	hold: { id: 'r' },
	steps: [],
	keptChars: 0,
	signals: [],
} as unknown as ClaimedRun;
/** Keeps nothing, and has heard of no signal. */
const KEEPER = { signals: async () => [], progress: async () => undefined } as unknown as Keeper;

test('an attempt that waits is over: who finds then that it holds its run no more stops nothing', async () => {
	const attempt = new Attempt(CLAIMED, KEEPER, async () => null);
	let signal: AbortSignal | null = null;
	const outcome = await attempt.outcome(async (run) => {
		signal = run.signal;
		return run.event('never');
	});
	assert.deepEqual(outcome, { how: 'suspended', events: ['never'], at: null });
	attempt.stop(LOST);
	assert.equal((signal as AbortSignal | null)?.aborted, false);
});

test('an attempt that works is stopped when it has lost its run', async () => {
	const attempt = new Attempt(CLAIMED, KEEPER, async () => null);
	const outcome = attempt.outcome(async (run) => {
		run.hold();
		attempt.stop(LOST);
		return run.event('never');
	});
	assert.deepEqual(await outcome, { how: 'lost' });
});

test('a run whose steps would keep too much fails, and keeps that it did', async () => {
	const finished: FinishedStep[] = [];
	const keeper = Object.assign(
		{ finish: async (_hold: unknown, step: FinishedStep) => void finished.push(step) },
		KEEPER,
	) as unknown as Keeper;
	const attempt = new Attempt({ ...CLAIMED, keptChars: MAX_KEPT_CHARS - 19 }, keeper, async () => null);
	const begun: string[] = [];
	const outcome = await attempt.outcome(async (run) => {
		for (const key of ['a', 'b', 'c'])
			await run
				.step(key, async () => {
					begun.push(key);
					return 'x'.repeat(10);
				})
				.catch(() => undefined);
		return null;
	});
	assert.deepEqual(outcome, { how: 'failed', error: FULL });
	assert.deepEqual(
		finished.map(({ key, status, output, error }) => [key, status, output, error?.code]),
		[
			['a', 'done', 'x'.repeat(10), undefined],
			['b', 'failed', null, 'conflict'],
		],
	);
	assert.deepEqual(begun, ['a', 'b']);
});

test('a signal that came in time, and whose announcement is still to come, is found when the time is over', async () => {
	let reads = 0;
	const keeper = Object.assign({}, KEEPER, {
		begin: async () => undefined,
		// It comes after the first look, and nobody announces it.
		late: async () => false,
		signals: async () => (reads++ === 0 ? [] : [{ name: 'go', payload: 'yes' }]),
	}) as unknown as Keeper;
	const attempt = new Attempt(CLAIMED, keeper, async () => null);
	assert.deepEqual(await attempt.outcome((run) => run.event('go', { timeoutMs: 50 })), { how: 'succeeded', output: 'yes' });
});

test('a run that waits for an answer in vain fails in words for people, without the name of the signal', async () => {
	const keeper = Object.assign({}, KEEPER, { begin: async () => undefined, late: async () => true, signals: async () => [] });
	const outcome = await new Attempt(CLAIMED, keeper as unknown as Keeper, async () => null).outcome((run) =>
		run.event('go', { timeoutMs: 50 }),
	);
	assert.match(String(outcome.how === 'failed' && outcome.error), /: No answer came in time\.$/);
});

test('a parent leaves its process while its account has no room for the child, and starts it once there is', async () => {
	let asked = 0;
	const full = new GatewayError('rate_limited', 'Too many.');
	const startChild = async (): Promise<Run | null> => (asked++ === 0 ? Promise.reject(full) : ({ id: 'c' } as Run));
	const program = (run: RunContext): Promise<Json> => run.child('sub', { kind: 'k', input: null });
	const waiting = await new Attempt(CLAIMED, KEEPER, startChild).outcome(program);
	assert.ok(waiting.how === 'suspended' && waiting.at instanceof Date, JSON.stringify(waiting));
	assert.deepEqual(waiting.events, []);
	assert.deepEqual(await new Attempt(CLAIMED, KEEPER, startChild).outcome(program), { how: 'suspended', events: ['child:c'], at: null });
});
