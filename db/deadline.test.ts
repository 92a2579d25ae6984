// Tests the time that one request may wait for the database.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { runWith } from '../core/process/around.ts';
import { beginTime, inTime } from './deadline.ts';

const TIMEOUT = /^Error: Timeout of the request/;
const never = (): Promise<never> => new Promise(() => {});

/** A clock that only the test moves. */
function clock(t: TestContext) {
	let nowMs = 0;
	t.mock.method(performance, 'now', () => nowMs);
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const pass = (ms: number): Promise<void> => {
		nowMs += ms;
		t.mock.timers.tick(ms);
		return immediate();
	};
	const answerAfter = async (ms: number): Promise<void> => {
		const { promise, resolve } = Promise.withResolvers<void>();
		const answer = inTime(null, () => promise);
		await pass(ms);
		resolve();
		await answer;
	};
	/** Fails when there is more or less time left. */
	const assertLeft = async (ms: number): Promise<void> => {
		let isOver = false;
		const waiting = inTime(null, never).catch((error) => {
			isOver = true;
			throw error;
		});
		const refused = assert.rejects(waiting, TIMEOUT);
		await pass(ms - 1);
		assert.equal(isOver, false, 'too early');
		await pass(1);
		await refused;
	};
	return { pass, answerAfter, assertLeft };
}

/** Does the work of a request. */
const withDeadline = <T>(work: () => T): T => runWith({ deadline: beginTime() }, work);

test('what one request waits for adds up; the next request begins anew', async (t) => {
	const { pass, answerAfter, assertLeft } = clock(t);
	await withDeadline(async () => {
		await answerAfter(1200);
		await assertLeft(800);
		const none = assert.rejects(inTime(null, never), TIMEOUT);
		await pass(1);
		await none;
	});
	await withDeadline(() => assertLeft(2000));
});

test('a prompt answer gives the time back, so that a request of hours does not use it up', async (t) => {
	const { answerAfter, assertLeft } = clock(t);
	await withDeadline(async () => {
		await answerAfter(1200);
		await answerAfter(90);
		await answerAfter(1200);
		await assertLeft(800);
	});
});

test('work with a limit of its own is aborted by its signal, also outside a request', async () => {
	let heard: unknown = null;
	const work = inTime(50, ({ signal }) => {
		signal.addEventListener('abort', () => {
			heard = signal.reason;
		});
		return never();
	});
	await assert.rejects(work, TIMEOUT);
	assert.ok(heard instanceof Error);
	assert.equal(await inTime(null, async () => 'no end outside'), 'no end outside');
});

test('work that ends its deadline is waited for, and cannot end one that has passed', async (t) => {
	const { pass } = clock(t);
	const commit = Promise.withResolvers<string>();
	const work = inTime(50, ({ end }) => {
		end();
		return commit.promise;
	});
	await pass(60);
	commit.resolve('made');
	assert.equal(await work, 'made');
	const late = Promise.withResolvers<void>();
	const ended: unknown[] = [];
	const missed = inTime(50, async ({ end }) => {
		await late.promise;
		try {
			end();
		} catch (error) {
			ended.push(error);
		}
	});
	const refused = assert.rejects(missed, TIMEOUT);
	await pass(60);
	await refused;
	late.resolve();
	await immediate();
	assert.match(String(ended[0]), TIMEOUT);
});
