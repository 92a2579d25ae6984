// Real services, which the importer was not written against: all those in google-gax.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import protobuf from 'protobufjs';
import { compileArguments } from '../../core/index.ts';
import { createCodec } from '../../plugins/executors/grpc/codec.ts';
import { config } from '../../plugins/executors/grpc/config.ts';
import { assertArguments, assertNames } from '../../test/helpers/corpus.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import { countRpcs } from '../../test/helpers/protobuf.ts';
import importer from './index.ts';

const GAX = new URL('../../node_modules/google-gax/build/protos/', import.meta.url);
const files = new Map(globSync('**/*.proto', { cwd: GAX }).map((path): [string, Uint8Array] => [path, readFileSync(new URL(path, GAX))]));
let operations: Reading['operations'];
let warnings: Reading['warnings'];
before(async () => {
	({ operations, warnings } = await readWith(importer, '', null, { files }));
});

test('every rpc that an independent count finds is converted, once', () => {
	assert.ok(files.size > 100);
	const expected = files.values().reduce((sum, bytes) => sum + countRpcs(Buffer.from(bytes).toString()), 0);
	assert.equal(expected, 131);
	assert.equal(operations.length, expected);
	assert.equal(new Set(operations.map(({ key }) => key)).size, expected);
	assert.deepEqual(
		operations.filter(({ outcome }) => outcome !== 'converted').map(({ key, outcome }) => [key, outcome]),
		[['google.api.servicemanagement.v1.ServiceManager/CreateServiceConfig', 'degraded']],
	);
	assert.deepEqual(warnings, []);
});

test('every http rule in the texts is the binding of an operation', async () => {
	const texts = [...files.values()].map((bytes) => Buffer.from(bytes).toString());
	const rules = texts.reduce((sum, text) => sum + (text.match(/^\s*option\s*\(google\.api\.http\)/gm)?.length ?? 0), 0);
	const read = await readWith(
		{ ...importer, parse: (source, _none, context) => importer.parse(source, { protocol: 'http' }, context) },
		'',
		null,
		{ files },
	);
	assert.ok(rules > 100);
	assert.equal(read.operations.filter(({ definition }) => Array.isArray(definition['bindings'])).length, rules);
});

test('every name is valid, short enough to be prefixed, and unique without regard to case', () => {
	assertNames(operations, 'google-gax');
});

test('every schema is a plain object at its root, compiles, and cannot be made to run long', () => {
	for (const operation of operations) {
		const { key, outputSchema } = operation;
		assertArguments(operation, key);
		if (outputSchema !== null) assert.doesNotThrow(() => compileArguments(outputSchema), key);
	}
});

test('every tool’s descriptors are whole: its messages have the fields that another parser reads', async () => {
	const root = new protobuf.Root();
	root.resolvePath = (_from, path) => new URL(path, GAX).pathname;
	const withServices = [...files].filter(([, bytes]) => countRpcs(Buffer.from(bytes).toString()) > 0).map(([path]) => path);
	root.loadSync(withServices, { keepCase: true }).resolveAll();
	for (const operation of operations) {
		const { method } = createCodec(await config.validateAsync(importer.tool(operation).executionConfig));
		for (const desc of [method.input, method.output]) {
			const fields = root.lookupType(desc.typeName).fieldsArray.filter(({ name }) => !name.startsWith('.'));
			assert.deepEqual(
				desc.fields.map(({ name, number }) => [name, number]),
				fields.map(({ name, id }) => [name, id]),
				desc.typeName,
			);
		}
	}
});
