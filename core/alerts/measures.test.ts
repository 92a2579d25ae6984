import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUCKETS } from '../store/histogram.ts';
import { judge } from './measures.ts';

const sums = (calls: number, failed: number) => ({ calls, failed, histogram: new Array<number>(BUCKETS).fill(0) });
const RULE = { kind: 'error_rate', bound: 0.5, minCalls: 10 } as const;

test('an incident opens above the bound, and ends at four fifths of it; in between nothing changes', () => {
	assert.equal(judge(RULE, sums(10, 5), false), null, 'the bound itself is no alert');
	assert.equal(judge(RULE, sums(10, 6), false)?.change, 'open');
	assert.equal(judge(RULE, sums(10, 6), true), null, 'an open one is not opened again');
	assert.equal(judge(RULE, sums(100, 41), true), null);
	assert.equal(judge(RULE, sums(100, 40), true)?.change, 'end');
});

test('few calls open nothing; none end what is open', () => {
	assert.equal(judge(RULE, sums(9, 9), false), null);
	assert.equal(judge(RULE, sums(9, 9), true), null);
	assert.equal(judge(RULE, sums(0, 0), true)?.change, 'end');
	assert.equal(judge(RULE, sums(0, 0), false), null);
});

test('a latency is the duration that 95 % of the calls did not exceed', () => {
	const histogram = sums(0, 0).histogram;
	histogram[0] = 94;
	histogram[20] = 6;
	const rule = { kind: 'latency', bound: 100, minCalls: 10 } as const;
	assert.equal(judge(rule, { calls: 100, failed: 0, histogram }, false)?.change, 'open');
	assert.equal(judge(rule, { calls: 100, failed: 0, histogram: histogram.with(0, 995) }, true)?.change, 'end');
});
