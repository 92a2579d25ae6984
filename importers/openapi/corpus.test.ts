// Real documents, which the importer was not written against: all of @readme/oas-examples and GitHub's own.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { stringify } from 'yaml';
import { compileArguments, type JsonObject, type Operation, patternFault } from '../../core/index.ts';
import http from '../../plugins/executors/http/index.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import { readDocument } from './document.ts';
import importer from './index.ts';
import { listOperations } from './operations.ts';

const EXAMPLES = new URL('../../node_modules/@readme/oas-examples/', import.meta.url);
const GITHUB = new URL('../../test/fixtures/github.openapi.json.gz', import.meta.url);

const exampleFiles = globSync('3.{0,1}/json/**/*.json', { cwd: EXAMPLES }).toSorted();
const documents: [name: string, text: string][] = exampleFiles.map((file) => [file, readFileSync(new URL(file, EXAMPLES), 'utf8')]);
documents.push(['GitHub', gunzipSync(readFileSync(GITHUB)).toString()]);

const readings = new Map<string, Reading>();
for (const [name, text] of documents) readings.set(name, await readWith(importer, text));

/** By another way than the importer's: keys that look like methods. */
function countOperations(text: string): number {
	const document = JSON.parse(text) as { paths?: Record<string, Record<string, unknown> & { $ref?: string }> };
	const method = /^(get|put|post|delete|options|head|patch|trace)$/;
	const ownOf = (item: object): number => Object.keys(item).filter((key) => method.test(key)).length;
	const target = (ref: string): object =>
		ref
			.slice(2)
			.split('/')
			.reduce((at, token) => (at as JsonObject)[token.replaceAll('~1', '/')] as object, document as object);
	return Object.values(document.paths ?? {}).reduce((sum, item) => sum + ownOf(item) + (item.$ref ? ownOf(target(item.$ref)) : 0), 0);
}

function eachOperation(check: (operation: Operation, label: string) => void): void {
	for (const [name, { operations }] of readings) for (const operation of operations) check(operation, `${name}: ${operation.key}`);
}

const eachSchema = (schema: unknown, visit: (schema: JsonObject) => void): void => {
	if (schema === null || typeof schema !== 'object') return;
	if (!Array.isArray(schema)) visit(schema as JsonObject);
	for (const child of Object.values(schema)) eachSchema(child, visit);
};

/** Many operations answer alike; once is enough. */
const compiled = new Set<string>();
function assertCompiles(schema: JsonObject, label: string): void {
	const text = JSON.stringify(schema);
	if (compiled.has(text)) return;
	compiled.add(text);
	assert.doesNotThrow(() => compileArguments(schema), label);
}

test('the corpus is there', () => {
	assert.equal(exampleFiles.length, 63);
	assert.equal(readings.get('GitHub')?.operations.length, 1223);
});

for (const [name, text] of documents) {
	test(`${name}: every operation that an independent count finds is reported, once`, () => {
		const { operations } = readings.get(name) as Reading;
		assert.equal(operations.length, countOperations(text));
		assert.equal(new Set(operations.map(({ key }) => key)).size, operations.length);
	});
}

test('nothing of the corpus is skipped, and every loss is explained', () => {
	const counts = { converted: 0, degraded: 0, skipped: 0 };
	eachOperation(({ outcome, reasons }, label) => {
		counts[outcome]++;
		assert.equal(reasons.length > 0, outcome !== 'converted', label);
	});
	assert.equal(counts.skipped, 0);
	assert.ok(counts.degraded < 10, `${counts.degraded} degraded`);
});

test('every name is valid, short enough to be prefixed, and unique without regard to case', () => {
	for (const [name, { operations }] of readings) {
		const names = operations.map((operation) => operation.name);
		for (const each of names) assert.match(each, /^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$/, name);
		assert.equal(new Set(names.map((each) => each.toLowerCase())).size, names.length, name);
	}
});

