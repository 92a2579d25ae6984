// Tests with documents that the importer was not written against, all of @readme/oas-examples, GitHub's and Kubernetes' own, and with
// documents that were written for the features that these lack.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import swagger2openapi from 'swagger2openapi';
import { parse as parseYaml, stringify } from 'yaml';
import { compileArguments, type JsonObject, type Operation, patternFault } from '../../core/index.ts';
import http from '../../plugins/executors/http/index.ts';
import { assertNames } from '../../test/helpers/corpus.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import { isSampled, sampled } from '../../test/helpers/sampled.ts';
import { readDocument } from './document.ts';
import importer from './index.ts';
import { listOperations } from './operations.ts';

const EXAMPLES = new URL('../../node_modules/@readme/oas-examples/', import.meta.url);
const FIXTURES = new URL('../../test/fixtures/', import.meta.url);

const unpack = (file: string): string => gunzipSync(readFileSync(new URL(file, FIXTURES))).toString();
const textOf = (file: string): string => readFileSync(new URL(`openapi/${file}`, FIXTURES), 'utf8');

const exampleFiles = globSync('{2.0,3.0,3.1}/json/**/*.json', { cwd: EXAMPLES }).toSorted();
const published: [name: string, text: string][] = exampleFiles.map((file) => [file, readFileSync(new URL(file, EXAMPLES), 'utf8')]);
published.push(['Kubernetes', unpack('openapi/kubernetes.swagger.json.gz')], ['GitHub', unpack('github.openapi.json.gz')]);
const own = ['styles.yaml', 'shapes.json', 'streams.yaml', 'forms.yaml'].map((file): [name: string, text: string] => [file, textOf(file)]);
const documents = [...published, ...own];

const severalFiles = globSync('**/*.*', { cwd: new URL('openapi/several/', FIXTURES) });
const files = new Map(severalFiles.map((file) => [file, Buffer.from(textOf(`several/${file}`))]));

const readings = new Map<string, Reading>();
before(async () => {
	for (const [name, text] of documents) readings.set(name, await readWith(importer, text));
	readings.set('several', await readWith(importer, textOf('several/openapi.yaml'), null, { path: 'openapi.yaml', files }));
});

/** Counts operations in another way than the importer: keys that look like methods. */
function countOperations(text: string): number {
	const document = parse(text) as { paths?: Record<string, Record<string, unknown> & { $ref?: string; additionalOperations?: object }> };
	const method = /^(get|put|post|delete|options|head|patch|trace|query)$/;
	const ownOf = (item: object): number => Object.keys(item).filter((key) => method.test(key)).length;
	const target = (ref: string): object =>
		ref
			.slice(2)
			.split('/')
			.reduce((at, token) => (at as JsonObject)[token.replaceAll('~1', '/')] as object, document as object);
	return Object.values(document.paths ?? {})
		.map((item) => ownOf(item) + (item.$ref ? ownOf(target(item.$ref)) : 0) + Object.keys(item.additionalOperations ?? {}).length)
		.reduce((sum, count) => sum + count, 0);
}

const parse = (text: string): unknown => (text.startsWith('{') ? JSON.parse(text) : parseYaml(text, { merge: true }));

/** Every loss in our own documents. */
const LOST = [
	'degraded GET /bytes: The query “all” has a media type that a URL cannot hold and was left out.',
	'degraded POST /any: The pattern “^(?!x).*$” cannot be checked in linear time and was dropped.',
	'degraded POST /chain: Models are shown the schema without “Link175”, “Link176”, “Link177”, “Link178”, “Link179”, “Link180”, “Link181”, “Link182”, “Link183”, “Link184” and 115 more: arguments are checked against the whole one.',
	'degraded POST /made: The pattern “^(?!x).*$” cannot be checked in linear time and was dropped.',
	'degraded POST /parts: The parts of its body have no names: such parts cannot be sent.',
	'degraded POST /pet: Pet includes itself endlessly: the inner one accepts anything.',
	'degraded POST /self: Self includes itself endlessly: the inner one accepts anything.',
	'degraded POST /upload: The pattern “^(?!x).*$” cannot be checked in linear time and was dropped.',
	'degraded POST /xml: Its XML body is a text argument, with an outline of its elements: an element or attribute cannot be called “$ref” in XML.',
	'skipped HEAD /pets/{ids}: HEAD operations become tools only where options.methods of the import names them.',
	'skipped WHATEVER /events: Its method “WHATEVER” is not a registered method in its exact spelling.',
	'skipped additionalOperations.POST /events: The path already has an operation with this method.',
	'skipped copy /events: Its method “copy” is not a registered method in its exact spelling.',
];

