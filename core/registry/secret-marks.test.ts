// Every place of a schema at which a plugin may mark a secret: each is sealed and hidden there, and opened again; a mark that cannot be
// honoured stops the start.

// biome-ignore-all lint/suspicious/noThenProperty: Joi's own word for the branch

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import { Registry } from './registry.ts';

const secrets = createSecrets('ab'.repeat(32));
const PLACE = { organizationId: 'o', table: 'tools', row: 'r' };
const NAMED = { ...PLACE, of: 'the tool' };
const HIDDEN = '••••';

const secret = Joi.string().meta({ secret: true });
const marked = (schema: Joi.Schema): Joi.Schema => schema.meta({ secret: true });
const plugin = (config: Joi.ObjectSchema, more: object = {}): object => ({
	...{ kind: 'executor', name: 'acme', summary: 'One.', config, execute: async () => ({ content: [] }) },
	...more,
});

function registered(config: Joi.ObjectSchema): Registry {
	const registry = new Registry();
	registry.add(plugin(config));
	return registry;
}

/** A schema, a config with `canary` in each secret, and the config as a client sees it. */
type Case = [title: string, schema: Joi.ObjectSchema, config: JsonObject, shown: JsonObject];

const basic = Joi.object({ type: Joi.string().valid('basic').required(), value: secret });
const plain = Joi.object({ type: Joi.string().valid('plain').required(), value: Joi.string() });
const tree = Joi.object({ token: secret, name: Joi.string(), next: Joi.link('#tree'), all: Joi.array().items(Joi.link('#tree')) }).id(
	'tree',
);

