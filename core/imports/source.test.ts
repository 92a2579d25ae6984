// The origin of a description, through the worker: files, zips, the answer of a URL, and their options.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { strToU8, zipSync } from 'fflate';
import graphql from '../../importers/graphql/index.ts';
import openapi from '../../importers/openapi/index.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import { canary, httpUpstream } from '../../test/helpers/upstream.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import { Registry } from '../registry/registry.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import type { OperationRow } from '../store/store.ts';
import { createImports, type ImportedSchema, type Imports } from './imports.ts';
import type { ImportReport } from './report.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const never = new AbortController().signal;
const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** Defines an importer that exists in the worker only; its operation shows the input that it received. */
function tellingImporter(name: string, more: string): [SchemaImporter, string] {
	const source = `import Joi from '${import.meta.resolve('joi')}';
	export default { kind: 'importer', name: '${name}', config: Joi.object({ loud: Joi.boolean() }), ${more},
		async *parse({ text, url, path, files }, config, context) {
			const given = { text, path, config, files: [...files].map(([name, bytes]) => name + '=' + Buffer.from(bytes).toString('hex')) };
			yield { key: 'GET /', operationId: null, name: 'op', description: JSON.stringify(given), method: 'GET', path: '/', tags: [],
				deprecated: false, parameters: { type: 'object' }, outputSchema: null, definition: {}, outcome: 'converted', reasons: [] };
			return { format: 'test', title: null, version: null, servers: [] };
		} }`;
	return [{ ...openapi, name }, `data:text/javascript,${encodeURIComponent(source)}`];
}

const registry = new Registry();
registry.add(openapi, new URL('../../importers/openapi/index.ts', import.meta.url).href);
registry.add(graphql, new URL('../../importers/graphql/index.ts', import.meta.url).href);
for (const [plugin, source] of [
	tellingImporter('rootless', "rootless: true, detect: (text, bytes) => (text.startsWith('part') || bytes[0] === 0xfe ? 1 : 0)"),
	tellingImporter('binary', 'detect: (text, bytes) => (bytes[0] === 0xff ? 1 : 0)'),
])
	registry.add(plugin, source);

/** For tests that reach every server of theirs: they share a worker. */
const HERE = ['127.0.0.1'];

/** Imports by the addresses that they may reach: whoever starts none of their own waits for no worker. */
const byAllowed = new Map<string, Imports>();
after(() => Promise.all([...byAllowed.values()].map((imports) => imports.close())));

function importsTo(allow: string[]): Imports {
	const key = allow.join();
	const known = byAllowed.get(key) ?? createImports({ registry, egressPolicy: { allow }, secrets: createSecrets('ab'.repeat(32)), log });
	byAllowed.set(key, known);
	return known;
}

let count = 0;
interface Imported extends ImportedSchema {
	operations: OperationRow[];
	report: ImportReport;
}

async function read(type: string, body: object, allow: string[] = []): Promise<Imported> {
	count++;
	const user = { email: `u${count}@example.com`, passwordHash: 'x', firstName: 'U', lastName: '' };
	const { organization } = await store.accounts.register(user, { name: `o${count}`, slugs: [`o${count}`] });
	const api = await store.apis.create(organization.id, { name: 'x', type, baseUrl: 'https://api.example.com', description: null });
	const imported = await importsTo(allow).importSchema(store, api, Buffer.from(JSON.stringify(body)), never);
	const { items } = await store.apis.operations(api.organizationId, api.id, { limit: 100 });
	return { ...imported, operations: items, report: imported.schema.report as ImportReport };
}

async function failure(type: string, body: object, allow: string[] = []): Promise<{ code: string; message: string; path: string }> {
	const error = await read(type, body, allow).catch((fault: unknown) => fault);
	assert.ok(error instanceof Error, 'it was imported');
	const { code, message, details } = error as Error & { code: string; details: { path: string }[] };
	return { code, message, path: details[0]?.path ?? '' };
}

