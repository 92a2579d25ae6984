// Tests that the request log of two replicas holds each call once, also when one of them is killed: a small round of the sweep.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AT_ONCE, loggedWorld, sumsDiffer } from '../helpers/logged-load.ts';

const CALLS = 500;

test('lines and sums equal the calls, and those of a killed replica alone may be lost', async () => {
	await using world = await loggedWorld();
	const calls = await world.load(CALLS);
	assert.deepEqual([calls.calls, calls.broken], [CALLS, 0]);
	const all = await world.logged();
	assert.deepEqual([all.gateway, all.tool, all.bytes, all.byTool], [CALLS, CALLS, calls.bytes, calls.byTool]);
	assert.equal(all.failed, calls.byTool.at(-1));
	assert.deepEqual(sumsDiffer(all), []);

	const more = await world.load(CALLS, CALLS / 2);
	const rest = await world.logged();
	const lost = more.calls - (rest.gateway - all.gateway);
	// No more calls than these were answered by the one that was killed: the other one loses nothing.
	assert.ok(lost <= CALLS / 2 + AT_ONCE, `${lost} of ${more.calls} are lost`);
	// A line may be written whose answer did not arrive.
	assert.ok(lost >= -more.broken, `${-lost} lines have no call`);
	assert.deepEqual(sumsDiffer(rest), []);
});
