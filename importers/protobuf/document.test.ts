// Uploads that are read and refused, with their messages: files that import each other, descriptor sets, hostile texts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { asGatewayError, type GatewayError } from '../../core/index.ts';
import { shopFiles } from '../../test/helpers/grpc.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import { silent } from '../../test/helpers/silent.ts';
import { BUNDLES, bundle } from '../../test/protobuf-bundled.ts';
import { BUNDLED_PROTOS } from './bundled-protos.ts';
import { readDescription } from './document.ts';
import importer from './index.ts';

const proto = (body: string, syntax = 'proto3'): string => `syntax = "${syntax}";\n${body}`;
const SERVICE = 'service S { rpc Call(M) returns (M); }';
const upload = (files: Record<string, string>): Map<string, Uint8Array> =>
	new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
const read = (files: Record<string, string>): Promise<Reading> => readWith(importer, '', null, { files: upload(files) });
const keys = ({ operations }: Reading): string[] => operations.map(({ key }) => key);

async function refusal(reading: Promise<unknown>): Promise<GatewayError> {
	const error = await reading.then(
		() => assert.fail('it was read'),
		(reason: unknown) => asGatewayError(reason) ?? assert.fail(reason as Error),
	);
	assert.equal(error.code, 'schema_invalid', error.message);
	assert.ok(error.message.length < 600, error.message);
	return error;
}

test('one text is read without files, and files without a text', async () => {
	const text = proto(`message M { string a = 1; } ${SERVICE}`);
	assert.deepEqual(keys(await readWith(importer, text)), ['S/Call']);
	assert.deepEqual(keys(await read({ 'a.proto': text })), ['S/Call']);
	assert.deepEqual(keys(await readWith(importer, `\ufeff${text}`)), ['S/Call']);
});

test('every syntax and edition is read, and named in the summary', async () => {
	const reading = await readWith(importer, '', null, { files: shopFiles() });
	assert.equal(reading.summary.format, 'protobuf edition 2023, edition 2024, proto2, proto3');
	assert.equal(reading.operations.length, 15);
});

test('an import is found by its path, or by the end of a path, the nearest to the importing file', async () => {
	const service = (from: string): string => proto(`package ${from}; import "types.proto"; service S { rpc Call(M) returns (M); }`);
	const types = (from: string, field: string): string => proto(`package ${from}; message M { string ${field} = 1; }`);
	const { operations } = await read({
		'one/s.proto': service('one'),
		'one/types.proto': types('one', 'first'),
		'two/s.proto': service('two'),
		'two/types.proto': types('two', 'second'),
		'README.md': 'not a proto',
	});
	assert.deepEqual(
		operations.map(({ key, name, parameters }) => [key, name, Object.keys(parameters['properties'] ?? {})]),
		[
			['one.S/Call', 'one_S_Call', ['first']],
			['two.S/Call', 'two_S_Call', ['second']],
		],
	);
});

test('well-known and Google’s common files need not be uploaded, and vendored copies of the former are ignored', async () => {
	const { operations } = await read({
		't.proto': proto('import "vendor/google/protobuf/timestamp.proto"; message T { google.protobuf.Timestamp at = 1; }'),
		's.proto':
			proto(`import "t.proto"; import "google/protobuf/timestamp.proto"; import "google/type/money.proto"; import "google/rpc/status.proto";
			message M { google.protobuf.Timestamp at = 1; google.type.Money price = 2; google.rpc.Status status = 3; } ${SERVICE}`),
		'vendor/google/protobuf/timestamp.proto': proto('package google.protobuf; message Timestamp { int32 odd = 1; }'),
	});
	const { properties, $defs } = (operations[0] ?? assert.fail()).parameters as { properties: object; $defs: object };
	assert.deepEqual(Object.keys(properties), ['at', 'price', 'status']);
	assert.equal(properties['at' as never]['format'], 'date-time');
	assert.deepEqual(Object.keys($defs), ['google.type.Money', 'google.rpc.Status']);
});

