import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { threadCpuMs } from '../../test/helpers/clock.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { compileArguments } from './compile.ts';
import { patternFault } from './linear-regexp.ts';

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });

test('patterns are not mixed up, within one schema and across schemas', () => {
	const check = compileArguments(object({ a: { type: 'string', pattern: '^[0-9]{1,8}$' }, b: { type: 'string', pattern: '^x' } }));
	assert.deepEqual(check({ a: '42', b: 'xy' }), []);
	assert.deepEqual(
		check({ a: 'x', b: '42' }).map(({ path }) => path),
		['/a', '/b'],
	);
	const next = compileArguments(object({ a: { type: 'string', pattern: '^y' } }));
	assert.equal(next({ a: 'x' }).length, 1);
});

test('a pattern that would backtrack runs in linear time', async () => {
	const check = compileArguments(object({ a: { type: 'string', pattern: '^(a+)+$' } }));
	const cpuMs = await threadCpuMs(() => assert.equal(check({ a: `${'a'.repeat(50_000)}!` }).length, 1));
	assert.ok(cpuMs < 2000, `${cpuMs} ms`);
});

test('a pattern that cannot run in linear time is recognised, and a schema that contains one is refused', () => {
	assert.equal(patternFault('^[a-z]+$'), null);
	assert.equal(patternFault('a'.repeat(295), 300), null);
	assert.match(patternFault('a{1,200}', 300) ?? '', /too large/);
	// It is counted before it is compiled, which would find the look-ahead.
	assert.match(patternFault(`${'a{0,1000}'.repeat(20)}(?=a)`, 300) ?? '', /too large/);
	for (const pattern of ['(?=a)', '(?<!a)b', '(a)\\1', '(', '[']) {
		assert.notEqual(patternFault(pattern), null, pattern);
		assert.throws(() => compileArguments(object({ a: { type: 'string', pattern } })), { code: 'validation_failed' });
	}
});

test('defaults are filled in, nested ones too', () => {
	const args: JsonObject = { page: {} };
	const check = compileArguments(
		object({ lang: { type: 'string', default: 'en' }, page: object({ size: { type: 'integer', default: 20 } }) }),
	);
	assert.deepEqual(check(args), []);
	assert.deepEqual(args, { page: { size: 20 }, lang: 'en' });
});

const schema = object(
	{
		id: { type: 'integer' },
		kind: { enum: ['cat', 'dog'] },
		at: { type: 'string', format: 'date-time' },
		list: { type: 'array', items: { type: 'number' } },
	},
	{ required: ['id'], additionalProperties: false },
);
const FAULTS: [id: string, args: JsonObject, path: string, message: RegExp][] = [
	['missing', {}, '/id', /is required/],
	['wrong type', { id: 'seven' }, '/id', /must be integer, got string "seven"/],
	['null', { id: null }, '/id', /must be integer, got null/],
	['an array', { id: [1, 2] }, '/id', /got an array of 2/],
	['not in the list', { id: 1, kind: 'cow' }, '/kind', /must be one of \["cat","dog"\], got string "cow"/],
	['bad format', { id: 1, at: 'tomorrow' }, '/at', /date-time/],
	['inside an array', { id: 1, list: [1, 'x'] }, '/list/1', /must be number/],
	['unknown', { id: 1, 'odd/name~': 2 }, '/odd~1name~0', /is not a known parameter. Known: id, kind, at, list/],
];

for (const [id, args, path, message] of FAULTS) {
	test(`a fault (${id}) names the field by JSON pointer, what was expected and what came`, () => {
		const [fault] = compileArguments(schema)(args);
		assert.equal(fault?.path, path);
		assert.match(fault?.message ?? '', message);
	});
}

test('all faults are reported, up to twenty', () => {
	const wide = object(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`p${index}`, { type: 'integer' }])));
	const args = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`p${index}`, 'x']));
	assert.equal(compileArguments(wide)(args).length, 20);
});

