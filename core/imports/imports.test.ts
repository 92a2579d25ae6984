import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';
import openapi from '../../importers/openapi/index.ts';
import http from '../../plugins/executors/http/index.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { sampled } from '../../test/helpers/sampled.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import { canary, httpUpstream } from '../../test/helpers/upstream.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import { Registry } from '../registry/registry.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import type { ApiRow, ImportChanges, OperationRow } from '../store/store.ts';
import { createImports, type ImportParts, type Imports } from './imports.ts';
import type { ImportReport } from './report.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const never = new AbortController().signal;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const logged: string[] = [];
const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: (_: object, message: string): void => void logged.push(message) };

/** Posts to the endpoint, and yields its answer. */
const ASK = `async introspect(url, { request }) {
	const { status, body } = await request({ method: 'POST', url, body: 'tell' });
	if (status === 200) return { text: 'ASKED ' + body, url };
	throw Object.assign(new Error('it does not tell: ' + status), { code: 'schema_invalid' });
},`;

/** Defines an importer that exists in the worker only; `body` is its code. */
function importerOf(name: string, detect: string, body: string): [SchemaImporter, string] {
	const source = `export default { kind: 'importer', name: '${name}', config: { describe: () => ({}), validate: (value) => ({ value }) }, detect: (text) => ${detect}, ${name === 'asking' ? ASK : ''}
		async *parse(source, config, context) { ${body} } }`;
	return [{ ...openapi, name }, `data:text/javascript,${encodeURIComponent(source)}`];
}

/** The file in which workers note that they are there. */
const MEETING = join(mkdtempSync(join(tmpdir(), 'gatehouse-imports-')), 'meeting');
after(() => rmSync(dirname(MEETING), { recursive: true }));

const operationText = (index: string): string =>
	`{ key: 'GET /' + ${index}, operationId: null, name: 'op_' + ${index}, description: '', method: 'GET', path: '/' + ${index}, tags: [], deprecated: false,
	parameters: { type: 'object' }, outputSchema: null, definition: { path: '/' }, outcome: 'converted', reasons: [] }`;
const many = (count: number): string => `for (let i = 0; i < ${count}; i++) yield ${operationText('i')};`;
const SUMMARY = "return { format: 'test', title: null, version: null, servers: [] };";

const registry = new Registry();
registry.add(http);
registry.add(openapi, new URL('../../importers/openapi/index.ts', import.meta.url).href);
for (const [plugin, source] of [
	importerOf('halfway', '0', `${many(250)} throw Object.assign(new Error('/paths/~1x: broken'), { code: 'schema_invalid' });`),
	importerOf('endless', '0', 'for (;;);'),
	// It waits without computing, which costs the test nothing.
	importerOf('blocked', '0', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);'),
	importerOf('hungry', '0', 'for (const all = []; ; ) all.push(new Array(131072).fill({}));'),
	importerOf('greedy', '0', "JSON.parse('[' + '[[]],'.repeat(3_000_000) + '1]');"),
	importerOf('leaving', '0', 'process.exit(0);'),
	importerOf('plenty', '0', `${many(2001)} ${SUMMARY}`),
	importerOf(
		'odd',
		'text.startsWith("ODD") ? 1 : 0',
		`const op = ${operationText('1')}; op.parameters.note = 'a\\0b\\\\u0000\\ud800c'; op.path = '/\\0'; yield op; ${SUMMARY}`,
	),
	importerOf('asking', 'text.startsWith("ASKED") ? 1 : 0', `yield ${operationText('source.text.length')}; ${SUMMARY}`),
	// A module's own variables tell whether the worker is the same; imports that are to meet wait for each other, so that they run at once.
	importerOf(
		'telling',
		'0',
		`globalThis.runs = (globalThis.runs ?? 0) + 1;
		if (source.text === 'crash') null.x;
		if (source.text === 'grow') globalThis.held = Array.from({ length: 140 }, () => new Array(131072).fill({}));
		if (source.text === 'meet') {
			const { appendFileSync, readFileSync } = await import('node:fs');
			appendFileSync(${JSON.stringify(MEETING)}, '.');
			while (readFileSync(${JSON.stringify(MEETING)}).length % 2 === 1) await new Promise((resolve) => setTimeout(resolve, 10));
		}
		if (source.text === 'refuse') throw Object.assign(new Error('no'), { code: 'schema_invalid' });
		const op = ${operationText('1')}; op.parameters.note = String(globalThis.runs); yield op; ${SUMMARY}`,
	),
	importerOf(
		'counting',
		'0',
		`globalThis.parsed = (globalThis.parsed ?? 0) + 1;
		if (source.text.startsWith('http')) await context.request({ method: 'GET', url: source.text });
		const op = ${operationText('1')}; op.parameters.note = globalThis.parsed; yield op; context.log.warn({}, 'read'); ${SUMMARY}`,
	),
	importerOf(
		'choosing',
		'0',
		`for (const name of source.text.split(' ')) if (config.only.includes(name)) yield ${operationText('name')}; ${SUMMARY}`,
	),
	importerOf('environment', '0', 'throw Object.assign(new Error(JSON.stringify(process.env)), { code: "schema_invalid" });'),
])
	registry.add(plugin, source);

