// Tests that accounts take turns when archives are packed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { packInTurn } from './packing.ts';

const of = (account: string) => ({ account: async () => account, gateway: null });

/** Work that ends when it is told to. */
function held(): { pack: () => Promise<string>; end: () => void; hasBegun: () => boolean } {
	const { promise, resolve } = Promise.withResolvers<string>();
	let hasBegun = false;
	return {
		pack: () => {
			hasBegun = true;
			return promise;
		},
		end: () => resolve('packed'),
		hasBegun: () => hasBegun,
	};
}

async function settled(): Promise<void> {
	for (let at = 0; at < 5; at++) await turn();
}

test('an account that packs many archives leaves the next place to another', async () => {
	const many = Array.from({ length: 10 }, held);
	const all = many.map(({ pack }) => packInTurn(of('busy'), pack));
	await settled();
	const begun = (): number => many.filter(({ hasBegun }) => hasBegun()).length;
	assert.equal(begun(), 1, 'the rest is for others');
	const other = held();
	const packed = packInTurn(of('other'), other.pack);
	await settled();
	assert.equal(other.hasBegun(), true);
	other.end();
	assert.equal(await packed, 'packed');
	for (const { end } of many) end();
	assert.deepEqual(await Promise.all(all), Array(10).fill('packed'));
});

test('what fails gives its place back, and more than may wait is refused', async () => {
	const failing = async (): Promise<never> => {
		throw new Error('unreadable');
	};
	for (let at = 0; at < 10; at++) await assert.rejects(packInTurn(of('failing'), failing), /unreadable/);
	const many = Array.from({ length: 500 }, held);
	const all = many.map(({ pack }) => packInTurn(of('flooding'), pack));
	const ended = Promise.allSettled(all);
	await settled();
	for (const { end } of many) end();
	const refused = (await ended).filter(({ status }) => status === 'rejected');
	assert.ok(refused.length > 0 && refused.length < 500, `${refused.length}`);
	for (const one of refused) assert.equal((one as PromiseRejectedResult).reason.code, 'rate_limited');
	assert.equal(await packInTurn(of('flooding'), async () => 'again'), 'again');
});
