// Tests the pauses before requests are repeated.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../contract/errors.ts';
import { waitAfter } from './repeating.ts';

const refusal = (retryAfter: string | null): GatewayError =>
	new GatewayError('rate_limited', 'Wait.', retryAfter === null ? {} : { headers: { 'retry-after': retryAfter } });

test('what has details, such as the refusal of our own queue, is not repeated', () => {
	const details = [{ path: '/outbound/maxQueued', message: 'It is full.' }];
	assert.equal(waitAfter(new GatewayError('rate_limited', 'It is full.', { details }), 1), null);
});

const CASES: [retryAfter: string | null, firstMs: number | null, secondMs: number | null][] = [
	['0', 0, 0],
	['2', 2000, 2000],
	['1.5', 1500, 1500],
	['31', null, null],
	['Thu, 31 Dec 2099 23:59:59 GMT', null, null],
	// One that says nothing counts as none: the pauses are our own.
	[null, 500, 1000],
	['-1', 500, 1000],
	['soon', 500, 1000],
];
for (const [retryAfter, ...expected] of CASES)
	test(`Retry-After ${retryAfter} means pauses of ${expected.join(' and ')} ms`, () => {
		assert.deepEqual([waitAfter(refusal(retryAfter), 1), waitAfter(refusal(retryAfter), 2)], expected);
	});