const secrets = createSecrets('ab'.repeat(32));

/** Starts imports whose worker the test ends, or whose parts it chooses. */
const ownImports = (more: Partial<ImportParts> = {}) => createImports({ registry, egressPolicy: { allow: [] }, secrets, log, ...more });
const shared = ownImports();
after(() => shared.close());
const imports = () => shared;
/** Imports that may reach the servers of tests. */
const reaching = ownImports({ egressPolicy: { allow: ['127.0.0.1'] } });
after(() => reaching.close());

/** The changes of an import that changed nothing. */
const NOTHING: ImportChanges = {
	...{ added: 0, removed: 0, restored: 0, changed: 0, unchanged: 0, breaking: 0, additive: 0, text: 0, toolsUpdated: 0 },
	operations: [],
	unlisted: 0,
};

let count = 0;
async function newApi(type = 'openapi'): Promise<ApiRow> {
	count++;
	const user = { email: `u${count}@example.com`, passwordHash: 'x', firstName: 'U', lastName: '' };
	const { organization } = await store.accounts.register(user, { name: `o${count}`, slugs: [`o${count}`] });
	return store.apis.create(organization.id, { name: 'x', type, baseUrl: 'https://api.example.com', description: null });
}

async function operationsOf(api: ApiRow): Promise<OperationRow[]> {
	const { items } = await store.apis.operations(api.organizationId, api.id, { limit: 100 });
	return items;
}

const bodyOf = (body: unknown): Buffer => Buffer.from(JSON.stringify(body));
const documentOf = (paths: object): string => JSON.stringify({ openapi: '3.1.0', info: { title: 'Pets', version: '1' }, paths });
const operation = (operationId: string, more: object = {}): object => ({
	operationId,
	responses: { 204: { description: 'done' } },
	...more,
});

/** @returns the error that the import fails with */
async function failure(
	type: string,
	body: Buffer,
	service: Imports = shared,
): Promise<{ code: string; message: string; details: { path: string }[] }> {
	const api = await newApi(type);
	const result = await service.importSchema(store, api, body, never).catch((error: unknown) => error);
	assert.ok(result instanceof Error, 'it was imported');
	assert.deepEqual(await operationsOf(api), []);
	assert.deepEqual((await store.apis.schemas(api.organizationId, api.id, { limit: 100 })).items, []);
	return result as never;
}

