// Tests of arguments as JSON Schema: values that a server would take are valid, those that it would refuse are not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildSchema, parse, validate } from 'graphql';
import { compileArguments, type Json, type JsonObject, type Operation } from '../../core/index.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

async function operationOf(sdl: string): Promise<Operation> {
	const { operations } = await readWith(importer, sdl);
	return operations[0] ?? assert.fail('no operation');
}

const propertiesOf = ({ parameters }: Operation): JsonObject => parameters['properties'] as JsonObject;

const TYPES = `enum Color { RED GREEN } scalar JSON scalar DateTime scalar Decimal
	input Pet { name: String! color: Color = RED tags: [String!] friend: Pet friends: [Pet!] }
	input By @oneOf { id: ID name: String }`;

const ACCEPTED: [type: string, takes: Json[], refuses: Json[]][] = [
	['Int', [1, -1, null], [1.5, '1', 2 ** 31, true]],
	['Int!', [1], [null]],
	['Float!', [1, 1.5], ['1']],
	['String!', ['a', ''], [1, null]],
	['Boolean', [true, null], ['true', 1]],
	['ID!', ['a', 7], [1.5, null, true]],
	['Color', ['RED', null], ['red', 'BLUE', 1]],
	['Color!', ['GREEN'], [null]],
	['[Int!]', [[1], [], null, 1], [[null], ['a'], 'a']],
	['[Int]!', [[1, null], 1], [null]],
	['[Color!]!', [['RED'], 'RED'], [null, ['BLUE'], [null], 'BLUE']],
	['[[Int!]!]!', [[[1]], []], [[['a']], null]],
	['JSON!', [1, 'a', { a: [1] }, [1]], []],
	['[JSON!]', [[1, {}], null], []],
	['DateTime!', ['2026-01-01T00:00:00Z'], [7]],
	['Decimal!', ['1.10', 1.1], [true]],
	[
		'Pet!',
		[
			{ name: 'a' },
			{ name: 'a', color: null, tags: 'x', friend: { name: 'b', friends: [{ name: 'c' }] } },
			{ name: 'a', friends: { name: 'b' } },
		],
		[
			null,
			{},
			{ name: null },
			{ name: 'a', age: 1 },
			{ name: 'a', color: 'BLUE' },
			{ name: 'a', friend: {} },
			{ name: 'a', friends: [null] },
		],
	],
	['Pet', [null, { name: 'a' }], ['a']],
	['[Pet!]', [null, { name: 'a' }, [{ name: 'a' }]], [[{}], {}]],
	['By!', [{ id: 1 }, { name: 'a' }], [{}, { id: 1, name: 'a' }, { id: null }, null]],
];

for (const [type, takes, refuses] of ACCEPTED)
	test(`${type} takes ${JSON.stringify(takes)} and refuses ${JSON.stringify(refuses)}`, async () => {
		const { parameters } = await operationOf(`type Query { f(x: ${type}): Int } ${TYPES}`);
		const check = compileArguments(parameters);
		for (const x of takes) assert.deepEqual(check({ x }), [], JSON.stringify(x));
		for (const x of refuses) assert.notDeepEqual(check({ x }), [], JSON.stringify(x));
		assert.equal(check({}).length === 0, !type.endsWith('!'), 'absent');
		assert.notDeepEqual(check({ ...(takes[0] === undefined ? {} : { x: takes[0] }), other: 1 }), [], 'unknown');
	});

test('a default makes an argument optional, is told and not filled in', async () => {
	const operation = await operationOf('type Query { f(a: Int! = 3, b: [String!] = ["x"], c: E = A): Int } enum E { A }');
	const args = {};
	assert.deepEqual(compileArguments(operation.parameters)(args), []);
	assert.deepEqual(args, {});
	const nulled = { a: null };
	assert.deepEqual(compileArguments(operation.parameters)(nulled), []);
	assert.deepEqual(nulled, {});
	const properties = propertiesOf(operation) as Record<string, JsonObject>;
	assert.deepEqual(
		Object.values(properties).map((schema) => schema['description']),
		['Default: 3.', 'Default: ["x"].', 'Default: "A".'],
	);
	assert.match(String(operation.definition['query']), /^query f\(\$a: Int, \$b: \[String!\], \$c: E\) /);
});

test('descriptions are cleaned, and what is deprecated is marked', async () => {
	const { parameters } = await operationOf('type Query { f("Which \u202e\u001b[2Jone" a: Int @deprecated(reason: "x")): Int }');
	assert.deepEqual((parameters['properties'] as JsonObject)['a'], {
		type: ['integer', 'null'],
		minimum: -(2 ** 31),
		maximum: 2 ** 31 - 1,
		description: 'Which [2Jone',
		deprecated: true,
	});
});

test('a custom scalar says its name, and where it is specified', async () => {
	const operation = await operationOf(
		'type Query { f(a: Shape, b: DateTime!): Int } scalar Shape @specifiedBy(url: "https://shapes.example") scalar DateTime',
	);
	assert.deepEqual(propertiesOf(operation), { a: { title: 'Shape (https://shapes.example)' }, b: { type: 'string', title: 'DateTime' } });
});

test('a long enum is a definition', async () => {
	const values = Array.from({ length: 30 }, (_, index) => `V${index}`);
	const { parameters } = await operationOf(`type Query { f(a: E, b: E!): Int } enum E { ${values.join(' ')} }`);
	assert.deepEqual(parameters['$defs'], { E: { type: 'string', enum: values } });
	assert.deepEqual(compileArguments(parameters)({ a: null, b: 'V29' }), []);
	assert.notDeepEqual(compileArguments(parameters)({ b: 'V30' }), []);
});

