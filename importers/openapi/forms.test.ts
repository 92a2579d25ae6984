// Forms whose fields or files have no names in the document.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileArguments, type JsonObject, type Operation } from '../../core/index.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

async function readForm(schema: object, type = 'multipart/form-data'): Promise<Operation> {
	const post = { requestBody: { content: { [type]: { schema } } }, responses: { 200: { description: 'ok' } } };
	const document = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: { '/x': { post } } };
	const { operations } = await readWith(importer, JSON.stringify(document));
	const [only = assert.fail()] = operations;
	assert.doesNotThrow(() => compileArguments(only.parameters));
	return only;
}

const argumentsOf = ({ parameters }: Operation): JsonObject => parameters['properties'] as JsonObject;

test('fields that have no name in the document are shown, and files among them are objects with data', async () => {
	const File = { type: 'string', format: 'binary', description: 'A page.' };
	const files = await readForm({ type: 'object', properties: { note: { type: 'string' } }, additionalProperties: File });
	const body = argumentsOf(files)['body'] as { properties: JsonObject; additionalProperties: JsonObject };
	assert.deepEqual(body.properties, { note: { type: 'string' } });
	assert.deepEqual([body.additionalProperties['required'], body.additionalProperties['description']], [['data'], 'A page.']);
	const accepts = compileArguments(files.parameters);
	assert.deepEqual(accepts({ body: { note: 'n', f1: { data: 'aGk=' } } }), []);
	assert.notDeepEqual(accepts({ body: { f1: 'aGk=' } }), []);
	const wire = { arg: 'body', contentType: 'multipart/form-data', parts: { note: {} }, otherParts: { binary: true } };
	assert.deepEqual([files.definition['requestBody'], files.reasons], [wire, []]);
	for (const type of ['multipart/form-data', 'application/x-www-form-urlencoded']) {
		const texts = await readForm({ type: 'object', additionalProperties: { type: 'string' } }, type);
		assert.deepEqual(argumentsOf(texts)['body'], { type: 'object', properties: {}, additionalProperties: { type: 'string' } });
		assert.deepEqual(texts.definition['requestBody'], { arg: 'body', contentType: type });
	}
	const either = await readForm({ oneOf: [{ additionalProperties: { type: 'string' } }, { properties: { a: {} } }] });
	assert.deepEqual(argumentsOf(either)['body'], { type: 'object', properties: { a: {} } });
});

test('a form whose fields have no names, and files that only a pattern names, are reported', async () => {
	const File = { type: 'string', format: 'binary' };
	const reasonsFor = async (schema: object): Promise<string[]> => {
		const { outcome, reasons } = await readForm(schema);
		assert.equal(outcome, reasons.length > 0 ? 'degraded' : 'converted');
		return reasons;
	};
	const nameless = ['The parts of its body have no names: such parts cannot be sent.'];
	for (const schema of [
		{ type: 'array', items: File },
		{ type: ['array', 'null'], items: File },
		{ items: File },
		File,
		{ oneOf: [{ type: 'object' }, { type: 'array', items: File }] },
	])
		assert.deepEqual(await reasonsFor(schema), nameless, JSON.stringify(schema));
	const unnamed = ['Files of its form are known by a pattern of their names alone: they cannot be sent.'];
	for (const schema of [
		{ type: 'object', patternProperties: { '^f': File } },
		{ type: 'object', patternProperties: { '^n': { type: 'string' } }, additionalProperties: File },
	])
		assert.deepEqual(await reasonsFor(schema), unnamed, JSON.stringify(schema));
	for (const schema of [
		{},
		{ type: ['object', 'null'] },
		{ oneOf: [{ type: 'object' }, { type: 'null' }] },
		{ patternProperties: { '^n': {} } },
	])
		assert.deepEqual(await reasonsFor(schema), [], JSON.stringify(schema));
});
