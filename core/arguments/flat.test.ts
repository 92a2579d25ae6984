// Bodies whose members are moved beside the other arguments, and their way to the executor.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../contract/nouns.ts';
import { compileArguments } from './compile.ts';
import { flatFault, flatten, nest } from './flat.ts';

const closed = (properties: JsonObject, more: JsonObject = {}): JsonSchema => ({
	type: 'object',
	properties,
	...more,
	additionalProperties: false,
});
const PET = { type: 'object', properties: { name: { type: 'string' }, tag: { type: 'string' } }, required: ['name'] };

test('the members of a required body are moved beside the other arguments, with the required names of both', () => {
	const flat = flatten(closed({ id: { type: 'string' }, body: PET }, { required: ['id', 'body'] }), 'body') ?? assert.fail();
	assert.deepEqual(flat.parameters, {
		type: 'object',
		properties: { id: { type: 'string' }, name: { type: 'string' }, tag: { type: 'string' } },
		required: ['id', 'name'],
		additionalProperties: true,
	});
	assert.deepEqual(flat.flattened, { argument: 'body', others: ['id'], isRequired: true });
	const check = compileArguments(flat.parameters);
	assert.deepEqual(check({ id: '1', name: 'Rex', more: 1 }), []);
	assert.deepEqual(
		check({ id: '1' }).map(({ path }) => path),
		['/name'],
	);
	assert.deepEqual(nest({ id: '1', name: 'Rex', more: 1 }, flat.flattened), { id: '1', body: { name: 'Rex', more: 1 } });
});

test('an optional body is sent either not at all or with all its required members', () => {
	const flat = flatten(closed({ id: {}, body: PET }), 'body') ?? assert.fail();
	const check = compileArguments(flat.parameters);
	assert.deepEqual([check({}), check({ id: 1 }), check({ name: 'Rex' })], [[], [], []]);
	assert.equal(check({ tag: 'x' }).length, 1);
	assert.deepEqual([nest({ id: 1 }, flat.flattened), nest({}, { ...flat.flattened, isRequired: true })], [{ id: 1 }, { body: {} }]);
});

test('definitions are kept, the body may be one of them, and a closed body closes the arguments', () => {
	const parameters = {
		...closed({ body: { description: 'The pet.', $ref: '#/$defs/Pet' } }),
		$defs: { Pet: { ...PET, additionalProperties: false } },
	};
	const flat = flatten(parameters, 'body') ?? assert.fail();
	assert.deepEqual([flat.parameters['$defs'], flat.parameters['additionalProperties']], [parameters.$defs, false]);
	assert.match(compileArguments(flat.parameters)({ nam: 1, name: 'x' })[0]?.message ?? '', /is not a known parameter\. Known: name, tag/);
});

test('a body stays nested when its members cannot be moved', () => {
	for (const [name, properties] of Object.entries<JsonObject>({
		'a name that a parameter has': { name: {}, body: PET },
		'a list': { body: { type: 'array', items: PET } },
		'a text': { body: { type: 'string' } },
		anything: { body: {} },
		'no members': { body: { type: 'object' } },
		alternatives: { body: { ...PET, anyOf: [{ required: ['tag'] }] } },
		'parts that all apply': { body: { allOf: [PET] } },
		'a number of members': { body: { ...PET, maxProperties: 1 } },
		null: { body: { ...PET, type: ['object', 'null'] } },
		'a name that no client takes': { body: { type: 'object', properties: { 'a b': {} } } },
		'a name of every object': { body: { type: 'object', properties: JSON.parse('{"__proto__":{}}') as JsonObject } },
		'a reference to nothing': { body: { $ref: '#/$defs/None' } },
		'a reference without end': { body: { $ref: '#/properties/body' } },
		'no such argument': { other: PET },
	}))
		assert.equal(flatten(closed(properties), 'body'), null, name);
});

test('an executor’s fault in a member becomes a fault of the flat argument', () => {
	const flattened = { argument: 'body', others: [], isRequired: false };
	const said = new GatewayError('validation_failed', '/body/photo must be a base64 string.', {
		details: [{ path: '/body/photo', message: '/body/photo must be a base64 string.' }],
	});
	const told = flatFault(said, flattened) as GatewayError;
	assert.equal(told.message, '/photo must be a base64 string.');
	assert.deepEqual(told.details, [{ path: '/photo', message: '/photo must be a base64 string.' }]);
	const other = new Error('/body/photo');
	assert.equal(flatFault(other, flattened), other);
});
