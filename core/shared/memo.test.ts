// The cache of this process: kept, expired and evicted values. The clock is the test's.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Memo } from './memo.ts';

/** A clock that the test moves on. */
function stoppedClock(t: TestContext): { nowMs: number } {
	const clock = { nowMs: 0 };
	t.mock.method(performance, 'now', () => clock.nowMs);
	return clock;
}

/** Tells which of the keys of an organization are computed anew. */
async function goneOf(memo: Memo, owner: string, keys: readonly string[]): Promise<string[]> {
	const gone: string[] = [];
	for (const key of keys)
		await memo.get(owner, key, 1_000, async () => {
			gone.push(key);
		});
	return gone;
}

test('expired values are dropped when others are added, so that ever-new keys do not fill the memory', async (t) => {
	const clock = stoppedClock(t);
	const memo = new Memo(1000);
	// Neither what never expires nor what expires later keeps those behind it.
	await memo.get('a', 'for ever', Number.POSITIVE_INFINITY, async () => 'for ever');
	await memo.get('a', 'long', 1_000_000, async () => 'long');
	let most = 0;
	for (let at = 0; at < 10_000; at++) {
		clock.nowMs += 10;
		await memo.get(at % 3 === 0 ? 'a' : 'b', `key ${at}`, 1000, async () => at);
		most = Math.max(most, memo.size);
	}
	assert.ok(most <= 150, `${most} are held, of which 102 are good`);
	assert.equal(await memo.get('a', 'key 9999', 1000, async () => 'again'), 9999);
	assert.equal(await memo.get('a', 'for ever', 1, async () => 'again'), 'for ever');
});

test('a value is computed once for all who ask meanwhile, and a failure is not kept', async () => {
	const memo = new Memo(10);
	let computed = 0;
	const ask = () => memo.get('a', 'key', 1_000, async () => ++computed);
	assert.deepEqual(await Promise.all([ask(), ask(), ask()]), [1, 1, 1]);
	await assert.rejects(
		memo.get('a', 'failing', 1_000, () => Promise.reject(new Error('no'))),
		/no/,
	);
	assert.equal(await memo.get('a', 'failing', 1_000, async () => 'yes'), 'yes');
	assert.equal(await memo.get('b', 'key', 1_000, async () => 'its own'), 'its own');
});

test('without room the organization that holds the most gives way, its oldest first, and no other', async (t) => {
	stoppedClock(t);
	const memo = new Memo(100);
	await goneOf(memo, 'small', ['one', 'two']);
	const keys = Array.from({ length: 300 }, (_, at) => `key ${at}`);
	await goneOf(memo, 'large', keys);
	assert.ok(memo.size <= 100, String(memo.size));
	assert.deepEqual(await goneOf(memo, 'small', ['one', 'two']), []);
	assert.deepEqual(await goneOf(memo, 'large', keys.slice(-90)), []);
	assert.deepEqual(await goneOf(memo, 'large', ['key 0']), ['key 0']);
});

test('of a group whose values are bounded the oldest gives way, at one organization, and no other value', async (t) => {
	stoppedClock(t);
	const memo = new Memo(1_000);
	const gone: string[] = [];
	const ask = (organization: string, group: string, at: number) =>
		memo.get(organization, `${group}:${at}`, 1_000, async () => void gone.push(`${organization} ${group} ${at}`), { group, most: 5 });
	await goneOf(memo, 'a', ['document:0']);
	for (const [organization, group] of [
		['a', 'keys'],
		['b', 'document'],
	] as const)
		await ask(organization, group, 0);
	for (let at = 0; at < 50; at++) await ask('a', 'document', at);
	assert.equal(memo.size, 8);
	gone.length = 0;
	for (let at = 49; at >= 44; at--) await ask('a', 'document', at);
	for (const [organization, group] of [
		['a', 'keys'],
		['b', 'document'],
	] as const)
		await ask(organization, group, 0);
	assert.deepEqual([gone, await goneOf(memo, 'a', ['document:0'])], [['a document 44'], []]);
});