test('every schema of arguments is a plain object at its root, serialises and compiles', () => {
	eachOperation(({ parameters }, label) => {
		assert.equal(parameters['type'], 'object', label);
		assert.equal(parameters['additionalProperties'], false, label);
		for (const keyword of ['allOf', 'anyOf', 'oneOf', 'not', '$ref', 'enum']) assert.ok(!(keyword in parameters), `${label}: ${keyword}`);
		for (const arg of Object.keys(parameters['properties'] as JsonObject)) assert.match(arg, /^[A-Za-z0-9_.-]{1,64}$/, label);
		assert.deepEqual(JSON.parse(JSON.stringify(parameters)), parameters, label);
		assertCompiles(parameters, label);
	});
});

test('a schema has the definitions that it refers to, and no others', () => {
	eachOperation(({ parameters, outputSchema }, label) => {
		for (const schema of [parameters, outputSchema]) {
			const referred = new Set<string>();
			eachSchema(schema, ({ $ref }) => typeof $ref === 'string' && referred.add($ref.replace('#/$defs/', '')));
			assert.deepEqual(Object.keys((schema?.['$defs'] ?? {}) as JsonObject).toSorted(), [...referred].toSorted(), label);
		}
	});
});

test('no pattern of a schema can run longer than linear time, and no vendor field is left', () => {
	eachOperation(({ parameters, outputSchema }, label) => {
		// Under `properties` a name may be any, `pattern` and `x-id` among them.
		eachSchema([parameters, outputSchema], (schema) => {
			if (typeof schema['pattern'] === 'string') assert.equal(patternFault(schema['pattern']), null, label);
			if (typeof schema['type'] !== 'string') return;
			for (const keyword of Object.keys(schema))
				assert.doesNotMatch(keyword, /^(x-|xml$|discriminator$|externalDocs$|nullable$|example$)/, label);
		});
	});
});

test('what is promised of an answer is an object, small, and compiles', () => {
	let promised = 0;
	eachOperation(({ outputSchema }, label) => {
		if (!outputSchema) return;
		promised++;
		assert.equal(outputSchema['type'], 'object', label);
		assert.ok(JSON.stringify(outputSchema).length <= 33 * 1024, label);
		// Of GitHub's, which are large and alike, every fifth: all of them would take too long.
		if (!label.startsWith('GitHub') || promised % 5 === 0) assertCompiles(outputSchema, label);
	});
	assert.ok(promised > 500, `${promised} promised`);
});

test('every placeholder of a path is filled by a required argument', () => {
	eachOperation(({ path, parameters, definition }, label) => {
		const wires = (definition['parameters'] ?? []) as { arg: string; name: string; in: string }[];
		for (const [, name] of path.matchAll(/\{([^}]+)\}/g)) {
			const wire = wires.find((each) => each.in === 'path' && each.name === name);
			assert.ok(wire, `${label}: ${name}`);
			assert.ok((parameters['required'] as string[]).includes(wire.arg), label);
		}
	});
});

test('the http executor accepts the config of every tool', () => {
	const api = { id: 'a', organizationId: 'o', name: 'x', type: 'openapi', baseUrl: 'https://api.example.com' };
	eachOperation((operation, label) => {
		const { error } = http.config.validate(importer.tool(operation, api).executionConfig, { convert: false });
		assert.equal(error, undefined, label);
	});
});

test('YAML is read as the JSON that says the same', () => {
	for (const [name, text] of documents) {
		if (name === 'GitHub') continue;
		const document: unknown = JSON.parse(text);
		assert.deepEqual(readDocument(stringify(document, { aliasDuplicateObjects: false })).root, document, name);
	}
});

test('the YAML files of the corpus are read', () => {
	const files = globSync('3.{0,1}/yaml/**/*.yaml', { cwd: EXAMPLES });
	assert.equal(files.length, 52);
	for (const file of files) {
		const found = listOperations(readDocument(readFileSync(new URL(file, EXAMPLES), 'utf8')));
		assert.equal(found.length, readings.get(file.replaceAll('yaml', 'json'))?.operations.length, file);
	}
});

test('two readings of one document are the same to the byte', async () => {
	const [, text] = documents.at(-1) as [string, string];
	const again = await readWith(importer, text);
	assert.equal(JSON.stringify(again.operations), JSON.stringify(readings.get('GitHub')?.operations));
});