const given = ({ operations }: Imported): { text: string; path: string | null; config: object; files: string[] } =>
	JSON.parse(operations[0]?.description ?? '');

const ROOT = JSON.stringify({
	openapi: '3.1.0',
	info: { title: 'x', version: '1' },
	paths: { '/pets': { $ref: 'paths/pets.yaml' } },
});
const PETS = 'post:\n  requestBody: { content: { application/json: { schema: { $ref: "../schemas.json#/Pet" } } } }\n  responses: {}\n';
const SCHEMAS = '{"Pet":{"type":"object","properties":{"name":{"type":"string"},"friend":{"$ref":"#/Pet"}}}}';
const FILES = { 'openapi.json': ROOT, 'paths/pets.yaml': PETS, 'schemas.json': SCHEMAS };
const zipOf = (files: Record<string, string>): Uint8Array =>
	zipSync(Object.fromEntries(Object.entries(files).map(([path, text]) => [path, strToU8(text)])));

test('files and a zip of them are imported alike, from the one file that is certainly the root', async () => {
	const byMap = await read('openapi', { files: FILES });
	const byZip = await read('openapi', { files: Buffer.from(zipOf(FILES)).toString('base64') });
	const { parameters } = byMap.operations[0] ?? assert.fail();
	assert.deepEqual(byMap.report.counts, { operations: 1, converted: 1, degraded: 0, skipped: 0 });
	assert.match(JSON.stringify(parameters), /"name":\{"type":"string"\}/);
	assert.deepEqual(parameters, byZip.operations[0]?.parameters);
	assert.equal(byMap.schema.sha256, byZip.schema.sha256);
	assert.equal(byMap.schema.sizeBytes, ROOT.length + PETS.length + SCHEMAS.length);
});

test('the hash is of all files, their names and their bounds, whatever their order', async () => {
	const hashOf = async (files: Record<string, string>): Promise<string> => (await read('openapi', { files })).schema.sha256;
	const first = await hashOf({ 'a.json': ROOT, 'b.txt': 'b' });
	assert.equal(await hashOf({ 'b.txt': 'b', 'a.json': ROOT }), first);
	for (const other of [
		{ 'a.json': ROOT, 'b.txt': 'c' },
		{ 'a.json': ROOT, 'c.txt': 'b' },
		{ 'a.json': ROOT },
		{ 'a.json': ROOT, 'b.txtb': '' },
	])
		assert.notEqual(await hashOf(other), first);
	const { schema } = await read('openapi', { schemaContent: ROOT });
	assert.equal(schema.sha256, createHash('sha256').update(ROOT).digest('hex'));
});

test('with several possible roots the user must choose one by entry', async () => {
	const files = {
		'v1.json': ROOT.replace('/pets', '/v1'),
		'v2.json': ROOT.replace('/pets', '/v2'),
		'paths/pets.yaml': PETS,
		'schemas.json': SCHEMAS,
	};
	const asked = await failure('openapi', { files });
	assert.deepEqual([asked.code, asked.path], ['schema_invalid', '/entry']);
	assert.match(asked.message, /"entry": v1\.json, v2\.json\.$/);
	assert.equal((await read('openapi', { files, entry: 'v2.json' })).operations[0]?.path, '/v2');
	const none = await failure('openapi', { files, entry: 'v3.json' });
	assert.deepEqual([none.code, none.path], ['schema_invalid', '/entry']);
});

