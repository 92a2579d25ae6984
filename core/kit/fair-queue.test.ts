// The order in which accounts are served, and their shares.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue, type Limits, type QueueRequest } from './fair-queue.ts';

const LIMITS: Limits = { units: 100, computing: 100, waiting: 100, waitingBytes: 10_000 };

interface Given extends Partial<QueueRequest> {
	limits?: Partial<Limits>;
}

/** Items are named by their account, their organization and a number: `a.x1`. */
function queueOf({ limits, ...common }: Given = {}) {
	const queue = new FairQueue<string>({ ...LIMITS, ...limits });
	const asked = (item: string, own: Partial<QueueRequest> = {}): QueueRequest => {
		const [account = '', rest = ''] = item.split('.');
		return { account, organization: rest.slice(0, -1), sizeBytes: 1, units: 1, ...common, ...own };
	};
	const add = (items: string, own: Partial<QueueRequest> = {}): boolean[] =>
		items.split(' ').map((item) => queue.add(item, asked(item, own)));
	const take = (): string => {
		const taken: string[] = [];
		for (let item = queue.take(); item !== null; item = queue.take()) taken.push(item);
		return taken.join(' ');
	};
	const end = (item: string, own: Partial<QueueRequest> = {}): void => {
		queue.giveBack(asked(item, own));
		queue.compute(asked(item).account, -1);
	};
	return { queue, add, take, end, remove: (item: string) => queue.remove(item, asked(item)) };
}

test('accounts are served in turn, however much one of them queues, and so are the organizations of an account', () => {
	const { add, take } = queueOf();
	add('a.x1 a.x2 a.x3 a.y1 a.y2 b.z1 b.z2');
	assert.equal(take(), 'a.x1 b.z1 a.y1 b.z2 a.x2 a.y2 a.x3');
});

test('an account may hold what is left of the first half, however many organizations it has; the second half is for accounts that hold nothing', () => {
	const { add, take, end } = queueOf({ limits: { units: 16 } });
	add('a.x1 a.x2 a.x3 a.y1 a.y2 a.y3');
	assert.equal(take(), 'a.x1 a.y1 a.x2 a.y2', 'half of the half');
	add('b.x1 b.x2 b.x3 c.x1 c.x2 c.x3');
	assert.equal(take(), 'b.x1 c.x1 b.x2', 'then no more than is left of it');
	const others = Array.from({ length: 12 }, (_, n) => `d${n}.x`);
	for (const other of others) add(`${other}1 ${other}2`);
	assert.equal(
		take(),
		others
			.slice(0, 9)
			.map((other) => `${other}1`)
			.join(' '),
		'one for each',
	);
	end('a.x1');
	assert.equal(take(), 'd9.x1', 'and what comes free for whose turn it is among those who have nothing');
	for (const other of others.slice(0, 10)) end(`${other}1`);
	assert.match(take(), /^c\.x2 d10\.x1 d11\.x1 /);
});

test('the next account keeps its turn until there is room, and an account that holds something waits for no other', () => {
	const { add, take, end } = queueOf({ limits: { units: 4 } });
	add('a.x1 b.x1 c.x1');
	assert.equal(take(), 'a.x1 b.x1 c.x1');
	add('d.x1', { units: 2 });
	add('e.x1 f.x1');
	assert.equal(take(), '', 'd needs two, and e and f come after it');
	end('a.x1');
	assert.equal(take(), 'd.x1');
	end('b.x1');
	assert.equal(take(), 'e.x1');
});

test('an account has a limit of computing items, which excludes those that wait and includes them again when they continue', () => {
	const { queue, add, take, end } = queueOf({ limits: { computing: 2 } });
	add('a.x1 a.x2 a.x3 a.x4 b.x1');
	assert.equal(take(), 'a.x1 b.x1 a.x2');
	assert.equal(queue.hasNext(), false);
	queue.compute('a', -1);
	assert.equal(queue.hasNext(), true);
	assert.equal(take(), 'a.x3', 'as one waits');
	queue.compute('a', 1);
	end('a.x2');
	assert.equal(take(), '', 'it went on: two compute');
	end('a.x3');
	assert.equal(take(), 'a.x4');
});

test('the queue is bounded in number and in bytes, with a reserve for accounts that have nothing queued', () => {
	const { add } = queueOf({ limits: { waiting: 16 } });
	assert.deepEqual(add('a.x1 a.x2 a.x3 a.y1 a.y2'), [true, true, true, true, false]);
	assert.deepEqual(add('b.x1 b.x2 b.x3'), [true, true, false]);
	const heavy = queueOf({ limits: { waitingBytes: 16 } });
	assert.deepEqual(heavy.add('a.x1', { sizeBytes: 17 }), [false]);
	assert.deepEqual(heavy.add('a.x1 a.x2 a.x3', { sizeBytes: 2 }), [true, true, false]);
	assert.deepEqual(heavy.add('b.x1', { sizeBytes: 12 }), [true]);
	assert.deepEqual(heavy.add('c.x1'), [false]);
});

test('a removed item is not taken, and leaves nothing behind', () => {
	const { queue, add, take, remove } = queueOf({ limits: { waiting: 1, waitingBytes: 150 } });
	add('a.x1', { sizeBytes: 50 });
	remove('a.x1');
	remove('a.x1');
	assert.deepEqual([take(), queue.hasNext()], ['', false]);
	assert.deepEqual(add('b.x1', { sizeBytes: 150 }), [true]);
	assert.equal(take(), 'b.x1');
});