const CASES: Case[] = [
	['a field', Joi.object({ a: secret, b: Joi.string() }), { a: 'canary', b: 'b' }, { b: 'b' }],
	['a field of a field', Joi.object({ a: Joi.object({ b: secret }) }), { a: { b: 'canary' } }, { a: {} }],
	['a number', Joi.object({ pin: marked(Joi.number()) }), { pin: 90125 }, {}],
	['a boolean', Joi.object({ pin: marked(Joi.boolean()) }), { pin: true }, {}],
	['null instead of one', Joi.object({ a: secret.allow(null) }), { a: null }, { a: null }],
	['a whole object', Joi.object({ a: marked(Joi.object({ b: Joi.string(), c: Joi.number() })) }), { a: { b: 'canary', c: 7 } }, {}],
	['a whole list', Joi.object({ a: marked(Joi.array().items(Joi.string())) }), { a: ['canary', 'canary'] }, {}],
	['anything', Joi.object({ a: marked(Joi.any()) }), { a: { deep: ['canary'] } }, {}],
	['items', Joi.object({ a: Joi.array().items(secret) }), { a: ['canary', 'canary2'] }, { a: [HIDDEN, HIDDEN] }],
	[
		'fields of items',
		Joi.object({ a: Joi.array().items(Joi.object({ n: Joi.string(), s: secret })) }),
		{ a: [{ n: 'x', s: 'canary' }, { n: 'y' }] },
		{ a: [{ n: 'x', s: HIDDEN }, { n: 'y' }] },
	],
	[
		'items of one of several types',
		Joi.object({ a: Joi.array().items(secret, Joi.number(), plain) }),
		{ a: ['canary', 7, { type: 'plain', value: 'x' }] },
		{ a: [HIDDEN, 7, { type: 'plain', value: 'x' }] },
	],
	['ordered items', Joi.object({ a: Joi.array().ordered(Joi.string(), secret) }), { a: ['x', 'canary'] }, { a: ['x', HIDDEN] }],
	[
		'items after ordered ones',
		Joi.object({ a: Joi.array().ordered(Joi.string()).items(secret) }),
		{ a: ['x', 'canary'] },
		{ a: ['x', HIDDEN] },
	],
	['an item that a list must have', Joi.object({ a: Joi.array().has(secret) }), { a: ['canary'] }, { a: [HIDDEN] }],
	['one item instead of a list', Joi.object({ a: Joi.array().items(secret).single() }), { a: 'canary' }, {}],
	['members', Joi.object({ a: Joi.object().pattern(/./, secret) }), { a: { x: 'canary' } }, { a: { x: HIDDEN } }],
	[
		'members of some names',
		Joi.object({ a: Joi.object().pattern(/^s_/, secret).unknown() }),
		{ a: { s_a: 'canary', b: 'b' } },
		{ a: { s_a: HIDDEN, b: 'b' } },
	],
	[
		'members by a schema of names',
		Joi.object({ a: Joi.object().pattern(Joi.string().valid('x'), secret) }),
		{ a: { x: 'canary' } },
		{ a: { x: HIDDEN } },
	],
	[
		'fields of members',
		Joi.object({ a: Joi.object().pattern(/./, Joi.object({ s: secret, n: Joi.number() })) }),
		{ a: { x: { s: 'canary', n: 1 } } },
		{ a: { x: { s: HIDDEN, n: 1 } } },
	],
	[
		'members by a function',
		Joi.object({
			a: Joi.object()
				.pattern(/./, Joi.any())
				.meta({ secretMembers: (name: string) => name === 's' }),
		}),
		{ a: { s: { deep: 'canary' }, n: 'n' } },
		{ a: { s: HIDDEN, n: 'n' } },
	],
	['an alternative', Joi.object({ a: Joi.alternatives(secret, Joi.number()) }), { a: 'canary' }, {}],
	['another alternative than the secret one', Joi.object({ a: Joi.alternatives(secret, Joi.number()) }), { a: 7 }, { a: 7 }],
	['an alternative that is an object', Joi.object({ a: [Joi.string(), Joi.object({ s: secret })] }), { a: { s: 'canary' } }, { a: {} }],
	['another one than an object', Joi.object({ a: [Joi.string(), Joi.object({ s: secret })] }), { a: 'x' }, { a: 'x' }],
	[
		'an alternative told by a field',
		Joi.object({ a: [basic, plain] }),
		{ a: { type: 'basic', value: 'canary' } },
		{ a: { type: 'basic' } },
	],
	[
		'the other one told by a field',
		Joi.object({ a: [basic, plain] }),
		{ a: { type: 'plain', value: 'x' } },
		{ a: { type: 'plain', value: 'x' } },
	],
	[
		'an alternative that cannot be told from the other',
		Joi.object({ a: [Joi.string().min(3).meta({ secret: true }), Joi.string()] }),
		{ a: 'canary' },
		{},
	],
	['one of exactly one', Joi.object({ a: Joi.alternatives().try(secret, Joi.number()).match('one') }), { a: 'canary' }, {}],
	['one of all', Joi.object({ a: Joi.alternatives().try(secret, Joi.any()).match('all') }), { a: 'canary' }, {}],
	['a whole alternative', Joi.object({ a: marked(Joi.alternatives(Joi.string(), Joi.number())) }), { a: 90125 }, {}],
	[
		'a conditional field',
		Joi.object({ k: Joi.string(), v: Joi.string().when('k', { is: 's', then: secret }) }),
		{ k: 's', v: 'canary' },
		{ k: 's' },
	],
	[
		'a conditional field of the other case',
		Joi.object({ k: Joi.string(), v: Joi.string().when('k', { is: 's', then: secret }) }),
		{ k: 'p', v: 'x' },
		{ k: 'p', v: 'x' },
	],
	[
		'a field unless another has a value',
		Joi.object({ k: Joi.string(), v: Joi.string().when('k', { not: 'p', then: secret }) }),
		{ k: 's', v: 'canary' },
		{ k: 's' },
	],
	[
		'a field if there is another',
		Joi.object({ k: Joi.string(), v: Joi.any().when('k', { is: Joi.exist(), then: Joi.any(), otherwise: secret }) }),
		{ v: 'canary' },
		{},
	],
	[
		'a case of several',
		Joi.object({
			k: Joi.string(),
			v: Joi.any().when('k', {
				switch: [
					{ is: 'a', then: Joi.number() },
					{ is: 'b', then: secret },
				],
			}),
		}),
		{ k: 'b', v: 'canary' },
		{ k: 'b' },
	],
	[
		'the case of none',
		Joi.object({
			k: Joi.string(),
			v: Joi.alternatives().conditional('k', { switch: [{ is: 'a', then: Joi.number() }], otherwise: secret }),
		}),
		{ k: 'b', v: 'canary' },
		{ k: 'b' },
	],
	[
		'a case by a field further out',
		Joi.object({ k: Joi.string(), o: Joi.object({ v: Joi.string().when('...k', { is: 's', then: secret }) }) }),
		{ k: 's', o: { v: 'canary' } },
		{ k: 's', o: {} },
	],
	[
		'a case by a field of the root',
		Joi.object({ k: Joi.string(), o: Joi.array().items(Joi.string().when('/k', { is: 's', then: secret })) }),
		{ k: 's', o: ['canary'] },
		{ k: 's', o: [HIDDEN] },
	],
	[
		'an object with a condition on itself',
		Joi.object({ k: Joi.string(), v: Joi.string() }).when(Joi.object({ k: 's' }).unknown(), {
			then: Joi.object({ v: secret }),
		}) as unknown as Joi.ObjectSchema,
		{ k: 's', v: 'canary' },
		{ k: 's' },
	],
	[
		'an alternative told by a text that is converted',
		Joi.object({
			a: [Joi.object({ t: Joi.string().lowercase().valid('b').required(), v: secret }), Joi.object({ t: Joi.any(), v: Joi.any() })],
		}).prefs({
			convert: true,
		}),
		{ a: { t: 'B', v: 'canary' } },
		{ a: { t: 'B' } },
	],
	[
		'a condition on a field that the schema changes',
		Joi.object({ k: Joi.string().custom(() => 's'), v: Joi.string().when('k', { is: 's', then: secret }) }),
		{ k: 'x', v: 'canary' },
		{ k: 'x' },
	],
	[
		'a condition on a field that is renamed',
		Joi.object({ k: Joi.string(), v: Joi.string().when('k', { is: 's', then: secret }) }).rename('old', 'k', { override: true }),
		{ k: 'x', old: 's', v: 'canary' },
		{ k: 'x', old: 's' },
	],
	['a link', Joi.object({ a: Joi.link('#t') }).shared(Joi.object({ s: secret }).id('t')), { a: { s: 'canary' } }, { a: {} }],
	[
		'a link to itself',
		tree,
		{ token: 'canary', name: 'x', next: { token: 'canary', next: { token: 'canary' } }, all: [{ token: 'canary' }] },
		{ name: 'x', next: { next: {} }, all: [{ token: HIDDEN }] },
	],
	[
		'a link to what is around',
		Joi.object({ s: secret, a: Joi.array().items(Joi.link('...')) }),
		{ s: 'canary', a: [{ s: 'canary' }] },
		{ a: [{ s: HIDDEN }] },
	],
	['a link to the root', Joi.object({ s: secret, a: Joi.link('/') }), { s: 'canary', a: { s: 'canary' } }, { a: {} }],
	['a marked link', Joi.object({ a: marked(Joi.link('#t')) }).shared(Joi.object({ s: Joi.string() }).id('t')), { a: { s: 'canary' } }, {}],
	['a mark that was concatenated', Joi.object({ a: Joi.string().concat(secret) }), { a: 'canary' }, {}],
	['a mark that a fork made', Joi.object({ a: { b: Joi.string() } }).fork('a.b', (one) => marked(one)), { a: { b: 'canary' } }, { a: {} }],
	[
		'a mark that was altered',
		Joi.object({ a: Joi.string().alter({ x: (one) => marked(one) }) }).tailor('x') as Joi.ObjectSchema,
		{ a: 'canary' },
		{},
	],
	['a mark that a later one does not take back', Joi.object({ a: secret.meta({ secret: false }) }), { a: 'canary' }, {}],
	['a field under its former name', Joi.object({ a: secret }).rename('old', 'a'), { old: 'canary' }, {}],
	['a field under names by a pattern', Joi.object({ a: secret }).rename(/^old/, 'a'), { older: 'canary' }, {}],
	['a field that the plugin is not given', Joi.object({ a: secret.strip(), b: Joi.string() }), { a: 'canary' }, {}],
];