test('files of another format are refused, naming the format that they look like', async () => {
	const schema = 'type Query { a: Int }';
	const error = await failure('openapi', { files: { 'readme.md': 'Read me.', 'schema.graphql': schema } });
	assert.match(error.message, /^The file schema\.graphql looks like graphql, but this API is of type openapi/);
	assert.equal(error.path, '/files/schema.graphql');
	const alone = await failure('openapi', { schemaContent: schema });
	assert.deepEqual([alone.code, alone.path], ['schema_invalid', '/schemaContent']);
	const bytes = await failure('openapi', { files: { 'a/b.json': { base64: Buffer.from([0x7b, 0xff]).toString('base64') } } });
	assert.deepEqual([bytes.message, bytes.path], ['The file a/b.json is not UTF-8 text.', '/files/a~1b.json']);
	assert.match((await failure('openapi', { files: { 'schema.graphql': schema } })).message, /looks like graphql/);
	assert.match((await failure('openapi', { files: { ...FILES, 's.graphql': schema }, entry: 's.graphql' })).message, /looks like graphql/);
	const nothing = await failure('openapi', { files: { 'a.md': 'a', 'b.md': 'b' } });
	assert.deepEqual([nothing.code, nothing.path], ['schema_invalid', '/files']);
	assert.match(nothing.message, /None of the files looks like openapi: a\.md, b\.md/);
	assert.match((await failure('openapi', { files: { 'a.md': 'a' } })).message, /not OpenAPI/);
});

test('an importer without roots gets all files at once, or the one that the user names', async () => {
	const files = { a: 'part a', b: 'part b', c: { base64: '/w==' } };
	const all = given(await read('rootless', { files }));
	assert.deepEqual([all.text, all.path, all.files], ['', null, ['a=706172742061', 'b=706172742062', 'c=ff']]);
	const one = given(await read('rootless', { files, entry: 'b' }));
	assert.deepEqual([one.text, one.path, one.files.length], ['part b', 'b', 3]);
	assert.match((await failure('rootless', { files: { a: 'x', b: 'y' } })).message, /None of the files looks like rootless/);
	assert.match((await failure('rootless', { files: { a: ROOT, b: 'y' } })).message, /The file a looks like openapi/);
});

test('a document that is not text reaches its importer as a file with its bytes', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.end(Buffer.from([0xff, 0x00])));
	const byUrl = await read('binary', { schemaUrl: `${upstream.origin}/api/set.pb?x=1` }, HERE);
	assert.deepEqual(given(byUrl), { text: '', path: 'set.pb', config: {}, files: ['set.pb=ff00'] });
	assert.equal(byUrl.schema.sizeBytes, 2);
	const byFiles = await read('binary', { files: { 'a.txt': 'a', 'set.pb': { base64: '/wA=' } } });
	assert.deepEqual([given(byFiles).text, given(byFiles).path], ['', 'set.pb']);
	const other = await failure('openapi', { schemaUrl: `${upstream.origin}/set.pb` }, HERE);
	assert.match(other.message, /looks like binary/);
});

test('a zip that a URL answers with is unpacked, and a bad one refused', async (t) => {
	const upstream = await httpUpstream(t, ({ url }, response) => {
		if (url === '/good.zip') response.end(Buffer.from(zipOf(FILES)));
		else if (url === '/bad.zip') response.end(Buffer.from(zipOf({ ...FILES, '../up': 'x' })));
		else response.end(Buffer.from(zipSync({ 'openapi.json': new Uint8Array(70 * 1024 * 1024) })));
	});
	const { schema, report } = await read('openapi', { schemaUrl: `${upstream.origin}/good.zip` }, HERE);
	assert.equal(schema.sourceUrl, `${upstream.origin}/good.zip`);
	assert.equal(report.counts.converted, 1);
	for (const name of ['bad', 'bomb']) {
		const error = await failure('openapi', { schemaUrl: `${upstream.origin}/${name}.zip` }, HERE);
		assert.deepEqual([error.code, error.path], ['validation_failed', '/schemaUrl'], error.message);
	}
});