test('hundreds of operations are imported, reported and made into tools, and doing it again changes nothing', async () => {
	const document = JSON.parse(gunzipSync(readFileSync(new URL('../../test/fixtures/github.openapi.json.gz', import.meta.url))).toString());
	const paths: [path: string, item: object][] = sampled(Object.entries(document.paths), 4);
	const all = paths.reduce((sum, [, item]) => sum + METHODS.filter((method) => Object.hasOwn(item, method)).length, 0);
	assert.ok(all > 250, `${all}`);
	const schemaContent = JSON.stringify({ ...document, paths: Object.fromEntries(paths) });
	const api = await newApi();
	const { importSchema, generateTools } = imports();
	const first = await importSchema(store, api, bodyOf({ schemaContent, generateTools: true, methods: ['get'] }), never);
	assert.deepEqual(first.schema.changes, { ...NOTHING, added: all });
	assert.deepEqual(first.request, { allowEmpty: false, generation: { methods: ['GET'] } });
	assert.equal(first.schema.sizeBytes, Buffer.byteLength(schemaContent));
	assert.match(first.schema.sha256, /^[0-9a-f]{64}$/);
	const report = first.schema.report as ImportReport;
	assert.deepEqual(report.counts, { operations: all, converted: all, degraded: 0, skipped: 0 });
	assert.equal(report.format, 'openapi 3.0.3');
	assert.deepEqual(await generateTools(store, api, {}), { created: all, updated: 0, unchanged: 0, total: all });
	assert.deepEqual(await generateTools(store, api, {}), { created: 0, updated: 0, unchanged: all, total: all });
	// The first ones do not know the description, and parse it.
	for (const { importSchema } of [reaching, reaching, imports()]) {
		const again = await importSchema(store, api, bodyOf({ schemaContent }), never);
		assert.deepEqual(again.schema.changes, { ...NOTHING, unchanged: all });
	}
});

test('a description that its API has already is not parsed again, unless another process has changed it or more was fetched', async (t) => {
	const { origin } = await httpUpstream(t, (_, response) => response.end());
	const [own, another] = [ownImports({ egressPolicy: { allow: ['127.0.0.1'] } }), ownImports()];
	const api = await newApi('counting');
	const read = (body: object, service = own) => service.importSchema(store, api, bodyOf(body), never);
	const parsed = async (body: object, service = own): Promise<unknown> => {
		await read(body, service);
		return (await operationsOf(api))[0]?.parameters['note'];
	};
	const [a, b, asked] = [{ schemaContent: 'a' }, { schemaContent: 'b' }, { schemaContent: 'a', options: { x: 1 } }];
	const first = (await read(a)).schema;
	const again = await read({ ...a, generateTools: true });
	const { id, changes, createdAt, updatedAt, ...same } = first;
	assert.deepEqual(again.schema, { ...again.schema, ...same, changes: { ...NOTHING, unchanged: 1 } });
	assert.ok(again.schema.id !== id && again.schema.createdAt > createdAt);
	assert.deepEqual([again.request.generation, (same.report as ImportReport).warnings], [{}, [{ message: 'read' }]]);
	assert.equal(await own.compare(store, api, never), null, 'a description that was sent cannot have changed');
	assert.equal((await store.apis.schemas(api.organizationId, api.id, { limit: 10 })).items.length, 2);
	// Each number is how often the worker has parsed by then.
	assert.deepEqual([await parsed(a), await parsed(asked), await parsed(asked), await parsed(a), await parsed(b)], [1, 2, 2, 3, 4]);
	assert.equal(await parsed(a, another), 1);
	assert.deepEqual([await parsed(b), await parsed(b)], [5, 5]);
	const fetching = { schemaContent: origin };
	assert.deepEqual([await parsed(fetching), await parsed(fetching)], [6, 7]);
	await Promise.all([own.close(), another.close()]);
});

/** Serves documents by path, which tests replace. */
async function documents(t: TestContext, served: Record<string, string | Uint8Array | { location: string }>): Promise<string> {
	const { origin } = await httpUpstream(t, (request, response) => {
		const answer = served[request.url ?? ''] ?? '';
		if (typeof answer === 'string' || answer instanceof Uint8Array) response.end(answer);
		else response.writeHead(302, answer).end();
	});
	return origin;
}

