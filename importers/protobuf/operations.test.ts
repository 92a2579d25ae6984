// Methods → operations → tools: names, keys, the executor's config, and the effect of import options.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { JsonObject } from '../../core/index.ts';
import { config } from '../../plugins/executors/grpc/config.ts';
import { shopFiles } from '../../test/helpers/grpc.ts';
import { importTools } from '../../test/helpers/grpc-run.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import { CERTIFICATE } from '../../test/helpers/upstream.ts';
import importer from './index.ts';

let shop: Reading;
before(async () => {
	shop = await readWith(importer, '', null, { files: shopFiles() });
});
const find = (name: string) => shop.operations.find((one) => one.name === name) ?? assert.fail(`no ${name}`);

test('an operation has service and name as its key, the kind as its method, and the path of the call', () => {
	const { key, method, path, operationId, tags, deprecated } = find('Shop_Watch');
	assert.deepEqual(
		{ key, method, path, operationId, tags, deprecated },
		{
			key: 'shop.v1.Shop/Watch',
			method: 'SERVER_STREAM',
			path: '/shop.v1.Shop/Watch',
			operationId: 'Shop_Watch',
			tags: ['shop.v1.Shop'],
			deprecated: false,
		},
	);
	assert.deepEqual(
		['Shop_Echo', 'Shop_Upload', 'Shop_Chat'].map((name) => find(name).method),
		['UNARY', 'CLIENT_STREAM', 'BIDI_STREAM'],
	);
	assert.deepEqual([find('Shop_Sell').deprecated, find('Shop_Sell').description], [true, 'Deprecated. Shop.Sell']);
});

test('names do not depend on the order of files, and services of one name get their packages', async () => {
	const service = (name: string): string =>
		`syntax = "proto3"; package ${name}; message M {} service S { rpc Call(M) returns (M); rpc call(M) returns (M); }`;
	const read = async (...names: string[]) => {
		const files = new Map(names.map((name, index) => [`${index}.proto`, Buffer.from(service(name))]));
		return Object.fromEntries((await readWith(importer, '', null, { files })).operations.map(({ key, name }) => [key, name]));
	};
	const first = await read('a.v1', 'b.v1');
	assert.deepEqual(await read('b.v1', 'a.v1'), first);
	assert.match(first['a.v1.S/Call'] ?? '', /^a_v1_S_Call_[0-9a-f]{8}$/);
	assert.equal(new Set(Object.values(first)).size, 4);
});

test('a tool has the descriptors of the types that its method reaches, and of nothing else', () => {
	const { definition } = find('Shop_GetItem');
	const { file } = fromBinary(FileDescriptorSetSchema, Buffer.from(String(definition['descriptors']), 'base64'));
	assert.deepEqual(
		file.map(({ name, messageType, service }) => [
			name,
			messageType.map((one) => one.name),
			service.map(({ method }) => method.map((one) => one.name)),
		]),
		[['shop.proto', ['Item', 'GetItemRequest'], [['GetItem']]]],
	);
	assert.ok(String(definition['descriptors']).length < 400);
	const whole = fromBinary(FileDescriptorSetSchema, Buffer.from(String(find('Shop_Echo').definition['descriptors']), 'base64'));
	const everything = whole.file.flatMap(({ messageType }) => messageType).find(({ name }) => name === 'Everything');
	const maybe = everything?.field.find(({ name }) => name === 'maybe');
	assert.deepEqual([maybe?.proto3Optional, maybe?.oneofIndex], [true, 1]);
});

test('descriptors are the bytes that the library writes, although they are joined of pieces', async () => {
	const nested = `edition = "2023"; package n; enum E { A = 0; B = 1; } extend Out { string top = 100; }
		message Out { extensions 100 to 200; map<string, In> all = 1; oneof o { E e = 2; In.Deep deep = 3; } Shell.Kept kept = 4;
			message In { Deep deep = 1; enum F { X = 0; Y = 5; } F f = 2 [features.field_presence = IMPLICIT];
				message Deep { repeated int32 list = 1 [features.repeated_field_encoding = EXPANDED]; Out out = 2; } extend Out { string inner = 101; } } }
		message Shell { message Kept { string snake_name = 1 [json_name = "other"]; } message Left {} }
		service S { rpc Get(Out) returns (Out); rpc Some(Shell.Kept) returns (stream Shell.Kept); }`;
	const files = new Map([['n.proto', Buffer.from(nested)]]);
	const { operations } = await readWith(importer, '', null, { files });
	assert.equal(operations.length, 2);
	for (const { key, definition } of [...operations, ...shop.operations]) {
		const bytes = Buffer.from(String(definition['descriptors']), 'base64');
		const again = toBinary(FileDescriptorSetSchema, fromBinary(FileDescriptorSetSchema, bytes));
		assert.equal(Buffer.from(again).toString('hex'), bytes.toString('hex'), key);
	}
});

