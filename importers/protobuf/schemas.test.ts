// Types → JSON Schema, each form of the canonical JSON against what it must and must not take.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertBounded, compileArguments, type Json, type JsonObject, type Operation } from '../../core/index.ts';
import { shopFiles } from '../../test/helpers/grpc.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

const shop = new Map((await readWith(importer, '', null, { files: shopFiles() })).operations.map((one) => [one.name, one]));
const named = (name: string): Operation => shop.get(name) ?? assert.fail(`no ${name}`);
const accepts = ({ parameters }: Pick<Operation, 'parameters'>, args: JsonObject): boolean =>
	compileArguments(parameters)(structuredClone(args)).length === 0;

async function only(body: string, syntax = 'proto3'): Promise<Operation> {
	const { operations } = await readWith(importer, `syntax = "${syntax}"; ${body}`);
	return operations[0] ?? assert.fail('no operation');
}

const echo = named('Shop_Echo');
const FORMS: [field: string, good: Json[], bad: Json[]][] = [
	['aDouble', [1.5, -3, 'NaN', 'Infinity', '-Infinity'], ['1,5', 'inf', true, null]],
	['aFloat', [0.1, 'NaN'], ['nan', {}]],
	['anInt32', [2 ** 31 - 1, -(2 ** 31)], [2 ** 31, 1.5, '1', null]],
	['anInt64', ['9223372036854775807', '-9223372036854775808', 7], ['1.5', 'x', 1.5]],
	['aUint32', [2 ** 32 - 1], [-1, 2 ** 32]],
	['aUint64', ['18446744073709551615', 0], ['-1', -1]],
	['aSint32', [-1], ['-1']],
	['aSfixed64', ['-1'], ['']],
	['aFixed32', [0], [-1]],
	['aBool', [true], ['true', 1]],
	['aString', ['ü'], [1]],
	['someBytes', ['AA=='], [[0]]],
	['color', ['RED', 'BLUE'], ['PINK', 1]],
	['numbers', [[], [1, 2]], [[1.5], 1, ['1']]],
	['byName', [{ a: '1', b: 2 }], [{ a: 'x' }, []]],
	['byNumber', [{ '-1': { label: 'x' } }], [{ a: {} }, { 1: { lable: 'x' } }]],
	['byFlag', [{ true: 'RED' }], [{ yes: 'RED' }]],
	['maybe', [0], ['0']],
	['nothing', [null], ['NULL_VALUE']],
	['root', [{ branches: [{ branches: [{ label: 'x' }] }] }], [{ branches: [{ branches: [{ lable: 'x' }] }] }]],
	['other-name', ['x'], [1]],
	['any', [{ '@type': 'type.googleapis.com/shop.v1.Money', units: '1' }], ['x', []]],
	['at', ['2024-02-29T12:00:00.123456789Z', '2024-01-01T00:00:00+01:00'], ['yesterday', 0]],
	['lasts', ['1.5s', '-3s', '0.000000001s'], ['1.5', 's', 1]],
	['mask', ['a,bC.d'], [['a']]],
	['struct', [{ a: [1, { b: null }] }], [[]]],
	['value', [null, 1, 'a', [], {}], []],
	['list', [[1, 'a', null]], [{}]],
	['empty', [{}], ['x']],
	['int64Value', ['1', 1, null], ['x']],
	['boolValue', [true, null], ['true']],
	['stringValue', ['x', null], [1]],
	['doubleValue', ['NaN', 1, null], ['x']],
	['times', [['2024-01-01T00:00:00Z']], [['x']]],
];
for (const [field, good, bad] of FORMS)
	test(`${field} takes its canonical JSON and nothing else`, () => {
		for (const value of good) assert.ok(accepts(echo, { [field]: value }), JSON.stringify(value));
		for (const value of bad) assert.ok(!accepts(echo, { [field]: value }), JSON.stringify(value));
	});

test('every field of every type is an argument under its name in JSON, and no other is taken', () => {
	const properties = Object.keys(echo.parameters['properties'] ?? {});
	assert.equal(properties.length, 47);
	assert.ok(!properties.includes('renamed') && !accepts(echo, { renamed: 'x' }));
	assert.ok(!accepts(echo, { an_int32: 1 }) && !accepts(echo, { unknown: 1 }));
});

test('the members of a oneof are optional, and a note says that there can be one', () => {
	assert.match(String(echo.parameters['description']), /At most one of text, tree, nothing\./);
	assert.ok(!String(echo.parameters['description']).includes('maybe'));
	assert.equal(echo.parameters['required'], undefined);
});

test('comments are descriptions, deprecated is told, defaults of proto2 are told and not filled in', () => {
	const properties = echo.parameters['properties'] as Record<string, JsonObject>;
	assert.equal(properties['aString']?.['description'], 'A text.');
	assert.equal(properties['old']?.['deprecated'], true);
	const defs = named('Library_Echo').parameters['$defs'] as Record<string, { properties: Record<string, JsonObject> }>;
	const pages = defs['shop.legacy.Document']?.properties['pages'];
	assert.deepEqual([pages?.['description'], pages?.['default']], ['Default: 7.', undefined]);
	assert.equal(named('Shop_Echo').description, 'Gives back what it gets.');
});