test('a document is read again with the URL, the options and the entry of the latest import', async (t) => {
	const served: Parameters<typeof documents>[1] = { '/latest': { location: '/v1' }, '/v1': 'a b c', '/v2': 'a b d' };
	const origin = await documents(t, served);
	const read = (api: ApiRow, body: object) => reaching.importSchema(store, api, bodyOf(body), never);
	const change = async (api: ApiRow) => {
		const { added, removed, changed, unchanged } = (await reaching.compare(store, api, never)) ?? assert.fail();
		return { added, removed, changed, unchanged };
	};
	const chosen = await newApi('choosing');
	assert.equal(await reaching.compare(store, chosen, never), null, 'nothing was imported');
	await read(chosen, { schemaUrl: `${origin}/latest`, options: { only: ['a', 'c'] } });
	served['/v1'] = 'a x c';
	assert.deepEqual(await change(chosen), { added: 0, removed: 0, changed: 0, unchanged: 2 });
	served['/latest'] = { location: '/v2' };
	assert.deepEqual(await change(chosen), { added: 0, removed: 1, changed: 0, unchanged: 1 });
	await read(chosen, { schemaUrl: `${origin}/latest`, options: { only: ['d'] } });
	served['/v2'] = 'b d';
	assert.deepEqual(await change(chosen), { added: 0, removed: 0, changed: 0, unchanged: 1 });

	const files = (name: string): Uint8Array =>
		zipSync({
			'a.json': strToU8(documentOf({ '/a': { get: operation('a') } })),
			'b.json': strToU8(documentOf({ '/b': { get: operation(name) } })),
		});
	served['/zip'] = files('b');
	const zipped = await newApi();
	await read(zipped, { schemaUrl: `${origin}/zip`, entry: 'b.json' });
	assert.equal(await reaching.compare(store, zipped, never), null);
	served['/zip'] = files('other');
	assert.deepEqual(await change(zipped), { added: 0, removed: 0, changed: 1, unchanged: 0 });
	await read(zipped, { schemaContent: documentOf({ '/b': { get: operation('b') } }) });
	assert.equal(await reaching.compare(store, zipped, never), null, 'the URL of an import before is not that of the latest');
});

test('a document that has not changed is not parsed again, by any process, unless its importer fetches more', async (t) => {
	const served: Parameters<typeof documents>[1] = { '/doc': 'a', '/more': 'm' };
	const origin = await documents(t, served);
	served['/fetching'] = `${origin}/more`;
	// Each time that this importer parses, its operation is another.
	const [alone, fetching] = [await newApi('counting'), await newApi('counting')];
	await reaching.importSchema(store, alone, bodyOf({ schemaUrl: `${origin}/doc` }), never);
	await reaching.importSchema(store, fetching, bodyOf({ schemaUrl: `${origin}/fetching` }), never);
	const another = ownImports({ egressPolicy: { allow: ['127.0.0.1'] } });
	for (const service of [reaching, another]) assert.equal(await service.compare(store, alone, never), null);
	assert.equal((await reaching.compare(store, fetching, never))?.changed, 1);
	served['/doc'] = 'b';
	assert.equal((await reaching.compare(store, alone, never))?.changed, 1);
	await another.close();
});

test('a document whose options are not known, too long to be kept or not to be opened is not read with others', async (t) => {
	const origin = await documents(t, { '/doc': 'a b' });
	const api = await newApi('choosing');
	const read = (options: object) => reaching.importSchema(store, api, bodyOf({ schemaUrl: `${origin}/doc`, options }), never);
	await read({ only: ['a'], note: 'x'.repeat(70_000) });
	await assert.rejects(reaching.compare(store, api, never), { code: 'conflict', message: /import it again/ });
	await read({ only: ['a'] });
	assert.equal(await reaching.compare(store, api, never), null);
	const foreign = ownImports({ egressPolicy: { allow: ['127.0.0.1'] }, secrets: createSecrets('cd'.repeat(32)) });
	await assert.rejects(foreign.compare(store, api, never), { code: 'secret_unreadable', message: /^The source of the API "x"/ });
	await foreign.close();
	// A release that keeps no source has imported since.
	await administer(
		store.database,
		`INSERT INTO api_schemas (organization_id, api_id, format, servers, source_url, size_bytes, sha256, report)
		SELECT organization_id, api_id, format, servers, source_url, size_bytes, sha256, report FROM api_schemas WHERE api_id = '${api.id}' LIMIT 1`,
	);
	await assert.rejects(reaching.compare(store, api, never), { code: 'conflict' });
});

