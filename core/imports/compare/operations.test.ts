// The meaning of a change of an operation for its callers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../contract/nouns.ts';
import type { OperationContent } from '../../store/store.ts';
import { compareOperations as compareInTurns } from './operations.ts';
import { LEFT_OUT } from './shapes.ts';

const compareOperations = (before: OperationContent, after: OperationContent) => compareInTurns(before, after, async () => undefined);

const content = (change: Partial<OperationContent> = {}): OperationContent => ({
	operationId: 'listPets',
	description: 'All pets.',
	method: 'GET',
	path: '/pets',
	tags: ['pets', 'zoo'],
	deprecated: false,
	parameters: { type: 'object', properties: {}, additionalProperties: false },
	outputSchema: null,
	definition: { method: 'GET', path: '/pets' },
	outcome: 'converted',
	reasons: [],
	...change,
});

type Expected = [kind: 'breaking' | 'additive' | 'text' | null, reason: string | null];

/** The title says what changes, from left to right. */
type Case = [title: string, before: Json, after: Json, ...expected: Expected];

const kindOf = async (before: OperationContent, after: OperationContent) => {
	const { kind, reasons } = await compareOperations(before, after);
	return [kind, reasons[0] ?? null];
};

async function check([title, , , ...expected]: Case, before: OperationContent, after: OperationContent): Promise<void> {
	assert.deepEqual(await kindOf(before, after), expected, title);
	assert.deepEqual(await kindOf(before, structuredClone(before)), [null, null], `${title}: the same`);
}

const A = 'The argument a';

