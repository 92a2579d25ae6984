// Requests whose messages have many fields are written on the worker, and refused when they have too many.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { JsonObject } from '../../../core/index.ts';
import importer from '../../../importers/protobuf/index.ts';
import { failure } from '../../../test/helpers/egress.ts';
import { apiAt } from '../../../test/helpers/executor.ts';
import { importTools } from '../../../test/helpers/grpc-run.ts';
import { type Codec, createCodec } from './codec.ts';
import { config, type GrpcConfig } from './config.ts';
import { encodeAll, MAX_WEIGHT, showAll } from './encoding.ts';
import { buildRequest } from './http.ts';
import type { Owner } from './thread.ts';
import { weigh } from './weight.ts';

const FIELDS = Array.from({ length: 100 }, (_, index) => `double field_${index} = ${index + 1};`).join(' ');
const PROTO = `syntax = "proto3"; import "google/protobuf/struct.proto"; import "google/protobuf/any.proto";
service S { rpc Put(M) returns (M); }
message M { repeated Wide all = 1; map<string, Wide> named = 2; Wide one = 3; google.protobuf.Struct free = 4; repeated int32 numbers = 5;
	google.protobuf.Any any = 6; int64 a_long = 7; bytes some_bytes = 8; Kind kind = 9; map<string, int32> counts = 10; }
message Wide { ${FIELDS} }
enum Kind { PLAIN = 0; }`;
let source: GrpcConfig;
let codec: Codec;
/** Fails when this thread writes. */
let elsewhere: Codec;
before(async () => {
	const tool = (await importTools(importer, new Map([['a.proto', Buffer.from(PROTO)]]))).get('S_Put');
	source = await config.validateAsync(tool?.executionConfig);
	codec = createCodec(source);
	elsewhere = { ...codec, encode: refuse, show: refuse };
});
const owner: Owner = { account: async () => 'account', api: apiAt('https://shop.example'), signal: new AbortController().signal };

const refuse = (): never => assert.fail('It is written on this thread.');
const wide = (count: number): JsonObject => ({ all: Array.from({ length: count }, (_, at) => (at === 0 ? { field7: -0 } : {})) });

test('every message counts with all fields of its type, and every item', () => {
	const own = 10 + 10;
	const weights: [JsonObject, number][] = [
		[{}, 0],
		[{ one: {} }, 110],
		[{ all: [{}, {}] }, 2 + 2 * 110],
		[{ named: { a: {}, b: { field_3: 1 } } }, 2 + 2 * 110],
		[{ numbers: [1, 2, 3] }, 3],
		[{ free: { a: [1, { b: null }] } }, 11 + 4 * 16],
		[{ any: { '@type': 'x/Wide', field1: 1 } }, 12 + 110],
		[{ any: { '@type': 'x/google.protobuf.Struct', value: { a: 1 } } }, 12 + 11 + 16],
	];
	for (const [json, more] of weights) assert.equal(weigh(json, codec, MAX_WEIGHT), own + more, JSON.stringify(json));
	assert.ok(weigh(wide(1000), codec, 500) > 500);
});

test('the values of a map are looked at only where they are messages', () => {
	let read = 0;
	const get = (map: JsonObject, name: string): unknown => {
		read += 1;
		return map[name];
	};
	const watched = (map: JsonObject): JsonObject => new Proxy(map, { get });
	const count = codec.method.input.fields.length + 10;
	assert.equal(weigh({ counts: watched({ a: 1, b: 2 }) }, codec, MAX_WEIGHT), count + 2);
	assert.equal(read, 0);
	assert.equal(weigh({ named: watched({ a: {}, b: {} }) }, codec, MAX_WEIGHT), count + 2 + 2 * 110);
	assert.equal(read, 2);
});

test('a request of many fields is written on the worker, to the same bytes and the same JSON', async () => {
	const request = { json: wide(1000), at: '' };
	const [bytes] = await encodeAll([request], elsewhere, source, owner);
	assert.deepEqual(bytes, codec.encode(request.json, ''));
	assert.deepEqual(await showAll([request], elsewhere, source, owner), [JSON.parse(JSON.stringify(codec.show(request.json, '')))]);
	const small = { json: wide(3), at: '' };
	assert.deepEqual(await encodeAll([small], codec, source, owner), [codec.encode(small.json, '')]);
	await assert.rejects(encodeAll([small], elsewhere, source, owner), /written on this thread/);
});

test('a fault in it is told as that of a small one, with its place', async () => {
	const bad = (count: number) => [{ json: { all: [...(wide(count)['all'] as []), { nothing: 1 }] }, at: '/messages/3' }];
	const errors = [];
	for (const count of [1, 1000]) errors.push(await failure(encodeAll(bad(count), codec, source, owner), 'validation_failed'));
	assert.deepEqual(errors[0]?.details, errors[1]?.details);
	assert.match(errors[1]?.message ?? '', /messages\/3 is not a valid Wide|messages\/3 is not a valid M: .*"nothing" is unknown/);
});

test('a request of too many fields is refused before it is read, by gRPC and by HTTP', async () => {
	const json = wide(20_000);
	const request = { json, at: '/messages/1' };
	for (const write of [encodeAll, showAll]) {
		const { message, details } = await failure(
			write([{ json: {}, at: '/messages/0' }, request], elsewhere, source, owner),
			'validation_failed',
		);
		assert.match(message, /\/messages\/1 is too much: .* more than 2000000 fields/);
		assert.equal(details[0]?.path, '/messages/1');
	}
	const half = { json: wide(10_000), at: '/messages/2' };
	await failure(encodeAll([half, half], elsewhere, source, owner), 'validation_failed');
	await failure(buildRequest(json, { ...source, protocol: 'http' }, elsewhere, owner), 'validation_failed');
});

test('a path gets the default of its field alone, in canonical JSON', async () => {
	const PATHS: [variable: string, args: JsonObject, path: string][] = [
		['a_long', { aLong: 0 }, '/0'],
		['kind', { kind: 0 }, '/PLAIN'],
		['one.field_2', { one: { field2: 0 } }, '/0'],
	];
	for (const [variable, args, path] of PATHS) {
		const bindings = [{ method: 'POST', path: `/{${variable}}`, body: '*' }];
		const { url, body } = await buildRequest({ ...args, ...wide(2) }, { ...source, bindings }, codec, owner);
		assert.equal(new URL(url).pathname, path);
		assert.equal(JSON.parse(String(body)).all.length, 2);
	}
	for (const args of [{ someBytes: '' }, { one: {} }, { numbers: [] }]) {
		const [name = ''] = Object.keys(args);
		const bindings = [{ method: 'GET', path: `/{${name.replace('B', '_b')}}` }];
		const error = await failure(buildRequest(args, { ...source, bindings }, codec, owner), 'validation_failed');
		assert.equal(error.details[0]?.path, `/${name}`);
	}
});
