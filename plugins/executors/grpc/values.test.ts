// Values of every type, as a server with another library reads and writes them, and values that are refused before they are sent.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../core/index.ts';
import { failure } from '../../../test/helpers/egress.ts';
import { grpcServer } from '../../../test/helpers/grpc.ts';
import { run } from '../../../test/helpers/grpc-run.ts';

/** Arguments, each with the message that the server, by its own library, must have received. */
const VALUES: [what: string, args: JsonObject, got: object, back?: JsonObject][] = [
	['doubles', { aDouble: -1.5 }, { a_double: -1.5 }],
	['NaN', { aDouble: 'NaN', aFloat: 'Infinity' }, { a_double: Number.NaN, a_float: Number.POSITIVE_INFINITY }],
	['negative infinity', { aDouble: '-Infinity' }, { a_double: Number.NEGATIVE_INFINITY }],
	[
		'the extremes of 32 bits',
		{ anInt32: -(2 ** 31), aUint32: 2 ** 32 - 1, aSint32: -1, aFixed32: 7, aSfixed32: -7 },
		{ an_int32: -(2 ** 31), a_uint32: 2 ** 32 - 1, a_sint32: -1, a_fixed32: 7, a_sfixed32: -7 },
	],
	[
		'the extremes of 64 bits',
		{
			anInt64: '-9223372036854775808',
			aUint64: '18446744073709551615',
			aSint64: '9223372036854775807',
			aFixed64: '9007199254740993',
			aSfixed64: '-1',
		},
		{ an_int64: -(2n ** 63n), a_uint64: 2n ** 64n - 1n, a_sint64: 2n ** 63n - 1n, a_fixed64: 9007199254740993n, a_sfixed64: -1n },
	],
	['64 bits as a number', { anInt64: 5 }, { an_int64: 5n }, { anInt64: '5' }],
	['booleans and texts', { aBool: true, aString: 'ü😀' }, { a_bool: true, a_string: 'ü😀' }],
	['bytes', { someBytes: 'AAH/' }, { some_bytes: Buffer.of(0, 1, 255) }],
	['bytes in the alphabet of URLs', { someBytes: '_-8' }, { some_bytes: Buffer.of(255, 239) }, { someBytes: '/+8=' }],
	['enums', { color: 'BLUE' }, { color: 'BLUE' }],
	['lists', { numbers: [1, -2], unpacked: ['3'] }, { numbers: [1, -2], unpacked: [3n] }],
	[
		'maps',
		{ byName: { a: '1', '': '2' }, byNumber: { '-1': { label: 'x' } }, byFlag: { true: 'RED' } },
		{ by_name: { a: 1n, '': 2n }, by_number: { '-1': { label: 'x' } }, by_flag: { true: 'RED' } },
	],
	['an optional zero', { maybe: 0 }, { maybe: 0 }],
	['one of several texts', { text: '' }, { text: '' }],
	['one of several messages', { tree: { label: 'x' } }, { tree: { label: 'x' } }],
	['one of several nulls', { nothing: null }, { nothing: 'NULL_VALUE' }],
	['recursion', { root: { branches: [{ label: 'a', branches: [{}] }] } }, { root: { branches: [{ label: 'a', branches: [{}] }] } }],
	['a name of its own', { 'other-name': 'x' }, { renamed: 'x' }],
	['a message of another file', { price: { currency: 'EUR', units: '3' } }, { price: { currency: 'EUR', units: 3n } }],
	['timestamps', { at: '2024-02-29T12:00:00.123456789Z' }, { at: { seconds: 1709208000n, nanos: 123456789 } }],
	['timestamps of another zone', { at: '1969-12-31T23:00:00-01:00' }, { at: {} }, { at: '1970-01-01T00:00:00Z' }],
	['durations', { lasts: '-1.5s' }, { lasts: { seconds: -1n, nanos: -500000000 } }, { lasts: '-1.500s' }],
	['field masks', { mask: 'a,bC.d' }, { mask: { paths: ['a', 'b_c.d'] } }],
	['structs', { struct: { a: [1, { b: null }] }, value: null, list: ['x'] }, {}],
	['empty messages', { empty: {} }, { empty: {} }],
	[
		'wrappers',
		{ int64Value: '7', boolValue: false, stringValue: '', bytesValue: 'AA==', doubleValue: 'NaN', uint32Value: 0 },
		{ int64_value: { value: 7n }, bool_value: {}, string_value: {}, bytes_value: { value: Buffer.of(0) }, uint32_value: {} },
	],
	[
		'an Any',
		{ any: { '@type': 'type.googleapis.com/shop.v1.Money', units: '1' } },
		{ any: { type_url: 'type.googleapis.com/shop.v1.Money', value: Buffer.of(16, 1) } },
	],
	[
		'an Any of a well-known type',
		{ any: { '@type': 'type.googleapis.com/google.protobuf.Duration', value: '1s' } },
		{ any: { type_url: 'type.googleapis.com/google.protobuf.Duration', value: Buffer.of(8, 1) } },
	],
];
for (const [what, args, got, back = args] of VALUES)
	test(`${what}: the server gets what was meant, and what it gives back is the same JSON`, async (t) => {
		const server = await grpcServer(t);
		const result = await run(t, server, 'Shop_Echo', args);
		assert.partialDeepStrictEqual(server.requests[0], got);
		assert.deepEqual(result.structured, back);
	});

