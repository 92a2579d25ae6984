// Large answers are the same as small ones, and do not block the event loop.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { deserialize, serialize } from 'node:v8';
import { create, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Metadata } from '@grpc/grpc-js';
import importer from '../../../importers/protobuf/index.ts';
import { failure } from '../../../test/helpers/egress.ts';
import { readWith } from '../../../test/helpers/importer.ts';
import { type Codec, createCodec } from './codec.ts';
import { config, type GrpcConfig } from './config.ts';
import { decodeAll } from './decoding.ts';
import { failedCall } from './status.ts';
import type { Owner } from './thread.ts';

const PROTO = `syntax = "proto3"; service S { rpc Get(M) returns (M); }
message M { repeated Empty empties = 1; repeated bool flags = 2; repeated E names = 3; repeated int64 numbers = 4; repeated string texts = 5; string text = 6; }
message Empty {}
enum E { ${'A'.repeat(60)} = 0; }`;
let source: GrpcConfig;
let codec: Codec;
before(async () => {
	const [operation] = (await readWith(importer, PROTO)).operations;
	if (!operation) throw new Error('The service has no method.');
	source = await config.validateAsync(importer.tool(operation).executionConfig);
	codec = createCodec(source);
});

const ownerOf = (account: string): Owner => ({ account: async () => account, api: null, signal: new AbortController().signal });
const owner = ownerOf('account');

const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]);
const field = (number: number, bytes: Uint8Array): Buffer =>
	Buffer.concat([Buffer.from([(number << 3) | 2, ...varint(bytes.length)]), bytes]);
const repeated = (bytes: number[], size: number): Buffer => Buffer.alloc(size - (size % bytes.length)).fill(Buffer.from(bytes));

/** The worst message of each kind: as little on the wire and as much in memory as can be. */
const SHAPES: [what: string, make: (size: number) => Buffer][] = [
	['messages of two bytes', (size) => repeated([10, 0], size)],
	['booleans', (size) => field(2, Buffer.alloc(size, 1))],
	['enums', (size) => field(3, Buffer.alloc(size >> 3))],
	['numbers of 64 bits', (size) => field(4, Buffer.alloc(size, 1))],
	['texts of one letter', (size) => repeated([42, 1, 97], size)],
	['one text', (size) => field(6, Buffer.alloc(size, 97))],
];

function cpuMs(): number {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1000;
}

/** The longest block that passes on any machine. */
const SHORT_MS = 20;

/**
 * Measures up to three rounds and takes the shortest, since any may include garbage collection. @param enough a block so short that no other
 * round is needed. @returns like `blockOf`
 */
async function longestBlock(work: () => Promise<unknown>, enough = SHORT_MS): Promise<number> {
	let block = Number.POSITIVE_INFINITY;
	for (let round = 0; round < 3 && block > enough; round++) block = Math.min(block, await blockOf(work));
	return block;
}

/** @returns the longest CPU time in which nothing else ran on this thread */
async function blockOf(work: () => Promise<unknown>): Promise<number> {
	let [at, longest] = [cpuMs(), 0];
	const ticks = setInterval(() => {
		const now = cpuMs();
		longest = Math.max(longest, now - at);
		at = now;
	}, 1);
	await work();
	await new Promise((resolve) => setTimeout(resolve, 5));
	clearInterval(ticks);
	return longest;
}

/**
 * Passes what is no longer than 20 ms. A busy machine takes several times the CPU time for the same work, so a longer block passes where this
 * thread did no more than receive the texts.
 */
async function assertShort(block: number, texts: readonly string[]): Promise<void> {
	if (block <= SHORT_MS) return;
	const sent = serialize(texts);
	const receiving = await longestBlock(async () => deserialize(sent), 0);
	assert.ok(block <= 2 * receiving, `${block.toFixed(1)} ms, ${receiving.toFixed(1)} for receiving it`);
}

/** Returns a codec that must not decode on this thread. */
const elsewhere = (given: typeof codec): typeof codec => ({ ...given, decode: () => assert.fail('It is decoded on this thread.') });

for (const [what, make] of SHAPES)
	test(`1 MiB of ${what} becomes JSON without a block of more than 20 ms`, async (t) => {
		const bytes = make(1024 * 1024 - 8);
		let texts: string[] = [];
		const block = await longestBlock(async () => {
			texts = await decodeAll([bytes], elsewhere(codec), source, owner);
		});
		t.diagnostic(`${block.toFixed(1)} ms, ${texts[0]?.length} characters`);
		await assertShort(block, texts);
		assert.ok(texts[0] === JSON.stringify(codec.decode(bytes)));
	});

