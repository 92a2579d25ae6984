// Tests what plugins may store as records and as short-lived values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyValue } from '../contract/context.ts';
import { checkedValues, checkName, checkRecord, type GivenRecord } from './check-record.ts';

const LARGE = 'x'.repeat(1024 * 1024 + 1);
// Each case breaks a type on purpose.
const options = (value: object): GivenRecord => ({ key: 'a', value: {}, options: value as never });

const WRONG: [title: string, given: GivenRecord, fault: RegExp][] = [
	['no key', { key: undefined, value: {} }, /the key must be a string/],
	['an empty key', { key: '', value: {} }, /the key must have 1 to 2048 characters/],
	['a long key', { key: 'x'.repeat(2049), value: {} }, /the key must have 1 to 2048 characters, not 2049/],
	['no value', { key: 'a', value: undefined }, /the value must be a JSON object/],
	['a text', { key: 'a', value: 'text' }, /the value must be a JSON object/],
	['a list', { key: 'a', value: [] }, /the value must be a JSON object/],
	['a bigint inside', { key: 'a', value: { b: 1n } }, /the value must be a JSON object: \/b is a bigint/],
	['20 MB', { key: 'a', value: { b: 'x'.repeat(20_000_000) } }, /at most 1048576 characters of JSON/],
	['a tag as text', options({ tags: 'a' }), /tags must be a list/],
	['a tag that is none', options({ tags: ['a', 7] }), /each tag must be a string/],
	['many tags', options({ tags: Array(65).fill('a') }), /at most 64 strings/],
	['an endless lifetime', options({ ttlMs: Number.POSITIVE_INFINITY }), /ttlMs must be a finite number/],
	['a lifetime as text', options({ ttlMs: '60' }), /ttlMs must be a finite number/],
	['a log without a name', options({ audited: { type: 'a' } }), /audited must have a type and a name/],
];
for (const [title, given, fault] of WRONG) {
	test(`a record with ${title} is refused, and the fault names the plugin`, () => {
		assert.throws(
			() => checkRecord('auth:acme', 'put', given),
			({ message }: Error) => message.startsWith('auth:acme: records.put: ') && fault.test(message),
		);
	});
}

test('records with all options pass', () => {
	for (const given of [
		{},
		{ tags: ['a'], ttlMs: 1.5, watched: true, audited: { type: 'a', name: '' } },
		{ audited: true },
		{ audited: false },
	])
		checkRecord('auth:acme', 'put', options(given));
});

test('any text may be looked up, and nothing else', () => {
	for (const name of ['', 'a', LARGE]) checkName('auth:acme', 'records.get', name);
	for (const wrong of [undefined, null, 7, {}])
		assert.throws(() => checkName('auth:acme', 'records.get', wrong), /^PluginFault: auth:acme: records\.get: the name must/);
});

test('short-lived values are bounded texts, with a lifetime of whole milliseconds', async () => {
	const put: unknown[] = [];
	const keep: KeyValue['put'] = async (...given) => void put.push(given);
	const values: KeyValue = {
		get: async () => null,
		put: keep,
		putIfAbsent: (...given) => keep(...given).then(() => true),
		drop: async () => undefined,
	};
	const kv = checkedValues('auth:acme', values);
	await kv.put('a', 'b', 0.5);
	await kv.putIfAbsent('a', 'b', -5);
	assert.deepEqual(put, [
		['a', 'b', 1],
		['a', 'b', 1],
	]);
	const refused: Promise<unknown>[] = [
		kv.put('a', 7 as never, 1),
		kv.put('a', LARGE, 1),
		kv.put('', 'b', 1),
		kv.put('a', 'b', Number.NaN),
		kv.putIfAbsent('a', 'b', undefined as never),
		kv.get({} as never),
		kv.drop(7 as never),
	];
	for (const one of refused) await assert.rejects(one, /^PluginFault: auth:acme: kv\.\w+: /);
	assert.equal(put.length, 2);
});