test('a bundled file imports the copies of Google’s common files in the upload, wherever they are', async () => {
	const http = 'package google.api; message Http { string note = 1; } message HttpRule { string get = 2; }';
	const reading = await read({
		'a.proto': proto(`import "google/api/http.proto"; import "google/longrunning/operations.proto";
			message M { google.api.Http http = 1; google.longrunning.Operation operation = 2; } ${SERVICE}`),
		'third_party/google/api/http.proto': proto(http),
	});
	assert.deepEqual(keys(reading), ['S/Call']);
	assert.match(JSON.stringify(reading.operations[0]?.parameters), /"note"/);
});

test('a missing import is a warning if only its options are used, and an error that names both if all methods need it', async () => {
	const text = proto(`import "gogoproto/gogo.proto"; message M { string a = 1 [(gogoproto.nullable) = false]; } ${SERVICE}`);
	const reading = await read({ 'a.proto': text });
	assert.deepEqual(keys(reading), ['S/Call']);
	assert.deepEqual(reading.warnings, [
		{ fields: { pointer: 'gogoproto/gogo.proto' }, message: '“gogoproto/gogo.proto” is missing, and its options are ignored.' },
	]);
	const needed = await refusal(read({ 'a.proto': proto(`import "other/b.proto"; message M { other.B b = 1; } ${SERVICE}`) }));
	assert.equal(needed.message, '“a.proto” uses the type “other.B”, which is not defined, and these imports are missing: “other/b.proto”.');
	assert.deepEqual(needed.details[0]?.path, 'a.proto');
});

for (const path of [
	'../secret.proto',
	'/etc/passwd',
	'a/../../b.proto',
	'./a.proto',
	'file:///etc/passwd',
	'https://x.example/a.proto',
	'a\\\\b.proto',
])
	test(`an import of ${path} is refused`, async () => {
		const error = await refusal(read({ 'a.proto': proto(`import "${path}"; message M {} ${SERVICE}`) }));
		assert.match(error.message, /only files of the upload/);
	});

test('files that no service needs may contradict each other, those that one needs may not', async () => {
	const spare = { 'x.proto': proto('message Twice { string a = 1; }'), 'y.proto': proto('message Twice { string b = 1; }') };
	const text = proto(`message M {} ${SERVICE}`);
	assert.deepEqual(keys(await read({ 's.proto': text, ...spare })), ['S/Call']);
	const error = await refusal(read({ 's.proto': proto(`import "x.proto"; import "y.proto"; message M {} ${SERVICE}`), ...spare }));
	assert.match(error.message, /“y.proto” and “x.proto” both define “Twice”/);
});

test('one file under two paths is one file', async () => {
	const text = proto(`message M {} ${SERVICE}`);
	const user = proto('import "b/m.proto"; service T { rpc Call(M) returns (M); }');
	assert.deepEqual(keys(await read({ 'a/m.proto': text, 'b/m.proto': text, 'c.proto': user })), ['S/Call', 'T/Call']);
});

test('circular imports are refused', async () => {
	const error = await refusal(
		read({ 'a.proto': proto(`import "b.proto"; message M {} ${SERVICE}`), 'b.proto': proto('import "a.proto"; message B {}') }),
	);
	assert.match(error.message, /“a.proto” imports itself/);
});

test('a name means the innermost type that has it', async () => {
	const { operations } = await read({
		'a.proto': proto(`package p.q; message X { string outer = 1; }
			message M { message X { string inner = 1; } X x = 1; .p.q.X y = 2; q.X z = 3; p.q.M.X w = 4; } ${SERVICE}`),
	});
	const { properties } = (operations[0] ?? assert.fail()).parameters as { properties: Record<string, { $ref: string }> };
	assert.deepEqual(
		Object.values(properties).map(({ $ref }) => $ref),
		['#/$defs/p.q.M.X', '#/$defs/p.q.X', '#/$defs/p.q.X', '#/$defs/p.q.M.X'],
	);
});

