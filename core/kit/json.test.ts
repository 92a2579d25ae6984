// Tests what counts as JSON, its size, what freezing reaches, and which texts have too many names to be parsed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deepFreeze, hasManyNames, measureJson, printWithin } from './json.ts';

const circular: { self?: unknown } = {};
circular.self = [circular];

const NOT_JSON: [title: string, value: unknown, fault: RegExp][] = [
	['nothing', undefined, /^is missing$/],
	['a bigint', { a: [{ b: 1n }] }, /^\/a\/0\/b is a bigint$/],
	['a function', { a: () => 1 }, /^\/a is a function$/],
	['a symbol', [Symbol('x')], /^\/0 is a symbol$/],
	['a number without a value', { a: Number.NaN }, /^\/a is NaN, which JSON cannot write$/],
	['an endless number', Number.POSITIVE_INFINITY, /^is Infinity, which JSON cannot write$/],
	['a map', new Map(), /^is an instance of Map$/],
	['bytes', { a: Buffer.from('x') }, /^\/a is an instance of Buffer$/],
	['a promise', Promise.resolve(1), /^is an instance of Promise$/],
	['a value that contains itself', circular, /nested too deeply, or contains itself$/],
];
for (const [title, value, fault] of NOT_JSON) {
	test(`${title} is not JSON, and the fault says where`, () => assert.match(measureJson(value, 100_000).fault ?? '', fault));
}

test('JSON, absent members, dates and objects without a prototype are measured', () => {
	const value = { a: 'text', b: [1, true, null], c: undefined, d: new Date(), e: Object.create(null) };
	const { fault, chars } = measureJson(value, 1000);
	assert.equal(fault, null);
	const written = JSON.stringify(value).length;
	assert.ok(chars > written / 2 && chars < written * 2, `${chars} of ${written}`);
});

test('counting ends soon after the limit, also for a value that would be endless', () => {
	const { fault, chars } = measureJson({ list: Array.from({ length: 1000 }, () => 'x'.repeat(100)) }, 500);
	assert.ok(fault === null && chars > 500 && chars < 700, String(chars));
	let doubled: unknown = 'x';
	for (let depth = 0; depth < 100; depth++) doubled = [doubled, doubled];
	assert.ok(measureJson(doubled, 10_000).chars > 10_000);
});

test('freezing reaches every list and object, and leaves dates and buffers as they are', () => {
	const value = deepFreeze({ list: [{ a: 1 }], at: new Date(), bytes: Buffer.from('x') });
	assert.throws(() => value.list.push({ a: 2 }), TypeError);
	assert.throws(() => Object.assign(value.list[0] ?? {}, { a: 2 }), TypeError);
	assert.deepEqual([Object.isFrozen(value.at), value.bytes.length], [false, 1]);
	assert.equal(deepFreeze(null), null);
});

test('what fits is written as JSON.stringify writes it, no JSON too; what does not is null, also behind what is no JSON', () => {
	const deep = (levels: number): unknown => (levels === 0 ? 'x' : [deep(levels - 1)]);
	for (const value of [{ a: [1, 'x', null] }, { a: Number.NaN, b: () => 1, c: new Map() }, deep(300), undefined, () => 1])
		assert.equal(printWithin(value, 2_000), JSON.stringify(value));
	const long = 'x'.repeat(2_001);
	for (const value of [long, [long], { a: Number.NaN, b: long }, [deep(300), long], { a: new Map(), b: Array(2_001).fill(1) }])
		assert.equal(printWithin(value, 2_000), null);
});

/** Names of eight characters, numbered. */
const named = (count: number, from = 0): string[] => Array.from({ length: count }, (_, at) => `n${String(from + at).padStart(7, '0')}`);
const members = (names: readonly string[]): string => names.map((name) => `"${name}":1`).join(',');
const MOST = 10_000;

const MANY: [title: string, json: string][] = [
	['in one object', `{${members(named(MOST + 1))}}`],
	['in objects of their own', `[${named(MOST + 1).map((name) => `{${members([name])}}`)}]`],
	['nested', `${named(MOST + 1).map((name) => `{"${name}":`)}1${'}'.repeat(MOST + 1)}`],
	['with space around them', `{${named(MOST + 1).map((name) => ` "${name}" \r\n\t : 1`)}}`],
	['behind many equal ones', `[${`{"id":1},`.repeat(20_000)}{${members(named(MOST))}}]`],
	['with quotes and backslashes in them', `{${named(MOST + 1).map((name) => String.raw`"\"${name}\\":"\\"`)}}`],
	['that differ in what is escaped', `{${named(MOST + 1).map((name) => `"\\u${name.slice(-4)}${name}":1`)}}`],
	['that end alike', `{${members(named(MOST + 1).map((name) => `${name}${'x'.repeat(80)}`))}}`],
	['in two texts, a line each', `{${members(named(MOST / 2))}}\n{${members(named(MOST / 2 + 1, MOST / 2))}}`],
	['behind a text that is not JSON', `["x\\\n{${members(named(MOST + 1))}}`],
	['in a text that breaks off', `{${members(named(MOST + 1))},"x`],
];
for (const [title, json] of MANY) test(`too many different names ${title} are found`, () => assert.equal(hasManyNames(json), true));

const FEW: [title: string, json: string][] = [
	['as many as may be', `{${members(named(MOST))}}`],
	['the same ones in every row', `[${`{${members(named(20))}},`.repeat(4000)}{}]`],
	['different texts', `[${named(90_000).map((name) => `"${name}"`)}]`],
	['different texts as values', `[${named(40_000).map((name) => `{"id":"${name}","at":1}`)}]`],
	['JSON in a text', JSON.stringify({ text: `{${members(named(20_000))}}` })],
	['colons and quotes in a text', JSON.stringify(named(20_000).map((name) => `\\"${name}\\":`))],
	['a long text', `{"a":"${'x'.repeat(1_000_000)}"}`],
	['an end within a name', `${'['.repeat(70_000)}${':'.repeat(20_000)}"x\\`],
	['nothing', ''],
];
for (const [title, json] of FEW) test(`${title}: not too many names`, () => assert.equal(hasManyNames(json), false));
