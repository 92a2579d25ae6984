// Plugins' documents, and what runs leave behind.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { administer } from '../test/helpers/postgres.ts';
import { addGateway, addTenant, addTool } from '../test/helpers/samples.ts';
import { type TestStore, testStore } from '../test/helpers/store.ts';

async function begin(store: TestStore) {
	const { organizationId } = await addTenant(store);
	const scope = { plugin: 'oauth2', gatewayId: (await addGateway(store, organizationId)).id };
	const put = (key: string, value = {}, { tags = [] as string[], expiresAt = null as Date | null } = {}) =>
		store.records.put(organizationId, scope, key, value, { tags, expiresAt });
	return { organizationId, scope, put, records: store.records };
}

const inMs = (ms: number): Date => new Date(Date.now() + ms);

test('a record comes back as it was put, to its own plugin only', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	const expiresAt = inMs(60_000);
	await put('a', { z: 1, a: 2 }, { tags: ['x', 'y'], expiresAt });
	const record = (await records.get(organizationId, scope, 'a')) ?? assert.fail();
	assert.deepEqual(
		{ ...record, createdAt: null },
		{ key: 'a', value: { z: 1, a: 2 }, tags: ['x', 'y'], createdAt: null, expiresAt, takenAt: null, revision: 1 },
	);
	assert.ok(record.createdAt instanceof Date);
	assert.equal(JSON.stringify(record.value), '{"z":1,"a":2}');
	assert.equal(await records.get(organizationId, { ...scope, plugin: 'other' }, 'a'), null);
});

test('of fifty parallel takers one gets the record, and it is still read after that', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('code');
	const taken = await Promise.all(Array.from({ length: 50 }, () => records.take(organizationId, scope, 'code')));
	assert.equal(taken.filter((record) => record !== null).length, 1);
	assert.ok((await records.get(organizationId, scope, 'code'))?.takenAt instanceof Date);
});

test('of fifty parallel updates of one revision one succeeds', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('a');
	const updated = await Promise.all(Array.from({ length: 50 }, (_, n) => records.update(organizationId, scope, 'a', 1, { n })));
	assert.equal(updated.filter(Boolean).length, 1);
	assert.deepEqual((await records.get(organizationId, scope, 'a'))?.value, { n: updated.indexOf(true) });
	assert.equal(await records.update(organizationId, scope, 'a', 2, {}), true);
});

test('what has expired is neither read, taken, updated nor found, and is pruned', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('old', {}, { tags: ['t'], expiresAt: inMs(-1_000) });
	await put('new', {}, { tags: ['t'], expiresAt: inMs(60_000) });
	assert.equal(await records.get(organizationId, scope, 'old'), null);
	assert.equal(await records.take(organizationId, scope, 'old'), null);
	assert.equal(await records.update(organizationId, scope, 'old', 1, {}), false);
	assert.deepEqual(
		(await records.find(organizationId, scope, 't', { limit: 10 })).items.map(({ key }) => key),
		['new'],
	);
	assert.equal(await records.prune(), 1);
	assert.equal(await records.prune(), 0);
});

test('putting again replaces the document and makes it untaken', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	await put('a', { n: 1 }, { tags: ['x'] });
	await records.take(organizationId, scope, 'a');
	await put('a', { n: 2 }, { tags: ['y'] });
	const record = await records.get(organizationId, scope, 'a');
	assert.deepEqual([record?.value, record?.tags, record?.takenAt, record?.revision], [{ n: 2 }, ['y'], null, 3]);
});

test('records are found by tag, newest first, page by page, and dropped by tag', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	for (const key of ['a', 'b', 'c', 'd']) await put(key, {}, { tags: key === 'b' ? ['other'] : ['t', 'with,comma "and" quote'] });
	const first = await records.find(organizationId, scope, 't', { limit: 2 });
	assert.deepEqual(
		first.items.map(({ key }) => key),
		['d', 'c'],
	);
	const second = await records.find(organizationId, scope, 't', { limit: 2, cursor: first.nextCursor ?? '' });
	assert.deepEqual([second.items.map(({ key }) => key), second.nextCursor], [['a'], null]);
	assert.equal(await records.drop(organizationId, scope, 'with,comma "and" quote'), 3);
	assert.equal(await records.drop(organizationId, scope, 't'), 0);
});

test('runs outlive their tool and gateway, and those of an organization that is gone are left out of the batch', async () => {
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