test('an optional field of proto3 is not a oneof, even before one', () => {
	const { registry } = readDescription({ text: '', files: shopFiles() }, silent);
	const everything = registry.getMessage('shop.v1.Everything');
	assert.deepEqual(
		everything?.oneofs.map(({ name, fields }) => [name, fields.map((field) => field.name)]),
		[['choice', ['text', 'tree', 'nothing']]],
	);
	assert.deepEqual(
		everything?.proto.oneofDecl.map(({ name }) => name),
		['choice', '_maybe'],
	);
});

test('a descriptor set gives the same operations as the texts that it was made of', async () => {
	const { registry } = readDescription({ text: '', files: shopFiles() }, silent);
	const set = create(FileDescriptorSetSchema, { file: [...registry.files].map(({ proto: file }) => file) });
	const files = new Map([['shop.binpb', toBinary(FileDescriptorSetSchema, set)]]);
	const plain = ({ operations }: Reading) =>
		operations
			.map(({ description: _, ...rest }) => JSON.parse(JSON.stringify(rest, (key, value) => (key === 'description' ? undefined : value))))
			.toSorted((a, b) => (a.key < b.key ? -1 : 1));
	const fromText = await readWith(importer, '', null, { files: shopFiles() });
	const fromSet = await readWith(importer, '', null, { files });
	const own = plain(fromSet).filter(({ key }) => !key.startsWith('google.'));
	assert.deepEqual(own, plain(fromText));
	assert.equal(importer.detect('', files.get('shop.binpb') ?? Buffer.of()), 1);
});

test('comments of a descriptor set are descriptions', async () => {
	const file = {
		name: 'a.proto',
		syntax: 'proto3',
		messageType: [{ name: 'M', field: [{ name: 'a', number: 1, label: 1, type: 9 }] }],
		service: [{ name: 'S', method: [{ name: 'Call', inputType: '.M', outputType: '.M' }] }],
		sourceCodeInfo: {
			location: [
				{ path: [6, 0, 2, 0], span: [0, 0, 0], leadingComments: ' Calls.\n' },
				{ path: [4, 0, 2, 0], span: [0, 0, 0], trailingComments: '/ A field.\n/\n/   Of text: /v1.\n' },
			],
		},
	};
	const bytes = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file] }));
	const { operations } = await readWith(importer, '', null, { files: new Map([['set.pb', bytes]]) });
	assert.equal(operations[0]?.description, 'Calls.');
	assert.deepEqual(operations[0]?.parameters['properties'], { a: { type: 'string', description: 'A field.\n\nOf text: /v1.' } });
});

