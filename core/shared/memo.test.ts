// The cache of this process: kept and expired values. The clock is the test's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Memo } from './memo.ts';

test('expired values are dropped when another is added, so that ever-new keys do not fill the memory', async (t) => {
	let nowMs = 0;
	t.mock.method(performance, 'now', () => nowMs);
	const memo = new Memo(1000);
	let most = 0;
	for (let at = 0; at < 10_000; at++) {
		nowMs += 10;
		await memo.get(`key ${at}`, 1000, async () => at);
		most = Math.max(most, memo.size);
	}
	assert.ok(most <= 101, `${most} are held, of which 100 are good`);
	assert.equal(await memo.get('key 9999', 1000, async () => 'again'), 9999);
});
