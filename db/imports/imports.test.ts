// Imports and re-imports: ids, names and users' edits stay.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Operation } from '../../core/contract/nouns.ts';
import { createImportReader } from '../../core/imports/changes.ts';
import type { OperationRow, Store, ToolRow } from '../../core/store/store.ts';
import { addApi, addGateway, addTenant, draft, operation, schema } from '../../test/helpers/samples.ts';
import { testStore } from '../../test/helpers/store.ts';

interface Place {
	store: Store;
	organizationId: string;
	apiId: string;
}

async function begin(store: Store): Promise<Place> {
	const { organizationId } = await addTenant(store);
	return { store, organizationId, apiId: (await addApi(store, organizationId)).id };
}

async function importAll({ store, organizationId, apiId }: Place, operations: Operation[]) {
	const writer = await store.apis.beginImport(organizationId, apiId);
	assert.ok(writer);
	await writer.operations(operations);
	const { schema: row, ...counts } = await writer.commit(schema);
	return { row, counts };
}

/** Begins an import in a thread of its own, which then does nothing more, as a process does that was frozen. */
const FREEZE = `
const { parentPort, workerData } = require('node:worker_threads');
import(workerData.helpers).then(async ({ openReplica }) => {
	const store = await openReplica(workerData.store);
	const writer = await store.apis.beginImport(workerData.organizationId, workerData.apiId);
	await writer.operations([workerData.operation]);
	parentPort.postMessage('begun');
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

test('an import of a process that was frozen lets the next one through after a while, and one that reads for long is not taken for that', async () => {
	await using store = await testStore();
	const [frozen, slow] = [await begin(store), await begin(store)];
	const { organizationId, apiId } = frozen;
	const helpers = new URL('../../test/helpers/store.ts', import.meta.url).href;
	const workerData = { helpers, store: { database: store.database }, organizationId, apiId, operation: operation('GET /pets') };
	const thread = new Worker(FREEZE, { eval: true, workerData });
	try {
		await once(thread, 'message');
		const reading = (await store.apis.beginImport(slow.organizationId, slow.apiId)) ?? assert.fail();
		await reading.operations([operation('GET /pets')]);
		const started = performance.now();
		await importAll(frozen, [operation('GET /pets')]);
		const waitedMs = performance.now() - started;
		assert.ok(waitedMs > 5_000 && waitedMs < 25_000, `waited ${waitedMs} ms`);
		await sleep(Math.max(0, 17_000 - waitedMs));
		assert.equal((await reading.commit(schema)).added, 1);
	} finally {
		await thread.terminate();
	}
});

const LIMIT = { limit: 100 };

async function operations({ store, organizationId, apiId }: Place): Promise<Map<string, OperationRow>> {
	const { items } = await store.apis.operations(organizationId, apiId, LIMIT);
	return new Map(items.map((item) => [item.key, item]));
}

async function generate(place: Place) {
	const active = [...(await operations(place)).values()].filter(({ status }) => status === 'active');
	const drafts = active.map((row) => ({ operationId: row.id, tool: draft(row) }));
	return place.store.tools.generate(place.organizationId, place.apiId, drafts);
}

async function tools({ store, organizationId, apiId }: Place): Promise<Map<string, ToolRow>> {
	const { items } = await store.tools.list(organizationId, LIMIT, { apiId });
	return new Map(items.map((item) => [item.operationId ?? '', item]));
}

test('an import is stored whole, without what was skipped, in the order of the document', async () => {
	await using store = await testStore();
	const place = await begin(store);
	const full = operation('GET /pets/{id}', {
		operationId: 'getPet',
		tags: ['pets', 'with "quotes", commas and \\'],
		deprecated: true,
		parameters: { type: 'object', properties: { z: {}, a: {} } },
		whole: { type: 'object', properties: { z: { type: 'string' }, a: {} } },
		outputSchema: { type: 'object' },
		answerCut: true,
		outcome: 'degraded',
		reasons: ['a reason'],
	});
	const { row, counts } = await importAll(place, [full, operation('skipped', { outcome: 'skipped' }), operation('a')]);
	assert.deepEqual(counts, { added: 2, changed: 0, unchanged: 0, removed: 0 });
	const { items } = await store.apis.operations(place.organizationId, place.apiId, LIMIT);
	assert.deepEqual(
		items.map(({ key }) => key),
		['GET /pets/{id}', 'a'],
	);
	const { id, organizationId, apiId, createdAt: _c, updatedAt: _u, status, wholeHash, ...stored } = items[0] ?? assert.fail();
	const { whole, ...rest } = full;
	assert.deepEqual(stored, rest);
	assert.match(wholeHash ?? '', /^[0-9a-f]{16}$/);
	assert.equal(await store.apis.wholeParameters(organizationId, id), JSON.stringify(whole));
	const other = await addTenant(store);
	assert.equal(await store.apis.wholeParameters(other.organizationId, id), null);
	assert.deepEqual([items[1]?.wholeHash, await store.apis.wholeParameters(organizationId, items[1]?.id ?? '')], [null, null]);
	assert.equal(JSON.stringify(stored.parameters), JSON.stringify(full.parameters), 'in the order of the document');
	assert.deepEqual([organizationId, apiId, status], [place.organizationId, place.apiId, 'active']);
	assert.deepEqual((await store.apis.schemas(place.organizationId, place.apiId, LIMIT)).items, [row]);
});

test('a re-import of the same document changes nothing', async () => {
	await using store = await testStore();
	const place = await begin(store);
	const document = [operation('a', { operationId: 'a' }), operation('b')];
	await importAll(place, document);
	const before = await operations(place);
	const { counts } = await importAll(place, document);
	assert.deepEqual(counts, { added: 0, changed: 0, unchanged: 2, removed: 0 });
	assert.deepEqual(await operations(place), before);
});

test('an operation keeps its id and name by its key, else by its operationId', async () => {
	await using store = await testStore();
	const place = await begin(store);
	await importAll(place, [operation('GET /a', { operationId: 'x', name: 'x' }), operation('GET /b', { operationId: 'y', name: 'y' })]);
	const before = await operations(place);
	// `x` moved to another path, and a new operation took the path and the id of the other.
	const moved = operation('GET /v2/a', { operationId: 'x', name: 'other_name', path: '/v2/a' });
	const { counts } = await importAll(place, [moved, operation('GET /b', { operationId: 'z' }), operation('GET /c', { operationId: 'y' })]);
	const now = await operations(place);
	assert.deepEqual(counts, { added: 1, changed: 2, unchanged: 0, removed: 0 });
	assert.equal(now.get('GET /v2/a')?.id, before.get('GET /a')?.id);
	assert.equal(now.get('GET /v2/a')?.name, 'x');
	assert.equal(now.get('GET /v2/a')?.path, '/v2/a');
	assert.equal(now.get('GET /b')?.id, before.get('GET /b')?.id, 'the key goes before the operationId');
	assert.equal(now.size, 3);
});

test('two operations that share an operationId stay two', async () => {
	await using store = await testStore();
	const place = await begin(store);
	await importAll(place, [operation('GET /a', { operationId: 'same' }), operation('GET /b', { operationId: 'same' })]);
	const { counts } = await importAll(place, [operation('GET /c', { operationId: 'same' }), operation('GET /d', { operationId: 'same' })]);
	assert.equal((await operations(place)).size, 3);
	assert.deepEqual(counts, { added: 1, changed: 1, unchanged: 0, removed: 1 });
});

test('generating twice makes each tool once', async () => {
	await using store = await testStore();
	const place = await begin(store);
	await importAll(place, [operation('a'), operation('b')]);
	assert.deepEqual(await generate(place), { created: 2, updated: 0, unchanged: 0 });
	const before = await tools(place);
	assert.deepEqual(await generate(place), { created: 0, updated: 0, unchanged: 2 });
	assert.deepEqual(await tools(place), before);
});

test('a re-import brings tools up to date and keeps their ids, names and users’ edits', async () => {
	await using store = await testStore();
	const place = await begin(store);
	await importAll(place, [operation('a'), operation('b')]);
	await generate(place);
	const [first, second] = [...(await tools(place)).values()];
	assert.ok(first && second);
	await store.tools.update(place.organizationId, first.id, { name: 'mine', description: 'My own words.' });

	const parameters = { type: 'object', required: ['new'] };
	const document = ['a', 'b'].map((key) => operation(key, { description: 'Changed.', name: 'changed', parameters }));
	assert.deepEqual((await importAll(place, document)).counts, { added: 0, changed: 2, unchanged: 0, removed: 0 });
	assert.deepEqual(await generate(place), { created: 0, updated: 2, unchanged: 0 });
	const now = [...(await tools(place)).values()];
	assert.deepEqual(
		now.map(({ id, name, description }) => ({ id, name, description })),
		[
			{ id: first.id, name: 'mine', description: 'My own words.' },
			{ id: second.id, name: 'b', description: 'Changed.' },
		],
	);
	assert.ok(now.every((tool) => tool.version > 1));
	assert.deepEqual(now[0]?.parameters, parameters);
});

test('a schema of which only the part that is not shown changed is a change, and tools keep how their bodies lie', async () => {
	await using store = await testStore();
	const place = await begin(store);
	const wholeOf = (type: string) => ({ whole: { type: 'object', properties: { a: { type } } } });
	await importAll(place, [operation('a', wholeOf('string')), operation('b')]);
	const drafts = [...(await operations(place)).values()].map((row, index) => ({
		operationId: row.id,
		tool: { ...draft(row), wholeHash: row.wholeHash, bodies: index === 0 ? ('flat' as const) : ('nested' as const) },
	}));
	await store.tools.generate(place.organizationId, place.apiId, drafts);
	const asked: [name: string, bodies: string][] = [];
	const reader = createImportReader((row, bodies) => {
		asked.push([row.name, bodies]);
		return { ...draft(row), wholeHash: row.wholeHash, bodies };
	});
	const writer = (await store.apis.beginImport(place.organizationId, place.apiId)) ?? assert.fail();
	await writer.operations([operation('a', wholeOf('integer')), operation('b', { description: 'Changed.' })]);
	const { changed, schema: kept } = await writer.commit(schema, reader);
	assert.deepEqual([changed, kept.changes?.breaking, kept.changes?.toolsUpdated], [2, 1, 2]);
	assert.deepEqual(asked, [
		['a', 'flat'],
		['b', 'nested'],
	]);
	const [first, second] = [...(await tools(place)).values()];
	const [row] = [...(await operations(place)).values()];
	assert.deepEqual([first?.bodies, first?.wholeHash, first?.version], ['flat', row?.wholeHash, 2]);
	assert.notEqual(first?.wholeHash, drafts[0]?.tool.wholeHash);
	assert.deepEqual([second?.bodies, second?.wholeHash], ['nested', null]);
	const ids = [...(await operations(place)).values()].map(({ id }) => id);
	assert.deepEqual(await store.tools.flatOf(place.organizationId, ids), new Set([ids[0]]));
	assert.deepEqual(await store.tools.flatOf((await addTenant(store)).organizationId, ids), new Set());
});

test('what left the document is marked as removed with its tool, and comes back as it was', async () => {
	await using store = await testStore();
	const place = await begin(store);
	const { organizationId } = place;
	await importAll(place, [operation('a'), operation('b')]);
	await generate(place);
	const gateway = await addGateway(store, organizationId);
	const made = await tools(place);
	const tool = made.get((await operations(place)).get('a')?.id ?? '') ?? assert.fail();
	await store.gateways.assign(
		organizationId,
		gateway.id,
		[...made.values()].map(({ id }) => id),
	);
	await store.tools.update(organizationId, tool.id, { status: 'inactive' });

	assert.deepEqual((await importAll(place, [operation('b')])).counts, { added: 0, changed: 0, unchanged: 1, removed: 1 });
	assert.equal((await operations(place)).get('a')?.status, 'removed');
	assert.equal((await store.tools.get(organizationId, tool.id))?.status, 'removed');
	assert.deepEqual(
		(await store.tools.list(organizationId, LIMIT, { status: 'removed' })).items.map(({ id }) => id),
		[tool.id],
	);

	assert.deepEqual((await importAll(place, [operation('a'), operation('b')])).counts, { added: 0, changed: 1, unchanged: 1, removed: 0 });
	assert.equal((await store.tools.get(organizationId, tool.id))?.status, 'inactive', 'the user had switched it off');
	assert.equal((await store.gateways.get(organizationId, gateway.id))?.toolCount, 2);
});

/** As `importAll`, with somebody who reads along. */
async function compareAll({ store, organizationId, apiId }: Place, operations: Operation[]) {
	const writer = (await store.apis.beginImport(organizationId, apiId)) ?? assert.fail();
	await writer.operations(operations);
	return (await writer.commit(schema, createImportReader(draft))).schema.changes ?? assert.fail();
}

test('who reads along is told what was there before, and tools of what changed follow in the same transaction', async () => {
	await using store = await testStore();
	const place = await begin(store);
	const first = ['a', 'b', 'c'].map((key) => operation(key));
	const { operations: listed, ...counts } = await compareAll(place, first);
	assert.deepEqual([counts.added, counts.unlisted, listed], [3, 0, []], 'nobody wants to read that all is new');
	await generate(place);
	const made = [...(await tools(place)).values()];

	const parameters = { type: 'object', properties: { x: {} }, required: ['x'] };
	const second = [operation('a', { parameters }), operation('b'), operation('d')];
	const changes = await compareAll(place, second);
	assert.deepEqual(
		changes.operations.map(({ key, change, kind }) => [key, change, kind]),
		[
			['c', 'removed', 'breaking'],
			['a', 'changed', 'breaking'],
			['d', 'added', null],
		],
	);
	assert.deepEqual([changes.toolsUpdated, changes.unchanged], [1, 1]);
	const now = await tools(place);
	assert.deepEqual(
		made.map(({ id, operationId }) => [id, now.get(operationId ?? '')?.id, now.get(operationId ?? '')?.status]),
		made.map(({ id }, index) => [id, id, index === 2 ? 'removed' : 'active']),
	);
	assert.deepEqual(now.get(made[0]?.operationId ?? '')?.parameters, parameters);
	assert.equal(now.get(made[1]?.operationId ?? '')?.version, made[1]?.version, 'what did not change is not written');
	const kept = (await store.apis.schemas(place.organizationId, place.apiId, LIMIT)).items.at(-1);
	const { operations: _operations, ...numbers } = changes;
	assert.deepEqual(kept?.changes, numbers);
	assert.deepEqual((await store.apis.schema(place.organizationId, place.apiId, kept?.id ?? ''))?.changes, changes);
});

test('whatever fails while it is told of the changes, all stays as it was', async () => {
	await using store = await testStore();
	const place = await begin(store);
	await compareAll(place, [operation('a')]);
	await generate(place);
	const before = [await operations(place), await tools(place)];
	const failing = { ...createImportReader(draft), draft: () => assert.fail('no tool') };
	const writer = (await store.apis.beginImport(place.organizationId, place.apiId)) ?? assert.fail();
	await writer.operations([operation('a', { description: 'Changed.' }), operation('b')]);
	await assert.rejects(writer.commit(schema, failing), /no tool/);
	assert.deepEqual([await operations(place), await tools(place)], before);
	assert.equal((await store.apis.schemas(place.organizationId, place.apiId, LIMIT)).items.length, 1);
});

test('a tool is not written from an operation that has changed since it was read', async () => {
	await using store = await testStore();
	const place = await begin(store);
	await compareAll(place, [operation('a')]);
	const [read] = [...(await operations(place)).values()];
	assert.ok(read);
	await compareAll(place, [operation('a', { description: 'Changed.' })]);
	const write = (asOf: Date) =>
		store.tools.generate(place.organizationId, place.apiId, [{ operationId: read.id, asOf, tool: draft(read) }]);
	assert.deepEqual(await write(read.updatedAt), { created: 0, updated: 0, unchanged: 0 });
	const [now] = [...(await operations(place)).values()];
	assert.deepEqual(await write(now?.updatedAt ?? assert.fail()), { created: 1, updated: 0, unchanged: 0 });
});

test('an import of thousands of operations, all of them changed, does not compare each with every other', async () => {
	await using store = await testStore();
	const place = await begin(store);
	const many = (description: string): Operation[] =>
		Array.from({ length: 5_000 }, (_, index) =>
			operation(`GET /p${index}`, { operationId: `p${index}`, description: description.repeat(50) }),
		);
	await compareAll(place, many('Old words. '));
	const started = performance.now();
	const changes = await compareAll(place, many('New words. '));
	assert.deepEqual([changes.changed, changes.text, changes.operations.length, changes.unlisted], [5_000, 5_000, 2_000, 3_000]);
	assert.ok(performance.now() - started < 15_000, `${performance.now() - started} ms`);
});

test('an aborted import leaves nothing, and an import is unseen until it is committed', async () => {
	await using store = await testStore();
	const place = await begin(store);
	const { organizationId, apiId } = place;
	for (const end of ['abort', 'commit'] as const) {
		const writer = (await store.apis.beginImport(organizationId, apiId)) ?? assert.fail();
		await writer.operations([operation('a')]);
		assert.equal(await store.apis.countOperations(organizationId, apiId), 0);
		await (end === 'abort' ? writer.abort() : writer.commit(schema));
	}
	assert.equal(await store.apis.countOperations(organizationId, apiId), 1);
	assert.equal((await store.apis.schemas(organizationId, apiId, LIMIT)).items.length, 1);
});

test('a second import of the same API waits for the first, one of another API does not', async () => {
	await using store = await testStore();
	const place = await begin(store);
	const other = await addApi(store, place.organizationId);
	const first = (await store.apis.beginImport(place.organizationId, place.apiId)) ?? assert.fail();
	let hasBegun = false;
	const second = store.apis.beginImport(place.organizationId, place.apiId).then((writer) => {
		hasBegun = true;
		return writer;
	});
	await (await store.apis.beginImport(place.organizationId, other.id))?.abort();
	await sleep(100);
	assert.equal(hasBegun, false);
	await first.abort();
	await (await second)?.abort();
	assert.equal(hasBegun, true);
});

test('operations are filtered by tag, method, path, operationId and deprecation', async () => {
	await using store = await testStore();
	const place = await begin(store);
	await importAll(place, [
		operation('a', { tags: ['x', 'y'], method: 'GET', operationId: 'opA' }),
		operation('b', { tags: ['y'], method: 'POST', deprecated: true }),
		operation('c', { method: 'DELETE' }),
	]);
	const count = (filter: object) => store.apis.countOperations(place.organizationId, place.apiId, filter);
	const cases: [object, number][] = [
		[{}, 3],
		[{ tags: ['x'] }, 1],
		[{ tags: ['x', 'y'] }, 2],
		[{ methods: ['GET', 'DELETE'] }, 2],
		[{ paths: ['/b'] }, 1],
		[{ operationIds: ['opA'] }, 1],
		[{ deprecated: false }, 2],
		[{ tags: ['y'], deprecated: true }, 1],
		[{ tags: [] }, 0],
	];
	for (const [filter, expected] of cases) assert.equal(await count(filter), expected, JSON.stringify(filter));
});