/** Imports a descriptor set with the message M and the given parts. */
function setOf({ field = [], ...more }: { field?: object[]; messageType?: object[]; enumType?: object[]; service?: object[] }): Uint8Array {
	const { messageType = [], ...rest } = more;
	const service = [{ name: 'S', method: [{ name: 'Call', inputType: '.M', outputType: '.M' }] }];
	const file = { name: 'a.proto', syntax: 'proto3', service, messageType: [{ name: 'M', field }, ...messageType], ...rest };
	return toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file as object] }));
}
const field = (name: string, number: number, more: object = {}): object => ({ name, number, label: 1, type: 9, ...more });
const numbered = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));
const entry = (...fields: object[]): object => ({
	field: [field('a', 1, { label: 3, type: 11, typeName: '.M.E' })],
	messageType: [{ name: 'N', nestedType: [{ name: 'E', field: fields, options: { mapEntry: true } }] }],
});
const method = { name: 'Call', inputType: '.M', outputType: '.M' };
const WRONG_SETS: [what: string, given: Parameters<typeof setOf>[0], says: RegExp][] = [
	['a field without a number', { field: [field('a', 0)] }, /“a.proto” .*the number of the field “M.a” is 0: it must be from 1/],
	['a number below', { field: [field('a', -5)] }, /is -5/],
	['a number above', { field: [field('a', 2 ** 29)] }, /is 536870912/],
	['a field without a type', { field: [{ name: 'a', number: 1 }] }, /the field “M.a” has no type/],
	['a message of no name', { field: [field('a', 1, { type: 11 })] }, /the field “M.a” has no type/],
	['a name twice', { field: [field('a', 1), field('a', 2)] }, /“a” is twice a field of “M”/],
	['a number twice', { field: [field('a', 1), field('b', 1)] }, /“1” is twice a number of a field of “M”/],
	['a method twice', { service: [{ name: 'S', method: [method, method] }] }, /“Call” is twice a method of “S”/],
	['a name that is none', { field: [field('a/b', 1)] }, /“a\/b” is not a valid name/],
	['a service without a name', { service: [{ method: [method] }] }, /“” is not a valid name/],
	['a long name', { field: [field('a'.repeat(257), 1)] }, /the name “a{50}…” is too long: at most 256 characters, 512 in full/],
	['a long name in JSON', { field: [field('a', 1, { jsonName: 'a'.repeat(257) })] }, /the "json_name" of “M.a” is longer than 256/],
	['a long full name', { messageType: [{ name: 'A'.repeat(256), nestedType: [{ name: 'B'.repeat(256) }] }] }, /is too long/],
	['an enum without values', { enumType: [{ name: 'E' }] }, /the enum “E” has no value/],
	['an entry of three', entry(field('key', 1), field('value', 2), field('more', 3)), /“N.E” is not an entry of a map/],
	['an entry by a message', entry(field('key', 1, { type: 11, typeName: '.M' }), field('value', 2)), /“N.E” is not an entry of a map/],
	['2,001 fields', { field: numbered(2001, (index) => field(`f${index}`, index + 1)) }, /“M” has more than 2000 fields/],
];
for (const [what, given, says] of WRONG_SETS)
	test(`a descriptor set with ${what} is refused, naming it`, async () => {
		const error = await refusal(readWith(importer, '', null, { files: new Map([['a.pb', setOf(given)]]) }));
		assert.match(error.message, says);
		assert.equal(error.details[0]?.path, 'a.proto');
	});

test('a message with the most fields allowed is read, and so are more values and methods than that', async () => {
	const files = new Map([['a.pb', setOf({ field: numbered(2000, (index) => field(`f${index}`, index + 1)) })]]);
	assert.deepEqual(keys(await readWith(importer, '', null, { files })), ['S/Call']);
	const values = numbered(2100, (index) => `V${index} = ${index};`).join(' ');
	const methods = numbered(2100, (index) => `rpc C${index}(M) returns (M);`).join(' ');
	const text = `edition = "2024"; message M { string a = 1; } export enum E { ${values} } service S { ${methods} }`;
	assert.equal((await readWith(importer, text)).operations.length, 2100);
});

const DEEP = 3_000;
const REFUSED: [what: string, text: string, says: RegExp][] = [
	['nothing in it', ' \n', /neither a \.proto file nor a descriptor set/],
	['a syntax error', proto('message M { string = 1; }'), /“schema.proto” cannot be read: .*line 2/],
	['an unknown syntax', 'syntax = "proto4"; message M {}', /there is no syntax “proto4”/],
	['an unknown edition', 'edition = "2099"; message M {}', /edition '2099'/],
	['3,000 messages in each other', proto(`${'message M {'.repeat(DEEP)}${'}'.repeat(DEEP)}`), /max depth|too deeply/],
	['a type that nothing defines', proto('service S { rpc Call(Nothing) returns (Nothing); }'), /the type “Nothing”, which is not defined/],
	['an enum for a request', proto('enum E { A = 0; } service S { rpc Call(E) returns (E); }'), /the type “E”/],
	['a field twice', proto(`message M { string a = 1; string a = 2; } ${SERVICE}`), /duplicate/],
	['a number twice', proto(`message M { string a = 1; string b = 1; } ${SERVICE}`), /duplicate/],
	['a number that no field has', proto(`message M { string a = 99999999999; } ${SERVICE}`), /the number of the field “M.a” is 99999999999/],
	['a value of more than 32 bits', proto(`enum E { A = 0; B = 4294967296; } message M {} ${SERVICE}`), /the number of “B” is 4294967296/],
	['an enum without values', proto(`enum E {} message M {} ${SERVICE}`), /the enum “E” has no value/],
	['a name of a megabyte', proto(`message M { string ${'a'.repeat(1_000_000)} = 1; } ${SERVICE}`), /is too long/],
	['a package of a message', proto(`message M {} ${SERVICE}`).concat('\npackage M;'), /illegal token/],
];
for (const [what, text, says] of REFUSED)
	test(`a file with ${what} is refused`, async () => {
		assert.match((await refusal(readWith(importer, text))).message, says);
	});