/** Schemas of an argument. */
const ARGUMENT: Case[] = [
	['type changed', { type: 'string' }, { type: 'integer' }, 'breaking', `${A} changed its type from string to integer.`],
	['type narrowed', { type: 'number' }, { type: 'integer' }, 'breaking', `${A} changed its type from number to integer.`],
	['type widened', { type: 'integer' }, { type: 'number' }, 'additive', `${A} changed its type from integer to number.`],
	['null admitted', { type: 'string' }, { type: ['string', 'null'] }, 'additive', `${A} changed its type from string to string or null.`],
	['null refused', { type: ['null', 'string'] }, { type: 'string' }, 'breaking', `${A} changed its type from null or string to string.`],
	['null and array of types in another order', { type: ['null', 'string'] }, { type: ['string', 'null'] }, null, null],
	[
		'null by alternatives',
		{ type: 'string' },
		{ anyOf: [{ type: 'string' }, { type: 'null' }] },
		'additive',
		`${A} has more forms than before.`,
	],
	[
		'null spelled differently',
		{ type: ['string', 'null'], maxLength: 3 },
		{ anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
		null,
		null,
	],
	['type named', {}, { type: 'string' }, 'breaking', `${A} no longer allows any value.`],
	['type dropped', { type: 'string' }, {}, 'additive', `${A} now allows any value.`],
	['true is {}', true, {}, null, null],
	['closed completely', {}, false, 'breaking', `${A} no longer allows any value.`],
	['value gone', { enum: ['x', 'y'] }, { enum: ['x'] }, 'breaking', `${A} lost the value "y".`],
	['value new', { enum: ['x'] }, { enum: ['x', 'y', 1] }, 'additive', `${A} gained the values "y", 1.`],
	['values shuffled', { enum: ['x', 'y'] }, { enum: ['y', 'x'] }, null, null],
	['values listed', { type: 'string' }, { type: 'string', enum: ['x'] }, 'breaking', `${A} is limited to listed values.`],
	[
		'values no longer listed',
		{ type: 'string', enum: ['x'] },
		{ type: 'string' },
		'additive',
		`${A} is no longer limited to listed values.`,
	],
	['a constant is a list of one', { const: 'x' }, { enum: ['x', 'y'] }, 'additive', `${A} gained the value "y".`],
	['format new', { type: 'string' }, { type: 'string', format: 'date' }, 'breaking', `${A} changed its format from none to "date".`],
	['format gone', { type: 'string', format: 'date' }, { type: 'string' }, 'additive', `${A} changed its format from "date" to none.`],
	['format changed', { format: 'date' }, { format: 'date-time' }, 'breaking', `${A} changed its format from "date" to "date-time".`],
	['minimum raised', { minimum: 1 }, { minimum: 2 }, 'breaking', `${A} changed its minimum from 1 to 2.`],
	['minimum lowered', { minimum: 1 }, { minimum: 0 }, 'additive', `${A} changed its minimum from 1 to 0.`],
	['minimum excluded', { minimum: 1 }, { exclusiveMinimum: 1 }, 'breaking', `${A} changed its minimum from 1 to 1 (exclusive).`],
	['minimum included', { exclusiveMinimum: 1 }, { minimum: 1 }, 'additive', `${A} changed its minimum from 1 (exclusive) to 1.`],
	['maximum new', { type: 'integer' }, { type: 'integer', maximum: 9 }, 'breaking', `${A} changed its maximum from none to 9.`],
	[
		'maximum gone',
		{ type: 'integer', exclusiveMaximum: 9 },
		{ type: 'integer' },
		'additive',
		`${A} changed its maximum from 9 (exclusive) to none.`,
	],
	['length', { maxLength: 9 }, { maxLength: 8 }, 'breaking', `${A} changed its greatest length from 9 to 8.`],
	[
		'items counted',
		{ type: 'array', minItems: 2 },
		{ type: 'array' },
		'additive',
		`${A} changed its least number of items from 2 to none.`,
	],
	[
		'members counted',
		{ type: 'object' },
		{ type: 'object', maxProperties: 2 },
		'breaking',
		`${A} changed its greatest number of members from none to 2.`,
	],
	['pattern changed', { pattern: 'a' }, { pattern: 'a|b' }, 'breaking', `${A} changed its pattern from "a" to "a|b".`],
	['pattern gone', { type: 'string', pattern: 'a' }, { type: 'string' }, 'additive', `${A} changed its pattern from "a" to none.`],
	['unique', { type: 'array' }, { type: 'array', uniqueItems: true }, 'breaking', `${A} changed its uniqueItems from none to true.`],
	['default', { type: 'integer', default: 1 }, { type: 'integer', default: 2 }, 'text', `${A} is described in other words.`],
	[
		'negation',
		{ not: { type: 'string' } },
		{ not: { type: 'null' } },
		'breaking',
		`${A} changed its not from {"type":"string"} to {"type":"null"}.`,
	],
	[
		'an unknown keyword',
		{ type: 'object' },
		{ type: 'object', unevaluatedProperties: false },
		'breaking',
		`${A} changed its unevaluatedProperties from none to false.`,
	],
	['words', { description: 'x', title: 'y' }, { description: 'z', title: 'y' }, 'text', `${A} is described in other words.`],
	['example', { type: 'string' }, { type: 'string', examples: ['x'] }, 'text', `${A} is described in other words.`],
	['deprecated', { type: 'string' }, { type: 'string', deprecated: true }, 'additive', `${A} is deprecated now.`],
	[
		'items narrowed',
		{ items: { type: 'number' } },
		{ items: { type: 'integer' } },
		'breaking',
		'The argument a[] changed its type from number to integer.',
	],
	['places', { prefixItems: [{}] }, { prefixItems: [{}, {}] }, 'breaking', `${A} has another number of items.`],
	[
		'one more condition',
		{ allOf: [{ minLength: 1 }, { maxLength: 9 }] },
		{ allOf: [{ maxLength: 9 }, { minLength: 1 }, { pattern: 'a' }] },
		'breaking',
		`${A} has more forms than before.`,
	],
	[
		'one condition less',
		{ allOf: [{ minLength: 1 }, { maxLength: 9 }, { pattern: 'a' }] },
		{ allOf: [{ pattern: 'a' }, { maxLength: 9 }] },
		'additive',
		`${A} has fewer forms than before.`,
	],
	['one alternative is itself', { oneOf: [{ type: 'string' }] }, { type: 'string' }, null, null],
	[
		'an alternative narrowed',
		{ anyOf: [{ type: 'string' }, { type: 'number' }] },
		{ anyOf: [{ type: 'integer' }, { type: 'string' }] },
		'breaking',
		`${A} changed its type from number to integer.`,
	],
	[
		'alternatives and their values shuffled',
		{ anyOf: [{ enum: ['x', 'y'] }, { enum: ['a', 'b'] }] },
		{ anyOf: [{ enum: ['b', 'a'] }, { enum: ['y', 'x'] }] },
		null,
		null,
	],
	[
		'an alternative removed',
		{ oneOf: [{ type: 'string' }, { type: 'number' }] },
		{ oneOf: [{ type: 'string' }, { type: 'null' }, { type: 'object' }] },
		'breaking',
		`${A} has more forms than before.`,
	],
	[
		'alternatives beside a rule',
		{ type: 'object' },
		{ type: 'object', oneOf: [{ required: ['x'] }, { required: ['y'] }] },
		'breaking',
		`${A} is composed differently.`,
	],
	[
		'a member that is optional',
		{ type: 'object', properties: {} },
		{ type: 'object', properties: { b: {} } },
		'additive',
		'The optional argument a.b was added.',
	],
	[
		'a member that is required',
		{ type: 'object' },
		{ type: 'object', properties: { b: {} }, required: ['b'] },
		'breaking',
		'The required argument a.b was added.',
	],
	['a member removed', { type: 'object', properties: { b: {} } }, { type: 'object' }, 'breaking', 'The argument a.b was removed.'],
	[
		'a member required without being described',
		{ type: 'object' },
		{ type: 'object', required: ['b'] },
		'breaking',
		'The argument a.b became required.',
	],
	[
		'members closed',
		{ type: 'object' },
		{ type: 'object', additionalProperties: false },
		'breaking',
		`${A} no longer takes other members.`,
	],
	[
		'members opened',
		{ type: 'object', additionalProperties: false },
		{ type: 'object', additionalProperties: { type: 'string' } },
		'additive',
		`${A} takes other members now.`,
	],
	[
		'other members narrowed',
		{ additionalProperties: { type: 'number' } },
		{ additionalProperties: { type: 'integer' } },
		'breaking',
		'The argument a.* changed its type from number to integer.',
	],
	[
		'rules for names',
		{ patternProperties: { a: {} } },
		{ patternProperties: { b: {} } },
		'breaking',
		`${A} has other rules for the names of its members.`,
	],
	['a default that is an object, in another order of keys', { default: { x: 1, y: 2 } }, { default: { y: 2, x: 1 } }, null, null],
];

test('an argument’s schema: accepting less is breaking, more additive, new words are text, and doubtful changes breaking', async () => {
	for (const one of ARGUMENT) {
		const of = (schema: Json) => content({ parameters: { type: 'object', properties: { a: schema }, additionalProperties: false } });
		await check(one, of(one[1]), of(one[2]));
	}
});

const F = 'The field f of the answer';

/** Schemas of the answer. */
const ANSWER: Case[] = [
	['a new field', { type: 'object' }, { type: 'object', properties: { f: {} } }, 'additive', `${F} was added.`],
	['a field removed', { properties: { f: {} } }, { properties: {}, title: 'x' }, 'breaking', `${F} was removed.`],
	[
		'a field’s type',
		{ properties: { f: { type: 'string' } } },
		{ properties: { f: { type: 'object' } } },
		'breaking',
		`${F} changed its type from string to object.`,
	],
	[
		'a field may be null',
		{ properties: { f: { type: 'string' } } },
		{ properties: { f: { type: ['string', 'null'] } } },
		'breaking',
		`${F} changed its type from string to string or null.`,
	],
	[
		'a field is never null',
		{ properties: { f: { type: ['string', 'null'] } } },
		{ properties: { f: { type: 'string' } } },
		'additive',
		`${F} changed its type from string or null to string.`,
	],
	['a field may be missing', { properties: { f: {} }, required: ['f'] }, { properties: { f: {} } }, 'breaking', `${F} may be missing now.`],
	[
		'a field is always there',
		{ properties: { f: {} } },
		{ properties: { f: {} }, required: ['f'] },
		'additive',
		`${F} is always there now.`,
	],
	['a new value', { properties: { f: { enum: [1] } } }, { properties: { f: { enum: [1, 2] } } }, 'breaking', `${F} gained the value 2.`],
	['closed', { type: 'object' }, { type: 'object', additionalProperties: false }, 'additive', 'The answer no longer takes other members.'],
	['opened', { type: 'object', additionalProperties: false }, { type: 'object' }, 'additive', 'The answer takes other members now.'],
	[
		'inside a list',
		{ items: { properties: { f: {} } } },
		{ items: { properties: { f: {}, g: {} } } },
		'additive',
		'The field [].g of the answer was added.',
	],
	['a default is only text', { type: 'object', default: {} }, { type: 'object' }, 'text', 'The answer is described in other words.'],
	['promised', null, { type: 'object' }, 'additive', 'The answer has a schema now.'],
	['not promised', { type: 'object' }, null, 'breaking', 'The answer no longer has a schema.'],
];

test('an answer’s schema: a missing part is breaking, a new one additive', async () => {
	for (const one of ANSWER) {
		const of = (schema: Json) => content({ outputSchema: schema as JsonObject | null });
		await check(one, of(one[1]), of(one[2]));
	}
});

const ROOT = { type: 'object', additionalProperties: false };
const KEY_AND_TOKEN = ['key', 'token'].map((name) => ({ scheme: name, type: 'api_key', in: 'query', name }));
const wired = (parameters: JsonObject, definition: JsonObject): JsonObject => ({ parameters: { ...ROOT, ...parameters }, definition });
const entry = (arg: string, more: object = {}): JsonObject => ({ arg, name: arg, in: 'query', ...more });

/** Changes outside of schemas. */
const OPERATION: Case[] = [
	['description', { description: 'x' }, { description: 'y' }, 'text', 'The description changed.'],
	['tags', { tags: ['a'] }, { tags: ['b'] }, 'text', 'The tags changed.'],
	['tags shuffled', { tags: ['a', 'b'] }, { tags: ['b', 'a'] }, null, null],
	['operationId', { operationId: 'x' }, { operationId: null }, 'text', 'The operationId changed.'],
	['deprecated', {}, { deprecated: true }, 'additive', 'It is deprecated now.'],
	['degraded', {}, { outcome: 'degraded', reasons: ['Why.'] }, 'text', 'It is no longer converted completely.'],
	[
		'reasons',
		{ outcome: 'degraded', reasons: ['Why.'] },
		{ outcome: 'degraded', reasons: ['How.'] },
		'text',
		'It is degraded for other reasons.',
	],
	['method', { method: 'GET' }, { method: 'POST', definition: { method: 'POST', path: '/pets' } }, 'breaking', 'The method changed.'],
	['path', { path: '/pets' }, { path: '/v2/pets', definition: { method: 'GET', path: '/v2/pets' } }, 'breaking', 'The path changed.'],
	[
		'server',
		{ definition: { rootServer: 'https://a' } },
		{ definition: { rootServer: 'https://b' } },
		'breaking',
		'The way it is called changed (rootServer).',
	],
	[
		'one more media type of the answer',
		{ definition: { headers: { accept: 'application/json' } } },
		{ definition: { headers: { accept: 'application/json, application/xml;q=0.9' } } },
		'additive',
		'The call was extended (headers).',
	],
	[
		'another preferred media type of the answer',
		{ definition: { headers: { accept: 'application/xml' } } },
		{ definition: { headers: { accept: 'application/json, application/xml;q=0.9' } } },
		'breaking',
		'The way it is called changed (headers).',
	],
	[
		'a media type of the answer less',
		{ definition: { headers: { accept: 'application/json, text/csv;q=0.9' } } },
		{ definition: { headers: { accept: 'application/json' } } },
		'breaking',
		'The way it is called changed (headers).',
	],
	[
		'a part of a form named accept',
		{ definition: { parts: { accept: { a: 1 } } } },
		{ definition: { parts: { accept: { a: 1 } } } },
		null,
		null,
	],
	['keys in another order', { definition: { x: { a: 1, b: [1] } } }, { definition: { x: { b: [1], a: 1 } } }, null, null],
	[
		'one more credential',
		{ definition: { security: [['api_key']] } },
		{ definition: { security: [['oauth2'], ['api_key']] } },
		'additive',
		'The call was extended (security).',
	],
	[
		'another credential',
		{ definition: { security: [['api_key']] } },
		{ definition: { security: [['oauth2']] } },
		'breaking',
		'The way it is called changed (security).',
	],
	[
		'a credential formerly known by its type',
		{ definition: { security: [['api_key'], []] } },
		{ definition: { security: [KEY_AND_TOKEN, []] } },
		null,
		null,
	],
	[
		'a different type from the known one',
		{ definition: { security: [['api_key']] } },
		{ definition: { security: [[{ scheme: 'b', type: 'bearer_token' }]] } },
		'breaking',
		'The way it is called changed (security).',
	],
	[
		'the scheme of a credential',
		{ definition: { security: [KEY_AND_TOKEN] } },
		{ definition: { security: [KEY_AND_TOKEN.toReversed(), [{ scheme: 'b', type: 'bearer_token' }]] } },
		'additive',
		'The call was extended (security).',
	],
	[
		'the location of a key',
		{ definition: { security: [KEY_AND_TOKEN] } },
		{ definition: { security: [KEY_AND_TOKEN.map((need) => ({ ...need, in: 'header' }))] } },
		'breaking',
		'The way it is called changed (security).',
	],
	[
		'a key that is no longer the only one',
		{ definition: { security: [KEY_AND_TOKEN.map((need) => ({ ...need, only: true }))] } },
		{ definition: { security: [KEY_AND_TOKEN] } },
		null,
		null,
	],
	[
		'a first credential',
		{},
		{ definition: { method: 'GET', path: '/pets', security: [['oauth2']] } },
		'breaking',
		'The way it is called changed (security).',
	],
	[
		'style',
		wired({ properties: { a: {} } }, { parameters: [entry('a')] }),
		wired({ properties: { a: {} } }, { parameters: [entry('a', { style: 'deepObject' })] }),
		'breaking',
		'The way it is called changed (parameters).',
	],
	[
		'arguments shuffled',
		wired({}, { parameters: [entry('a'), entry('b')] }),
		wired({}, { parameters: [entry('b'), entry('a')] }),
		null,
		null,
	],
	[
		'an optional argument, with its location',
		wired({}, { parameters: [entry('a')] }),
		wired({ properties: { z: {} } }, { parameters: [entry('z'), entry('a')] }),
		'additive',
		'The optional argument z was added.',
	],
	[
		'the first argument, with its location',
		wired({}, {}),
		wired({ properties: { z: {} } }, { parameters: [entry('z')] }),
		'additive',
		'The optional argument z was added.',
	],
	[
		'the last argument removed, with its location',
		wired({ properties: { z: {} } }, { parameters: [entry('z')] }),
		wired({}, {}),
		'breaking',
		'The argument z was removed.',
	],
	[
		'a required argument, with its location',
		wired({}, {}),
		wired({ properties: { z: {} }, required: ['z'] }, { parameters: [entry('z')] }),
		'breaking',
		'The required argument z was added.',
	],
	[
		'an argument removed, with its location',
		wired({ properties: { z: {} } }, { requestBody: { arg: 'z', contentType: 'text/plain' } }),
		wired({}, {}),
		'breaking',
		'The argument z was removed.',
	],
	[
		'required',
		wired({ properties: { z: {} } }, {}),
		wired({ properties: { z: {} }, required: ['z'] }, {}),
		'breaking',
		'The argument z became required.',
	],
	[
		'not required',
		wired({ properties: { z: {} }, required: ['z'] }, {}),
		wired({ properties: { z: {} } }, {}),
		'additive',
		'The argument z is no longer required.',
	],
	['required in another order', wired({ required: ['y', 'z'] }, {}), wired({ required: ['z', 'y'] }, {}), null, null],
	[
		'a query that asks for more',
		{ definition: { query: 'query ($a: T!) { pets(a: $a) { name } }' } },
		{ definition: { query: 'query ($a: T, $b: U) {\n pets(a: $a, b: $b) { name kind } }' } },
		'additive',
		'The call was extended (query).',
	],
	[
		'a query that asks for less',
		{ definition: { query: '{ pets { name kind } }' } },
		{ definition: { query: '{ pets { name } }' } },
		'breaking',
		'The way it is called changed (query).',
	],
];

test('an operation: a change that callers do not notice is text, and the gravest of several changes decides', async () => {
	for (const one of OPERATION) await check(one, content(one[1] as object), content(one[2] as object));
	const { kind, reasons } = await compareOperations(
		content({ description: 'x', parameters: { ...ROOT, properties: { a: { type: 'string' } } } }),
		content({ parameters: { ...ROOT, properties: { b: {} } }, tags: [] }),
	);
	const expected = ['The argument a was removed.', 'The optional argument b was added.', 'The description changed.', 'The tags changed.'];
	assert.deepEqual([kind, reasons], ['breaking', expected]);
});

test('members that describe messages, too, are not reported beside a change of the schemas', async () => {
	const of = (names: string[], types: string, method = 'A'): OperationContent =>
		content({
			parameters: { ...ROOT, properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) },
			definition: { types, service: method },
		});
	const compared = async (before: OperationContent, after: OperationContent) => {
		const { kind, reasons } = await compareInTurns(before, after, async () => undefined, ['types']);
		return [kind, ...reasons];
	};
	const added = 'The optional argument b was added.';
	assert.deepEqual(await compared(of(['a'], 'AAA='), of(['a', 'b'], 'AAB=')), ['additive', added]);
	// Nothing else tells of a change of the types alone, nor of another member.
	assert.deepEqual(await compared(of(['a'], 'AAA='), of(['a'], 'AAB=')), ['breaking', 'The way it is called changed (types).']);
	const called = ['breaking', 'The way it is called changed (service).', added];
	assert.deepEqual(await compared(of(['a'], 'AAA='), of(['a', 'b'], 'AAB=', 'B')), called);
});

