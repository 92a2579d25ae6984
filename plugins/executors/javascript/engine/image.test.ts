// Tests that a run begins from memory in which nothing of another is left, byte by byte.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { KEPT_INSTANCES, type RunTask } from '../messages.ts';
import { SandboxRun } from '../sandbox-run.ts';
import { compileEngine } from '../threads.ts';
import { LAYOUT } from './image.ts';
import { Instance, KeptInstances } from './instance.ts';

let compiled: WebAssembly.Module;
before(async () => {
	compiled = await compileEngine();
});
const MEGABYTE = 1024 * 1024;
const TASK: RunTask = { account: 'a', organization: 'a', code: '', parameters: '{}', memoryBytes: 64 * MEGABYTE, mayRequest: false };
/** Code that leaves text in all memory that it gets at, and deep in the stack. */
const SPREAD = `const deep = (n) => (n === 0 ? 0 : 1 + [n].map(() => deep(n - 1))[0]);
	globalThis.left = Array.from({ length: 2000 }, (_, n) => 'left-of-a-run-' + n);
	JSON.parse = null; Symbol.for('left'); console.log('left'); setTimeout(() => 1, 1e4);
	return deep(200);`;

const start = (): Promise<Instance> => Instance.start(compiled, () => false);
const none = (): undefined => undefined;

async function run(instance: Instance, code: string): Promise<unknown> {
	const parts = { request: none, progress: none, call: none, wait: (news: Promise<void>) => news };
	const ending = await new SandboxRun({ ...parts, instance, isStopped: () => false }).run({ ...TASK, code });
	return ending.type === 'returned' ? JSON.parse(ending.json) : ending;
}

/** Reads all memory but the dead part of the stack, and without the random numbers of `Math.random`. */
function memoryOf(instance: Instance): Buffer {
	const { buffer } = instance.memory;
	const copy = Buffer.from(new Uint8Array(buffer).slice());
	copy.fill(0, LAYOUT.staticEnd, LAYOUT.heap);
	const { randomAt } = instance;
	assert.ok(randomAt);
	copy.fill(0, randomAt, randomAt + 8);
	return copy;
}

test('after a run all memory is as it was before, to the last byte', async () => {
	const instance = await start();
	const before = memoryOf(instance);
	assert.equal(await run(instance, SPREAD), 200);
	assert.ok(memoryOf(instance).includes('left-of-a-run'));
	assert.ok(instance.rewind());
	assert.ok(memoryOf(instance).equals(before));
});

test('so it is after code that came twice, whose compiled form is kept', async () => {
	const instance = await start();
	const before = memoryOf(instance);
	for (const code of [SPREAD, SPREAD, SPREAD]) {
		assert.equal(await run(instance, code), 200);
		instance.rewind();
	}
	assert.ok(!memoryOf(instance).includes('left-of-a-run-19'), 'what ran is gone');
	assert.equal(await run(instance, 'return typeof left'), 'undefined');
	instance.rewind();
	assert.ok(memoryOf(instance).equals(before), 'other code finds nothing of it');
});

test('the code that is kept is that of the run, however codes follow each other', async () => {
	const instance = await start();
	for (const n of [1, 1, 1, 2, 1, 2, 2, 2, 1, 1]) {
		assert.equal(await run(instance, `globalThis.count = (globalThis.count ?? 0) + 1; return ${n} * count`), n);
		instance.rewind();
	}
});

test('code that does not compile, or throws, changes nothing for the next', async () => {
	const instance = await start();
	for (const code of ['return (', 'return (', 'throw new Error("x")', 'throw new Error("x")']) {
		assert.notEqual(await run(instance, code), 1);
		assert.ok(instance.rewind());
		assert.equal(await run(instance, 'return 1'), 1);
		assert.ok(instance.rewind());
	}
});

test('memory that was never written to, or holds what a fault of the engine left, reads as zero', async () => {
	const instance = await start();
	const { heap, heapEndAt, staticEnd } = LAYOUT;
	const bytes = new Uint8Array(instance.memory.buffer);
	const end = new Uint32Array(instance.memory.buffer)[heapEndAt / 4] ?? 0;
	bytes.fill(0xa5, end);
	bytes.fill(0xa5, staticEnd, heap);
	const read = 'const all = new Uint8Array(8e6); let found = 0; for (let at = 0; at < all.length; at += 7) found += all[at]; return found';
	assert.equal(await run(instance, read), 0);
});

test('no two runs draw the same random numbers, in one instance or two', async () => {
	const instances = [await start(), await start()];
	const seen = new Set<unknown>();
	for (let round = 0; round < 100; round++)
		for (const instance of instances) {
			seen.add(await run(instance, 'return Math.random()'));
			instance.rewind();
		}
	assert.equal(seen.size, 200);
});

test('a thread keeps the instances of the last organizations, and none that holds too much', async () => {
	const kept = new KeptInstances();
	const names = Array.from({ length: KEPT_INSTANCES + 1 }, (_, n) => `org-${n}`);
	const instances = await Promise.all(names.map(start));
	for (const [n, name] of names.entries()) kept.keep(name, instances[n] as Instance);
	assert.equal(kept.take('org-0'), null);
	assert.equal(kept.take('org-1'), instances[1]);
	assert.equal(kept.take('org-1'), null, 'an instance is taken once');
	const large = instances[0] as Instance;
	large.heldBytes = 33 * MEGABYTE;
	kept.keep('large', large);
	assert.deepEqual([kept.take('large'), kept.take('org-2')], [null, null]);
});

test('a call of the host that comes between two runs is not served', async () => {
	const instance = await start();
	await run(instance, 'return 1');
	const { serve } = instance;
	instance.rewind();
	assert.notEqual(instance.serve, serve);
	assert.equal(instance.serve('uuid', []), undefined);
});