/** Describes `message M { repeated E names = 3; } enum E { <name> = 0; }`. */
async function withName(name: string): Promise<typeof source> {
	const file = {
		name: 'a.proto',
		syntax: 'proto3',
		service: [{ name: 'S', method: [{ name: 'Get', inputType: '.M', outputType: '.M' }] }],
		messageType: [{ name: 'M', field: [{ name: 'names', number: 3, label: 3, type: 14, typeName: '.E' }] }],
		enumType: [{ name: 'E', value: [{ name, number: 0 }] }],
	};
	const set = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file as object] }));
	return config.validateAsync({ service: 'S', method: 'Get', descriptors: Buffer.from(set).toString('base64') });
}

test('few bytes that stand for much text do not block the event loop either, nor do those of a status', async () => {
	const long = await withName('A'.repeat(512));
	const [longCodec, bytes] = [createCodec(long), field(3, Buffer.alloc(20_000))];
	longCodec.decode(field(3, Buffer.of(0)));
	let texts: string[] = [];
	const block = await longestBlock(async () => {
		texts = await decodeAll([bytes], elsewhere(longCodec), long, owner);
	});
	await assertShort(block, texts);
	assert.equal(texts[0]?.length, '{"names":[]}'.length + 20_000 * 515 - 1);
	const detail = Buffer.concat([field(1, Buffer.from('type.googleapis.com/M')), field(2, bytes)]);
	const metadata = new Metadata();
	metadata.set('grpc-status-details-bin', field(3, detail));
	const outcome = { messages: [], answered: true, tookMs: 0, cut: null, foreignType: null, status: { code: 5, details: 'gone', metadata } };
	const target = { host: '', hostname: '', port: 1, isTls: false, prefix: '', origin: '' };
	const told = async (which: typeof codec) =>
		JSON.stringify((await failedCall(outcome, { config: long, target, codec: which, secrets: [], owner })).content);
	const shown = await told(longCodec);
	assert.match(shown, /NOT_FOUND \(5\): gone.*AAAA/);
	assert.equal(
		await told({ ...longCodec, types: { ...longCodec.types, find: () => assert.fail('They are read on this thread.') } }),
		shown,
	);
});

test('a config with a name so long that any answer would be large is refused', async () => {
	const given = await withName('A'.repeat(513));
	assert.throws(() => createCodec(given), /must not hold names of more than 512 characters/);
});

test('messages keep their order, and calls their answers', async () => {
	const parts = Array.from({ length: 20 }, (_, at) => field(6, Buffer.alloc(40_000 + at, 97)));
	const answers = await Promise.all(parts.map((bytes) => decodeAll([bytes, field(6, Buffer.from('end'))], codec, source, owner)));
	assert.deepEqual(
		answers.map(([first = '', last]) => [first.length, last]),
		parts.map((_, at) => ['{"text":""}'.length + 40_000 + at, '{"text":"end"}']),
	);
});

test('bytes that are not such a message fail with the same message as small ones', async () => {
	const small = await failure(decodeAll([Buffer.of(0xff)], codec, source, owner), 'upstream_failed');
	const large = await failure(decodeAll([Buffer.alloc(100_000, 0xff)], codec, source, owner), 'upstream_failed');
	assert.match(small.message, /^The answer is not a valid M: /);
	assert.match(large.message, /^The answer is not a valid M: /);
});

test('an answer that becomes too long a text is refused', async () => {
	const { message } = await failure(decodeAll([field(3, Buffer.alloc(1024 * 1024))], codec, source, owner), 'upstream_failed');
	assert.match(message, /longer than 16777216 characters as JSON/);
});

test('messages of many fields are decoded on the worker, however few bytes they have', async () => {
	const fields = Array.from({ length: 100 }, (_, index) => `int32 field_${index} = ${index + 1};`).join(' ');
	const wide = `syntax = "proto3"; service S { rpc Get(M) returns (M); } message M { repeated Wide all = 1; } message Wide { ${fields} }`;
	const [get] = (await readWith(importer, wide)).operations;
	if (!get) throw new Error('The service has no method.');
	const given = await config.validateAsync(importer.tool(get).executionConfig);
	const wideCodec = createCodec(given);
	const [text] = await decodeAll([repeated([10, 0], 4000)], elsewhere(wideCodec), given, owner);
	assert.equal(text?.length, '{"all":[]}'.length + 3 * 2000 - 1);
	const empty = await decodeAll(
		Array.from({ length: 1000 }, () => Buffer.of()),
		elsewhere(wideCodec),
		given,
		owner,
	);
	assert.deepEqual([empty.length, new Set(empty)], [1000, new Set(['{}'])]);
	await assert.rejects(decodeAll([repeated([10, 0], 400)], elsewhere(wideCodec), given, owner), /decoded on this thread/);
});
