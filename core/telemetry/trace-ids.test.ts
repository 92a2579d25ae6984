import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ids, Roots } from './trace-ids.ts';

test('ids have their lengths, and no two are the same, over many draws', () => {
	const ids = new Ids();
	const made = Array.from({ length: 2000 }, () => [ids.trace(), ids.span()]);
	for (const [traceId = '', spanId = ''] of made) assert.match(`${traceId} ${spanId}`, /^[0-9a-f]{32} [0-9a-f]{16}$/);
	assert.equal(new Set(made.flat()).size, 4000);
});

test('contexts that begin a trace have ids of their own, and the flags that their trace gets, over many draws', () => {
	const flagsOf = (traceId: string): number => Number(traceId < '8');
	const roots = new Roots(new Ids(), flagsOf);
	const made = Array.from({ length: 600 }, () => roots.next());
	for (const { traceId, spanId, traceFlags } of made) {
		assert.match(`${traceId} ${spanId}`, /^[0-9a-f]{32} [0-9a-f]{16}$/);
		assert.equal(traceFlags, flagsOf(traceId));
	}
	assert.equal(new Set(made.flatMap(({ traceId, spanId }) => [traceId, spanId])).size, 1200);
});
