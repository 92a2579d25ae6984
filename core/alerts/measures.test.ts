// Rules of alerts: what they find in stored sums, and what it changes.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { batchOf, NOW, requestRow } from '../../test/helpers/requests.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import { BUCKETS } from '../store/histogram.ts';
import type { AlertRuleRow } from '../store/store.ts';
import { judge, Measures } from './measures.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const sums = (calls: number, failed: number) => ({ calls, failed, histogram: new Array<number>(BUCKETS).fill(0) });
const RULE = { kind: 'error_rate', bound: 0.5, minCalls: 10 } as const;

test('an incident opens above the bound, and ends at four fifths of it; in between nothing changes', () => {
	assert.equal(judge(RULE, sums(10, 5), false), null, 'the bound itself is no alert');
	assert.equal(judge(RULE, sums(10, 6), false)?.change, 'open');
	assert.equal(judge(RULE, sums(10, 6), true), null, 'an open one is not opened again');
	assert.equal(judge(RULE, sums(100, 41), true), null);
	assert.equal(judge(RULE, sums(100, 40), true)?.change, 'end');
});

test('few calls open nothing; none end what is open', () => {
	assert.equal(judge(RULE, sums(9, 9), false), null);
	assert.equal(judge(RULE, sums(9, 9), true), null);
	assert.equal(judge(RULE, sums(0, 0), true)?.change, 'end');
	assert.equal(judge(RULE, sums(0, 0), false), null);
});

test('a latency is the duration that 95 % of the calls did not exceed', () => {
	const histogram = sums(0, 0).histogram;
	histogram[0] = 94;
	histogram[20] = 6;
	const rule = { kind: 'latency', bound: 100, minCalls: 10 } as const;
	assert.equal(judge(rule, { calls: 100, failed: 0, histogram }, false)?.change, 'open');
	assert.equal(judge(rule, { calls: 100, failed: 0, histogram: histogram.with(0, 995) }, true)?.change, 'end');
});

/** Adds calls of tools to a new organization. @returns a rule about them, and a function that measures */
async function measuring(calls: readonly (readonly [tool: string, calls: number, outcome: string])[]) {
	const { organizationId } = await addTenant(store);
	const rows = calls.flatMap(([toolId, count, outcome]) =>
		Array.from({ length: count }, () => requestRow({ organizationId, kind: 'tool', toolId, outcome })),
	);
	await store.analytics.add(batchOf(rows));
	// Measures read no more of a rule than what it is about.
	const rule = { ...RULE, organizationId, toolId: null, windowMinutes: 5 } as unknown as AlertRuleRow;
	const measured = (toolId: string | null, open: readonly string[]) => new Measures(store.analytics, NOW).of({ ...rule, toolId }, open);
	return { measured };
}

const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

test('a tool with an open incident is measured though others have more calls, and stays open while it fails', async () => {
	const [failing = '', calm = ''] = ids(2);
	const busy = ids(500).map((tool) => [tool, 13, 'success'] as const);
	const { measured } = await measuring([...busy, [failing, 12, 'upstream_failed']]);
	const found = await measured(null, [failing, calm]);
	assert.equal(found.size, 502);
	const { calls, failed } = found.get(failing) ?? assert.fail();
	assert.deepEqual([calls, failed], [12, 12]);
	assert.equal(judge(RULE, found.get(failing) ?? assert.fail(), true), null);
	assert.equal(judge(RULE, found.get(calm) ?? assert.fail(), true)?.change, 'end', 'one without calls ends');
	assert.equal((await measured(null, [])).has(failing), false);
});

test('the 501st tool of a day is measured by a rule about it; beyond the bound a tool is not judged by the calls that it seems to lack', async () => {
	const tools = ids(2000);
	const [last = '', beyond = ''] = [tools.at(-1), randomUUID()];
	const { measured } = await measuring([
		...tools.map((tool) => [tool, 1, 'success'] as const),
		...([
			[last, 11, 'upstream_failed'],
			[beyond, 12, 'upstream_failed'],
		] as const),
	]);
	assert.equal(judge(RULE, (await measured(last, [])).get(last) ?? assert.fail(), false)?.change, 'open');
	assert.equal((await measured(beyond, [beyond])).size, 0, 'its incident neither opens nor ends');
	assert.equal((await measured(null, [beyond])).has(beyond), false);
	const alone = await measuring([[last, 1, 'success']]);
	assert.equal(judge(RULE, (await alone.measured(beyond, [beyond])).get(beyond) ?? assert.fail(), true)?.change, 'end');
});