test('an import that comes while a document is read again counts with its own options', async (t) => {
	let meanwhile: (() => Promise<unknown>) | null = null;
	const { origin } = await httpUpstream(t, async (_, response) => {
		const work = meanwhile;
		meanwhile = null;
		await work?.();
		response.end('a b');
	});
	const api = await newApi('choosing');
	const read = (options: object) => reaching.importSchema(store, api, bodyOf({ schemaUrl: `${origin}/doc`, options }), never);
	await read({ only: ['a'] });
	meanwhile = () => read({ only: ['b'] });
	assert.equal(await reaching.compare(store, api, never), null);
	assert.deepEqual(
		(await operationsOf(api)).filter(({ status }) => status === 'active').map(({ key }) => key),
		['GET /b'],
	);
});

test('a re-import says what it added, changed and removed, and keeps the tools of the rest', async () => {
	const api = await newApi();
	const { importSchema, generateTools } = imports();
	const read = async (paths: object) =>
		(await importSchema(store, api, bodyOf({ schemaContent: documentOf(paths) }), never)).schema.changes ?? assert.fail();
	await read({ '/a': { get: operation('a') }, '/b': { get: operation('b') }, '/c': { get: operation('c') } });
	await generateTools(store, api, {});
	const { operations, ...counts } = await read({
		'/a': { get: operation('a') },
		'/b2': { get: operation('b') },
		'/d': { get: operation('d') },
	});
	const expected = { added: 1, changed: 1, unchanged: 1, removed: 1, restored: 0, breaking: 2, additive: 0, text: 0, toolsUpdated: 1 };
	assert.deepEqual(counts, { ...expected, unlisted: 0 });
	assert.deepEqual(operations, [
		{ key: 'GET /c', name: 'c', change: 'removed', kind: 'breaking', reasons: [] },
		{ key: 'GET /b2', name: 'b', change: 'changed', kind: 'breaking', reasons: ['The path changed.', 'The description changed.'] },
		{ key: 'GET /d', name: 'd', change: 'added', kind: null, reasons: [] },
	]);
	assert.deepEqual(await generateTools(store, api, {}), { created: 1, updated: 0, unchanged: 2, total: 3 });
});

test('a skipped operation is reported with its reason and not stored', async () => {
	const api = await newApi();
	const paths = { '/a': { get: operation('a') }, '/b': { get: null }, '/c/{id}': { get: operation('c') } };
	const { schema } = await imports().importSchema(store, api, bodyOf({ schemaContent: documentOf(paths) }), never);
	const { counts, operations } = schema.report as ImportReport;
	assert.deepEqual(counts, { operations: 3, converted: 1, degraded: 1, skipped: 1 });
	assert.deepEqual(operations, [
		{ key: 'GET /b', name: 'get_b', outcome: 'skipped', reasons: ['It is not an object.'] },
		{ key: 'GET /c/{id}', name: 'c', outcome: 'degraded', reasons: ['The path parameter “id” is not declared: it is taken as a string.'] },
	]);
	assert.deepEqual((await operationsOf(api)).map(({ key }) => key).toSorted(), ['GET /a', 'GET /c/{id}']);
});

test('a filter chooses which operations become tools', async () => {
	const api = await newApi();
	const paths = { '/a': { get: operation('a', { tags: ['x'] }), post: operation('b', { tags: ['x'] }) }, '/c': { get: operation('c') } };
	const { importSchema, generateTools } = imports();
	await importSchema(store, api, bodyOf({ schemaContent: documentOf(paths) }), never);
	assert.equal((await generateTools(store, api, { tags: ['x'], methods: ['GET'] })).total, 1);
	assert.equal((await generateTools(store, api, { operationIds: ['c', 'none'] })).total, 1);
});