const referring = (definitions: JsonObject, schema: Json = { $ref: '#/$defs/Pet' }): OperationContent =>
	content({ parameters: { ...ROOT, properties: { body: schema }, $defs: definitions } });

const PET = { type: 'object', properties: { name: { type: 'string' }, parent: { $ref: '#/$defs/Pet' } } };

test('definitions are compared by their meaning, whatever their names', async () => {
	const before = referring({ Pet: PET, Unused: { type: 'string' } });
	const renamed = { ...PET, properties: { ...PET.properties, parent: { $ref: '#/$defs/Animal' } } };
	assert.deepEqual(await kindOf(before, referring({ Animal: renamed }, { $ref: '#/$defs/Animal' })), [null, null]);
	assert.deepEqual(await kindOf(referring({ Name: { type: 'string' } }, { $ref: '#/$defs/Name' }), referring({}, { type: 'string' })), [
		null,
		null,
	]);
	assert.deepEqual(await kindOf(referring({ Pet: PET }), referring({ Pet: PET }, { allOf: [{ $ref: '#/$defs/Pet' }] })), [null, null]);
	// An alternative that changed and one that was added are told apart by their names.
	const either = (...names: string[]): Json => ({ anyOf: names.map((name) => ({ $ref: `#/$defs/${name}` })) });
	const [has, match] = [{ properties: { has: { type: 'array' } } }, { properties: { match: { type: 'string' } } }];
	const narrowed = { properties: { match: { type: 'string', maxLength: 9 } } };
	const wide = { properties: { match: { type: ['string', 'number'] } } };
	const former = referring({ Has: has, Match: match }, either('Has', 'Match'));
	const slice = { Slice: { properties: { slice: { type: 'integer' } } } };
	assert.deepEqual(await compareOperations(former, referring({ Has: has, Match: narrowed, ...slice }, either('Slice', 'Has', 'Match'))), {
		kind: 'breaking',
		reasons: ['The argument body.match changed its greatest length from none to 9.', 'The argument body has more forms than before.'],
	});
	const widened = await compareOperations(former, referring({ Has: has, Match: wide, ...slice }, either('Slice', 'Has', 'Match')));
	assert.equal(widened.kind, 'additive');
	const orNull = referring({ Pet: PET }, { anyOf: [{ $ref: '#/$defs/Pet' }, { type: 'null' }] });
	const forms = (word: string): string => `The argument body has ${word} forms than before.`;
	assert.deepEqual(await kindOf(referring({ Pet: PET }), orNull), ['additive', forms('more')]);
	assert.deepEqual(await kindOf(orNull, referring({ Pet: PET })), ['breaking', forms('fewer')]);
	assert.deepEqual(await kindOf(referring({ Pet: PET }, { anyOf: [PET, { type: 'null' }] }), orNull), [null, null]);
});

