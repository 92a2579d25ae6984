// Types → JSON Schema: values of the canonical JSON that each must accept, and others that it must refuse.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { assertBounded, compileArguments, type Json, type JsonObject, LEFT_OUT, type Operation } from '../../core/index.ts';
import { shopFiles } from '../../test/helpers/grpc.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

let shop: Map<string, Operation>;
before(async () => {
	shop = new Map((await readWith(importer, '', null, { files: shopFiles() })).operations.map((one) => [one.name, one]));
});
const named = (name: string): Operation => shop.get(name) ?? assert.fail(`no ${name}`);
const accepts = ({ parameters }: Pick<Operation, 'parameters'>, args: JsonObject): boolean =>
	compileArguments(parameters)(structuredClone(args)).length === 0;

async function only(body: string, syntax = 'proto3'): Promise<Operation> {
	const { operations } = await readWith(importer, `syntax = "${syntax}"; ${body}`);
	return operations[0] ?? assert.fail('no operation');
}

const echo = (): Operation => named('Shop_Echo');
const FORMS: [field: string, good: Json[], bad: Json[]][] = [
	['aDouble', [1.5, -3, 'NaN', 'Infinity', '-Infinity'], ['1,5', 'inf', true]],
	['aFloat', [0.1, 'NaN'], ['nan', {}]],
	['anInt32', [2 ** 31 - 1, -(2 ** 31)], [2 ** 31, 1.5, '1']],
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
	test(`${field} accepts its canonical JSON and nothing else`, () => {
		for (const value of good) assert.ok(accepts(echo(), { [field]: value }), JSON.stringify(value));
		for (const value of bad) assert.ok(!accepts(echo(), { [field]: value }), JSON.stringify(value));
	});

test('every field of every type is an argument under its name in JSON, and no other is accepted', () => {
	const properties = Object.keys(echo().parameters['properties'] ?? {});
	assert.equal(properties.length, 47);
	assert.ok(!properties.includes('renamed') && !accepts(echo(), { renamed: 'x' }));
	assert.ok(!accepts(echo(), { an_int32: 1 }) && !accepts(echo(), { unknown: 1 }));
});

test('the members of a oneof are optional, and a note says that at most one can be given', () => {
	assert.match(String(echo().parameters['description']), /At most one of text, tree, nothing\./);
	assert.ok(!String(echo().parameters['description']).includes('maybe'));
	assert.equal(echo().parameters['required'], undefined);
});

test('comments are descriptions; deprecation and defaults of proto2 are shown, and defaults are not filled in', () => {
	const properties = echo().parameters['properties'] as Record<string, JsonObject>;
	assert.equal(properties['aString']?.['description'], 'A text.');
	assert.equal(properties['old']?.['deprecated'], true);
	const defs = named('Library_Echo').parameters['$defs'] as Record<string, { properties: Record<string, JsonObject> }>;
	const pages = defs['shop.legacy.Document']?.properties['pages'];
	assert.deepEqual([pages?.['description'], pages?.['default']], ['Default: 7.', undefined]);
	assert.equal(named('Shop_Echo').description, 'Gives back what it gets.');
});

test('REQUIRED fields and those of proto2 and editions are required, OUTPUT_ONLY fields are in answers only', () => {
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

test('a client’s stream is a list, and a request that is not an object has an argument of its own', () => {
	assert.ok(accepts(named('Shop_Upload'), { messages: [{ title: 'a' }] }) && !accepts(named('Shop_Upload'), { messages: {} }));
	assert.ok(accepts(named('Shop_Upper'), { request: 'a' }) && !accepts(named('Shop_Upper'), {}));
	assert.deepEqual(named('Shop_Wait').parameters, { type: 'object', properties: {}, additionalProperties: false });
});

test('an answer that is an object has a schema, with numbers for unknown values of open enums', () => {
	assert.equal(named('Shop_Upper').outputSchema, null);
	const { properties } = named('Cards_Echo').outputSchema as { properties: Record<string, JsonObject> };
	assert.deepEqual(properties['open'], { anyOf: [{ type: 'string', enum: ['OPEN_NONE', 'OPEN_ONE'] }, { type: 'integer' }] });
	assert.deepEqual(properties['closed'], { type: 'string', enum: ['CLOSED_ONE'] });
	const stream = named('Shop_Watch').outputSchema;
	assert.deepEqual([stream?.['required'], Object.keys(stream?.['properties'] ?? {})], [['messages'], ['messages', 'cut']]);
});

const fields = (count: number, type: (index: number) => string): string =>
	Array.from({ length: count }, (_, index) => `${type(index)} field_number_${index} = ${index + 1};`).join(' ');
/** Messages of some 2 kB each as a schema, and more with comments. */
const wide = (count: number, words = ''): string =>
	Array.from({ length: count }, (_, index) => `message W${index} { ${fields(40, () => `${words} string`)} }`).join('\n') +
	`message M { ${fields(count, (index) => `W${index}`)} } service S { rpc Call(M) returns (M); }`;

test('the nearest part of a schema that is too large is shown, and arguments are checked against the whole', async () => {
	const { outcome, reasons, parameters, whole, outputSchema, answerCut } = await only(wide(60));
	assert.equal(outcome, 'degraded');
	assert.match(
		reasons.join(),
		/^Models are shown the schema without “W\d+”, .* and \d+ more: arguments are checked against the whole one\.$/,
	);
	assert.ok(JSON.stringify(parameters).length < 72 * 1024);
	assert.deepEqual(Object(parameters['$defs'])['W59'], { type: 'object', description: LEFT_OUT });
	const wrong = { fieldNumber59: { anything: 1 } };
	assert.ok(accepts({ parameters }, wrong) && !accepts({ parameters }, { fieldNumber0: { anything: 1 } }));
	assert.ok(whole && !accepts({ parameters: whole }, wrong) && accepts({ parameters: whole }, { fieldNumber59: { fieldNumber39: 'x' } }));
	assert.deepEqual([outputSchema, answerCut], [null, true]);
	const { whole: none, answerCut: isCut = false } = echo();
	assert.deepEqual([none, isCut], [null, false]);
});

test('arguments of a schema that is too large to be checked are checked as shown, and a chain of any length compiles', async () => {
	const { reasons, parameters, whole } = await only(wide(60, `/** ${'Words. '.repeat(60)} */`));
	assert.match(
		reasons.join(),
		/^The schema of “W\d+”, .* is too large and was left out: it accepts anything, and arguments are checked against the rest\.$/,
	);
	assert.equal(whole, null);
	assert.ok(JSON.stringify(parameters).length < 72 * 1024);
	const chainOf = (count: number): Promise<Operation> => {
		const chain = Array.from({ length: count }, (_, index) => `message C${index} { C${index + 1} next = 1; }`).join('\n');
		return only(`${chain} message C${count} {} service S { rpc Call(C0) returns (C${count}); }`);
	};
	const long = await chainOf(2_000);
	assert.deepEqual([long.outcome, long.whole], ['degraded', null]);
	assert.ok(accepts(long, { next: { next: {} } }));
	const deep = await chainOf(400);
	assert.match(deep.reasons.join(), /^Models are shown the schema without “C\d+”: arguments are checked against the whole one\.$/);
	assertBounded(deep.whole ?? assert.fail('cut'), '/parameters');
});

test('an operation has room for its descriptors, however large its whole schema would be', async () => {
	const words = `/** ${'Words. '.repeat(23)} */`;
	const input = wide(60, words).replace('returns (M)', 'returns (A)');
	// The parser takes the square of the fields of a message.
	const answers = (each: number): string =>
		Array.from({ length: 24 }, (_, index) => `message A${index} { ${fields(each, () => 'fixed32')} }`).join('\n') +
		`message A { ${fields(24, (index) => `A${index}`)} }`;
	const [small, large] = [await only(input + answers(3)), await only(input + answers(475))];
	assert.ok(JSON.stringify(small.whole).length > 450_000);
	assert.ok(String(large.definition['descriptors']).length > 480_000, `${String(large.definition['descriptors']).length}`);
	assert.equal(large.outcome, 'degraded');
	assert.match(large.reasons.join(), /is too large and was left out: it accepts anything, and arguments are checked against the rest/);
	assert.ok(JSON.stringify(large).length < 1024 * 1024);
});

test('a type that leads to itself in many ways is checked in bounded time', async () => {
	const { parameters } = await only(`message M { ${fields(50, () => 'M')} } service S { rpc Call(M) returns (M); }`);
	assert.doesNotThrow(() => assertBounded(parameters, '/parameters'));
	assertBounded(echo().parameters, '/parameters');
});

test('a name that hosts of models do not accept is replaced by the field’s own name, or reported', async () => {
	const { parameters, outcome } = await only('message M { string a = 1 [json_name = "ü b"]; } service S { rpc Call(M) returns (M); }');
	assert.deepEqual([Object.keys(parameters['properties'] ?? {}), outcome], [['a'], 'converted']);
	const long = 'x'.repeat(65);
	const lost = await only(`message M { string ${long} = 1; string b = 2; } service S { rpc Call(M) returns (M); }`);
	assert.deepEqual([Object.keys(lost.parameters['properties'] ?? {}), lost.outcome], [['b'], 'degraded']);
});
