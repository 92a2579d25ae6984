// Tests the parts of the cores that runs get, and that no run takes more than its part.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stopwatch } from '../../../test/helpers/clock.ts';
import { Cores } from './cores.ts';
import { Thread } from './thread.ts';
import { compileEngine } from './threads.ts';

/** Runs a sequence of begins and ends, of runs named by account and number. @returns the part that each has at the end */
function partsOf(count: number, work: (begin: (run: string) => void, end: (run: string) => void) => void) {
	const cores = new Cores(count);
	const parts: Record<string, number> = {};
	const runs = new Map<string, { setPart(part: number): void }>();
	const begin = (run: string): void => {
		const one = {
			setPart(part: number): void {
				parts[run] = part;
			},
		};
		runs.set(run, one);
		cores.begin(run.charAt(0), one);
	};
	const end = (run: string): void => {
		cores.end(run.charAt(0), runs.get(run) ?? assert.fail());
		delete parts[run];
	};
	work(begin, end);
	return parts;
}

test('each account has the same part of the cores, and each of its runs the same of that', () => {
	const parts = partsOf(2, (begin) => ['a1', 'a2', 'a3', 'a4', 'b1'].forEach(begin));
	assert.deepEqual(parts, { a1: 0.25, a2: 0.25, a3: 0.25, a4: 0.25, b1: 1 });
	assert.deepEqual(
		partsOf(2, (begin) => ['a1', 'b1', 'c1', 'c2', 'd1'].forEach(begin)),
		{
			a1: 0.5,
			b1: 0.5,
			c1: 0.25,
			c2: 0.25,
			d1: 0.5,
		},
	);
});

test('while there are cores for all, each run has one, and a run that ends leaves its part to others', () => {
	assert.deepEqual(
		partsOf(4, (begin) => begin('a1')),
		{ a1: 1 },
	);
	const enough = partsOf(4, (begin, end) => {
		for (const run of ['a1', 'a2', 'a3', 'b1', 'b2']) begin(run);
		end('b2');
	});
	assert.deepEqual(enough, { a1: 1, a2: 1, a3: 1, b1: 1 });
	const parts = partsOf(1, (begin, end) => {
		for (const run of ['a1', 'a2', 'b1', 'c1']) begin(run);
		for (const run of ['a2', 'c1']) end(run);
	});
	assert.deepEqual(parts, { a1: 0.5, b1: 0.5 });
});

test('a run has no more of a core than its part', async (t) => {
	const thread = new Thread(await compileEngine());
	t.after(() => thread.kill());
	await thread.ready;
	const own = { account: 'a', organization: 'a', parameters: '{}', memoryBytes: 64 * 1024 * 1024, mayRequest: false };
	const limits = { timeoutMs: 120_000, signal: new AbortController().signal, request: async () => ({ fault: 'No.' }) };
	const loops = [
		'for (let n = 0; n < 2e6; n++);',
		'for (let n = 0; n < 1e5; n++) await null;',
		'for (let n = 0; n < 2e5; n++) JSON.parse("[1, 2]");',
	];
	for (const code of loops) {
		thread.setPart(0.2);
		const passed = stopwatch();
		const { ending, computedMs } = await thread.run({ ...own, code }, limits);
		assert.equal(ending.type, 'returned', code);
		// The pauses are five times as long as the computation, except that after the last one.
		assert.ok(computedMs > 10 && passed.atLeast(3 * computedMs), `${computedMs} ms of the processor: ${code}`);
	}
});