test('the answer of a long-running operation is among its descriptors, though only an Any holds it', () => {
	const { file } = fromBinary(FileDescriptorSetSchema, Buffer.from(String(find('Shop_Sell').definition['descriptors']), 'base64'));
	const names = file.flatMap((one) => one.messageType.map(({ name }) => `${one.package}.${name}`));
	for (const name of ['shop.v1.Item', 'shop.v1.Summary', 'google.longrunning.Operation', 'google.rpc.Status'])
		assert.ok(names.includes(name), name);
});

test('the executor accepts the config of every tool, and only methods without side effects are read-only', async () => {
	const tools = await importTools(importer, shopFiles());
	assert.equal(tools.size, 15);
	for (const { executor, executionConfig } of tools.values()) {
		assert.equal(executor, 'grpc');
		await config.validateAsync(executionConfig);
	}
	const readOnly = [...tools.values()].filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name);
	assert.deepEqual(readOnly, ['Shop_GetItem', 'Shop_ListItems']);
});

test('for HTTP the rules are passed on, methods without one are skipped, and fields in the path are required', async () => {
	const tools = await importTools(importer, shopFiles(), { protocol: 'http' });
	assert.deepEqual([...tools.keys()].toSorted(), shop.operations.map(({ name }) => name).toSorted());
	const bindings = (name: string) => tools.get(name)?.executionConfig['bindings'];
	assert.deepEqual(bindings('Shop_GetItem'), [
		{ method: 'GET', path: '/v1/{name=shelves/*/items/*}' },
		{ method: 'GET', path: '/v1/items/{name=**}:find' },
	]);
	assert.deepEqual(bindings('Shop_ListItems'), [{ method: 'GET', path: '/v1/{parent}/items' }]);
	assert.deepEqual(bindings('Shop_CreateItem'), [{ method: 'POST', path: '/v1/{parent=shelves/*}/items', body: 'item' }]);
	assert.deepEqual(tools.get('Shop_ListItems')?.parameters['required'], ['parent']);
	assert.equal(tools.get('Shop_GetItem')?.outputSchema, null);
	const { operations } = await readWith(
		{ ...importer, parse: (source, _none, context) => importer.parse(source, { protocol: 'http' }, context) },
		'',
		null,
		{
			files: shopFiles(),
		},
	);
	const skipped = operations.filter(({ outcome }) => outcome === 'skipped');
	assert.equal(skipped.length, 11);
	assert.deepEqual(skipped.find(({ name }) => name === 'Shop_Wait')?.reasons, [
		'It has no google.api.http rule, and the import asks for HTTP.',
	]);
});

test('options of an import reach every tool, and wrong ones are refused', async () => {
	const rootCertificates = CERTIFICATE;
	const tools = await importTools(importer, shopFiles(), { rootCertificates, timeoutMs: 5 });
	for (const { executionConfig } of tools.values()) {
		const { rootCertificates: roots, timeoutMs, protocol } = executionConfig as JsonObject;
		assert.deepEqual([roots, timeoutMs, protocol], [rootCertificates, 5, 'grpc']);
	}
	await assert.rejects(importTools(importer, shopFiles(), { protocol: 'smtp' }), /"protocol" must be one of/);
	await assert.rejects(importTools(importer, shopFiles(), { rootCertificates: 'x' }), /must be PEM certificates/);
});

test('an option that is set item by item has all items, and one set member by member has all members', async () => {
	const { operations } = await readWith(
		importer,
		`syntax = "proto3"; import "google/api/annotations.proto"; import "google/api/field_behavior.proto";
		message M {
			string a = 1;
			string b = 2 [(google.api.field_behavior) = REQUIRED, (google.api.field_behavior) = IMMUTABLE];
			string c = 3 [(google.api.field_behavior) = OUTPUT_ONLY, (.google.api.field_behavior) = IMMUTABLE];
		}
		service S { rpc Call(M) returns (M) { option (google.api.http).post = "/v1/{a}:go"; option (google.api.http).body = "*"; } }`,
		null,
		{ options: { protocol: 'http' } },
	);
	const { parameters, definition } = operations[0] ?? assert.fail();
	assert.deepEqual(
		[Object.keys(parameters['properties'] ?? {}), parameters['required']],
		[
			['a', 'b'],
			['b', 'a'],
		],
	);
	assert.deepEqual(definition['bindings'], [{ method: 'POST', path: '/v1/{a}:go', body: '*' }]);
});

test('of the definition, a new field changes only what describes the messages', async () => {
	const definitionWith = async (fields: string): Promise<JsonObject> => {
		const text = `syntax = "proto3"; message M { string a = 1; ${fields} } service S { rpc Call(M) returns (M); }`;
		const { operations } = await readWith(importer, text);
		return operations[0]?.definition ?? assert.fail('no operation');
	};
	const [before, after] = [await definitionWith(''), await definitionWith('int32 b = 2;')];
	const changed = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
	assert.deepEqual(changed, importer.messageTypes);
});