test('a change in a definition that refers to itself is reported once', async () => {
	const changed = { ...PET, properties: { ...PET.properties, name: { type: 'integer' } } };
	const { kind, reasons } = await compareOperations(referring({ Pet: PET }), referring({ Pet: changed }));
	assert.deepEqual([kind, reasons], ['breaking', ['The argument body.name changed its type from string to integer.']]);
});

test('a change that is reached in several ways is reported once, at the nearest location', async () => {
	const definitions = (type: string): JsonObject => ({
		Far: { properties: { further: { $ref: '#/$defs/Near' } } },
		Near: { properties: { it: { type } } },
	});
	const schema = { properties: { far: { $ref: '#/$defs/Far' }, near: { $ref: '#/$defs/Near' }, last: { $ref: '#/$defs/Far' } } };
	const { reasons } = await compareOperations(referring(definitions('string'), schema), referring(definitions('integer'), schema));
	assert.deepEqual(reasons, ['The argument body.near.it changed its type from string to integer.']);
});

test('a change is seen through any number of definitions, and in those that refer to each other in a circle', async () => {
	const circle = (last: JsonObject): JsonObject => {
		const names = Array.from({ length: 100 }, (_, index) => `D${index}`);
		const next = (index: number): JsonObject => ({ type: 'object', properties: { next: { $ref: `#/$defs/D${(index + 1) % 100}` } } });
		return { ...Object.fromEntries(names.map((name, index) => [name, next(index)])), D99: { ...next(99), ...last } };
	};
	const at = { $ref: '#/$defs/D0' };
	assert.deepEqual(await kindOf(referring(circle({}), at), referring(circle({}), at)), [null, null]);
	assert.equal((await kindOf(referring(circle({}), at), referring(circle({ maxProperties: 2 }), at)))[0], 'breaking');
	assert.equal((await kindOf(referring(circle({ maxProperties: 2 }), at), referring(circle({}), at)))[0], 'additive');
});

