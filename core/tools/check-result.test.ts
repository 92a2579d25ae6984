// Tests which results of an executor are accepted, and their bounds.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolResult } from '../contract/nouns.ts';
import { checkPreview, checkResult, MAX_RESULT_CHARS } from './check-result.ts';

const check = (value: unknown): ToolResult | null => checkResult('executor:acme', value);
const circular: { self?: unknown } = {};
circular.self = circular;

const WRONG: [title: string, value: unknown, fault: RegExp][] = [
	['nothing', undefined, /must be an object, not nothing/],
	['a text', 'hello', /must be an object, not a value of type string/],
	['an empty object', {}, /a list of blocks as content, not nothing/],
	['content as text', { content: 'hello' }, /a list of blocks as content, not a value of type string/],
	['a block that is none', { content: ['hello'] }, /content\/0: it must be an object/],
	[
		'a block of another type',
		{ content: [{ type: 'text', text: 'a' }, { type: 'video' }] },
		/content\/1: type must be one of text, image, audio/,
	],
	['a type that every object has', { content: [{ type: 'constructor' }] }, /type must be one of/],
	['text without text', { content: [{ type: 'text' }] }, /content\/0: text must be a string, not nothing/],
	['an image without a type', { content: [{ type: 'image', data: '' }] }, /mimeType must be a string/],
	['an image of bytes', { content: [{ type: 'image', data: Buffer.from('x'), mimeType: 'image/png' }] }, /data must be a string/],
	['a resource without itself', { content: [{ type: 'resource' }] }, /resource must be an object/],
	[
		'a resource of bytes',
		{ content: [{ type: 'resource', resource: { uri: 'a:', blob: new Uint8Array() } }] },
		/resource: blob must be a string/,
	],
	['a link without a name', { content: [{ type: 'resource_link', uri: 'a:' }] }, /name must be a string/],
	[
		'a block with a bigint',
		{ content: [{ type: 'text', text: '', _meta: { a: 1n } }] },
		/must be JSON: \/content\/0\/_meta\/a is a bigint/,
	],
	['a bigint as data', { content: [], structured: 1n }, /must be JSON: \/structured is a bigint/],
	['data that contains itself', { content: [], structured: circular }, /contains itself/],
	['an error that is a text', { content: [], isError: 'yes' }, /a boolean as isError/],
	['logs as a text', { content: [], logs: 'printed' }, /a list of strings as logs/],
	['logs of objects', { content: [], logs: [{}] }, /a list of strings as logs/],
];
for (const [title, value, fault] of WRONG) {
	test(`${title} is no result, and the fault names the executor`, () => {
		assert.throws(
			() => check(value),
			({ name, message }: Error) => name === 'PluginFault' && message.startsWith('executor:acme: ') && fault.test(message),
		);
	});
}

const GOOD: ToolResult[] = [
	{ content: [] },
	{ content: [{ type: 'text', text: 'a\u0000b' }], structured: null, isError: false },
	{ content: [{ type: 'audio', data: '', mimeType: 'audio/wav' }], structured: { a: [1] }, isError: true, logs: ['log: a'] },
	{
		content: [
			{ type: 'resource', resource: { uri: 'a:', text: '' } },
			{ type: 'resource_link', uri: 'a:', name: 'a' },
		],
	},
	{ content: [{ type: 'text', text: '', annotations: { audience: ['user'] } } as never] },
];
test('results of every kind of block pass unchanged', () => {
	for (const result of GOOD) assert.deepEqual(check(result), result);
});

test('members that a result does not have are left out', () => {
	assert.deepEqual(check({ content: [], error: { code: 'internal' }, extra: 1 }), { content: [] });
});

test('a result over 16 Mi characters is none, whatever holds them', () => {
	const large = 'x'.repeat(MAX_RESULT_CHARS);
	assert.equal(check({ content: [{ type: 'text', text: large }] }), null);
	assert.equal(check({ content: [], structured: [large] }), null);
	assert.equal(check({ content: [{ type: 'text', text: '', _meta: large }] }), null);
});

test('logs are cut at their bounds', () => {
	assert.equal(check({ content: [], logs: Array(5000).fill('x') })?.logs?.length, 1000);
	const [line = '', ...rest] = check({ content: [], logs: ['x'.repeat(1_000_000), 'y'] })?.logs ?? [];
	assert.deepEqual([line.length, line.at(-1), rest], [256 * 1024 + 1, '…', []]);
});

test('a preview is a JSON object of a bounded size', () => {
	assert.deepEqual(checkPreview('executor:acme', { url: 'a' }), { url: 'a' });
	for (const wrong of [undefined, 'GET /', [], { a: 1n }, { a: 'x'.repeat(1_100_000) }])
		assert.throws(() => checkPreview('executor:acme', wrong), /^PluginFault: executor:acme: the result of preview must be/);
});
