// Tests the shares of the sandbox that accounts get, with any number of organizations, and the rest that is left for others. Only the order
// of events is asserted, however long they take.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { COMPUTING, createPool, type Pool, UNITS } from './pool.ts';
import type { Ended, RunLimits } from './thread.ts';

const pool = createPool();
after(() => pool.close());

interface Given extends Partial<RunLimits> {
	account: string;
	organization?: string;
	memoryMb?: number;
	/** The pool; by default one with the limits of the machine. */
	within?: Pool;
}

function run(code: string, { account, organization = account, memoryMb = 64, within = pool, ...limits }: Given): Promise<Ended> {
	const task = { account, organization, code, parameters: '{}', memoryBytes: memoryMb * 1024 * 1024, mayRequest: true };
	const none = { timeoutMs: 300_000, signal: new AbortController().signal, request: async () => ({ fault: 'No.' }) };
	return within.run(task, { ...none, ...limits });
}

const resultOf = ({ ending }: Ended): unknown => (ending.type === 'returned' ? JSON.parse(ending.json) : ending);

const SLEEP = 'await new Promise((ok) => setTimeout(ok, 290_000));';
const COMPUTE = 'for (;;) {}';
/** The units that an account gets while no other has any. */
const SHARE = UNITS / 4;

/** Runs that go on until the crowd is stopped. */
class Crowd implements AsyncDisposable {
	begun = 0;
	ended = 0;
	readonly #stop = new AbortController();
	readonly #all: Promise<unknown>[] = [];

	/** Starts six runs in each of two organizations of every account. */
	enter(code: string, accounts: string[]): void {
		for (const account of accounts) for (let n = 0; n < 12; n++) this.add(code, { account, organization: `${account}-${n % 2}` });
	}

	add(code: string, given: Given): void {
		const request = async () => {
			this.begun++;
			return { fault: 'No.' };
		};
		const running = run(`fetch("http://x").catch(() => 0); ${code}`, { ...given, signal: this.#stop.signal, request });
		const ended = (): void => void this.ended++;
		this.#all.push(running.then(ended, ended));
	}

	async until(begun: number): Promise<void> {
		while (this.begun < begun) await delay(10);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stop.abort(new Error('enough'));
		await Promise.all(this.#all);
	}
}

test('an account with two organizations whose runs sleep holds no more than its share, and others do not wait', async () => {
	await using crowd = new Crowd();
	crowd.enter(SLEEP, ['sleeper']);
	await crowd.until(Math.min(12, SHARE));
	assert.equal(resultOf(await run('return "served"', { account: 'other' })), 'served');
	assert.deepEqual([crowd.begun, crowd.ended], [Math.min(12, SHARE), 0]);
});

test('what six accounts leave of the sandbox is enough for the seventh, whether they sleep or compute', async () => {
	const accounts = Array.from({ length: 6 }, (_, n) => `account-${n}`);
	for (const code of [SLEEP, COMPUTE]) {
		await using crowd = new Crowd();
		crowd.enter(code, accounts);
		await crowd.until(accounts.length);
		assert.equal(resultOf(await run('return "served"', { account: 'seventh' })), 'served', code);
		assert.equal(crowd.ended, 0, code);
	}
});

test('a run that waits occupies no slot of its account', async () => {
	await using crowd = new Crowd();
	const count = Math.min(COMPUTING, SHARE - 1);
	for (let n = 0; n < count; n++) crowd.add(SLEEP, { account: 'waiting' });
	await crowd.until(count);
	assert.equal(resultOf(await run('return "served"', { account: 'waiting' })), 'served');
	assert.equal(crowd.ended, 0);
});

test('no more runs of an account compute at once than it has slots, also if they waited before they began', async () => {
	await using crowd = new Crowd();
	for (let n = 0; n < COMPUTING + 2; n++) crowd.add(COMPUTE, { account: 'computing' });
	await crowd.until(COMPUTING);
	assert.equal(resultOf(await run('return "served"', { account: 'bystander' })), 'served');
	assert.equal(crowd.begun, COMPUTING);
});

test('a run with more memory takes the room of two', async () => {
	await using crowd = new Crowd();
	for (let n = 0; n < SHARE; n++) crowd.add(SLEEP, { account: 'large', memoryMb: 128 });
	await crowd.until(SHARE / 2);
	assert.equal(resultOf(await run('return "served"', { account: 'small', memoryMb: 16 })), 'served');
	assert.equal(crowd.begun, SHARE / 2);
});

test('when everything is taken, accounts without a run go first, in turn, and a waiter that leaves lets others pass', async (t) => {
	const within = createPool({ units: 8 });
	t.after(() => within.close());
	await using crowd = new Crowd();
	for (const account of ['a', 'a', 'b', 'c', 'd', 'e', 'f', 'j']) crowd.add(SLEEP, { account, within });
	await crowd.until(7);
	const ended: string[] = [];
	const next = (account: string, given: Partial<Given> = {}): Promise<void> =>
		run('return 1', { account, within, ...given }).then(
			() => void ended.push(account),
			() => void ended.push(`${account} left`),
		);
	const large = new AbortController();
	const waiting = [next('a'), next('g', { memoryMb: 128, signal: large.signal }), next('h'), next('i')];
	large.abort(new Error('gone'));
	await Promise.all(waiting.slice(1));
	assert.deepEqual(ended, ['g left', 'h', 'i'], 'one unit is free, which g needed two of');
	assert.deepEqual([crowd.begun, crowd.ended], [7, 0], 'the second of a waits until there is more');
});

test('code of one account that is slow to compile does not delay checks of other accounts', async () => {
	const slow = `class A { ${Array.from({ length: 6000 }, (_, n) => `#p${n};`).join(' ')} }`;
	let ended = 0;
	for (let n = 0; n < 2 * COMPUTING; n++) {
		const end = (): void => void ended++;
		// The last of them wait for the slots of the first, which rest: nobody waits for them here.
		pool.check({ account: 'slow', organization: `slow-${n % 2}`, code: slow }).then(end, end);
	}
	const { ending } = await pool.check({ account: 'quick', organization: 'quick', code: 'return 1' });
	assert.equal(ending.type, 'returned');
	assert.ok(ended < COMPUTING, `it came after ${ended} of theirs had ended`);
});
