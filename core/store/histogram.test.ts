// Histograms of durations, and their percentiles.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUCKETS, bucketOf, percentile } from './histogram.ts';

const histogramOf = (durations: number[]): number[] => {
	const histogram = new Array<number>(BUCKETS).fill(0);
	for (const duration of durations) histogram[bucketOf(duration)] = (histogram[bucketOf(duration)] ?? 0) + 1;
	return histogram;
};

test('every duration has a bucket, longer ones never an earlier one', () => {
	let last = 0;
	for (const duration of [0, 0.2, 1, 1.01, Math.SQRT2, 2, 3, 4, 100, 1024, 1025, 100_000, 131_072, 1e9, Number.MAX_VALUE]) {
		assert.ok(bucketOf(duration) >= last && bucketOf(duration) < BUCKETS, String(duration));
		last = bucketOf(duration);
	}
	assert.equal(bucketOf(0), 0);
	for (let at = 0; at < BUCKETS - 1; at++) assert.equal(bucketOf(Math.SQRT2 ** at), at, `the bound ${at} is the last of its bucket`);
	assert.equal(bucketOf(Number.MAX_VALUE), BUCKETS - 1);
});

test('a percentile is right to a fifth, and the sum of histograms is the histogram of all', () => {
	const durations = Array.from({ length: 10_000 }, (_, n) => 2 + ((n * 7919) % 10_000) / 10);
	const sorted = durations.toSorted((a, b) => a - b);
	const [one, other] = [histogramOf(durations.slice(0, 3000)), histogramOf(durations.slice(3000))];
	const all = one.map((count, at) => count + (other[at] ?? 0));
	assert.deepEqual(all, histogramOf(durations));
	for (const share of [0.5, 0.9, 0.95, 0.99]) {
		const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
		const told = percentile(all, share) ?? 0;
		assert.ok(Math.abs(told - exact) <= exact * 0.2, `${share}: ${told} instead of ${exact}`);
	}
	assert.equal(percentile(histogramOf([]), 0.5), null);
});

test('a percentile is right to a fifth wherever in a bucket the durations lie', () => {
	for (const duration of [1, 1.01, 15, 91, 100, 127.9, 128, 5000, 92_682]) {
		for (const share of [0.01, 0.5, 0.95, 0.99, 1]) {
			const told = percentile(histogramOf(new Array<number>(100).fill(duration)), share) ?? 0;
			assert.ok(Math.abs(told - duration) <= duration * 0.2, `${share} of ${duration}: ${told}`);
		}
	}
});