test('more than 2,000 tools at once are refused, naming the filters', async () => {
	const api = await newApi('plenty');
	await imports().importSchema(store, api, bodyOf({ schemaContent: 'x' }), never);
	await assert.rejects(imports().generateTools(store, api, {}), {
		code: 'validation_failed',
		message: /2001 .* tags, methods, paths, operationIds or deprecated/,
	});
	assert.equal((await imports().generateTools(store, api, { paths: ['/7'] })).total, 1);
});

test('an import that would make more than 2,000 tools is refused as a whole, and one whose filters choose fewer is not', async () => {
	const api = await newApi('plenty');
	const asked = { schemaContent: 'x', generateTools: true };
	await assert.rejects(imports().importSchema(store, api, bodyOf(asked), never), {
		code: 'validation_failed',
		message: /^2001 operations/,
	});
	assert.equal(await store.apis.countOperations(api.organizationId, api.id), 0);
	assert.deepEqual((await store.apis.schemas(api.organizationId, api.id, { limit: 1 })).items, []);
	await imports().importSchema(store, api, bodyOf({ ...asked, paths: ['/7', '/8'] }), never);
	assert.equal(await store.apis.countOperations(api.organizationId, api.id), 2001);
});

test('an import that fails halfway leaves nothing behind', async () => {
	const error = await failure('halfway', bodyOf({ schemaContent: 'x' }));
	assert.deepEqual([error.code, error.message], ['schema_invalid', '/paths/~1x: broken']);
});

test('an importer that never ends is killed, and the API can be imported into afterwards', async () => {
	const error = await failure('blocked', bodyOf({ schemaContent: 'x' }), ownImports({ timeoutMs: 1_500 }));
	assert.deepEqual([error.code, error.message], ['schema_invalid', 'The document could not be imported within 1.5 s.']);
});

/** Imports with an importer that has a bug, which ends in a clear message and is logged. */
async function assertBug(type: string, schemaContent: string, service?: Imports): Promise<void> {
	logged.length = 0;
	const error = await failure(type, bodyOf({ schemaContent }), service);
	assert.deepEqual([error.code, error.message], ['schema_invalid', 'The document could not be read: the importer failed on it.']);
	assert.equal(logged.length, 1);
}

test('an importer that runs out of memory or exits ends in a clear message', async () => {
	assert.match((await failure('hungry', bodyOf({ schemaContent: 'x' }), ownImports({ maxHeapMb: 64 }))).message, /more than 64 MB/);
	// V8 cannot be told to stop in the middle of such a call, and ends its process.
	assert.match((await failure('greedy', bodyOf({ schemaContent: 'x' }), ownImports({ maxHeapMb: 64 }))).message, /more than 64 MB/);
	await assertBug('leaving', 'x');
});

test('a worker that ended well stays for the next import and keeps no listeners of it, one that crashed, was killed or has grown does not', async (t) => {
	const own = ownImports();
	const { importSchema, close } = own;
	const warned = t.mock.method(process, 'emitWarning', () => undefined).mock;
	const runs = async (text: string, signal = never): Promise<unknown> => {
		const api = await newApi('telling');
		const result = await importSchema(store, api, bodyOf({ schemaContent: text }), signal).catch((error: unknown) => error);
		return result instanceof Error ? 'failed' : (await operationsOf(api))[0]?.parameters['note'];
	};
	assert.deepEqual([await runs('a'), await runs('refuse'), await runs('b')], ['1', 'failed', '3']);
	for (let more = 4; more <= 12; more++) assert.equal(await runs('more'), String(more));
	assert.deepEqual(
		warned.calls.map((call) => String(call.arguments[0])),
		[],
	);
	await assertBug('telling', 'crash', own);
	assert.equal(await runs('c'), '1');
	assert.deepEqual([await runs('grow'), await runs('d')], ['2', '1']);
	const api = await newApi('endless');
	const client = new AbortController();
	const leaving = importSchema(store, api, bodyOf({ schemaContent: 'x' }), client.signal);
	setTimeout(() => client.abort(), 300);
	await assert.rejects(leaving, { code: 'unavailable', message: /client disconnected/ });
	assert.deepEqual([await runs('e'), await runs('f')], ['1', '2']);
	// One of two workers that run at once is kept: the next two imports find it, and need another one.
	const both = async (): Promise<unknown[]> => (await Promise.all([runs('meet'), runs('meet')])).toSorted();
	assert.deepEqual(await both(), ['1', '3']);
	const [another, kept] = await both();
	assert.deepEqual([another, kept === '2' || kept === '4'], ['1', true]);
	await close();
});

