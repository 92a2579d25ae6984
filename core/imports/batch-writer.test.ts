// The JSON of operations on their way to the store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operation } from '../../test/helpers/samples.ts';
import type { Json, Operation } from '../contract/nouns.ts';
import { deepFreeze } from '../kit/json.ts';
import { BatchMemory, type OperationBatch, OperationWriter, type Written } from './batch-writer.ts';

const PET = deepFreeze({ type: 'object', properties: { name: { type: 'string', description: 'ä € 😀' } } });
const withPet = (key: string): Operation =>
	operation(key, {
		parameters: { type: 'object', properties: { pet: { $ref: '#/$defs/Pet' } }, $defs: { Pet: PET, Open: { type: 'string' } } },
		whole: { $defs: {} },
		outputSchema: PET,
	});

const write = (writer: OperationWriter, one: Operation): Written => writer.write(one) ?? assert.fail('it is not too large');
const textOf = ({ operations }: OperationBatch): string => Buffer.from(operations).toString();

test('operations are written as JSON.stringify writes them, frozen parts too', () => {
	const writer = new OperationWriter();
	const empty = { ...operation('b'), parameters: {}, title: undefined, whole: null } as unknown as Operation;
	for (const one of [withPet('a'), withPet('c'), operation('"d"'), empty]) {
		const memory = new BatchMemory();
		const written = write(writer, one);
		memory.add(written);
		assert.equal(textOf(memory.take()), JSON.stringify([one]));
		assert.equal(written.chars, JSON.stringify(one).length);
		assert.ok(written.isStorable);
	}
});

test('batches follow each other in one memory, however large', () => {
	const [writer, memory] = [new OperationWriter(), new BatchMemory()];
	const batches = [1, 2, 40].map((size) =>
		Array.from({ length: size }, (_, n) => operation(`${size} ${n}`, { description: '€'.repeat(5_000) })),
	);
	for (const operations of batches) {
		for (const one of operations) memory.add(write(writer, one));
		const batch = memory.take();
		assert.equal(batch.count, operations.length);
		assert.equal(textOf(batch), JSON.stringify(operations));
	}
});

test('NUL and lone surrogates are noticed, in frozen parts too', () => {
	const writer = new OperationWriter();
	const isStorable = (change: Partial<Operation>): boolean => write(writer, operation('a', change)).isStorable;
	assert.ok(isStorable({ description: '😀' }));
	for (const text of ['\0', '\ud800', '\udc00']) {
		assert.equal(isStorable({ description: text }), false);
		assert.equal(isStorable({ outputSchema: deepFreeze({ description: text }) }), false);
		assert.equal(isStorable({ parameters: { $defs: { [text]: PET } } }), false);
	}
});

test('a part that would be endless as text is not written, frozen or not', () => {
	const writer = new OperationWriter();
	for (const [freeze, levels] of [
		[(part: Json) => part, 60],
		[deepFreeze, 60],
		[deepFreeze, 600],
	] as const) {
		let part: Json = 'x';
		for (let level = 0; level < levels; level++) part = [part, part];
		const schema = freeze({ enum: part });
		for (const change of [{ outputSchema: schema }, { parameters: { $defs: { A: schema } } }, { definition: schema }])
			assert.equal(writer.write(operation('a', change as Partial<Operation>)), null);
	}
});