function eachTool(check: (operation: Operation, label: string) => void): void {
	eachOperation((operation, label) => void (operation.outcome === 'skipped' || check(operation, label)));
}

function eachOperation(check: (operation: Operation, label: string) => void): void {
	for (const [name, { operations }] of readings) for (const operation of operations) check(operation, `${name}: ${operation.key}`);
}

const eachSchema = (schema: unknown, visit: (schema: JsonObject) => void): void => {
	if (schema === null || typeof schema !== 'object') return;
	if (!Array.isArray(schema)) visit(schema as JsonObject);
	for (const child of Object.values(schema)) eachSchema(child, visit);
};

/** Schemas of these are many and alike: every twentieth is compiled. */
const LARGE = /^(?:GitHub|Kubernetes):/;
let ofLarge = 0;
/** Many operations share an output schema; compiling it once is enough. */
const compiled = new Set<string>();
function assertCompiles(schema: JsonObject, label: string): void {
	if (LARGE.test(label) && !isSampled(ofLarge++, 20)) return;
	const text = JSON.stringify(schema);
	if (compiled.has(text)) return;
	compiled.add(text);
	assert.doesNotThrow(() => compileArguments(schema), label);
}

test('the corpus is complete', () => {
	assert.equal(exampleFiles.length, 70);
	const examples = exampleFiles.map((file) => readings.get(file)?.operations.length ?? 0);
	assert.equal(
		examples.reduce((sum, count) => sum + count, 0),
		678,
	);
	assert.equal(readings.get('GitHub')?.operations.length, 1223);
	assert.equal(readings.get('Kubernetes')?.operations.length, 1014);
});

for (const [name, text] of documents) {
	test(`${name}: every operation that an independent count finds is reported, once`, () => {
		const { operations } = readings.get(name) as Reading;
		assert.equal(operations.length, countOperations(text));
		assert.equal(new Set(operations.map(({ key }) => key)).size, operations.length);
	});
}

test('an operation that lies in another file is reported like any other', () => {
	const written = severalFiles.map((file) => textOf(`several/${file}`).match(/operationId:/g)?.length ?? 0);
	const { operations } = readings.get('several') ?? assert.fail();
	assert.equal(
		operations.length,
		written.reduce((sum, count) => sum + count, 0),
	);
	assert.deepEqual(
		operations.map(({ outcome }) => outcome),
		['converted', 'converted', 'converted'],
	);
});

test('of published documents only operations without a useful response are skipped, and every loss is explained', () => {
	const counts = { converted: 0, degraded: 0, skipped: 0 };
	for (const [name] of published) {
		for (const { outcome, method } of readings.get(name)?.operations ?? []) {
			counts[outcome]++;
			assert.equal(outcome === 'skipped', method === 'HEAD' || method === 'OPTIONS');
		}
	}
	// In Kubernetes, these operations take a schema of schemas, or a whole pod.
	const large = (readings.get('Kubernetes')?.operations ?? []).filter(({ outcome }) => outcome === 'degraded');
	for (const { reasons, whole } of large) {
		assert.match(reasons.join(), /^Models are shown the schema without .*: arguments are checked against the whole one\.$/);
		assert.doesNotMatch(JSON.stringify(whole ?? assert.fail()), /Too large to be shown here/);
	}
	assert.ok(large.length < 60 && counts.degraded - large.length < 10, `${counts.degraded} degraded`);
	eachOperation(({ outcome, reasons }, label) => assert.equal(reasons.length > 0, outcome !== 'converted', label));
});

test('our own documents lose only what cannot be sent or checked', () => {
	const lost = own.flatMap(([name]) =>
		(readings.get(name)?.operations ?? [])
			.filter(({ outcome }) => outcome !== 'converted')
			.map(({ key, outcome, reasons }) => `${outcome} ${key}: ${reasons.join(' ')}`),
	);
	assert.deepEqual(lost.toSorted(), LOST.toSorted());
});

test('every name is valid, short enough to be prefixed, and unique without regard to case', () => {
	for (const [name, { operations }] of readings) assertNames(operations, name);
});

