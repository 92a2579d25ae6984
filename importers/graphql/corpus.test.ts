// Real schemas, which the importer was not written against: GitHub's as SDL and as JSON, and two of Shopify's.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { buildClientSchema, buildSchema, type GraphQLSchema, parse, validate } from 'graphql';
import type { JsonObject, Operation } from '../../core/index.ts';
import { readQuery } from '../../plugins/executors/graphql/document.ts';
import graphql from '../../plugins/executors/graphql/index.ts';
import { assertArguments, assertNames } from '../../test/helpers/corpus.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import { isSampled, sampled } from '../../test/helpers/sampled.ts';
import importer from './index.ts';

const FILES = [
	'@octokit/graphql-schema/schema.graphql',
	'@octokit/graphql-schema/schema.json',
	'@shopify/hydrogen-react/storefront.schema.json',
	'@shopify/hydrogen-react/customer-account.schema.json',
];

interface Document {
	name: string;
	text: string;
	schema: GraphQLSchema;
	reading: Reading;
}

const documents: Document[] = [];
before(async () => {
	for (const name of FILES) {
		const text = readFileSync(new URL(`../../node_modules/${name}`, import.meta.url), 'utf8');
		// The library reads it here, not the importer.
		const schema = name.endsWith('.json')
			? buildClientSchema(JSON.parse(text).data ?? JSON.parse(text), { assumeValid: true })
			: buildSchema(text, { assumeValid: true, assumeValidSDL: true });
		documents.push({ name, text, schema, reading: await readWith(importer, text) });
	}
});

/** Counts in another way than the importer: in SDL, lines of the block that look like fields; in JSON, the lists themselves. */
function countFields(text: string): number {
	if (text.trimStart().startsWith('{')) {
		const result = JSON.parse(text).data ?? JSON.parse(text);
		const { queryType, mutationType, types } = result.__schema;
		const roots = [queryType.name, mutationType.name];
		return types.filter((type: { name: string }) => roots.includes(type.name)).flatMap((type: { fields: [] }) => type.fields).length;
	}
	const bare = text.replace(/"""[\s\S]*?"""/g, '').replace(/#.*$/gm, '');
	const blocks = [...bare.matchAll(/^type (?:Query|Mutation)\b[^{]*\{([\s\S]*?)^\}/gm)].map(([, block = '']) =>
		block.replace(/\([^)]*\)/g, ''),
	);
	return blocks.reduce((sum, block) => sum + (block.match(/^\s+\w+\s*:/gm) ?? []).length, 0);
}

function eachOperation(check: (operation: Operation, label: string, document: Document) => void): void {
	for (const document of documents)
		for (const operation of document.reading.operations) check(operation, `${document.name}: ${operation.key}`, document);
}

for (const [at, name] of FILES.entries()) {
	test(`${name}: every query and mutation that an independent count finds is converted, once`, () => {
		const { text, reading } = documents[at] ?? assert.fail();
		const { operations } = reading;
		assert.equal(operations.length, countFields(text));
		assert.ok(operations.length > 50);
		assert.equal(new Set(operations.map(({ key }) => key)).size, operations.length);
		assert.deepEqual(
			operations.filter(({ outcome }) => outcome !== 'converted').map(({ key, reasons }) => [key, reasons]),
			[],
		);
	});
}

test('every name is valid, short enough to be prefixed, and unique without regard to case', () => {
	for (const { name, reading } of documents) assertNames(reading.operations, name);
});

test('every schema of arguments is a plain object at its root, compiles, and cannot be made to run long', () => {
	let seen = 0;
	eachOperation((operation, label) => void (isSampled(seen++, 3) && assertArguments(operation, label)));
});

test('a schema has the definitions that it refers to, and no others', () => {
	eachOperation(({ parameters }, label) => {
		const referred = new Set([...JSON.stringify(parameters).matchAll(/"\$ref":"#\/\$defs\/(\w+)"/g)].map(([, name]) => name));
		assert.deepEqual(Object.keys((parameters['$defs'] ?? {}) as JsonObject).toSorted(), [...referred].toSorted(), label);
	});
});

test('every generated document passes validation against its schema', () => {
	eachOperation(({ definition }, label, { schema }) => {
		assert.deepEqual(validate(schema, parse(String(definition['query']))), [], label);
	});
});

for (const depth of [0, 2, 3]) {
	test(`every document of depth ${depth} passes validation as it was first written`, async () => {
		// GitHub's and the Storefront API's: its JSON says the same as its SDL.
		for (const { name, text, schema } of sampled(documents, depth < 3 ? 2 : 4)) {
			const config = { depth, maxLeaves: 1_000, pageSize: 10 };
			const reading = await readWith({ ...importer, parse: (source, _config, context) => importer.parse(source, config, context) }, text);
			for (const { key, outcome } of reading.operations) assert.equal(outcome, 'converted', `${name}: ${key}`);
			// A document of a thousand fields takes long to validate.
			for (const { key, definition } of sampled(reading.operations, depth === 0 ? 1 : 24))
				assert.deepEqual(validate(schema, parse(String(definition['query']))), [], `${name}: ${key}`);
		}
	});
}

test('an answer is asked for within the budget', () => {
	eachOperation(({ definition }, label) => {
		const leaves = String(definition['query']).match(/\b(?:\w+: )?\w+(?= [\w}.])/g) ?? [];
		assert.ok(leaves.length < 500, `${label}: ${leaves.length}`);
		assert.ok(String(definition['query']).length < 8_000, label);
	});
});

test('what is deprecated is flagged, and asked for by nobody', () => {
	const flagged = documents.flatMap(({ reading }) => reading.operations.filter(({ deprecated }) => deprecated));
	assert.ok(flagged.length > 0);
	for (const { description } of flagged) assert.match(description, /^Deprecated: /);
	eachOperation(({ deprecated, key }, label, { schema }) => {
		const [kind, field = ''] = key.split('.');
		const root = kind === 'query' ? schema.getQueryType() : schema.getMutationType();
		assert.equal(deprecated, root?.getFields()[field]?.deprecationReason != null, label);
	});
});

test('the graphql executor accepts the config of every tool, and a query is read-only', () => {
	eachOperation((operation, label) => {
		const tool = importer.tool(operation);
		const { value, error } = graphql.config.validate(tool.executionConfig, { convert: false });
		assert.equal(error, undefined, label);
		assert.ok(readQuery(value), label);
		assert.equal(tool.annotations.readOnlyHint, operation.key.startsWith('query.'), label);
	});
});

test('fields that are defined twice are a warning with their line', () => {
	const [first] = documents[0]?.reading.warnings ?? [];
	assert.match(first?.message ?? '', /^EnterpriseOwnerInfo\.\w+ is defined twice/);
	assert.match(JSON.stringify(first?.fields), /line \d+, column \d+/);
});

test('two readings of one document are the same to the byte', async () => {
	const [document] = documents;
	const again = await readWith(importer, document?.text ?? '');
	assert.equal(JSON.stringify(again.operations), JSON.stringify(document?.reading.operations));
});
