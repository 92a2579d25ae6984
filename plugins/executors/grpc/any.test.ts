// Content that servers put into an Any, beyond the types that a tool knows.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { type Any, AnySchema } from '@bufbuild/protobuf/wkt';
import importer from '../../../importers/protobuf/index.ts';
import { shopFiles } from '../../../test/helpers/grpc.ts';
import { importTools } from '../../../test/helpers/grpc-run.ts';
import { type Codec, createCodec } from './codec.ts';
import { config } from './config.ts';

let codec: Codec;
before(async () => {
	const tools = await importTools(importer, shopFiles());
	codec = createCodec(await config.validateAsync(tools.get('Shop_Echo')?.executionConfig));
});

const any = (name: string, value: Uint8Array): Any => create(AnySchema, { typeUrl: `type.googleapis.com/${name}`, value });
const anyIn = (inner: Any): Any => any('google.protobuf.Any', toBinary(AnySchema, inner));
/** Field `number` of a message, holding `bytes`. */
const field = (number: number, bytes: Uint8Array): Buffer => {
	const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
	const tag = number < 16 ? [(number << 3) | 2] : [((number << 3) & 127) | 128 | 2, number >> 4];
	return Buffer.concat([Buffer.from([...tag, ...length]), bytes]);
};
/** The answer's field `any`, as JSON. */
const shown = (inner: Any): unknown => (codec.decode(field(30, toBinary(AnySchema, inner))) as { any: unknown }).any;

test('an unknown type is its bytes, also inside of a known one', () => {
	const unknown = any('x.y.Z', Buffer.of(1, 2));
	const asBytes = { '@type': 'type.googleapis.com/x.y.Z', value: 'AQI=' };
	assert.deepEqual(shown(unknown), asBytes);
	const status = any('google.rpc.Status', Buffer.concat([Buffer.of(8, 5), field(3, toBinary(AnySchema, unknown))]));
	assert.deepEqual(shown(status), { '@type': 'type.googleapis.com/google.rpc.Status', code: 5, details: [asBytes] });
	assert.deepEqual(shown(anyIn(unknown)), { '@type': 'type.googleapis.com/google.protobuf.Any', value: asBytes });
	assert.deepEqual(shown(any('Z', Buffer.of())), { '@type': 'type.googleapis.com/Z' });
});

test('an empty Any is empty', () => {
	assert.deepEqual(shown(create(AnySchema)), {});
});

test('bytes that are not of the type that they are said to be are bytes', () => {
	assert.deepEqual(shown(any('shop.v1.Money', Buffer.of(0xff))), { '@type': 'type.googleapis.com/shop.v1.Money.unread', value: '/w==' });
});

for (const name of ['', 'a b', '1', 'x..y', '__proto__.', 'x'.repeat(2000)])
	test(`a name that no type has is none: ${JSON.stringify(name.slice(0, 20))}`, () => {
		assert.deepEqual(shown(any(name, Buffer.of(1))), { '@type': 'type.googleapis.com/unknown', value: 'AQ==' });
	});

test('an Any in an Any without end ends as bytes', () => {
	let inner = any('shop.v1.Money', Buffer.of(16, 1));
	for (let level = 0; level < 200; level++) inner = anyIn(inner);
	const text = JSON.stringify(shown(inner));
	assert.ok(text.includes('google.protobuf.Any.unread') && !text.includes('units'));
});

test('unknown types are one type, which is not made for each of their names', () => {
	const { registry } = codec.types;
	const fields = registry.getMessage('x.y.Z')?.fields;
	assert.ok(fields && registry.getMessage('another.Name')?.fields === fields);
});

test('a type that one tool does not know is known to another', async () => {
	const money = any('shop.v1.Money', Buffer.of(16, 1));
	const known = { '@type': 'type.googleapis.com/shop.v1.Money', units: '1' };
	const text = `syntax = "proto3"; import "google/protobuf/any.proto";
		service S { rpc Get(M) returns (M); } message M { repeated google.protobuf.Any all = 1; }`;
	const other = (await importTools(importer, new Map([['a.proto', Buffer.from(text)]]))).get('S_Get');
	const all = Buffer.concat([money, any('x.Y', Buffer.of()), money].map((one) => field(1, toBinary(AnySchema, one))));
	const bytes = { '@type': 'type.googleapis.com/shop.v1.Money', value: 'EAE=' };
	for (let round = 0; round < 2; round++) {
		const decoded = createCodec(await config.validateAsync(other?.executionConfig)).decode(all);
		assert.deepEqual(decoded, { all: [bytes, { '@type': 'type.googleapis.com/x.Y' }, bytes] });
		assert.deepEqual(shown(money), known);
	}
});
