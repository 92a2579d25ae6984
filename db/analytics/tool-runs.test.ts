// The records of tools' runs.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { administer } from '../../test/helpers/postgres.ts';
import { addGateway, addTenant, addTool } from '../../test/helpers/samples.ts';
import { testStore } from '../../test/helpers/store.ts';

test('runs outlive their tool and gateway, and those of a removed organization are left out of the batch', async () => {
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const [gateway, tool] = [await addGateway(store, organizationId), await addTool(store, organizationId)];
	const run = { organizationId, toolId: tool.id, gatewayId: gateway.id, keyId: null, subject: 'user:a\0b\ud800', error: null };
	const startedAt = new Date('2026-01-02T03:04:05.678Z');
	await store.runs.add([
		{ ...run, status: 'success', durationMs: 1.6, startedAt },
		{ ...run, organizationId: randomUUID(), status: 'success', durationMs: 1, startedAt },
	]);
	await store.tools.remove(organizationId, tool.id, false);
	await store.gateways.remove(organizationId, gateway.id, false);
	const rows = await administer(store.database, 'SELECT tool_id, gateway_id, subject, duration_ms, started_at FROM tool_runs');
	assert.deepEqual(rows, [{ tool_id: tool.id, gateway_id: gateway.id, subject: 'user:ab\ufffd', duration_ms: 2, started_at: startedAt }]);
	assert.equal(await store.runs.prune(startedAt), 0);
	assert.equal(await store.runs.prune(new Date(startedAt.getTime() + 1)), 1);
});
