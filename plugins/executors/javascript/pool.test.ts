// Tests threads that fail, that slots rest, and that two tenants share nothing. Shares are in `shares.test.ts`, the length of rests in `rests.test.ts`.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { elapsing, isBeforeTimer, longestTurnMs, stopwatch } from '../../../test/helpers/clock.ts';
import { rounds } from '../../../test/helpers/sampled.ts';
import { COMPUTING, createPool } from './pool.ts';
import type { Ended, RunLimits } from './thread.ts';

const pool = createPool();
after(() => pool.close());

interface Given extends Partial<RunLimits> {
	/** Name of both the organization and the account. */
	owner?: string;
	parameters?: unknown;
	memoryMb?: number;
}

function run(code: string, { owner = 'acme', parameters = {}, memoryMb = 64, ...limits }: Given = {}): Promise<Ended> {
	const own = { account: owner, organization: owner, code, parameters: JSON.stringify(parameters) };
	const task = { ...own, memoryBytes: memoryMb * 1024 * 1024, mayRequest: false };
	const none = { timeoutMs: 30_000, signal: new AbortController().signal, request: async () => ({ fault: 'No.' }) };
	return pool.run(task, { ...none, ...limits });
}

const resultOf = ({ ending }: Ended): unknown => (ending.type === 'returned' ? JSON.parse(ending.json) : ending);

/** Code that the engine cannot interrupt. */
const DEAF = 'return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);';

/** None of them waits for half a minute, which a run may not, on a busy machine either. */
const AT_ONCE = rounds({ few: 250, all: 1000 });

test(`${AT_ONCE} runs at once all end well, and the event loop is not held up`, async () => {
	await run('return 1');
	const owners = ['a', 'b', 'c', 'd'];
	const begin = (n: number) => run('return parameters.n * 2', { owner: owners[n % 4] ?? 'a', parameters: { n }, timeoutMs: 20_000 });
	let values: unknown[] = [];
	const longestMs = await longestTurnMs(async () => {
		values = (await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => begin(n)))).map(resultOf);
	});
	assert.deepEqual(
		values,
		Array.from({ length: AT_ONCE }, (_, n) => n * 2),
	);
	assert.ok(longestMs < 200, `${longestMs} ms`);
});

test('a place whose run computed for long rests before the next', async () => {
	const code = 'for (let i = 0; i < 4e6; i++); return Date.now();';
	const busy = Array.from({ length: COMPUTING }, () => run(code, { owner: 'computing', timeoutMs: 30_000 }));
	const begun = run('return Date.now()', { owner: 'computing' });
	// A quarter less than four times its duration, since a timer counts from the turn in which it is set.
	const rests = (await Promise.all(busy)).map((ended) => Number(resultOf(ended)) + 3 * ended.computedMs);
	assert.ok(Number(resultOf(await begun)) > Math.min(...rests), 'too early');
});

test('so does a slot whose code took long to compile', async () => {
	const code = `class A { ${Array.from({ length: 3000 }, (_, n) => `#p${n};`).join(' ')} }`;
	const checks = Array.from({ length: COMPUTING }, async () => {
		const ended = await pool.check({ account: 'compiling', organization: 'compiling', code });
		assert.ok(ended.computedMs > 50, `${ended.computedMs} ms`);
		return { rested: stopwatch(), restMs: 0.75 * 4 * ended.computedMs };
	});
	const begun = run('return 1', { owner: 'compiling' });
	const rests = await Promise.all(checks);
	await begun;
	assert.ok(
		rests.some(({ rested, restMs }) => rested.atLeast(restMs)),
		'too early',
	);
});

test('a run that cannot be interrupted is cut on time with its thread, and others are not touched', async () => {
	const bystander = run('await new Promise((ok) => setTimeout(ok, 900)); return "whole"', { owner: 'other' });
	const isTime = elapsing(300);
	assert.equal((await run(DEAF, { timeoutMs: 300 })).ending.type, 'late');
	assert.ok(isTime(), 'too early');
	assert.equal(resultOf(await bystander), 'whole');
	assert.equal(resultOf(await run('return "next"')), 'next');
});

test('a run whose client leaves is stopped: while it computes or waits, interruptible or not, and before it began', async () => {
	for (const code of ['for (;;) {}', 'await new Promise((ok) => setTimeout(ok, 60000))', DEAF]) {
		const client = new AbortController();
		const running = run(code, { signal: client.signal, owner: randomUUID() });
		await delay(150);
		client.abort(new Error('gone'));
		assert.ok(await isBeforeTimer(250, running), code);
		assert.equal((await running).ending.type, 'cancelled', code);
	}
	await assert.rejects(run('return 1', { signal: AbortSignal.abort(new Error('gone')) }), /gone/);
});