test('without a service there is nothing to call, which is refused', async () => {
	for (const text of ['message M {}', 'message M {} service S {}'])
		assert.equal(
			(await refusal(readWith(importer, proto(text)))).message,
			'The files define no service with a method: there is nothing to call.',
		);
	const files = upload({ 'a.proto': proto('message M {}'), 'b.proto': proto(`import "a.proto"; ${SERVICE}`) });
	assert.match((await refusal(readWith(importer, '', null, { files, path: 'a.proto' }))).message, /no service with a method/);
});

test('bytes that only begin like a descriptor set are refused, and so are texts that are not UTF-8', async () => {
	const bytes = Buffer.concat([Buffer.from([0x0a, 0x10, 0x0a, 0x07]), Buffer.from('a.proto'), Buffer.from([0xff, 0xff, 0xff])]);
	assert.match(
		(await refusal(readWith(importer, '', null, { files: new Map([['a.pb', bytes]]) }))).message,
		/“a.pb” is not a descriptor set/,
	);
	assert.match((await refusal(readWith(importer, '', null, { files: new Map([['a.proto', Buffer.of(0xff)]]) }))).message, /not UTF-8/);
});

for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
	test(`a description whose every name is ${name} does no harm`, async () => {
		const text = proto(
			`package p; message ${name} { string ${name} = 1; ${name} x = 2; } service S { rpc ${name}(M) returns (M); } message M { string ${name} = 1 [json_name = "__proto__"]; }`,
		);
		const { operations } = await readWith(importer, text).catch(() => ({ operations: [] }));
		for (const { parameters } of operations) assert.equal(Object.getPrototypeOf(parameters['properties']), Object.prototype);
		assert.equal(({} as Record<string, unknown>)['type'], undefined);
	});

test('detection is sure of a syntax or an rpc, less of messages alone, and never of other languages', () => {
	const detect = (text: string): number => importer.detect(text, Buffer.from(text));
	assert.equal(detect('// Licence\n/* more */ syntax = "proto3"; message M {}'), 1);
	assert.equal(detect('edition = "2023";'), 1);
	assert.ok(detect('service S {\n rpc Call (M) returns (M) {}\n}') > 0.9);
	assert.equal(detect('message M { required string a = 1; }'), 0.8);
	for (const other of [
		'type Query { a: Int }',
		'enum E { A B }',
		'{"openapi":"3.1.0"}',
		'openapi: 3.1.0',
		'<definitions/>',
		'message: hello',
		'',
	])
		assert.equal(detect(other), 0, other);
});

test('the bundled files are those of google-gax', () => {
	assert.deepEqual(Buffer.from(bundle(BUNDLES.importer.patterns)), gunzipSync(Buffer.from(BUNDLED_PROTOS, 'base64')));
	const text = readFileSync(BUNDLES.executor.target, 'utf8');
	const base64 = /'([A-Za-z0-9+/=]+)'/.exec(text)?.[1] ?? '';
	assert.deepEqual(Buffer.from(bundle(BUNDLES.executor.patterns)), gunzipSync(Buffer.from(base64, 'base64')));
});