test('options are checked by the importer’s own schema, and used', async () => {
	assert.deepEqual(given(await read('binary', { files: { a: { base64: '/w==' } }, options: { loud: true } })).config, { loud: true });
	for (const [type, options, path] of [
		['binary', { loud: 'yes' }, '/options/loud'],
		['binary', { other: 1 }, '/options/other'],
		['graphql', { pageSize: 0 }, '/options/pageSize'],
		['graphql', { depth: 9, maxLeaves: -1 }, '/options/depth'],
		['openapi', { serverVariables: { a: 7 } }, '/options/serverVariables/a'],
	] as const) {
		const error = await failure(type, { schemaContent: 'x', options });
		assert.deepEqual([error.code, error.path], ['validation_failed', path]);
	}
	const sdl = 'type Query { f: PConnection } type PConnection { items(first: Int): [P] } type P { id: ID q: Q } type Q { x: Int }';
	const { operations } = await read('graphql', { schemaContent: sdl, options: { pageSize: 3, depth: 1 } });
	assert.match(JSON.stringify(operations[0]?.definition), /items\(first: 3\) \{ id \}/);
});

test('a server’s variables are set by options', async () => {
	const variables = { region: { default: 'eu', enum: ['eu', 'us'] }, version: { default: 'v1' } };
	const schemaContent = JSON.stringify({
		openapi: '3.1.0',
		servers: [{ url: 'https://{region}.example.com/{version}', variables }],
		paths: {},
	});
	const servers = async (serverVariables: object): Promise<unknown> =>
		(await read('openapi', { schemaContent, options: { serverVariables } })).report.servers;
	assert.deepEqual(await servers({}), ['https://eu.example.com/v1']);
	assert.deepEqual(await servers({ region: 'us', version: 'v2' }), ['https://us.example.com/v2']);
	const outside = await failure('openapi', { schemaContent, options: { serverVariables: { region: 'mars' } } });
	assert.deepEqual([outside.code, outside.path], ['validation_failed', '/options/serverVariables/region']);
	assert.match(outside.message, /must be one of “eu”, “us”/);
	const unknown = await failure('openapi', { schemaContent, options: { serverVariables: { planet: 'mars' } } });
	assert.match(unknown.message, /no server has a variable “planet”: there are “region”, “version”/i);
});

test('references of a fetched document are fetched, through the guard', async (t) => {
	const asked: string[] = [];
	const upstream = await httpUpstream(t, ({ url = '' }, response) => {
		asked.push(url);
		const file = FILES[url.replace('/docs/', '') as keyof typeof FILES];
		response.writeHead(file === undefined ? 404 : 200).end(file);
	});
	const { report, operations } = await read('openapi', { schemaUrl: `${upstream.origin}/docs/openapi.json` }, HERE);
	assert.deepEqual(report.counts, { operations: 1, converted: 1, degraded: 0, skipped: 0 });
	assert.match(JSON.stringify(operations[0]?.parameters), /"friend":\{"\$ref":"#\/\$defs\/Pet_/);
	assert.deepEqual(asked, ['/docs/openapi.json', '/docs/paths/pets.yaml', '/docs/schemas.json']);
});

test('a reference to a private address or a file is a 400 that names it, and no request is sent', async (t) => {
	const { port, connections } = await canary(t);
	let ref = '';
	const upstream = await httpUpstream(t, (_request, response) => {
		const get = { responses: { 200: { $ref: ref } } };
		response.end(JSON.stringify({ openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: { '/a': { get } } }));
	});
	for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]']) {
		ref = `http://${host}:${port}/x.json#/y`;
		const error = await failure('openapi', { schemaUrl: `${upstream.origin}/openapi.json` }, [upstream.origin]);
		assert.equal(error.code, 'egress_refused', host);
		assert.ok(error.message.includes(ref.split('#')[0] ?? ''), error.message);
		assert.equal(error.path, '/paths/~1a/get/responses/200');
	}
	for (ref of ['http://169.254.169.254/latest/meta-data', 'file:///etc/passwd', 'FILE:/etc/passwd']) {
		const error = await failure('openapi', { schemaUrl: `${upstream.origin}/openapi.json` }, [upstream.origin]);
		assert.ok(['egress_refused', 'schema_invalid'].includes(error.code) && error.message.includes(ref), error.message);
		assert.equal(error.path, '/paths/~1a/get/responses/200');
	}
	assert.equal(connections(), 0);
});