test('every schema of arguments is a plain object at its root, serialises and compiles', () => {
	eachTool(({ parameters }, label) => {
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
		// Under `properties` any name is allowed, such as `pattern` and `x-id`.
		eachSchema([parameters, outputSchema], (schema) => {
			if (typeof schema['pattern'] === 'string') assert.equal(patternFault(schema['pattern']), null, label);
			if (typeof schema['type'] !== 'string') return;
			for (const keyword of Object.keys(schema))
				assert.doesNotMatch(keyword, /^(x-|xml$|discriminator$|externalDocs$|nullable$|example$)/, label);
		});
	});
});

test('each output schema is an object, small, and compiles', () => {
	let promised = 0;
	eachOperation(({ outputSchema }, label) => {
		if (!outputSchema) return;
		promised++;
		assert.equal(outputSchema['type'], 'object', label);
		assert.ok(JSON.stringify(outputSchema).length <= 33 * 1024, label);
		assertCompiles(outputSchema, label);
	});
	assert.ok(promised > 500, `${promised} promised`);
});

test('every placeholder of a path is filled by a required argument', () => {
	eachTool(({ path, parameters, definition }, label) => {
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
	eachTool((operation, label) => {
		const { error } = http.config.validate(importer.tool(operation, api).executionConfig, { convert: false });
		assert.equal(error, undefined, label);
	});
});

test('YAML is read like the equivalent JSON', () => {
	const small = documents.filter(([name]) => name !== 'GitHub' && name !== 'Kubernetes');
	// Our own documents, which have the rarer forms, are the last ones.
	for (const [name, text] of [...sampled(small.slice(0, -own.length), 4), ...small.slice(-own.length)]) {
		const document: unknown = parse(text);
		assert.deepEqual(readDocument(stringify(document, { aliasDuplicateObjects: false })).root, document, name);
	}
});

test('the YAML files of the corpus are read', () => {
	const files = globSync('3.{0,1}/yaml/**/*.yaml', { cwd: EXAMPLES });
	assert.equal(files.length, 52);
	for (const file of sampled(files.toSorted(), 3)) {
		const found = listOperations(readDocument(readFileSync(new URL(file, EXAMPLES), 'utf8')));
		assert.equal(found.length, readings.get(file.replaceAll('yaml', 'json'))?.operations.length, file);
	}
});

test('two readings of one document are the same to the byte', async () => {
	const [, text] = published.at(-1) as [string, string];
	const again = await readWith(importer, text);
	assert.equal(JSON.stringify(again.operations), JSON.stringify(readings.get('GitHub')?.operations));
});

/** Reverses the order of paths, methods and all named objects. */
function reversed(text: string): string {
	const turn = (value: unknown, levels: number): unknown => {
		if (value === null || typeof value !== 'object' || Array.isArray(value) || levels === 0) return value;
		const entries = Object.entries(value).map(([key, child]) => [key, turn(child, levels - 1)]);
		return Object.fromEntries(entries.toReversed());
	};
	const document = parse(text) as Record<string, unknown>;
	const deep: Record<string, number> = { paths: 2, components: 2, definitions: 1, parameters: 1, responses: 1, securityDefinitions: 1 };
	return JSON.stringify(turn(Object.fromEntries(Object.entries(document).map(([key, value]) => [key, turn(value, deep[key] ?? 0)])), 1));
}

test('the order of a document does not change its operations', async () => {
	for (const [name, text] of sampled(documents, 4)) {
		const byKey = (reading: Reading): string[] => reading.operations.map((operation) => JSON.stringify(operation)).toSorted();
		const turned = await readWith(importer, reversed(text));
		assert.deepEqual(byKey(turned), byKey(readings.get(name) ?? assert.fail()), name);
	}
});

test('Swagger 2.0 is converted as another converter does it', async () => {
	for (const [name, text] of sampled(documents, 4)) {
		const { swagger, ...rest } = parse(text) as { swagger?: string };
		if (swagger === undefined || name === 'forms.yaml') continue;
		const options = { patch: true, warnOnly: true, resolve: false, refSiblings: 'preserve' } as never;
		const { openapi } = await swagger2openapi.convertObj({ swagger, ...structuredClone(rest) } as never, options);
		const { operations } = await readWith(importer, JSON.stringify(openapi));
		const shown = ({ key, parameters, outputSchema, definition }: Operation): object => {
			const { rootServer: _, ...config } = definition;
			return { key, parameters, outputSchema, config };
		};
		const others = new Map(operations.map((operation) => [operation.key, shown(operation)]));
		for (const operation of readings.get(name)?.operations ?? [])
			assert.deepEqual(shown(operation), others.get(operation.key), `${name}: ${operation.key}`);
	}
});