test('a fault in a small body is reported without a worker', async () => {
	const registered = new Registry();
	// A worker could not load this importer.
	registered.add({ ...openapi, name: 'absent' }, 'file:///nowhere/index.ts');
	const { importSchema } = ownImports({ registry: registered });
	const api = await newApi('absent');
	await assert.rejects(importSchema(store, api, bodyOf({}), never), { code: 'validation_failed', message: /must have "schemaUrl"/ });
	await assert.rejects(importSchema(store, api, Buffer.from('{'), never), { code: 'validation_failed' });
});

test('an importer sees nothing of the environment but which certificates are trusted', async () => {
	const { message } = await failure('environment', bodyOf({ schemaContent: 'x' }));
	assert.deepEqual(
		Object.keys(JSON.parse(message)).filter((name) => !/^(?:NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA|SSL_CERT_(?:DIR|FILE))$/.test(name)),
		[],
	);
});

test('a service that stops aborts the import', { timeout: 120_000 }, async () => {
	const api = await newApi('blocked');
	const service = ownImports();
	const stopping = service.importSchema(store, api, bodyOf({ schemaContent: 'x' }), never);
	setTimeout(() => service.close(), 300);
	await assert.rejects(stopping, { code: 'unavailable', message: /stopping/ });
});

test('text that PostgreSQL cannot hold is stored without it', async () => {
	const api = await newApi('odd');
	await imports().importSchema(store, api, bodyOf({ schemaContent: 'ODD' }), never);
	const [stored] = await operationsOf(api);
	assert.equal(stored?.path, '/');
	assert.equal(stored?.parameters['note'], 'ab\\u0000\ufffdc');
});

test('two imports of one API at once both succeed, one after the other', async () => {
	const api = await newApi();
	const { importSchema } = imports();
	const read = (path: string) =>
		importSchema(store, api, bodyOf({ schemaContent: documentOf({ [path]: { get: operation(path) } }) }), never);
	await Promise.all([read('/a'), read('/b')]);
	const active = (await operationsOf(api)).filter(({ status }) => status === 'active');
	assert.equal(active.length, 1);
});

test('a body that is wrong is refused by the worker, naming the field', async () => {
	const error = await failure('openapi', bodyOf({ schemaContent: 'x', other: 1 }));
	assert.deepEqual([error.code, error.details[0]?.path], ['validation_failed', '/other']);
	assert.equal((await failure('openapi', Buffer.alloc(0))).code, 'validation_failed');
});

test('content of another format is refused with what it looks like and which API takes it', async () => {
	const error = await failure('openapi', bodyOf({ schemaContent: 'ODD' }));
	assert.deepEqual([error.code, /looks like odd.*type odd/.test(error.message)], ['schema_invalid', true]);
	const none = await failure('openapi', bodyOf({ schemaContent: 'nothing known' }));
	assert.match(none.message, /not OpenAPI/);
});

test('an API of a type that no importer reads is refused', async () => {
	assert.equal((await failure('soap', bodyOf({ schemaContent: 'x' }))).code, 'validation_failed');
});

