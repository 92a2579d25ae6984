// Tests of which documents are read and which are refused, and that none ends the process.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildSchema, introspectionFromSchema } from 'graphql';
import { asGatewayError } from '../../core/index.ts';
import { threadCpuMs } from '../../test/helpers/clock.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

const read = (text: string): Promise<Reading> => readWith(importer, text);
const keysOf = ({ operations }: Reading): string[] => operations.map(({ key }) => key);

/** @returns the message of the refusal */
async function refusal(text: string): Promise<string> {
	const error = await read(text).then(
		() => assert.fail(`read: ${text.slice(0, 100)}`),
		(thrown: unknown) => asGatewayError(thrown) ?? assert.fail(String(thrown)),
	);
	assert.equal(error.code, 'schema_invalid');
	assert.ok(error.message.length < 600, error.message);
	return error.message;
}

const SDL = 'type Query { pet(id: ID!): Pet } type Mutation { addPet(name: String!): Pet } type Pet { id: ID! name: String }';

test('SDL, and an introspection result with and without what is around it, say the same', async () => {
	const result = introspectionFromSchema(buildSchema(SDL));
	const expected = await read(SDL);
	assert.deepEqual(keysOf(expected), ['query.pet', 'mutation.addPet']);
	for (const document of [result, { data: result }, { data: result, extensions: {} }]) {
		const { operations, summary } = await read(`\ufeff  ${JSON.stringify(document)}`);
		assert.deepEqual(operations, expected.operations);
		assert.equal(summary.format, 'graphql introspection');
	}
	assert.equal(expected.summary.format, 'graphql sdl');
});

test('detect knows the format from the text, wherever the mark stands', () => {
	const sdl = [
		SDL,
		'"""\nPets\n"""\ntype Query {\n}',
		'extend type Query @key { a: Int }',
		'schema { query: Q }',
		'# x\ninput A { a: Int }',
	];
	for (const text of [...sdl, '{"data":{"__schema":{}}}', '{ "__schema" : {} }']) assert.equal(importer.detect(text), 1, text);
	for (const text of ['{"openapi":"3.1.0"}', 'openapi: 3.1.0', 'syntax = "proto3";\nmessage A {}', '<html>type Query', '', '{"errors":[]}'])
		assert.equal(importer.detect(text), 0, text);
});

test('detect takes time that grows with the text, whatever the text is', async () => {
	const texts = ['\n', ' ', 'type ', 'type a', 'extend\n', '{ ', '\ufeff'].map((part) => part.repeat(300_000));
	const cpuMs = await threadCpuMs(() => {
		for (const text of texts) importer.detect(text);
	});
	assert.ok(cpuMs < 2_000, `${cpuMs} ms`);
});

test('what is no schema is refused with what it is instead', async () => {
	const cases: [text: string, says: RegExp][] = [
		['', /Unexpected <EOF>/],
		['<html></html>', /line 1, column 1: Syntax Error: Unexpected character: "<"/],
		['type Query {\n  a: Int\n  b(: Int\n}', /line 3, column 5/],
		['{"a":', /Neither JSON nor SDL/],
		['[]', /no "__schema"/],
		['{"errors":[{"message":"introspection is\\u001b disabled"}]}', /the server says "introspection is disabled"/],
		['{"__schema":{}}', /cannot be read/],
		[
			'{"__schema":{"types":[{"kind":"OBJECT","name":"a b","fields":[],"interfaces":[]}],"queryType":{"name":"a b"},"directives":[]}}',
			/cannot be read/,
		],
		['query { a }', /no query type/],
		['type Pet { a: Int }', /no query type/],
		['schema { query: Q } input Q { a: Int }', /root type Q is no object type/],
		['type Query {\n  a: Int\n  b: Nope\n}', /line 3, column 6: unknown type "Nope"/],
	];
	for (const [text, says] of cases) assert.match(await refusal(text), says, text);
});

