// Tests that no draft of an importer holds a secret of its executor, wherever the executor's config marks one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import openapi from '../../importers/openapi/index.ts';
import { operation } from '../../test/helpers/samples.ts';
import type { Api, JsonObject } from '../contract/nouns.ts';
import { headerRules } from '../egress/headers.ts';
import { Registry } from '../registry/registry.ts';
import type { OperationRow } from '../store/store.ts';
import { draftTool } from './tool-drafts.ts';

const secret = () => Joi.string().allow('', null).meta({ secret: true });

const config = Joi.object({
	open: Joi.any(),
	field: secret(),
	list: Joi.array().items(Joi.object({ name: Joi.string(), key: secret() })),
	texts: Joi.array().items(secret()),
	map: Joi.object().pattern(/^k/, secret()),
	whole: Joi.object({ user: Joi.string() }).meta({ secret: true }),
	number: Joi.number().meta({ secret: true }),
	headers: headerRules,
	either: Joi.alternatives(
		Joi.object({ type: Joi.valid('basic').required(), value: secret() }),
		Joi.object({ type: Joi.valid('none').required(), value: Joi.string() }),
	),
	kind: Joi.string(),
	value: Joi.string().when('kind', { not: 'secret', otherwise: secret() }),
});

const registry = new Registry();
registry.add({ kind: 'executor', name: 'safe', summary: 'Has secrets everywhere.', config, execute: async () => ({ content: [] }) });

const executors = {
	has: (name: string) => registry.get('executor', name) !== null,
	versionOf: () => 1,
	secretIn: (name: string, given: JsonObject) => registry.secretIn('executor', name, given),
};

function draftOf(executionConfig: JsonObject, executor = 'safe'): JsonObject {
	const tool = () => ({
		...{ name: 'a', description: '', parameters: {}, outputSchema: null, annotations: {} },
		...{ executor, executionConfig },
	});
	// The fields of both rows that are read.
	return draftTool({ ...openapi, tool }, { ...operation('a'), wholeHash: null } as unknown as OperationRow, {
		...{ api: {} as Api, bodies: 'nested', executors },
	}).executionConfig;
}

test('an error that nobody foresaw is a fault of the importer, which names its function', () => {
	const tool = (): never => {
		throw new TypeError('canary');
	};
	// The fields of both rows that are read.
	const asked = (): unknown =>
		draftTool({ ...openapi, tool }, { ...operation('a'), wholeHash: null } as unknown as OperationRow, {
			...{ api: {} as Api, bodies: 'nested', executors },
		});
	assert.throws(asked, { name: 'PluginFault', plugin: 'importer:openapi', message: 'importer:openapi: tool failed unexpectedly.' });
});

const REFUSED: [executionConfig: JsonObject, pointer: string][] = [
	[{ field: 'canary' }, '/field'],
	[{ list: [{ name: 'a' }, { name: 'b', key: 'canary' }] }, '/list/1/key'],
	[{ texts: ['', 'canary'] }, '/texts/1'],
	[{ map: { open: 'x', 'k/1~': 'canary' } }, '/map/k~11~0'],
	[{ whole: { user: 'canary' } }, '/whole'],
	[{ number: 7 }, '/number'],
	[{ headers: { accept: '*/*', 'X-Api-Key': 'canary' } }, '/headers/X-Api-Key'],
	[{ either: { type: 'basic', value: 'canary' } }, '/either/value'],
	[{ kind: 'secret', value: 'canary' }, '/value'],
	[{ field: '••••' }, '/field'],
	[{ field: { canary: 'canary' } }, '/field'],
	[{ list: '[{"key":"canary"}]' }, '/list'],
	[{ map: { [`k${'x'.repeat(1000)}`]: 'canary' } }, '/map/kxxx'],
];
for (const [executionConfig, pointer] of REFUSED)
	test(`a draft with a secret is a fault of the importer that names its place, not its value: ${JSON.stringify(executionConfig).slice(0, 80)}`, () => {
		assert.throws(
			() => draftOf(executionConfig),
			({ name, message }: Error) => {
				assert.equal(name, 'PluginFault');
				assert.ok(message.startsWith(`importer:openapi: the draft that tool returns must not fill ${pointer}`), message);
				assert.ok(!message.includes('canary') && message.length < 400, message);
				return true;
			},
		);
	});

test('a draft without a secret, or with empty ones, passes as it is', () => {
	const whole = { either: { type: 'none', value: 'open' }, kind: 'open', value: 'open', headers: { accept: '*/*' }, open: { field: 'x' } };
	for (const given of [whole, {}, { field: '', texts: [], whole: {} }, { field: null }]) assert.deepEqual(draftOf(given), given);
});

test('a draft for an executor that is not there is a fault of the importer: nobody knows its secrets', () => {
	assert.throws(() => draftOf({}, 'absent'), /names the executor “absent”, and there is none/);
});

test('a draft has the documents that differ from its operation’s, and no others', () => {
	const parameters = { type: 'object' as const, properties: { body: { type: 'object' as const, properties: { x: {} } } } };
	const row = { ...operation('a', { parameters, outputSchema: { type: 'object' } }), wholeHash: null } as unknown as OperationRow;
	const documentsOf = (made: object, bodies: 'nested' | 'flat' = 'nested'): string[] => {
		const { name, description, outputSchema } = row;
		const common = { name, description, annotations: {}, executor: 'safe', executionConfig: {}, bodyArgument: 'body' };
		const tool = () => ({ ...common, parameters: row.parameters, outputSchema, ...made });
		const drafted = draftTool({ ...openapi, tool }, row, { api: {} as Api, bodies, executors });
		return (['parameters', 'outputSchema'] as const).filter((document) => document in drafted);
	};
	assert.deepEqual(documentsOf({}), []);
	assert.deepEqual(documentsOf({}, 'flat'), ['parameters']);
	assert.deepEqual(documentsOf({ parameters: { ...parameters } }), ['parameters']);
	assert.deepEqual(documentsOf({ outputSchema: null }), ['outputSchema']);
});