test('an input object that requires itself is one that nobody can send', async () => {
	const { operations } = await readWith(
		importer,
		'type Query { f(a: A!): Int g(a: A): Int h(b: B!): Int } input A { a: B! } input B { a: A! } input C { c: C }',
	);
	const reason = (name: string): string => `Its argument “${name}” requires an input object that requires itself or a file (Upload).`;
	assert.deepEqual(
		operations.map(({ key, outcome, reasons }) => [key, outcome, ...reasons]),
		[
			['query.f', 'skipped', reason('a')],
			['query.g', 'converted'],
			['query.h', 'skipped', reason('b')],
		],
	);
});

test('a chain of 20,000 input objects ends in a schema within its budget', async () => {
	const chain = Array.from({ length: 20_000 }, (_, index) => `input I${index} { next: I${index + 1}! }`).join('\n');
	const { operations } = await readWith(importer, `type Query { f(x: I0): Int g(x: I0!): Int } ${chain} input I20000 { a: Int }`);
	const [first, second] = operations;
	assert.equal(second?.outcome, 'skipped');
	assert.equal(first?.outcome, 'degraded');
	assert.match(first.reasons[0] ?? '', /^The schema of “I\d+” is too large and was left out: it accepts anything, /);
	assert.ok(JSON.stringify(first.parameters).length < 70_000);
	compileArguments(first.parameters);
});

test('input objects that are near each other, but lead to each other in a long chain, compile', async () => {
	const names = Array.from({ length: 300 }, (_, index) => `I${index}`);
	const chain = names.map((name, index) => `input ${name} { next: I${index + 1} }`).join('\n');
	const first = `input First { ${names.map((name) => `f${name}: ${name}`).join(' ')} }`;
	const { parameters, outcome } = await operationOf(`type Query { f(x: First): Int } ${first} ${chain} input I300 { a: Int }`);
	assert.equal(outcome, 'degraded');
	assert.deepEqual(compileArguments(parameters)({ x: { fI0: { next: { next: null } } } }), []);
	assert.notDeepEqual(compileArguments(parameters)({ x: { fI0: { next: { next: 1 } } } }), []);
});

test('an argument of a long name is shortened, and the document calls it by its own', async () => {
	const name = `a${'b'.repeat(99)}`;
	const sdl = `type Query { f(${name}: Int!): Int }`;
	const operation = await operationOf(sdl);
	const [arg = ''] = Object.keys(propertiesOf(operation));
	assert.match(arg, /^ab{54}_[0-9a-f]{8}$/);
	assert.ok(String(operation.definition['query']).includes(`f(${name}: $${arg})`));
	assert.deepEqual(validate(buildSchema(sdl), parse(String(operation.definition['query']))), []);
});

test('a selection may be asked for where there are fields, unless an argument has its name', async () => {
	const sdl = 'type Query { a: P b: Int c(_select: Int): P } type P { id: ID }';
	const { operations } = await readWith(importer, sdl);
	const [a, b, c] = operations.map((operation) => ({
		args: Object.keys(propertiesOf(operation)),
		config: importer.tool(operation).executionConfig,
	}));
	assert.deepEqual([a?.args, a?.config['selectArgument']], [['_select'], '_select']);
	assert.deepEqual([b?.args, b?.config['selectArgument']], [[], undefined]);
	assert.deepEqual([c?.args, c?.config['selectArgument']], [['_select'], undefined]);
});

test('files cannot be given: what takes one is left out, what requires one is skipped, and both are told', async () => {
	const { operations } = await readWith(
		importer,
		`scalar Upload
		input Avatar { file: Upload! }
		input Profile { name: String photo: Upload photos: [Upload!] avatar: Avatar }
		type Query { none: Int }
		type Mutation {
			optional(name: String, file: Upload): Int
			inside(profile: Profile!): Int
			list(files: [Upload!]): Int
			required(file: Upload!): Int
			requiredList(files: [Upload!]!): Int
			requiredInside(avatar: Avatar!): Int
		}`,
	);
	const told = new Map(operations.map((operation) => [operation.key.replace('mutation.', ''), operation]));
	const of = (name: string): Operation => told.get(name) ?? assert.fail(name);
	const outcomes = [...told].map(([name, { outcome, reasons }]) => [name, outcome, reasons.join(' ')]);
	assert.deepEqual(outcomes.slice(1), [
		['optional', 'degraded', 'What takes a file (Upload) is left out: “file”.'],
		['inside', 'degraded', 'What takes a file (Upload) is left out: “Profile.photo, Profile.photos, Avatar.file”.'],
		['list', 'degraded', 'What takes a file (Upload) is left out: “files”.'],
		['required', 'skipped', 'Its argument “file” is a file (Upload), and tools send none.'],
		['requiredList', 'skipped', 'Its argument “files” is a file (Upload), and tools send none.'],
		['requiredInside', 'skipped', 'Its argument “avatar” requires an input object that requires itself or a file (Upload).'],
	]);
	assert.deepEqual(Object.keys(propertiesOf(of('optional'))), ['name']);
	assert.equal(of('optional').definition['query'], 'mutation optional($name: String) { optional(name: $name) }');
	const check = compileArguments(of('inside').parameters);
	assert.deepEqual(check({ profile: { name: 'a', avatar: null } }), []);
	for (const profile of [{ photo: 'a' }, { avatar: {} }, { avatar: { file: 'a' } }]) assert.notDeepEqual(check({ profile }), []);
});
