// Tests the work that refreshes of one grant at once are, counted in reads and writes of its document, and their turns at it.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { asGatewayError, type Context, type Records } from '../../../core/index.ts';
import { fakeCall } from '../../../testing/index.ts';
import { createGrant, endAccess, findAccess, findRefresh, type Rotation, rotate, type Tokens } from './grants.ts';
import oauth2 from './index.ts';
import { Turns } from './turns.ts';

/** The regular pair and its siblings (decisions, 27). */
const MOST = 51;
const ID = 'A'.repeat(22);
const ASKED = { scopes: ['tools:read' as const], graceMs: 60_000 };
const GRANTED = { clientId: 'c', clientName: 'A client', userId: 'u', email: 'ada@example.com', scopes: ASKED.scopes };

/** A grant, the refreshes that are sent with its first token, and the reads and writes of its document so far. */
async function setScene(t: TestContext) {
	const { call, close } = fakeCall({ plugin: oauth2, gateway: {} });
	t.after(close);
	const tokens = await createGrant(GRANTED, { id: ID, nowMs: 0, mayRefresh: true }, call);
	const found = (await findRefresh(tokens.refresh ?? '', call)) ?? assert.fail('no grant');
	const counted = { reads: 0, writes: 0 };
	/** Each request has records of its own. */
	const contextOf = (signal = call.signal, fails = false): Context => {
		const { records } = call;
		const get: Records['get'] = async (key) => {
			counted.reads++;
			await immediate();
			if (fails) throw new Error('The database is away.');
			return records.get(key);
		};
		const update: Records['update'] = async (...asked) => {
			counted.writes++;
			await immediate();
			return records.update(...asked);
		};
		// Neither a rotation nor the end of a token uses anything else of its context.
		return { memo: call.memo.bind(call), signal, records: { get, update } } as unknown as Context;
	};
	const send = (signal?: AbortSignal, fails?: boolean): Promise<Rotation> => rotate(found, ASKED, contextOf(signal, fails));
	const end = async ({ access }: Tokens): Promise<boolean> => {
		const { grantId, id } = (await findAccess(access, call)) ?? assert.fail('no token');
		return endAccess(grantId, id, contextOf());
	};
	return { send, end, counted };
}

const isIssued = (rotation: Rotation): boolean => typeof rotation === 'object';

test(`${MOST} refreshes at once read and write the grant once each, and get a pair each`, async (t) => {
	const { send, counted } = await setScene(t);
	const rotations = await Promise.all(Array.from({ length: MOST }, () => send()));
	assert.ok(rotations.every(isIssued));
	assert.deepEqual(counted, { reads: MOST, writes: MOST });
	assert.equal(await send(), 'again');
});

test('access tokens that are ended at once read and write the grant once each', async (t) => {
	const { send, end, counted } = await setScene(t);
	const pairs = (await Promise.all(Array.from({ length: 5 }, () => send()))).filter((one) => typeof one === 'object');
	Object.assign(counted, { reads: 0, writes: 0 });
	assert.deepEqual(await Promise.all(pairs.map(end)), Array(5).fill(true));
	assert.deepEqual(counted, { reads: 5, writes: 5 });
});

test('a refresh that fails, and one whose client leaves, keep no other from its turn', async (t) => {
	const { send, counted } = await setScene(t);
	const [leaving, left] = [new AbortController(), new AbortController()];
	const rotations = Promise.allSettled([send(leaving.signal), send(undefined, true), send(left.signal), send()]);
	left.abort(new Error('The client left.'));
	leaving.abort(new Error('The client left.'));
	const [, failed, gone, last] = await rotations;
	assert.equal(failed?.status, 'rejected');
	// No fault of ours, and so no error in the log.
	assert.equal(gone?.status === 'rejected' && asGatewayError(gone.reason)?.code, 'unavailable');
	assert.ok(last?.status === 'fulfilled' && isIssued(last.value));
	assert.ok(counted.reads <= 4, `${counted.reads} reads`);
});

test('turns at one key come one after another, those at others do not wait, and nothing is kept of either', async () => {
	const { signal } = new AbortController();
	const turns = new Turns();
	const told: string[] = [];
	const gate = Promise.withResolvers<void>();
	const first = turns.take('a', signal, async () => {
		await gate.promise;
		told.push('first');
	});
	const second = turns.take('a', signal, async () => told.push('second'));
	await turns.take('b', signal, async () => told.push('other'));
	assert.deepEqual(told, ['other']);
	gate.resolve();
	await Promise.all([first, second]);
	assert.deepEqual(told, ['other', 'first', 'second']);
	await immediate();
	assert.equal(turns.size, 0);
});

test('nobody waits for the work of one whose time is over, and one who leaves lets nobody in ahead of their turn', async () => {
	const { signal } = new AbortController();
	const [over, leaving] = [new AbortController(), new AbortController()];
	const turns = new Turns();
	const gate = Promise.withResolvers<string>();
	const slow = turns.take('a', over.signal, () => gate.promise);
	const waiting = turns.take('a', leaving.signal, async () => assert.fail('it had left'));
	leaving.abort(new Error('left'));
	await assert.rejects(waiting, { code: 'unavailable' });
	let hasBegun = false;
	const next = turns.take('a', signal, async () => {
		hasBegun = true;
	});
	await immediate();
	assert.equal(hasBegun, false);
	over.abort(new Error('late'));
	await next;
	gate.resolve('done');
	assert.equal(await slow, 'done');
	await immediate();
	assert.equal(turns.size, 0);
});