test('a run that waits for its turn leaves the queue with its client', async () => {
	const stop = new AbortController();
	const busy = Array.from({ length: COMPUTING }, () => run('for (;;) {}', { owner: 'full', signal: stop.signal, timeoutMs: 20_000 }));
	const client = new AbortController();
	const waiting = run('return 1', { owner: 'full', signal: client.signal });
	client.abort(new Error('gone'));
	await assert.rejects(waiting, /gone/);
	stop.abort(new Error('enough'));
	// One whose thread was still starting has not begun.
	for (const one of await Promise.allSettled(busy))
		if (one.status === 'fulfilled') assert.equal(one.value.ending.type, 'cancelled');
		else assert.match(String(one.reason), /enough/);
});

test('an account with more waiting runs than allowed is refused with advice to try again', async () => {
	const stop = new AbortController();
	const parameters = { text: 'x'.repeat(1024 * 1024) };
	const many = Array.from({ length: 40 }, () => run('for (;;) {}', { owner: 'heavy', parameters, signal: stop.signal, timeoutMs: 20_000 }));
	const outcomes = Promise.allSettled(many);
	await delay(50);
	stop.abort(new Error('enough'));
	const refused = (await outcomes).filter((one) => one.status === 'rejected' && one.reason.code === 'rate_limited');
	assert.ok(refused.length > 0 && refused.length < 40, `${refused.length}`);
});

/** The first code leaves a value wherever it can; the second looks for it everywhere. */
const LEAVE = `
	globalThis.secret = parameters.secret; Object.prototype.secret = parameters.secret; Array.prototype.secret = parameters.secret;
	Object.assign(JSON, { secret: parameters.secret }); Math.random.secret = parameters.secret; Symbol.for(parameters.secret);
	Promise.prototype.then.secret = parameters.secret; console.secret = parameters.secret; setTimeout(() => parameters.secret, 50);
	JSON.stringify = () => '"' + parameters.secret + '"'; Error.prototype.message = parameters.secret;
	return new Array(1000).fill(parameters.secret);`;
const LOOK = `
	const found = [];
	const seen = new Set();
	const walk = (it, path) => {
		if (typeof it === "string" && it.includes("secret-of")) found.push(path);
		if (it === null || (typeof it !== "object" && typeof it !== "function") || seen.has(it) || path.length > 200) return;
		seen.add(it);
		for (const key of Reflect.ownKeys(it)) { try { if (String(key).includes("secret")) found.push(path + String(key)); walk(it[key], path + "." + String(key)); } catch {} }
	};
	walk(globalThis, "");
	return found;`;

test('nothing of a run is there in the next, of the same organization or of another', async () => {
	for (const owner of ['acme', 'acme', 'other', 'acme']) {
		assert.equal(resultOf(await run(LEAVE, { owner, parameters: { secret: `secret-of-${owner}` } })) !== null, true);
		for (const next of [owner, 'third']) assert.deepEqual(resultOf(await run(LOOK, { owner: next })), []);
	}
});

test('an answer that is too late for its run does not reach the next one, whatever its number', async () => {
	const answer = (text: string, afterMs: number) => async () => {
		await delay(afterMs);
		return { status: 200, headers: {}, url: 'http://x/', body: new TextEncoder().encode(text), charset: 'utf-8' };
	};
	const late = { account: 'late', organization: 'late', parameters: '{}', memoryBytes: 64 * 1024 * 1024, mayRequest: true };
	const task = (code: string) => ({ ...late, code });
	const limits = { timeoutMs: 30_000, signal: new AbortController().signal };
	await pool.run(task('fetch("http://x"); return 1'), { ...limits, request: answer('foreign', 150) });
	const own = await pool.run(task('return (await fetch("http://x")).text()'), { ...limits, request: answer('own', 300) });
	assert.equal(resultOf(own), 'own');
});

test('two tenants at once get their own results only', async () => {
	const one = (owner: string, n: number) =>
		run(
			'globalThis.mine = parameters.id; await null; await new Promise((ok) => setTimeout(ok, 1)); return [globalThis.mine, parameters.id]',
			{
				owner,
				parameters: { id: `${owner}-${n}` },
			},
		);
	const ids = Array.from({ length: 200 }, (_, n) => [n % 2 === 0 ? 'left' : 'right', n] as const);
	const values = await Promise.all(ids.map(async ([owner, n]) => resultOf(await one(owner, n))));
	assert.deepEqual(
		values,
		ids.map(([owner, n]) => [`${owner}-${n}`, `${owner}-${n}`]),
	);
});

test('uninitialized memory shows nothing of another organization', async () => {
	const mark = 'S3CR3T-'.repeat(1000);
	await run('globalThis.a = Array.from({ length: 500 }, (_, n) => parameters.mark + n); return 1', {
		owner: 'first',
		parameters: { mark },
	});
	const code = 'const b = new Uint8Array(8e6); let hits = 0; for (let i = 0; i < b.length; i += 97) if (b[i] !== 0) hits++; return hits;';
	assert.equal(resultOf(await run(code, { owner: 'second' })), 0);
});