const holds = (value: Json, text: string): boolean => JSON.stringify(value).includes(text);

for (const [title, schema, config, shown] of CASES)
	test(`a secret is sealed, hidden and opened again at: ${title}`, () => {
		const registry = registered(schema);
		// Each case is one that the schema takes.
		registry.parse('executor', 'acme', config, '');
		const row = registry.seal('executor', 'acme', config, secrets, PLACE);
		for (const canary of ['canary', '90125']) assert.ok(!holds(row, canary), JSON.stringify(row));
		assert.deepEqual(registry.redact('executor', 'acme', row), shown);
		assert.deepEqual(registry.redact('executor', 'acme', config), shown, 'also before it is sealed');
		assert.deepEqual(registry.open('executor', 'acme', row, secrets, NAMED), config);
		assert.equal(registry.sealRest('executor', 'acme', row, secrets, PLACE), row);
		assert.ok(!holds(registry.mask('executor', 'acme', row, { mask: 'm', at: '' }), 'v1.'));
		const plainAgain = registry.open('executor', 'acme', registry.sealRest('executor', 'acme', config, secrets, PLACE), secrets, NAMED);
		assert.deepEqual(plainAgain, config);
	});

test('a sealed value is a secret also where its alternative no longer fits', () => {
	const registry = registered(Joi.object({ a: [basic, plain] }));
	const row = registry.seal('executor', 'acme', { a: { type: 'basic', value: 'canary' } }, secrets, PLACE);
	const moved = { a: { ...(row['a'] as JsonObject), type: 'plain' } };
	assert.deepEqual(registry.redact('executor', 'acme', moved), { a: { type: 'plain' } });
	assert.deepEqual(registry.open('executor', 'acme', moved, secrets, NAMED), { a: { type: 'plain', value: 'canary' } });
});

