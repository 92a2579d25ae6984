// Undefined types: the methods that reach one are skipped, the others become tools.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

const proto = (body: string): string => `syntax = "proto3";\n${body}`;
const read = (files: Record<string, string>): Promise<Reading> =>
	readWith(importer, '', null, { files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])) });

const MISSING = '“a.proto” uses the type “other.B”, which is not defined, and these imports are missing: “other/b.proto”';

/** Messages that depend on the undefined type, each in another way, and the methods that reach them. */
const LACKING = `package p; import "other/b.proto"; import "google/protobuf/any.proto";
	message Fine { string a = 1; google.protobuf.Any any = 2; }
	message Field { other.B b = 1; }
	message List { repeated other.B b = 1; }
	message Values { map<string, other.B> b = 1; }
	message One { oneof one { other.B b = 1; string c = 2; } }
	message Far { repeated Far self = 1; map<string, List> lists = 2; }
	message Inner { message Deep { other.B b = 1; } }
	message Holder { Inner.Deep deep = 1; }
	message Alike { Inner inner = 1; }
	service S {
		rpc Call(Fine) returns (Fine); rpc Empty(Alike) returns (Fine);
		rpc Takes(other.B) returns (Fine); rpc Answers(Fine) returns (stream other.B);
		rpc Field(Field) returns (Fine); rpc Listed(Fine) returns (List); rpc Map(Values) returns (Fine); rpc One(One) returns (Fine);
		rpc Far(Fine) returns (Far); rpc Deep(Holder) returns (Fine);
	}`;

test('the methods that reach an undefined type are skipped, and no others', async () => {
	const { operations, warnings } = await read({
		'a.proto': proto(LACKING),
		'c.proto': proto('import "a.proto"; service T { rpc Near(p.Fine) returns (p.Fine); rpc Far(p.Field) returns (p.Fine); }'),
		'd.proto': proto('package p; import "a.proto"; service U { rpc Near(Fine) returns (Fine); rpc Far(Fine) returns (other.C); }'),
	});
	const converted = operations.filter(({ outcome }) => outcome === 'converted').map(({ key }) => key);
	assert.deepEqual(converted, ['p.S/Call', 'p.S/Empty', 'T/Near', 'p.U/Near']);
	const skipped = operations.filter(({ outcome }) => outcome === 'skipped');
	assert.equal(skipped.length, 10);
	assert.deepEqual(skipped.pop()?.reasons, ['“d.proto” uses the type “other.C”, which is not defined.']);
	for (const { key, reasons } of skipped) assert.deepEqual(reasons, [`${MISSING}.`], key);
	assert.deepEqual(
		warnings.map(({ message }) => message),
		['“other/b.proto” is missing, and methods that need its types are skipped.'],
	);
	// An Any may hold the messages of the method's file; those that depend on an undefined type are left out of its descriptors.
	const [call = assert.fail()] = operations;
	const { file } = fromBinary(FileDescriptorSetSchema, Buffer.from(String(call.definition['descriptors']), 'base64'));
	assert.deepEqual(
		file.flatMap(({ messageType }) => messageType.map(({ name }) => name)),
		['Fine', 'Inner', 'Alike'],
	);
});

test('an extension of an undefined type affects methods that reach the extended message; one of an undefined message affects none', async () => {
	const text = (inside: string) => `syntax = "proto2"; package p; import "other/b.proto"; message M { extensions 100 to 200; } message N {}
		${inside} service S { rpc Call(M) returns (N); rpc Spare(N) returns (N); }`;
	const outcomes = async (inside: string) =>
		(await read({ 'a.proto': text(inside) })).operations.map(({ outcome, reasons }) => [outcome, ...reasons]);
	assert.deepEqual(await outcomes('extend M { optional other.B b = 100; }'), [['skipped', `${MISSING}.`], ['converted']]);
	assert.deepEqual(await outcomes('message H { extend M { repeated other.B b = 100; } }'), [['skipped', `${MISSING}.`], ['converted']]);
	assert.deepEqual(await outcomes('extend other.B { optional string b = 100; }'), [['converted'], ['converted']]);
});

test('a descriptor set may lack a type as well, and a message may have the name of the substitute', async () => {
	const missing = { name: 'UndefinedType', field: [{ name: 'a', number: 1, label: 3, type: 11, typeName: '.other.B' }] };
	const method = [
		{ name: 'Call', inputType: '.M', outputType: '.M' },
		{ name: 'Other', inputType: '.other.B', outputType: '.M' },
		{ name: 'Third', inputType: '.M', outputType: '.UndefinedType' },
	];
	const file = { name: 'a.proto', syntax: 'proto3', messageType: [missing, { name: 'M' }], service: [{ name: 'S', method }] };
	const bytes = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file] }));
	const { operations } = await readWith(importer, '', null, { files: new Map([['a.pb', bytes]]) });
	const lost = '“a.proto” uses the type “.other.B”, which is not defined.';
	assert.deepEqual(
		operations.map(({ reasons }) => reasons),
		[[], [lost], [lost]],
	);
});

test('a file that uses a type of another without importing it is refused, naming both files and the type', async () => {
	const other = proto('package q; message B {} enum E { A = 0; } service T { rpc Call(B) returns (B); }');
	for (const [used, name] of [
		['message M { B b = 1; } service S { rpc Call(M) returns (M); }', 'B'],
		['message M { E e = 1; } service S { rpc Call(M) returns (M); }', 'E'],
		['message M {} service S { rpc Call(M) returns (q.B); }', 'B'],
	])
		await assert.rejects(read({ 'a.proto': proto(`package q; ${used}`), 'b.proto': other }), {
			message: `“a.proto” uses the type “q.${name}” of “b.proto”, which it does not import: add an import of that file.`,
		});
});
