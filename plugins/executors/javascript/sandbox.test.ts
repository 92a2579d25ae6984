// Tests attacks on the sandbox (test/catalog/sandbox.ts): each is contained, ends on time, and harms neither the host nor the next run.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Call } from '../../../core/contract/context.ts';
import type { JsonObject, ToolResult } from '../../../core/contract/nouns.ts';
import { SANDBOX_CASES, type SandboxCase } from '../../../test/catalog/sandbox.ts';
import { isBeforeTimer } from '../../../test/helpers/clock.ts';
import { codeCall, runCode } from '../../../test/helpers/javascript.ts';
import { rounds } from '../../../test/helpers/sampled.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';

/**
 * Deadlines of attacks that nothing but their time ends, of those that their memory or their depth may end before, and of those that end by
 * themselves: the longest that a tool may have.
 */
const [ENDLESS_MS, SHORT_MS, LONG_MS] = [100, rounds({ few: 200, all: 400 }), 30_000];
/**
 * The longest overrun of a deadline, since a thread may have to start first. test/bench/promises.ts measures how long a run goes on after
 * its time.
 */
const OVERRUN_MS = 10_000;
const PROBE = 'return [typeof left, typeof {}.left, Object.keys(globalThis).length, JSON.stringify({ a: [1].map((one) => one + 1) })];';
const CLEAN = ['undefined', 'undefined', 0, '{"a":[2]}'];

before(async () => {
	// The first run starts the thread, which is not to be measured.
	await runCode('return 1');
});

test('there are at least sixty attacks, each with a name of its own', () => {
	assert.ok(SANDBOX_CASES.length >= 60, `only ${SANDBOX_CASES.length}`);
	assert.equal(new Set(SANDBOX_CASES.map(({ id }) => id)).size, SANDBOX_CASES.length);
});

for (const attack of SANDBOX_CASES)
	test(`contained: ${attack.id}`, async (t) => {
		const upstream = await httpUpstream(t, (request, response) => {
			if (request.url === '/never') return;
			response.end(request.url === '/large' ? Buffer.alloc(1024 * 1024, 'x') : 'small');
		});
		const call = codeCall(t, { codeMayFetch: attack.mayRequest ?? false });
		await judge(attack, { url: upstream.origin }, call);
		assert.deepEqual((await runCode(PROBE, { call })).structured, CLEAN, 'the next run of the same organization');
	});

async function judge({ code, expected }: SandboxCase, parameters: JsonObject, call: Call): Promise<void> {
	const timeoutMs = deadlineOf(expected);
	const running = runCode(code, { parameters, call, timeoutMs });
	assert.ok(await isBeforeTimer(timeoutMs + OVERRUN_MS, running), 'nobody stops it');
	const result = await running;
	assert.ok(JSON.stringify(result).length < 2.5 * 1024 * 1024, 'what it hands out is bounded');
	if (expected === null) return;
	if ('value' in expected) assert.deepEqual([result.isError, result.structured], [undefined, expected.value], textOf(result));
	else assert.match(result.isError ? textOf(result) : `no error: ${textOf(result)}`, expected.error);
}

function deadlineOf(expected: SandboxCase['expected']): number {
	if (expected === null) return SHORT_MS;
	if (!('error' in expected) || !expected.error.test('took longer than 1 ms, and was stopped')) return LONG_MS;
	return ['out of memory', 'stack overflow'].some((other) => expected.error.test(other)) ? SHORT_MS : ENDLESS_MS;
}

const textOf = ({ content }: ToolResult): string =>
	content.map((block) => (block.type === 'text' ? block.text.slice(0, 500) : block.type)).join('\n');