test('references that lead nowhere, in circles or outside are tolerated', async () => {
	const odd: Json[] = ['#/$defs/No', '#/$defs/Loop', '#', 'https://example.com/x.json', 7].map(($ref) => ({ $ref }));
	const loop = { Loop: { $ref: '#/$defs/Loop' } };
	for (const one of odd) {
		assert.deepEqual(
			await kindOf(referring(loop, one), referring({ ...loop, More: {} }, structuredClone(one))),
			[null, null],
			JSON.stringify(one),
		);
		assert.equal((await kindOf(referring(loop, one), referring(loop, { type: 'string', format: 'date' })))[0], 'breaking');
	}
});

test('at most ten reasons are reported, the gravest first, and texts of the document are short and visible', async () => {
	const names = Array.from({ length: 30 }, (_, index) => `p${index}`);
	const all = (type: string): JsonObject => Object.fromEntries(names.map((name) => [name, { type }]));
	const { reasons } = await compareOperations(
		content({ parameters: { ...ROOT, properties: all('string') } }),
		content({ parameters: { ...ROOT, properties: { ...all('integer'), [`\u202e${'x'.repeat(5_000)}`]: {} } } }),
	);
	assert.equal(reasons.length, 10);
	assert.equal(reasons[9], 'And 22 more.');
	const { reasons: hidden } = await compareOperations(
		content(),
		content({ parameters: { ...ROOT, properties: { [`\u202e${'x'.repeat(5_000)}`]: { type: 'string' } } } }),
	);
	assert.match(hidden[0] ?? '', /^The optional argument x{100,120}… was added\.$/);
});