test('a schema named by $id is not found by the next one', () => {
	compileArguments(
		object({}, { $id: 'https://tenant-a.example/s', $defs: { secret: { $id: 'https://tenant-a.example/secret', type: 'string' } } }),
	);
	assert.throws(() => compileArguments(object({ a: { $ref: 'https://tenant-a.example/secret' } })), { code: 'validation_failed' });
	compileArguments(object({}, { $id: 'https://tenant-a.example/s' }));
});

for (const [id, bad] of Object.entries({
	'no type': {},
	'an array at the root': { type: 'array' },
	'an unknown type': object({ a: { type: 'text' } }),
	'a reference to nothing': object({ a: { $ref: '#/$defs/nothing' } }),
	'a reference to another host': object({ a: { $ref: 'https://example.com/schema.json' } }),
})) {
	test(`a schema that is unusable (${id}) is refused, naming parameters`, () => {
		assert.throws(
			() => compileArguments(bad),
			(error: { code: string; details: { path: string }[] }) =>
				error.code === 'validation_failed' && (error.details[0]?.path.startsWith('/parameters') ?? false),
		);
	});
}

test('a schema may refer to its own root', () => {
	const check = compileArguments(object({ child: { $ref: '#' }, id: { type: 'integer' } }));
	assert.deepEqual(check({ child: { child: { id: 1 } } }), []);
	assert.deepEqual(
		check({ child: { child: { id: 'x' } } }).map(({ path }) => path),
		['/child/child/id'],
	);
});

test('an invalid name is reported with the name, and an unknown one with the names that its own schema allows', () => {
	const check = compileArguments(
		object(
			{ map: { type: 'object', propertyNames: { maxLength: 2 } }, pet: { $ref: '#/$defs/pet' } },
			{ $defs: { pet: object({ name: {} }, { additionalProperties: false }) } },
		),
	);
	assert.match(check({ map: { long: 1 } })[0]?.message ?? '', /must NOT have more than 2 characters, got string "long"/);
	assert.deepEqual(check({ pet: { nam: 1 } }), [{ path: '/pet/nam', message: 'is not a known parameter. Known: name.' }]);
});

test('formats take time in proportion to the text', () => {
	const computed = (format: string, text: string): number => {
		const check = compileArguments(object({ a: { type: 'string', format } }));
		const before = process.threadCpuUsage();
		check({ a: text });
		const { user, system } = process.threadCpuUsage(before);
		return (user + system) / 1000;
	};
	// With a backtracking engine the first of these takes minutes.
	for (const [format, text] of [
		['url', `http://${'a:'.repeat(200_000)}@`],
		['date-time', ' '.repeat(500_000)],
		['regex', 'a.'.repeat(250_000)],
		['email', `a@${'a.'.repeat(250_000)}!`],
		['uri', `http://${'a'.repeat(500_000)} `],
	] as const)
		assert.ok(computed(format, text) < 1000, format);
	const check = compileArguments(object({ a: { format: 'url' }, b: { format: 'regex' }, c: { format: 'date-time' } }));
	assert.deepEqual(check({ a: 'https://example.com/x', b: '^a+$', c: '2026-11-22T09:00:00Z' }), []);
	assert.equal(check({ a: 'javascript:x', b: '(', c: 'tomorrow' }).length, 3);
});

test('compiled schemas are garbage-collected when they are no longer referenced', async () => {
	setFlagsFromString('--expose-gc');
	const gc = runInNewContext('gc') as () => void;
	const compiled = Array.from({ length: 20 }, (_, index) => {
		const schema = object({ a: { type: 'string', pattern: `^${index}$`, enum: [`${index}`] } });
		compileArguments(schema)({ a: 'x' });
		return new WeakRef(schema['properties'] as JsonObject);
	});
	// A reference that was just created is kept until the end of the event loop iteration.
	await new Promise((resolve) => setImmediate(resolve));
	gc();
	// The last one may still be in a register.
	assert.ok(compiled.filter((reference) => reference.deref() !== undefined).length <= 1);
});
