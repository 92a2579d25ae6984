import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ids } from './trace-ids.ts';

test('ids have their lengths, and no two are the same, over many draws', () => {
	const ids = new Ids();
	const made = Array.from({ length: 2000 }, () => [ids.trace(), ids.span()]);
	for (const [traceId = '', spanId = ''] of made) assert.match(`${traceId} ${spanId}`, /^[0-9a-f]{32} [0-9a-f]{16}$/);
	assert.equal(new Set(made.flat()).size, 4000);
});