const NAMED: JsonObject = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const FORMER_WORDS = 'Anything: this definition was left out, the schema would have become too large.';

test('a part left out by a limit of ours is no change for callers, in either direction', async () => {
	const full = referring({ Pet: NAMED }, { $ref: '#/$defs/Pet' });
	for (const left of [{ description: LEFT_OUT }, { type: 'object', description: LEFT_OUT }, { description: FORMER_WORDS }]) {
		const cut = referring({ Pet: left }, { $ref: '#/$defs/Pet' });
		assert.deepEqual(await kindOf(full, cut), [null, null]);
		assert.deepEqual(await kindOf(cut, full), [null, null]);
		// The complete schema takes precedence over the shortened one.
		const whole = { ...cut, whole: full.parameters };
		assert.deepEqual(await kindOf(full, whole), [null, null]);
		const more = { ...cut, whole: referring({ Pet: { ...NAMED, required: ['name', 'x'] } }, { $ref: '#/$defs/Pet' }).parameters };
		assert.equal((await kindOf(whole, more))[0], 'breaking');
	}
	// An API may use the same description for something else.
	const same = referring({ Pet: { description: 'Too large to be shown.' } }, { $ref: '#/$defs/Pet' });
	assert.equal((await kindOf(same, full))[0], 'breaking');
});

