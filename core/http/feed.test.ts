// Tests the queue between one who gives and one who takes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Feed } from './feed.ts';

async function rest<T>(feed: Feed<T>): Promise<T[]> {
	const items: T[] = [];
	for await (const item of feed) items.push(item);
	return items;
}

test('items arrive in order, whether they were given before or while one waits for them', async () => {
	const feed = new Feed<number>(10);
	feed.give(1);
	const reading = rest(feed);
	await Promise.resolve();
	feed.give(2);
	feed.give(3);
	feed.end(4);
	assert.deepEqual(await reading, [1, 2, 3, 4]);
});

test('what waits is bounded by its size, and the last item is taken whatever waits', async () => {
	const feed = new Feed<string>(10);
	assert.deepEqual([feed.give('a', 6), feed.give('b', 6), feed.give('c', 4), feed.give('d', 1)], [true, false, true, false]);
	feed.end('last');
	assert.equal(feed.give('after'), false);
	assert.deepEqual(await rest(feed), ['a', 'c', 'last']);
});

test('what was taken makes room', async () => {
	const feed = new Feed<string>(1);
	const items = feed[Symbol.asyncIterator]();
	for (const item of ['a', 'b', 'c']) {
		assert.equal(feed.give(item), true);
		assert.deepEqual(await items.next(), { done: false, value: item });
	}
});

test('one who leaves ends the feed: whoever waits is told, what waits is dropped, and nothing more is kept', async () => {
	const feed = new Feed<string>(5);
	const items = feed[Symbol.asyncIterator]();
	const waiting = items.next();
	await items.return?.();
	assert.deepEqual(await waiting, { done: true, value: undefined });
	assert.equal(feed.give('a'), false);
	feed.end('last');
	assert.deepEqual(await rest(feed), []);
});

test('an end without an item is an end', async () => {
	const feed = new Feed<string>(5);
	const reading = rest(feed);
	feed.end();
	assert.deepEqual(await reading, []);
	assert.deepEqual(await rest(feed), []);
});
