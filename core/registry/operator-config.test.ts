// The operator's configuration of plugins: defaults, conversion, freezing, and faults that name the plugin and the field.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi, { type ObjectSchema } from 'joi';
import type { PluginsConfig } from '../config/plugins-config.ts';
import type { ToolExecutor } from '../contract/kinds.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { Registry } from './registry.ts';

const SCHEMA = Joi.object({
	url: Joi.string().pattern(/^pg:/).messages({ 'string.pattern.base': 'the url {{#value}} is odd' }),
	pool: Joi.object({ max: Joi.number().default(5) }).default(),
	password: Joi.string().meta({ secret: true }),
});

const file = (entries: Record<string, JsonObject>): PluginsConfig => ({
	file: '/etc/plugins.yaml',
	entries: new Map(Object.entries(entries)),
});

function registryOf(operator: ObjectSchema | undefined = SCHEMA): Registry {
	const registry = new Registry();
	const config = Joi.object({});
	registry.add({
		kind: 'executor',
		name: 'sql',
		summary: 'One.',
		config,
		...(operator && { operator }),
		execute: async () => ({ content: [] }),
	});
	registry.add({ kind: 'executor', name: 'bare', summary: 'One.', config, execute: async () => ({ content: [] }) });
	registry.add({
		kind: 'feature',
		name: 'hooks',
		summary: 'One.',
		config: Joi.object({ limit: Joi.number().default(500) }),
		register: () => undefined,
	});
	return registry;
}

test('without a file the defaults of every schema apply, also those of a feature’s config; the rest gets nothing', () => {
	const registry = registryOf();
	registry.configure(null);
	assert.deepEqual(registry.operator('executor:sql'), { pool: { max: 5 } });
	assert.deepEqual(registry.operator('feature:hooks'), { limit: 500 });
	assert.deepEqual(registry.operator('executor:bare'), {});
});

test('texts of the environment are converted, and what plugins get is frozen through and through', () => {
	const registry = registryOf();
	registry.configure(file({ 'executor:sql': { pool: { max: '7' } } }));
	const operator = registry.operator('executor:sql') as { pool: { max: number } };
	assert.deepEqual(operator, { pool: { max: 7 } });
	assert.throws(() => {
		operator.pool.max = 8;
	}, TypeError);
});

const FAULTS: [id: string, entries: Record<string, JsonObject>, expected: RegExp][] = [
	['plugin that is not loaded', { 'executor:gone': {} }, /- executor:gone: no plugin of this kind and name is loaded/],
	['plugin that takes none', { 'executor:bare': {} }, /- executor:bare: the plugin takes no configuration/],
	['field that does not fit', { 'executor:sql': { pool: { max: 'canary' } } }, /- executor:sql: \/pool\/max: .*must be a number/],
	['field that is unknown', { 'feature:hooks': { burst: 'canary' } }, /- feature:hooks: \/burst: .*not allowed/],
	[
		'value that the plugin’s own message repeats',
		{ 'executor:sql': { url: 'canary' } },
		/- executor:sql: \/url: the url \[hidden\] is odd/,
	],
];
for (const [id, entries, expected] of FAULTS) {
	test(`a configuration of a ${id} stops the start with the file, kind:name and the field, without the value`, () => {
		assert.throws(
			() => registryOf().configure(file(entries)),
			(error: Error) => {
				assert.match(error.message, /\/etc\/plugins\.yaml is invalid/);
				assert.match(error.message, expected);
				assert.doesNotMatch(error.message, /canary/);
				return true;
			},
		);
	});
}

test('what a schema requires is told when there is no file at all', () => {
	const registry = registryOf(Joi.object({ url: Joi.string().required() }));
	assert.throws(() => registry.configure(null), /GATEWAY_PLUGINS_CONFIG is not set:\n {2}- executor:sql: \/url: .*is required/);
});

test('GET /plugins shows the schema, null where there is none', () => {
	const described = registryOf().describe();
	const sql = described.find(({ name }) => name === 'sql');
	assert.deepEqual(Object.keys((sql?.operator?.['properties'] ?? {}) as object), ['url', 'pool', 'password']);
	assert.equal(described.find(({ name }) => name === 'bare')?.operator, null);
});

test('a plugin’s functions get the type of its schema', () => {
	const executor = {
		kind: 'executor',
		name: 'typed',
		summary: 'One.',
		config: Joi.object({}),
		operator: Joi.object({ prefix: Joi.string().required() }),
		execute: async (_args, _config, call) => ({ content: [{ type: 'text', text: call.operator.prefix }] }),
		// @ts-expect-error: the schema has no such field
		check: async (_config, context) => void context.operator.suffix,
	} satisfies ToolExecutor<object, { prefix: string }>;
	new Registry().add(executor);
});