test('an answer schema that became too large to be promised is no breaking change, but one that was dropped is', async () => {
	const promised = content({ outputSchema: NAMED });
	const [cut, gone] = [content({ answerCut: true }), content()];
	assert.equal((await kindOf(promised, cut))[0], 'text');
	assert.equal((await kindOf(cut, promised))[0], 'text');
	assert.deepEqual(await kindOf(promised, gone), ['breaking', 'The answer no longer has a schema.']);
	assert.deepEqual(await kindOf(cut, gone), [null, null]);
});

/** Measures CPU time, since neighbours may take the processor away. */
async function cpuMs(work: () => Promise<void>): Promise<number> {
	const start = process.threadCpuUsage();
	await work();
	const { user, system } = process.threadCpuUsage(start);
	return (user + system) / 1000;
}

test('a schema too large or too deep to be compared is breaking, and costs little time', async () => {
	const wide = (type: string): JsonObject =>
		Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`p${index}`, { type, title: `${index}` }]));
	let [one, other]: [JsonObject, JsonObject] = [{ type: 'string' }, { type: 'integer' }];
	for (let depth = 0; depth < 2_000; depth++) [one, other] = [{ items: one }, { items: other }];
	const doubling = (last: Json): JsonObject => {
		const both = (index: number): JsonObject => ({ properties: { l: { $ref: `#/$defs/D${index}` }, r: { $ref: `#/$defs/D${index}` } } });
		const names = Array.from({ length: 200 }, (_, index) => [`D${index}`, index === 199 ? last : both(index + 1)] as const);
		return Object.fromEntries(names);
	};
	const cases: [id: string, before: OperationContent, after: OperationContent][] = [
		['wide', referring({}, { properties: wide('string') }), referring({}, { properties: wide('integer') })],
		['deep', referring({}, one), referring({}, other)],
		['doubling', referring(doubling({ type: 'string' }), { $ref: '#/$defs/D0' }), referring(doubling(false), { $ref: '#/$defs/D0' })],
	];
	for (const [id, before, after] of cases) {
		let kind: unknown;
		const compareOnce = async (): Promise<void> => {
			kind = (await compareOperations(before, after)).kind;
		};
		await compareOnce();
		const spent = await cpuMs(compareOnce);
		assert.equal(kind, 'breaking', id);
		assert.ok(spent < 250, `${id}: ${spent} ms`);
	}
});
