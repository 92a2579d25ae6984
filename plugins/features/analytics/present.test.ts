// Sums as answers show them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchOf, requestRow } from '../../../test/helpers/requests.ts';
import { added, presentSums } from './present.ts';

test('a request that only listened is a call, and in neither the mean nor the percentiles', () => {
	const rows = [requestRow({ durationMs: 10 }), requestRow({ durationMs: 20 }), requestRow({ durationMs: 900_000, isOpenEnded: true })];
	const shownOf = (of: typeof rows) =>
		presentSums(added(batchOf(of).cells.filter(({ resolution, dimension }) => resolution === 'day' && dimension === '')));
	const { calls, duration, bytesOut } = shownOf(rows);
	assert.deepEqual([calls, bytesOut, duration.mean], [3, 600, 15]);
	assert.ok((duration.p99 ?? 0) < 25, String(duration.p99));
	assert.equal(shownOf(rows.slice(2)).duration.mean, null);
	assert.equal(presentSums().duration.mean, null);
});

test('the sum of costs has no noise of binary fractions', () => {
	const { cells } = batchOf([0.1, 0.2].map((costMicroUsd) => requestRow({ kind: 'model', costMicroUsd })));
	const { cost } = presentSums(added(cells.filter(({ resolution, dimension }) => resolution === 'day' && dimension === '')));
	assert.equal(cost, 0.0000003);
});
