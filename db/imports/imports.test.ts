// Tests imports and re-imports: ids, names and users' edits stay.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { JsonObject, Operation } from '../../core/contract/nouns.ts';
import { createImportReader } from '../../core/imports/changes.ts';
import type { ImportCheck, OperationRow, Store, ToolRow } from '../../core/store/store.ts';
import { elapsing, until } from '../../test/helpers/clock.ts';
import { serverCpuMs } from '../../test/helpers/postgres.ts';
import { addApi, addGateway, addTenant, addTool, batchOf, draft, operation, schema } from '../../test/helpers/samples.ts';
import { PATIENT, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

interface ImportingApi {
	store: Store;
	organizationId: string;
	apiId: string;
}

async function begin(store: Store): Promise<ImportingApi> {
	const { organizationId } = await addTenant(store);
	return { store, organizationId, apiId: (await addApi(store, organizationId)).id };
}

async function importAll({ store, organizationId, apiId }: ImportingApi, operations: Operation[]) {
	const writer = await store.apis.beginImport(organizationId, apiId);
	assert.ok(writer);
	await writer.operations(batchOf(...operations));
	const { schema: row, ...counts } = await writer.commit(schema);
	return { row, counts };
}

/** Begins an import in a thread of its own, which then does nothing more, like a frozen process. */
const FREEZE = `
const { parentPort, workerData } = require('node:worker_threads');
import(workerData.helpers).then(async ({ openReplica }) => {
	const store = await openReplica(workerData.store);
	const writer = await store.apis.beginImport(workerData.organizationId, workerData.apiId);
	await writer.operations(workerData.batch);
	parentPort.postMessage('begun');
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

test('an import of a process that was frozen lets the next one through after a while, and one that reads for long is not taken for that', async () => {
	const waits = { ...PATIENT, idleMs: 2_000 };
	await using store = await testStore({ waits });
	const [frozen, slow] = [await begin(store), await begin(store)];
	const { organizationId, apiId } = frozen;
	const helpers = new URL('../../test/helpers/store.ts', import.meta.url).href;
	const workerData = { helpers, store: { database: store.database, waits }, organizationId, apiId, batch: batchOf(operation('GET /pets')) };
	const thread = new Worker(FREEZE, { eval: true, workerData });
	try {
		await once(thread, 'message');
		const reading = (await store.apis.beginImport(slow.organizationId, slow.apiId)) ?? assert.fail();
		await reading.operations(batchOf(operation('GET /pets')));
		const [isWhile, isLong] = [elapsing(waits.idleMs / 2), elapsing(waits.idleMs * 1.2)];
		await importAll(frozen, [operation('GET /pets')]);
		assert.ok(isWhile(), 'it did not wait');
		await until(isLong, 'the other one has read for long');
		assert.equal((await reading.commit(schema)).added, 1);
	} finally {
		await thread.terminate();
	}
});

const LIMIT = { limit: 100 };

async function operations({ store, organizationId, apiId }: ImportingApi): Promise<Map<string, OperationRow>> {
	const { items } = await store.apis.operations(organizationId, apiId, LIMIT);
	return new Map(items.map((item) => [item.key, item]));
}

async function generate(api: ImportingApi) {
	const active = [...(await operations(api)).values()].filter(({ status }) => status === 'active');
	const drafts = active.map((row) => ({ operationId: row.id, tool: draft(row) }));
	return api.store.tools.generate(api.organizationId, api.apiId, drafts);
}

async function tools({ store, organizationId, apiId }: ImportingApi): Promise<Map<string, ToolRow>> {
	const { items } = await store.tools.list(organizationId, LIMIT, { apiId });
	return new Map(items.map((item) => [item.operationId ?? '', item]));
}

test('documents of tools are stored as they are, with what the server cannot read, too', async () => {
	const api = await begin(store);
	await importAll(api, [operation('a'), operation('b')]);
	const stored = [...(await operations(api)).values()];
	const parameters = { z: 1, a: { '10': 'x', '9': 'y', b: [1.5e300, -0.1] }, text: 'a "b"\\ ä😀', nothing: null };
	for (const odd of ['', 'a\0b', 'a\ud800b']) {
		const drafts = stored.map((row) => ({ operationId: row.id, tool: { ...draft(row), parameters: { ...parameters, odd } } }));
		const { created, updated } = await store.tools.generate(api.organizationId, api.apiId, drafts);
		assert.equal(created + updated, drafts.length);
		for (const tool of (await tools(api)).values()) assert.equal(JSON.stringify(tool.parameters), JSON.stringify({ ...parameters, odd }));
	}
});

test('a document that a draft does not have is the very one of its operation', async () => {
	const api = await begin(store);
	const parameters = { type: 'object', properties: { z: { const: 1.5e300 }, '10': {}, a: { const: 'ä "b" \\ 😀' } } };
	const outputSchema = { type: 'object', properties: { '9': {} } };
	await importAll(api, [operation('a', { parameters, outputSchema }), operation('b', { parameters, outputSchema: null })]);
	const rows = [...(await operations(api)).values()];
	const others = { parameters: { type: 'object' as const, title: 'other' }, outputSchema: { type: 'object' as const, title: 'other' } };
	const write = async (given: { parameters?: JsonObject; outputSchema?: JsonObject }): Promise<object> => {
		const drafts = rows.map((row) => {
			const { parameters: _own, outputSchema: _too, ...tool } = draft(row);
			return { operationId: row.id, tool: { ...tool, ...given } };
		});
		const counts = await api.store.tools.generate(api.organizationId, api.apiId, drafts);
		const stored = await tools(api);
		return { ...counts, documents: rows.map(({ id }) => JSON.stringify([stored.get(id)?.parameters, stored.get(id)?.outputSchema])) };
	};
	const own = rows.map((row) => JSON.stringify([row.parameters, row.outputSchema]));
	assert.deepEqual(own, [JSON.stringify([parameters, outputSchema]), JSON.stringify([parameters, null])]);
	assert.deepEqual(await write({}), { created: 2, updated: 0, unchanged: 0, documents: own });
	assert.deepEqual(await write({ ...others }), {
		created: 0,
		updated: 2,
		unchanged: 0,
		documents: rows.map(() => JSON.stringify(Object.values(others))),
	});
	assert.deepEqual(await write({ parameters }), { created: 0, updated: 2, unchanged: 0, documents: own });
	assert.deepEqual(await write({}), { created: 0, updated: 0, unchanged: 2, documents: own });
});

test('an import is stored completely, without skipped operations, in the order of the document', async () => {
	const api = await begin(store);
	const full = operation('GET /pets/{id}', {
		operationId: 'getPet',
		title: 'Find a pet',
		tags: ['pets', 'with "quotes", commas and \\'],
		deprecated: true,
		parameters: { type: 'object', properties: { z: {}, a: {} } },
		whole: { type: 'object', properties: { z: { type: 'string' }, a: {} } },
		outputSchema: { type: 'object' },
		answerCut: true,
		outcome: 'degraded',
		reasons: ['a reason'],
	});
	const { row, counts } = await importAll(api, [full, operation('skipped', { outcome: 'skipped' }), operation('a')]);
	assert.deepEqual(counts, { added: 2, changed: 0, unchanged: 0, removed: 0 });
	const { items } = await store.apis.operations(api.organizationId, api.apiId, LIMIT);
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
	assert.deepEqual([organizationId, apiId, status], [api.organizationId, api.apiId, 'active']);
	assert.deepEqual((await store.apis.schemas(api.organizationId, api.apiId, LIMIT)).items, [row]);
});

test('a re-import of the same document changes nothing', async () => {
	const api = await begin(store);
	const document = [operation('a', { operationId: 'a' }), operation('b')];
	await importAll(api, document);
	const before = await operations(api);
	const { counts } = await importAll(api, document);
	assert.deepEqual(counts, { added: 0, changed: 0, unchanged: 2, removed: 0 });
	assert.deepEqual(await operations(api), before);
});

test('the latest schema is written once more without its operations, but not when its check fails or there is a later one', async () => {
	const api = await begin(store);
	const { organizationId, apiId } = api;
	const { row: first } = await importAll(api, [operation('a'), operation('b')]);
	await importAll(api, [operation('a')]);
	const { row: last } = await importAll(api, [operation('a')]);
	const repeat = async (schemaId: string, check?: ImportCheck) => {
		const writer = (await store.apis.beginImport(organizationId, apiId)) ?? assert.fail();
		return writer.repeat({ schemaId, source: { repetition: 'sealed', digest: 'd' } }, createImportReader(draft), undefined, check);
	};
	const before = await operations(api);
	await assert.rejects(
		repeat(last.id, async (count, { removed }) => {
			throw new Error(`${await count({})} ${removed}`);
		}),
		{ message: '2 0' },
	);
	assert.equal(await repeat(first.id), null);
	const { schema: row, ...counts } = (await repeat(last.id)) ?? assert.fail();
	assert.deepEqual(counts, { added: 0, changed: 0, unchanged: 1, removed: 0 });
	const { id, createdAt, updatedAt, changes, ...same } = row;
	assert.deepEqual(last, { ...last, ...same });
	assert.deepEqual(await store.apis.source(organizationId, apiId), { id, sourceUrl: null, repetition: 'sealed', digest: 'd' });
	assert.deepEqual([changes?.unchanged, changes?.removed, changes?.unlisted], [1, 0, 0]);
	assert.deepEqual((await store.apis.schemas(organizationId, apiId, LIMIT)).items[3]?.id, id);
	assert.deepEqual(await operations(api), before);
	assert.equal(await repeat(last.id), null);
});

test('an operation keeps its id and name by its key, else by its operationId', async () => {
	const api = await begin(store);
	await importAll(api, [operation('GET /a', { operationId: 'x', name: 'x' }), operation('GET /b', { operationId: 'y', name: 'y' })]);
	const before = await operations(api);
	// `x` moved to another path, and a new operation took the path and the id of the other.
	const moved = operation('GET /v2/a', { operationId: 'x', name: 'other_name', path: '/v2/a' });
	const { counts } = await importAll(api, [moved, operation('GET /b', { operationId: 'z' }), operation('GET /c', { operationId: 'y' })]);
	const now = await operations(api);
	assert.deepEqual(counts, { added: 1, changed: 2, unchanged: 0, removed: 0 });
	assert.equal(now.get('GET /v2/a')?.id, before.get('GET /a')?.id);
	assert.equal(now.get('GET /v2/a')?.name, 'x');
	assert.equal(now.get('GET /v2/a')?.path, '/v2/a');
	assert.equal(now.get('GET /b')?.id, before.get('GET /b')?.id, 'the key goes before the operationId');
	assert.equal(now.size, 3);
});

test('two operations that share an operationId stay two', async () => {
	const api = await begin(store);
	await importAll(api, [operation('GET /a', { operationId: 'same' }), operation('GET /b', { operationId: 'same' })]);
	const { counts } = await importAll(api, [operation('GET /c', { operationId: 'same' }), operation('GET /d', { operationId: 'same' })]);
	assert.equal((await operations(api)).size, 3);
	assert.deepEqual(counts, { added: 1, changed: 1, unchanged: 0, removed: 1 });
});

test('generating twice makes each tool once', async () => {
	const api = await begin(store);
	await importAll(api, [operation('a'), operation('b')]);
	assert.deepEqual(await generate(api), { created: 2, updated: 0, unchanged: 0 });
	const before = await tools(api);
	assert.deepEqual(await generate(api), { created: 0, updated: 0, unchanged: 2 });
	assert.deepEqual(await tools(api), before);
});

test('a re-import updates tools and keeps their ids, names and users’ edits', async () => {
	const api = await begin(store);
	await importAll(api, [operation('a'), operation('b')]);
	await generate(api);
	const [first, second] = [...(await tools(api)).values()];
	assert.ok(first && second);
	await store.tools.update(api.organizationId, first.id, { name: 'mine', description: 'My own words.' });

	const parameters = { type: 'object', required: ['new'] };
	const document = ['a', 'b'].map((key) => operation(key, { description: 'Changed.', name: 'changed', parameters }));
	assert.deepEqual((await importAll(api, document)).counts, { added: 0, changed: 2, unchanged: 0, removed: 0 });
	assert.deepEqual(await generate(api), { created: 0, updated: 2, unchanged: 0 });
	const now = [...(await tools(api)).values()];
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

test('a change in the hidden part of a schema counts as a change, and tools keep the layout of their bodies', async () => {
	const api = await begin(store);
	const wholeOf = (type: string) => ({ whole: { type: 'object', properties: { a: { type } } } });
	await importAll(api, [operation('a', wholeOf('string')), operation('b')]);
	const drafts = [...(await operations(api)).values()].map((row, index) => ({
		operationId: row.id,
		tool: { ...draft(row), wholeHash: row.wholeHash, bodies: index === 0 ? ('flat' as const) : ('nested' as const) },
	}));
	await store.tools.generate(api.organizationId, api.apiId, drafts);
	const asked: [name: string, bodies: string][] = [];
	const reader = createImportReader((row, bodies) => {
		asked.push([row.name, bodies]);
		return { ...draft(row), wholeHash: row.wholeHash, bodies };
	});
	const writer = (await store.apis.beginImport(api.organizationId, api.apiId)) ?? assert.fail();
	await writer.operations(batchOf(operation('a', wholeOf('integer')), operation('b', { description: 'Changed.' })));
	const { changed, schema: kept } = await writer.commit(schema, reader);
	assert.deepEqual([changed, kept.changes?.breaking, kept.changes?.toolsUpdated], [2, 1, 2]);
	assert.deepEqual(asked, [
		['a', 'flat'],
		['b', 'nested'],
	]);
	const [first, second] = [...(await tools(api)).values()];
	const [row] = [...(await operations(api)).values()];
	assert.deepEqual([first?.bodies, first?.wholeHash, first?.version], ['flat', row?.wholeHash, 2]);
	assert.notEqual(first?.wholeHash, drafts[0]?.tool.wholeHash);
	assert.deepEqual([second?.bodies, second?.wholeHash], ['nested', null]);
	const ids = [...(await operations(api)).values()].map(({ id }) => id);
	assert.deepEqual(await store.tools.flatOf(api.organizationId, api.apiId), new Set([ids[0]]));
	assert.deepEqual(await store.tools.flatOf((await addTenant(store)).organizationId, api.apiId), new Set());
});

test('an operation missing from the document is marked as removed with its tool, and is restored unchanged', async () => {
	const api = await begin(store);
	const { organizationId } = api;
	await importAll(api, [operation('a'), operation('b')]);
	await generate(api);
	const gateway = await addGateway(store, organizationId);
	const made = await tools(api);
	const tool = made.get((await operations(api)).get('a')?.id ?? '') ?? assert.fail();
	await store.gateways.assign(
		organizationId,
		gateway.id,
		[...made.values()].map(({ id }) => id),
	);
	await store.tools.update(organizationId, tool.id, { status: 'inactive' });

	assert.deepEqual((await importAll(api, [operation('b')])).counts, { added: 0, changed: 0, unchanged: 1, removed: 1 });
	assert.equal((await operations(api)).get('a')?.status, 'removed');
	assert.equal((await store.tools.get(organizationId, tool.id))?.status, 'removed');
	assert.deepEqual(
		(await store.tools.list(organizationId, LIMIT, { status: 'removed' })).items.map(({ id }) => id),
		[tool.id],
	);

	assert.deepEqual((await importAll(api, [operation('a'), operation('b')])).counts, { added: 0, changed: 1, unchanged: 1, removed: 0 });
	assert.equal((await store.tools.get(organizationId, tool.id))?.status, 'inactive', 'the user had switched it off');
	assert.equal((await store.gateways.get(organizationId, gateway.id))?.toolCount, 2);
});

/** Does the same as `importAll`, with a reader. */
async function compareAll({ store, organizationId, apiId }: ImportingApi, operations: Operation[]) {
	const writer = (await store.apis.beginImport(organizationId, apiId)) ?? assert.fail();
	await writer.operations(batchOf(...operations));
	return (await writer.commit(schema, createImportReader(draft))).schema.changes ?? assert.fail();
}

test('a reader gets the former operations, and tools of changed ones are updated in the same transaction', async () => {
	const api = await begin(store);
	const first = ['a', 'b', 'c'].map((key) => operation(key));
	const { operations: listed, ...counts } = await compareAll(api, first);
	assert.deepEqual([counts.added, counts.unlisted, listed], [3, 0, []], 'nobody wants to read that all is new');
	await generate(api);
	const made = [...(await tools(api)).values()];

	const parameters = { type: 'object', properties: { x: {} }, required: ['x'] };
	const second = [operation('a', { parameters }), operation('b'), operation('d')];
	const changes = await compareAll(api, second);
	assert.deepEqual(
		changes.operations.map(({ key, change, kind }) => [key, change, kind]),
		[
			['c', 'removed', 'breaking'],
			['a', 'changed', 'breaking'],
			['d', 'added', null],
		],
	);
	assert.deepEqual([changes.toolsUpdated, changes.unchanged], [1, 1]);
	const now = await tools(api);
	assert.deepEqual(
		made.map(({ id, operationId }) => [id, now.get(operationId ?? '')?.id, now.get(operationId ?? '')?.status]),
		made.map(({ id }, index) => [id, id, index === 2 ? 'removed' : 'active']),
	);
	assert.deepEqual(now.get(made[0]?.operationId ?? '')?.parameters, parameters);
	assert.equal(now.get(made[1]?.operationId ?? '')?.version, made[1]?.version, 'what did not change is not written');
	const kept = (await store.apis.schemas(api.organizationId, api.apiId, LIMIT)).items.at(-1);
	const { operations: _operations, ...numbers } = changes;
	assert.deepEqual(kept?.changes, numbers);
	assert.deepEqual((await store.apis.schema(api.organizationId, api.apiId, kept?.id ?? ''))?.changes, changes);
});

test('when the reader fails, everything stays unchanged', async () => {
	const api = await begin(store);
	await compareAll(api, [operation('a')]);
	await generate(api);
	const before = [await operations(api), await tools(api)];
	const failing = { ...createImportReader(draft), draft: () => assert.fail('no tool') };
	const writer = (await store.apis.beginImport(api.organizationId, api.apiId)) ?? assert.fail();
	await writer.operations(batchOf(operation('a', { description: 'Changed.' }), operation('b')));
	await assert.rejects(writer.commit(schema, failing), /no tool/);
	assert.deepEqual([await operations(api), await tools(api)], before);
	assert.equal((await store.apis.schemas(api.organizationId, api.apiId, LIMIT)).items.length, 1);
});

test('a tool is not written from an operation that has changed since it was read', async () => {
	const api = await begin(store);
	await compareAll(api, [operation('a')]);
	const [read] = [...(await operations(api)).values()];
	assert.ok(read);
	await compareAll(api, [operation('a', { description: 'Changed.' })]);
	const write = (asOf: Date) => store.tools.generate(api.organizationId, api.apiId, [{ operationId: read.id, asOf, tool: draft(read) }]);
	assert.deepEqual(await write(read.updatedAt), { created: 0, updated: 0, unchanged: 0 });
	const [now] = [...(await operations(api)).values()];
	assert.deepEqual(await write(now?.updatedAt ?? assert.fail()), { created: 1, updated: 0, unchanged: 0 });
});

test('an import of thousands of operations, all of them changed, does not compare each with every other', async () => {
	const api = await begin(store);
	const many = (description: string): Operation[] =>
		Array.from({ length: 5_000 }, (_, index) =>
			operation(`GET /p${index}`, { operationId: `p${index}`, description: description.repeat(50) }),
		);
	await compareAll(api, many('Old words. '));
	const before = await serverCpuMs(store.database);
	const changes = await compareAll(api, many('New words. '));
	assert.deepEqual([changes.changed, changes.text, changes.operations.length, changes.unlisted], [5_000, 5_000, 2_000, 3_000]);
	const cpuMs = (await serverCpuMs(store.database)) - before;
	assert.ok(cpuMs < 12_000, `${cpuMs} ms of the server’s CPU`);
});

test('an aborted import leaves nothing, and an import is invisible until it is committed', async () => {
	const api = await begin(store);
	const { organizationId, apiId } = api;
	for (const end of ['abort', 'commit'] as const) {
		const writer = (await store.apis.beginImport(organizationId, apiId)) ?? assert.fail();
		await writer.operations(batchOf(operation('a')));
		assert.equal(await store.apis.countOperations(organizationId, apiId), 0);
		await (end === 'abort' ? writer.abort() : writer.commit(schema));
	}
	assert.equal(await store.apis.countOperations(organizationId, apiId), 1);
	assert.equal((await store.apis.schemas(organizationId, apiId, LIMIT)).items.length, 1);
});

test('a second import of the same API waits for the first, one of another API does not', async () => {
	const api = await begin(store);
	const other = await addApi(store, api.organizationId);
	const first = (await store.apis.beginImport(api.organizationId, api.apiId)) ?? assert.fail();
	let hasBegun = false;
	const second = store.apis.beginImport(api.organizationId, api.apiId).then((writer) => {
		hasBegun = true;
		return writer;
	});
	await (await store.apis.beginImport(api.organizationId, other.id))?.abort();
	await sleep(100);
	assert.equal(hasBegun, false);
	await first.abort();
	await (await second)?.abort();
	assert.equal(hasBegun, true);
});

test('whoever waits for an API keeps no connection from others; a request waits for seconds, the end of an import until its turn', async () => {
	const api = await begin(store);
	await importAll(api, [operation('a')]);
	const { organizationId, apiId } = api;
	const [row = assert.fail()] = [...(await operations(api)).values()];
	const other = await addTenant(store);
	const { id } = await addTool(store, other.organizationId);
	const writer = (await store.apis.beginImport(organizationId, apiId)) ?? assert.fail();
	await writer.operations(batchOf(operation('a')));
	const generateOne = (since?: Date) => store.tools.generate(organizationId, apiId, [{ operationId: row.id, tool: draft(row) }], since);
	const [last, next] = [generateOne(row.updatedAt), store.apis.beginImport(organizationId, apiId)];
	const busy = { code: 'unavailable', headers: { 'retry-after': '1' } };
	const asked = Array.from({ length: 8 }, () => assert.rejects(generateOne(), busy));
	assert.ok(await store.tools.remove(other.organizationId, id, false));
	await Promise.all(asked);
	await writer.abort();
	const [, counts] = await Promise.all([next.then((begun) => begun?.abort()), last]);
	assert.equal(counts.created, 1);
});

test('operations are filtered by tag, method, path, operationId and deprecation', async () => {
	const api = await begin(store);
	await importAll(api, [
		operation('a', { tags: ['x', 'y'], method: 'GET', operationId: 'opA' }),
		operation('b', { tags: ['y'], method: 'POST', deprecated: true }),
		operation('c', { method: 'DELETE' }),
	]);
	const count = (filter: object) => store.apis.countOperations(api.organizationId, api.apiId, filter);
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