test('groups, extensions and required fields of proto2 arrive, and go back', async (t) => {
	const server = await grpcServer(t);
	const request = {
		id: 'x',
		author: [{ name: 'A', born: 1 }],
		cover: { color: 'red' },
		kind: 'PAPER',
		packed: [1, 2],
		'[shop.legacy.isbn]': '12',
		'[shop.legacy.Shelf.shelf]': [{ number: 3 }],
	};
	const { structured } = await run(t, server, 'Library_Echo', { request });
	assert.deepEqual(structured, request);
	assert.partialDeepStrictEqual(server.requests[0], {
		id: 'x',
		author: [{ name: 'A', born: 1 }],
		cover: { color: 'red' },
		kind: 'PAPER',
		'.shop.legacy.isbn': '12',
	});
	assert.match((await failure(run(t, server, 'Library_Echo', { request: { pages: 1 } }), 'validation_failed')).message, /id/);
	assert.equal(server.requests.length, 1);
});

test('editions say what is sent: presence, delimited and expanded fields', async (t) => {
	const server = await grpcServer(t);
	const card = {
		plain: 'p',
		present: '',
		needed: '',
		delimited: { needed: 'n' },
		expanded: [1, 2],
		packed: [3],
		open: 'OPEN_ONE',
		closed: 'CLOSED_ONE',
	};
	assert.deepEqual((await run(t, server, 'Cards_Echo', card)).structured, card);
	assert.partialDeepStrictEqual(server.requests[0], { plain: 'p', present: '', needed: '', delimited: { needed: 'n' }, expanded: [1, 2] });
	assert.deepEqual((await run(t, server, 'Cards_Echo', { plain: '', needed: 'x' })).structured, { needed: 'x' });
	assert.deepEqual((await run(t, server, 'Tickets_Echo', { code: 'x', seat: { row: 1 } })).structured, { code: 'x', seat: { row: 1 } });
});

const WRONG: [what: string, args: JsonObject, says: RegExp][] = [
	['an unknown field', { nam: 'x' }, /"nam" is unknown/],
	['an unknown field deep down', { root: { branches: [{ lable: 'x' }] } }, /"lable" is unknown/],
	['two of a oneof', { text: 'a', tree: {} }, /oneof set multiple times by text and tree/],
	['a float that is too large', { aFloat: 1e39 }, /a_float/],
	['a number that is too large', { anInt32: 2 ** 31 }, /an_int32/],
	['64 bits that are too large', { aUint64: '18446744073709551616' }, /a_uint64/],
	['no base64', { someBytes: '!' }, /some_bytes/],
	['a time that is none', { at: '2024-13-01T00:00:00Z' }, /Timestamp/],
	['a duration with ten digits', { lasts: '1.0000000001s' }, /a google\.protobuf\.Duration or Timestamp in it is out of range/],
	['a name that no enum has', { color: 'PINK' }, /Everything\.Color: "PINK"/],
	['an Any of a type that the tool does not know', { any: { '@type': 'type.googleapis.com/x.Y' } }, /x\.Y is not in the type registry/],
	['half a surrogate pair', { aString: '\ud800' }, /a_string|well-formed|UTF/i],
];
for (const [what, args, says] of WRONG)
	test(`${what} is refused before anything is sent, naming it`, async (t) => {
		const server = await grpcServer(t);
		assert.match((await failure(run(t, server, 'Shop_Echo', args), 'validation_failed')).message, says);
		assert.equal(server.metadata.length, 0);
	});

test('a fault in a message of a stream names its index in the list', async (t) => {
	const error = await failure(run(t, { port: 1 }, 'Shop_Upload', { messages: [{}, { x: 1 }] }), 'validation_failed');
	assert.deepEqual(error.details[0]?.path, '/messages/1');
});
