// Subtypes that an answer shows, among few and many.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import { type Json, parseXml } from '../../../core/index.ts';
import { config as rules, type SoapConfig } from './config.ts';
import type { TypeModel } from './model.ts';
import { createReading, readElement } from './reader.ts';
import type { Steps } from './steps.ts';

const XSI = 'http://www.w3.org/2001/XMLSchema-instance';

const configOf = (types: Record<string, TypeModel>): SoapConfig =>
	Joi.attempt(
		{
			version: '1.1',
			style: 'document',
			action: '',
			namespaces: { 0: 'urn:a', 1: 'urn:b', 2: 'urn:a b' },
			types,
			request: { root: 'content', element: { name: 'Do', type: 'B' } },
		},
		rules,
	);

/** Reads elements of type `B`, the children of one. */
function readAll(config: SoapConfig, elements: string): Json[] {
	const declarations = `xmlns:xsi="${XSI}" xmlns:a="urn:a" xmlns:b="urn:b" xmlns:ab="urn:a b" xmlns="urn:b"`;
	const root = parseXml(`<r ${declarations}>${elements}</r>`, { maxDepth: 9, maxNodes: 200_000 });
	const reading = finish(createReading(config, root, false, new Map()));
	return root.children.map((child) => finish(readElement('B', child, reading)));
}

function finish<T>(steps: Steps<T>): T {
	for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

const TYPES: Record<string, TypeModel> = {
	B: {
		qname: [0, 'B'],
		text: 'xs:int',
		subtypes: { S: 'S', T: 'T', again: 'again', other: 'other', gone: 'gone', spaced: 'spaced', bare: 'bare' },
	},
	S: { qname: [0, 'S'], text: 'xs:int' },
	T: { qname: [1, 'S'], text: 'xs:int' },
	again: { qname: [0, 'S'], text: 'xs:string' },
	other: { qname: [0, 'constructor'], text: 'xs:int' },
	spaced: { qname: [2, 'c'], text: 'xs:int' },
	bare: { text: 'xs:string' },
};

const SHOWN: [what: string, name: string, value: string | null][] = [
	['of the first of two with one name', 'a:S', 'S'],
	['of another namespace', 'b:S', 'T'],
	['without a prefix, in the default namespace', ' S ', 'T'],
	['with a name that every object has', 'a:constructor', 'other'],
	['in a namespace with a space', 'ab:c', 'spaced'],
	['that is the declared one', 'a:B', null],
	['that there is not', 'a:toString', null],
	['whose prefix is not declared', 'z:S', null],
	['whose name has a space', 'a:b c', null],
	['without a name', 'a:', null],
];

for (const [what, name, value] of SHOWN)
	test(`An answer can show a type ${what}`, () => {
		assert.deepEqual(readAll(configOf(TYPES), `<i xsi:type="${name}">1</i>`), [
			value === null ? { $value: 1 } : { '@xsi:type': value, $value: 1 },
		]);
	});

test('Each subtype is looked at once, however many elements show one', () => {
	const count = 500;
	let looks = 0;
	const config = configOf({ B: { subtypes: Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${index}`, `t${index}`])) } });
	for (let index = 0; index < count; index++)
		Object.defineProperty(config.types, `t${index}`, {
			get(): TypeModel {
				looks += 1;
				return { qname: [0, `t${index}`] };
			},
		});
	const read = readAll(config, `<i xsi:type="a:t${count - 1}"/>`.repeat(count));
	assert.deepEqual(read, Array(count).fill({ '@xsi:type': `t${count - 1}` }));
	assert.equal(looks, count);
});

test('Each attribute of a type is looked at once, however many elements show one, and is known by its name in another namespace', () => {
	const count = 500;
	let looks = 0;
	const attributes = Array.from({ length: count }, (_, index) => ({
		name: 'x',
		type: 'xs:int',
		get ns(): number {
			looks += 1;
			return index % 2;
		},
	}));
	const last = { name: 'last', type: 'xs:int', ns: 0 };
	const config = configOf({ B: { attributes: [...attributes, last] } });
	looks = 0;
	const read = readAll(config, '<i last="1" a:x="2" b:x="3"/>'.repeat(count));
	assert.deepEqual(read, Array(count).fill({ '@last': 1, '@x': [2, 3] }));
	assert.equal(looks, count);
});

test('An answer is read, and what its elements refer to is found, in many steps', () => {
	const element = `<i id="i" ${Array.from({ length: 100 }, (_, index) => `a${index}=""`).join(' ')}/>`;
	const root = parseXml(`<r>${element.repeat(1_000)}</r>`, { maxDepth: 9, maxNodes: 200_000 });
	const config = configOf({});
	assert.ok([...createReading(config, root, true, new Map())].length >= 1_000);
	const reading = finish(createReading(config, root, true, new Map()));
	assert.ok([...readElement('xs:anyType', root, reading)].length >= 150);
});