test('a document is fetched through the guard, with its address after redirects', async (t) => {
	const upstream = await httpUpstream(t, (request, response) => {
		if (request.url === '/moved') response.writeHead(302, { location: '/docs/openapi.json' }).end();
		else if (request.url === '/docs/openapi.json') response.end(documentOf({ '/a': { get: operation('a') } }));
		else if (request.url === '/empty') response.end(' ');
		else if (request.url === '/binary') response.end(Buffer.from([0xff, 0xfe, 0x00]));
		else response.writeHead(404).end('secret');
	});
	const own = reaching;
	const api = await newApi();
	const { schema } = await own.importSchema(store, api, bodyOf({ schemaUrl: `${upstream.origin}/moved` }), never);
	assert.equal(schema.sourceUrl, `${upstream.origin}/docs/openapi.json`);
	for (const [path, message] of [
		['/none', /^schemaUrl answered with status 404\.$/],
		['/empty', /empty/],
		['/binary', /UTF-8/],
	] as const) {
		const error = await failure('openapi', bodyOf({ schemaUrl: upstream.origin + path }), own);
		assert.deepEqual([error.code, error.details[0]?.path], ['schema_invalid', '/schemaUrl'], error.message);
		assert.match(error.message, message);
	}
});

test('an API that describes itself is asked to when its URL answers with no description', async (t) => {
	const upstream = await httpUpstream(t, (request, response) => {
		const { method = '', url = '' } = request;
		asked.push(`${method} ${url}`);
		if (method === 'POST') response.writeHead(url === '/silent' ? 403 : 200).end('pets');
		else if (url === '/plain') response.end('ASKED');
		else if (url === '/openapi') response.end(documentOf({}));
		else response.writeHead(url === '/page' ? 200 : 405).end('<html>');
	});
	const asked: string[] = [];
	const own = reaching;
	for (const [path, sizeBytes] of [
		['/endpoint', 10],
		['/page', 10],
		['/plain', 5],
	] as const) {
		const { schema } = await own.importSchema(store, await newApi('asking'), bodyOf({ schemaUrl: upstream.origin + path }), never);
		assert.deepEqual([schema.sizeBytes, schema.sourceUrl], [sizeBytes, upstream.origin + path], path);
	}
	assert.deepEqual(asked.splice(0), ['GET /endpoint', 'POST /endpoint', 'GET /page', 'POST /page', 'GET /plain']);
	const silent = await failure('asking', bodyOf({ schemaUrl: `${upstream.origin}/silent` }), own);
	assert.equal(silent.message, 'schemaUrl answered with status 405, and it does not tell: 403');
	assert.deepEqual([silent.code, silent.details[0]?.path], ['schema_invalid', '/schemaUrl']);
	asked.length = 0;
	const other = await failure('asking', bodyOf({ schemaUrl: `${upstream.origin}/openapi` }), own);
	assert.match(other.message, /looks like openapi/);
	assert.deepEqual(asked, ['GET /openapi']);
});

test('a schemaUrl that leads to a private address is refused, and no request is sent', async (t) => {
	const { port, connections } = await canary(t);
	for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0.0.0.0']) {
		const error = await failure('openapi', bodyOf({ schemaUrl: `http://${host}:${port}/openapi.json` }));
		assert.equal(error.code, 'egress_refused', host);
	}
	assert.equal((await failure('openapi', bodyOf({ schemaUrl: 'file:///etc/passwd' }))).code, 'egress_refused');
	assert.equal(connections(), 0);
});

test('a document with external references is imported without fetching them', async (t) => {
	const { port, connections } = await canary(t);
	const api = await newApi();
	const refs = [`http://127.0.0.1:${port}/x.json`, '/etc/passwd', 'file:///etc/passwd', '../../package.json'];
	const schemaOf = ($ref: string): object => ({
		requestBody: { content: { 'application/json': { schema: { $ref } } } },
		responses: { 200: { $ref } },
	});
	const paths = Object.fromEntries(refs.map((ref, index) => [`/${index}`, { post: schemaOf(ref) }]));
	const { schema } = await imports().importSchema(store, api, bodyOf({ schemaContent: documentOf(paths) }), never);
	assert.equal((schema.report as ImportReport).counts.degraded, refs.length);
	assert.doesNotMatch(JSON.stringify([schema.report, await operationsOf(api)]), /root:x|devDependencies/);
	assert.equal(connections(), 0);
});