const FAULTS: [title: string, schema: Joi.ObjectSchema, message: RegExp][] = [
	['on the whole config', Joi.object({}).meta({ secret: true }), /config: the whole config is marked as secret; mark its fields/],
	['that is no boolean', Joi.object({ a: Joi.string().meta({ secret: 'yes' }) }), /config\.a: secret must be true or false/],
	[
		'of a destination that is no boolean',
		Joi.object({ a: Joi.string().meta({ destination: 1 }) }),
		/config\.a: destination must be true or false/,
	],
	[
		'of members that is no function',
		Joi.object({ a: Joi.object().meta({ secretMembers: true }) }),
		/config\.a: secretMembers must be a function/,
	],
	[
		'of members at a list',
		Joi.object({ a: Joi.array().meta({ secretMembers: () => true }) }),
		/config\.a: secretMembers is for objects, not for the type array/,
	],
	[
		'of a destination at a number',
		Joi.object({ a: Joi.number().meta({ destination: true }) }),
		/config\.a: only a string can be a destination/,
	],
	[
		'of a destination inside a secret',
		Joi.object({ a: Joi.object({ u: Joi.string().meta({ destination: true }) }).meta({ secret: true }) }),
		/config\.a: a destination must not lie inside a secret/,
	],
	['with a default', Joi.object({ a: secret.default('x') }), /config\.a: a secret must not have a default/],
	['with a computed default', Joi.object({ a: secret.default(() => 'x') }), /config\.a: a secret must not have a default/],
	['with a failover', Joi.object({ a: { b: secret.failover('x') } }), /config\.a\.b: a secret must not have a failover/],
	[
		'in the default of an object',
		Joi.object({ a: Joi.object({ s: secret }).default({ s: 'x' }) }),
		/config\.a: a secret must not have a default/,
	],
	['in the default of a list', Joi.object({ a: Joi.array().items(secret).default(['x']) }), /config\.a: a secret must not have a default/],
	['on a function', Joi.object({ a: Joi.function().meta({ secret: true }) }), /config\.a: a secret must be a value that can be given/],
	['on what is forbidden', Joi.object({ a: secret.forbidden() }), /config\.a: a secret must be a value that can be given/],
	['on names of members', Joi.object({ a: Joi.object().pattern(secret, Joi.any()) }), /config\.a: a mark is on a schema that no value/],
	[
		'in a condition',
		Joi.object({ k: Joi.any(), a: Joi.any().when('k', { is: secret, then: Joi.any() }) }),
		/config\.a: a mark is on a schema/,
	],
	['on what counts as empty', Joi.object({ a: Joi.string().empty(secret) }), /config\.a: a mark is on a schema/],
	['in an assertion', Joi.object({ a: Joi.object({ b: Joi.any() }).assert('.b', secret) }), /config\.a: a mark is on a schema/],
	[
		'beside a link that leads nowhere',
		Joi.object({ s: secret, a: Joi.link('#nowhere') }),
		/config\.a: a link beside secrets must lead to a schema/,
	],
	['of the code of a tool', Joi.object({ code: secret }), /config\.code: it is stored beside the config and shown/],
];