test('nesting of any depth is refused with its line, not crashed on', async () => {
	const deep = (open: string, close: string, inside = ''): string => open.repeat(20_000) + inside + close.repeat(20_000);
	const cases = [
		`type Query {\n a: ${deep('[', ']', 'Int')} }`,
		`type Query {\n a(x: Int = ${deep('[', ']')}): Int }`,
		`type Query {\n a(x: Int = ${deep('{a:', '}', '1')}): Int }`,
		`type Query {\n a: Int }\n${'{ a '.repeat(20_000)}`,
	];
	for (const text of cases) assert.match(await refusal(text), /deeper than 100 levels: line [23], column \d+/);
	const type = deep('{"kind":"LIST","ofType":', '}', 'null');
	assert.match(await refusal(`{"__schema":{"queryType":{"name":"Query"},"types":[${type}]}}`), /deeper than 100 levels/);
	assert.match(await refusal(`{"__schema":${deep('[', ']')}}`), /no "__schema"/);
});

test('a schema of too many tokens or characters is refused', async () => {
	assert.match(await refusal(`type Query { ${'a '.repeat(2_000_002)}`), /more than 2000000 tokens: line 1/);
	assert.match(await refusal(`# ${' '.repeat(33 * 1024 * 1024)}`), /longer than 33554432 characters/);
});

test('50,000 aliases in a document that is no schema are nothing to read', async () => {
	const aliases = Array.from({ length: 50_000 }, (_, index) => `a${index}: __typename`).join(' ');
	assert.match(await refusal(`{ ${aliases} }`), /no query type/);
});

test('files that were put one after the other, and a subgraph that extends what it does not define, are one schema', async () => {
	assert.deepEqual(
		keysOf(await read('type Query { a: Int } extend type Query { b: Int } type Query { c: Int }')),
		['query.a', 'query.c', 'query.b'].toSorted(),
	);
	assert.deepEqual(keysOf(await read('extend schema @link(url: "x") extend type Query @x { a: P } type P @key(fields: "id") { id: ID }')), [
		'query.a',
	]);
});

test('a field that is defined twice counts as it was defined last, with a warning', async () => {
	const { operations, warnings } = await read('type Query {\n a: Int\n a(x: Int): Int\n}');
	assert.deepEqual(
		operations.map(({ parameters }) => Object.keys(parameters['properties'] ?? {})),
		[['x']],
	);
	assert.deepEqual(warnings, [
		{ message: 'Query.a is defined twice: the last definition counts.', fields: { pointer: 'line 3, column 2' } },
	]);
});

test('interfaces that implement each other, empty unions and types that are used in the wrong place end in tools or reasons', async () => {
	const { operations } = await read(
		`type Query { a: A u: U wrong(x: P): Int input: I fine: Int }
		interface A implements B { x: Int } interface B implements A { x: Int } union U type P { p: Int } input I { i: Int }`,
	);
	assert.deepEqual(
		operations.map(({ key, outcome, reasons }) => [key, outcome, ...reasons]),
		[
			['query.a', 'converted'],
			['query.u', 'converted'],
			['query.wrong', 'skipped', 'Its argument “x” has a type that cannot be sent.'],
			['query.input', 'skipped', 'Its type is none that can be answered.'],
			['query.fine', 'converted'],
		],
	);
});

test('names that every object has are names like others', async () => {
	const { operations } = await read(
		'type Query { constructor(toString: Int, __proto__: Int): hasOwnProperty } type hasOwnProperty { valueOf: Int }',
	);
	assert.equal(operations[0]?.key, 'query.constructor');
	assert.match(
		String(operations[0]?.definition['query']),
		/\{ constructor\(toString: \$toString, __proto__: \$__proto__\) \{ valueOf \} \}/,
	);
});

test('subscriptions are skipped with the reason, and take no tool’s name', async () => {
	const { operations } = await read('type Query { pet: Int } type Subscription { pet: Int }');
	assert.deepEqual(
		operations.map(({ key, name, outcome, reasons }) => [key, name, outcome, ...reasons]),
		[
			['query.pet', 'pet', 'converted'],
			['subscription.pet', 'subscription_pet', 'skipped', 'No tool is made of subscriptions: a call is answered once.'],
		],
	);
});

test('a query and a mutation of one name get different names, the same in any order', async () => {
	const first = await read('type Query { pet: Int x: Int } type Mutation { pet: Int }');
	const second = await read('type Mutation { pet: Int } type Query { x: Int pet: Int }');
	const namesOf = ({ operations }: Reading) => Object.fromEntries(operations.map(({ key, name }) => [key, name]));
	assert.deepEqual(namesOf(first), namesOf(second));
	assert.match(namesOf(first)['query.pet'] ?? '', /^pet_[0-9a-f]{8}$/);
});