test('REQUIRED is required, OUTPUT_ONLY is no argument but an answer, and so are required fields of proto2 and editions', () => {
	const { $defs } = named('Shop_CreateItem').parameters as { $defs: Record<string, JsonObject> };
	const item = $defs['shop.v1.Item'];
	assert.deepEqual(Object.keys(item?.['properties'] ?? {}), ['name', 'title', 'picture']);
	assert.deepEqual(item?.['required'], ['title']);
	assert.deepEqual(Object.keys(named('Shop_CreateItem').outputSchema?.['properties'] ?? {}), ['name', 'title', 'version', 'picture']);
	assert.deepEqual(named('Cards_Echo').parameters['required'], ['needed']);
	assert.ok(!accepts(named('Library_Echo'), { request: { pages: 1 } }));
});

test('groups and extensions are fields: extensions under their full names in brackets', () => {
	const library = named('Library_Echo');
	const document = { id: 'x', author: [{ name: 'A', born: 1 }], cover: { color: 'red' }, '[shop.legacy.isbn]': '1' };
	assert.ok(accepts(library, { request: { ...document, '[shop.legacy.Shelf.shelf]': [{ number: 1 }] } }));
	assert.ok(!accepts(library, { request: { ...document, '[shop.legacy.other]': '1' } }));
	assert.ok(!accepts(library, { request: { id: 'x', author: [{}] } }));
});

test('a stream that the client sends is a list, and a request that is no object has an argument of its own', () => {
	assert.ok(accepts(named('Shop_Upload'), { messages: [{ title: 'a' }] }) && !accepts(named('Shop_Upload'), { messages: {} }));
	assert.ok(accepts(named('Shop_Upper'), { request: 'a' }) && !accepts(named('Shop_Upper'), {}));
	assert.deepEqual(named('Shop_Wait').parameters, { type: 'object', properties: {}, additionalProperties: false });
});

test('an answer has a schema where it is an object, with numbers for values of open enums that are not known yet', () => {
	assert.equal(named('Shop_Upper').outputSchema, null);
	const { properties } = named('Cards_Echo').outputSchema as { properties: Record<string, JsonObject> };
	assert.deepEqual(properties['open'], { anyOf: [{ type: 'string', enum: ['OPEN_NONE', 'OPEN_ONE'] }, { type: 'integer' }] });
	assert.deepEqual(properties['closed'], { type: 'string', enum: ['CLOSED_ONE'] });
	const stream = named('Shop_Watch').outputSchema;
	assert.deepEqual([stream?.['required'], Object.keys(stream?.['properties'] ?? {})], [['messages'], ['messages', 'cut']]);
});

test('what is too large is left out, the nearest stays, and a chain of any length compiles', async () => {
	const fields = (count: number, type: (index: number) => string): string =>
		Array.from({ length: count }, (_, index) => `${type(index)} field_number_${index} = ${index + 1};`).join(' ');
	const wide = Array.from({ length: 60 }, (_, index) => `message W${index} { ${fields(40, () => 'string')} }`).join('\n');
	const degraded = await only(`${wide} message M { ${fields(60, (index) => `W${index}`)} } service S { rpc Call(M) returns (M); }`);
	assert.equal(degraded.outcome, 'degraded');
	assert.match(degraded.reasons[0] ?? '', /^The schema of “W\d+”, .* and \d+ more is too large and was left out/);
	assert.ok(JSON.stringify(degraded.parameters).length < 72 * 1024);
	assert.ok(accepts(degraded, { fieldNumber59: { anything: 1 } }) && !accepts(degraded, { fieldNumber0: { anything: 1 } }));
	assert.equal(degraded.outputSchema, null);
	const chain = Array.from({ length: 2_000 }, (_, index) => `message C${index} { C${index + 1} next = 1; }`).join('\n');
	const long = await only(`${chain} message C2000 {} service S { rpc Call(C0) returns (C2000); }`);
	assert.equal(long.outcome, 'degraded');
	assert.ok(accepts(long, { next: { next: {} } }));
});

test('a type that leads to itself in many ways is checked in bounded time', async () => {
	const fields = Array.from({ length: 50 }, (_, index) => `M f${index} = ${index + 1};`).join(' ');
	const { parameters } = await only(`message M { ${fields} } service S { rpc Call(M) returns (M); }`);
	assert.doesNotThrow(() => assertBounded(parameters, '/parameters'));
	assertBounded(echo.parameters, '/parameters');
});

test('a name that no model’s host takes is replaced by the name in the description, or told', async () => {
	const { parameters, outcome } = await only('message M { string a = 1 [json_name = "ü b"]; } service S { rpc Call(M) returns (M); }');
	assert.deepEqual([Object.keys(parameters['properties'] ?? {}), outcome], [['a'], 'converted']);
	const long = 'x'.repeat(65);
	const lost = await only(`message M { string ${long} = 1; string b = 2; } service S { rpc Call(M) returns (M); }`);
	assert.deepEqual([Object.keys(lost.parameters['properties'] ?? {}), lost.outcome], [['b'], 'degraded']);
});
