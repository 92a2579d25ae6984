// What becomes of methods where a type is missing: those that reach it are skipped, the others are tools.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

const proto = (body: string): string => `syntax = "proto3";\n${body}`;
const read = (files: Record<string, string>): Promise<Reading> =>
	readWith(importer, '', null, { files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])) });

const MISSING = '“a.proto” uses the type “other.B”, which nothing defines, and what it imports is missing: “other/b.proto”';

/** Messages of which each lacks the type in another way, and the methods that reach them. */
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

test('a type that is missing skips the methods that reach it, and no others', async () => {
	const { operations, warnings } = await read({
		'a.proto': proto(LACKING),
		'c.proto': proto('import "a.proto"; service T { rpc Near(p.Fine) returns (p.Fine); rpc Far(p.Field) returns (p.Fine); }'),
		'd.proto': proto('package p; import "a.proto"; service U { rpc Near(Fine) returns (Fine); rpc Far(Fine) returns (other.C); }'),
	});
	const converted = operations.filter(({ outcome }) => outcome === 'converted').map(({ key }) => key);
	assert.deepEqual(converted, ['p.S/Call', 'p.S/Empty', 'T/Near', 'p.U/Near']);
	const skipped = operations.filter(({ outcome }) => outcome === 'skipped');
	assert.equal(skipped.length, 10);
	assert.deepEqual(skipped.pop()?.reasons, ['“d.proto” uses the type “other.C”, which nothing defines.']);
	for (const { key, reasons } of skipped) assert.deepEqual(reasons, [`${MISSING}.`], key);
	assert.deepEqual(
		warnings.map(({ message }) => message),
		['“other/b.proto” is missing, and what needs its types is skipped.'],
	);
	// The messages beside a method are what its Any may hold; those that lack something are left out of its descriptors.
	const [call = assert.fail()] = operations;
	const { file } = fromBinary(FileDescriptorSetSchema, Buffer.from(String(call.definition['descriptors']), 'base64'));
	assert.deepEqual(
		file.flatMap(({ messageType }) => messageType.map(({ name }) => name)),
		['Fine', 'Inner', 'Alike'],
	);
});

test('an extension lacks its own type, or what it extends: only the former matters to those who reach that', async () => {
	const text = (inside: string) => `syntax = "proto2"; package p; import "other/b.proto"; message M { extensions 100 to 200; } message N {}
		${inside} service S { rpc Call(M) returns (N); rpc Spare(N) returns (N); }`;
	const outcomes = async (inside: string) =>
		(await read({ 'a.proto': text(inside) })).operations.map(({ outcome, reasons }) => [outcome, ...reasons]);
	assert.deepEqual(await outcomes('extend M { optional other.B b = 100; }'), [['skipped', `${MISSING}.`], ['converted']]);
	assert.deepEqual(await outcomes('message H { extend M { repeated other.B b = 100; } }'), [['skipped', `${MISSING}.`], ['converted']]);
	assert.deepEqual(await outcomes('extend other.B { optional string b = 100; }'), [['converted'], ['converted']]);
});

test('a descriptor set may lack a type as well, and a message may be called as what stands in its place', async () => {
	const missing = { name: 'UndefinedType', field: [{ name: 'a', number: 1, label: 3, type: 11, typeName: '.other.B' }] };
	const method = [
		{ name: 'Call', inputType: '.M', outputType: '.M' },
		{ name: 'Other', inputType: '.other.B', outputType: '.M' },
		{ name: 'Third', inputType: '.M', outputType: '.UndefinedType' },
	];
	const file = { name: 'a.proto', syntax: 'proto3', messageType: [missing, { name: 'M' }], service: [{ name: 'S', method }] };
	const bytes = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file] }));
	const { operations } = await readWith(importer, '', null, { files: new Map([['a.pb', bytes]]) });
	const lost = '“a.proto” uses the type “.other.B”, which nothing defines.';
	assert.deepEqual(
		operations.map(({ reasons }) => reasons),
		[[], [lost], [lost]],
	);
});