for (const [title, schema, message] of FAULTS)
	test(`a mark ${title} stops the start with a sentence that names plugin and field`, () => {
		assert.throws(
			() => new Registry().add(plugin(schema)),
			(error: Error) => error.message.startsWith('executor:acme: config') && message.test(error.message),
		);
	});

const HARMLESS: [title: string, schema: Joi.ObjectSchema][] = [
	['null as its default', Joi.object({ a: secret.allow(null).default(null) })],
	['an empty list as its default', Joi.object({ a: Joi.array().items(secret).default([]) })],
	['the defaults of its fields', Joi.object({ a: Joi.object({ s: secret, n: Joi.number().default(1) }).default() })],
	['a default without it', Joi.object({ a: Joi.object({ s: secret, n: Joi.number() }).default({ n: 1 }) })],
	['a case in which it may be given', Joi.object({ k: Joi.any(), a: secret.forbidden().when('k', { is: 1, then: Joi.optional() }) })],
	['a link that leads nowhere in a plugin without secrets', Joi.object({ a: Joi.link('#nowhere') })],
];

for (const [title, schema] of HARMLESS)
	test(`a secret may have ${title}`, () => {
		new Registry().add(plugin(schema));
	});

const shownIn = (config: Joi.ObjectSchema): JsonObject => registered(config).describe()[0]?.config as JsonObject;

test('GET /plugins calls secrets writeOnly, with their descriptions and without the values that a schema names', () => {
	const named = Joi.string().description('The key.').valid('canary').example('canary').meta({ secret: true });
	const whole = Joi.object({ default: Joi.string().valid('canary').default('canary') }).meta({ secret: true });
	const schema = Joi.object({
		a: named,
		b: Joi.array().ordered(secret).items(secret, Joi.number()),
		c: Joi.object().pattern(/^x/, secret),
		d: Joi.alternatives(secret, Joi.number().default(4)),
		e: Joi.string().when('a', { is: 'x', then: secret }),
		f: Joi.link('#shared'),
		g: whole,
		h: secret.allow(90125),
		default: Joi.string().default('shown').description('One.'),
	}).shared(Joi.object({ s: secret }).id('shared'));
	const text = { type: 'string', minLength: 1 };
	const hidden = { ...text, writeOnly: true };
	assert.deepEqual(shownIn(schema), {
		type: 'object',
		additionalProperties: false,
		properties: {
			a: { type: 'string', description: 'The key.', writeOnly: true },
			b: { type: 'array', prefixItems: [hidden], unevaluatedItems: { anyOf: [hidden, { type: 'number' }] } },
			c: { type: 'object', patternProperties: { '^x': hidden }, additionalProperties: false },
			d: { anyOf: [hidden, { type: 'number', default: 4 }] },
			e: { anyOf: [hidden] },
			f: { $ref: '#/$defs/shared' },
			g: { type: 'object', properties: { default: { type: 'string' } }, additionalProperties: false, writeOnly: true },
			h: { anyOf: [hidden, {}] },
			default: { ...text, default: 'shown', description: 'One.' },
		},
		$defs: { shared: { type: 'object', properties: { s: hidden }, additionalProperties: false } },
	});
});
