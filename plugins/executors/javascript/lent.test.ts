// Tests the sandbox that other plugins borrow: its calls, their bounds, and its end.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { GatewayError, type Json, type SandboxTask } from '../../../core/index.ts';
import { until } from '../../../test/helpers/clock.ts';
import { codeCall } from '../../../test/helpers/javascript.ts';
import { runLent } from './lent.ts';
import { createPool } from './pool.ts';

const pool = createPool();
after(() => pool.close());

type Given = Partial<SandboxTask> & { signal?: AbortSignal };

function run(code: string, { signal, ...task }: Given = {}) {
	const whole: SandboxTask = {
		...{ language: 'javascript', code, namespace: 'tools', maxCalls: 20, parallelCalls: 2, timeoutMs: 30_000, memoryMb: 32 },
		answer: async (name, argument) => ({ name, argument }),
		...task,
	};
	return runLent(pool, whole, codeCall(null, signal ? { signal } : {}), 'acme');
}

test('code calls what it was lent, by any name, and gets data back', async () => {
	const code = `const a = await tools.find({ id: 1 });
		const b = await tools['a-b.c/d “e”']();
		return { a, b, known: 'x' in tools, none: typeof tools.then, thenable: (await tools) === tools };`;
	const { structured } = await run(code);
	assert.deepEqual(structured, {
		...{ a: { name: 'find', argument: { id: 1 } }, b: { name: 'a-b.c/d “e”', argument: {} } },
		...{ known: true, none: 'undefined', thenable: true },
	});
});

test('calls beyond the parallel ones wait; those beyond the most are refused', async () => {
	let [running, most, count] = [0, 0, 0];
	const answer = async (): Promise<Json> => {
		most = Math.max(most, ++running);
		// The first answers come when two calls wait for them.
		await until(() => most > 1, 'two calls at once');
		running--;
		return ++count;
	};
	const all = await run('return (await Promise.all([...Array(20).keys()].map((n) => tools.x({ n })))).length', { answer });
	assert.deepEqual([all.structured, most, count], [20, 2, 20]);
	const { content, isError } = await run('for (let n = 0; n < 21; n++) await tools.x({ n });', { answer });
	assert.equal(isError, true);
	assert.match(JSON.stringify(content), /A run may make 20 calls.*at line 1/s);
});

test('a call that fails throws in its line, and can be caught', async () => {
	const answer = async (name: string): Promise<Json> => {
		if (name === 'quiet') throw new Error('a secret of the host');
		throw new GatewayError('not_found', 'There is no such pet.');
	};
	const { content } = await run('const id = 1;\n\nawait tools.pet({ id });', { answer });
	assert.deepEqual(content, [{ type: 'text', text: 'Error: There is no such pet.\n  at line 3, column 16: await tools.pet({ id });' }]);
	const caught = await run('try { await tools.quiet() } catch (error) { return error.message }', { answer });
	assert.equal(caught.structured, 'The call failed.');
});

test('code that does not compile is a result with line and column, and nothing of it runs', async () => {
	const { content, isError } = await run('const a = 1;\nreturn a +;');
	assert.equal(isError, true);
	assert.match(JSON.stringify(content), /Line 2, column \d+: .*return a \+;/);
	let calls = 0;
	await run('}); tools.x(); (async () => {', { answer: async () => ++calls });
	assert.equal(calls, 0);
});

test('arguments and answers are bounded; what is no JSON is refused', async () => {
	const long = await run('return tools.x({ text: "x".repeat(1024 * 1024) })');
	assert.match(JSON.stringify(long.content), /The argument of x is larger than 1 MB/);
	const circle = await run('const a = {}; a.a = a; return tools.x(a)');
	assert.match(JSON.stringify(circle.content), /circular/);
	const huge = await run('for (let n = 0; n < 6; n++) await tools.x()', { answer: async () => 'x'.repeat(1024 * 1024) });
	assert.match(JSON.stringify(huge.content), /5 MB together/);
});

test('the end of a run ends its calls: its deadline, its caller, its return', async () => {
	const ends: string[] = [];
	const begun = Promise.withResolvers<void>();
	const answer = (name: string, _argument: Json, signal: AbortSignal): Promise<Json> =>
		new Promise((_resolve, reject) => {
			begun.resolve();
			signal.addEventListener('abort', () => {
				ends.push(name);
				reject(new Error('aborted'));
			});
		});
	const late = await run('await tools.late()', { answer, timeoutMs: 200 });
	assert.match(JSON.stringify(late.content), /longer than 200 ms/);
	await run('tools.left(); return 1', { answer });
	const leaving = new AbortController();
	const cancelled = run('await tools.cancelled()', { answer, signal: leaving.signal });
	await begun.promise;
	setImmediate(() => leaving.abort(new Error('gone')));
	await assert.rejects(cancelled, /gone/);
	assert.deepEqual(ends.slice(0, 2), ['late', 'left']);
});

test('code without an end, or with too much memory, is stopped', async () => {
	assert.match(JSON.stringify((await run('for (;;);', { timeoutMs: 300 })).content), /longer than 300 ms/);
	const all: string = JSON.stringify((await run('const a = []; for (;;) a.push(new Array(1e5).fill(1))')).content);
	assert.match(all, /out of memory|more memory than 32 MB/);
});

test('there is nothing else to reach: no fetch, no process, and no calls that were not lent', async () => {
	const { structured } = await run('return [typeof fetch, typeof process, typeof require, typeof tools]');
	assert.deepEqual(structured, ['undefined', 'undefined', 'undefined', 'object']);
});
