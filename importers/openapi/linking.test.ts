// Tests of references from one document to another, and of schemas with names of their own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileArguments, GatewayError, type ImportContext, type JsonObject, type Operation } from '../../core/index.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';
import { lookUp } from './references.ts';

type Files = Record<string, unknown>;

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const documentOf = (rest: object): object => ({ openapi: '3.1.0', info: { title: 'x', version: '1' }, ...rest });
const taking = (schema: unknown): object => ({ post: { requestBody: { content: { 'application/json': { schema } } }, responses: {} } });
const bodyOf = ({ parameters }: Operation): JsonObject => (parameters['properties'] as JsonObject)['body'] as JsonObject;

/** Tells whether the only operation accepts the body. */
function admits({ operations }: Reading, body: unknown): boolean {
	return compileArguments(operations[0]?.parameters ?? {})({ body } as JsonObject).length === 0;
}

function readFiles(files: Files, path = 'openapi.json'): Promise<Reading> {
	const map = new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(text(content))]));
	return readWith(importer, text(files[path]), null, { path, files: map });
}

const HOME = 'https://api.example.com/docs/openapi.json';

/** Serves the files below HOME, or a status where the value is a number. */
async function fetchFrom(files: Files, root: unknown, asked: string[] = []): Promise<Reading> {
	const request: ImportContext['request'] = async ({ url }) => {
		asked.push(url);
		if (url.includes('169.254')) throw new GatewayError('egress_refused', 'It is not a public address.');
		const content = files[url];
		if (content instanceof Error) throw content;
		const status = content === undefined ? 404 : 200;
		return { status, headers: {}, body: Buffer.from(text(content ?? '')), url };
	};
	return readWith(importer, text(root), HOME, { request });
}

async function refusal(reading: Promise<unknown>): Promise<GatewayError> {
	const error = await reading.then(
		() => assert.fail('accepted'),
		(fault: unknown) => fault,
	);
	assert.ok(error instanceof GatewayError, String(error));
	return error;
}

const NAMED = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

test('references are followed through other files: relative to each, by pointer, whole, back and in circles', async () => {
	const reading = await readFiles(
		{
			'api/openapi.json': documentOf({
				paths: { '/a': { $ref: 'paths/a.yaml' }, '/b': { $ref: './paths/all.json#/~1b' } },
				components: { schemas: { Root: { type: 'integer' } } },
			}),
			'api/paths/a.yaml': `post:
  parameters: [{ $ref: '../common.yaml#/limit' }]
  requestBody: { $ref: '../../shared/bodies.json#/bodies/pet' }
  responses: { 200: { $ref: '../common.yaml#/answer' } }
`,
			'api/paths/all.json': { '/b': taking({ $ref: '../../shared/pet.json' }) },
			'api/common.yaml': `limit: { name: limit, in: query, schema: { type: integer } }
answer: { description: ok, content: { application/json: { schema: { $ref: '../shared/pet.json' } } } }
`,
			'shared/bodies.json': { bodies: { pet: { required: true, content: { 'application/json': { schema: { $ref: 'pet.json' } } } } } },
			'shared/pet.json': {
				...NAMED,
				properties: {
					name: { $ref: '#/definitions/Name' },
					root: { $ref: '../api/openapi.json#/components/schemas/Root' },
					friend: { $ref: 'pet.json' },
					self: { $ref: '#' },
				},
				definitions: { Name: { type: 'string', minLength: 2 } },
			},
		},
		'api/openapi.json',
	);
	assert.deepEqual(
		reading.operations.map(({ key, outcome }) => [key, outcome]),
		[
			['POST /a', 'converted'],
			['POST /b', 'converted'],
		],
	);
	assert.deepEqual(Object.keys(reading.operations[0]?.parameters['properties'] as object), ['limit', 'body']);
	assert.ok(reading.operations[0]?.outputSchema);
	for (const operation of reading.operations) {
		const one = { ...reading, operations: [operation] };
		assert.ok(admits(one, { name: 'ab', root: 1, friend: { name: 'cd', self: { name: 'ef' } } }));
		assert.ok(!admits(one, { name: 'a' }));
		assert.ok(!admits(one, { name: 'ab', root: 'x' }));
		assert.ok(!admits(one, { name: 'ab', friend: { name: 'cd', self: {} } }));
	}
});

test('a number that JSON cannot write is left out of another document, with a warning of its place', async () => {
	const { warnings } = await readFiles({
		'openapi.json': documentOf({ paths: { '/a': taking({ $ref: 'amount.yaml' }) } }),
		'amount.yaml': '{ type: number, maximum: .inf }',
	});
	const [{ message, fields } = assert.fail()] = warnings;
	assert.match(message, /was left out/);
	assert.match(String((fields as JsonObject)['pointer']), /^\/x-documents\/amount\.yaml_[0-9a-f]{8}\/maximum$/);
});

test('paths and schemas may be kept in a file as a whole', async () => {
	const reading = await readFiles({
		'openapi.json': documentOf({ paths: { $ref: 'paths.yaml' }, components: { schemas: { $ref: 'schemas/_index.yaml' } } }),
		'paths.yaml': JSON.stringify({ '/a': taking({ $ref: 'openapi.json#/components/schemas/Pet' }) }),
		'schemas/_index.yaml': 'Pet: { $ref: ./pet.yaml }',
		'schemas/pet.yaml': JSON.stringify(NAMED),
	});
	assert.equal(reading.operations[0]?.outcome, 'converted');
	assert.ok(admits(reading, { name: 'x' }) && !admits(reading, {}));
});

test('references of x-ms-paths, which are paths, are followed into other files', async () => {
	const { operations } = await readFiles({
		'openapi.json': {
			swagger: '2.0',
			info: { title: 'x', version: '1' },
			paths: {},
			'x-ms-paths': { '/?comp=list': { get: { parameters: [{ $ref: 'common.json#/parameters/comp' }], responses: {} } } },
		},
		'common.json': { parameters: { comp: { name: 'comp', in: 'query', required: true, type: 'string' } } },
	});
	assert.deepEqual([operations[0]?.outcome, operations[0]?.parameters['required']], ['converted', ['comp']]);
});

test('a pointer leads through few other references, even if each of them leads through several', () => {
	let read = 0;
	const levels = 8;
	const to = (level: number): JsonObject =>
		Object.defineProperty({}, '$ref', { enumerable: true, get: () => ++read && `#/e${level}${'/k'.repeat(8)}/j` });
	/** Every step by `k` leads through the next level; `j` is the end of the way through this one. */
	const entry = (level: number): JsonObject => ({ k: to(level + 1), ...(level > 0 ? { j: entry(level - 1) } : {}) });
	const root: JsonObject = Object.fromEntries(Array.from({ length: levels }, (_, level) => [`e${level}`, entry(level)]));
	let last: JsonObject = { j: entry(levels - 1) };
	for (let step = 0; step < 8; step++) last = { k: last };
	root[`e${levels}`] = last;
	assert.ok('value' in lookUp(root, `#/e${levels - 1}${'/k'.repeat(8)}/j`));
	read = 0;
	assert.ok('fault' in lookUp(root, `#/e${levels - 4}${'/k'.repeat(8)}/j`));
	assert.ok(read < 1_000, `${read} references`);
});

test('references inside an extension are linked if something refers to it', async () => {
	const reading = await readFiles({
		'openapi.json': documentOf({
			paths: { '/a': taking({ $ref: '#/x-own/Pet' }) },
			'x-own': { Pet: { $ref: '#/x-more' } },
			'x-more': { $ref: 'pets.json#/x-pets/0' },
		}),
		'pets.json': { 'x-pets': [{ $ref: 'pet.json' }] },
		'pet.json': NAMED,
	});
	assert.equal(reading.operations[0]?.outcome, 'converted');
	assert.ok(admits(reading, { name: 'x' }) && !admits(reading, {}));
});

test('values that only look like references are not followed', async () => {
	const asked: string[] = [];
	const ref = { $ref: 'https://other.example/x.json' };
	const schema = {
		type: 'object',
		default: ref,
		example: ref,
		examples: [ref],
		enum: [ref],
		const: ref,
		'x-more': ref,
		properties: { default: { type: 'string' } },
	};
	await fetchFrom({}, documentOf({ paths: { '/a': taking(schema) }, 'x-logo': ref }), asked);
	assert.deepEqual(asked, []);
	const named = documentOf({
		paths: { '/a': taking({ type: 'object', properties: { default: { $ref: 'x.json' }, $ref: { type: 'string' } } }) },
	});
	await fetchFrom({}, named, asked);
	assert.deepEqual(asked, ['https://api.example.com/docs/x.json']);
});

test('references of a fetched document are fetched once each, relative to the document that they are in', async () => {
	const asked: string[] = [];
	const files = {
		'https://api.example.com/docs/a/b.yaml': 'Pet: { $ref: "../c.json#/Pet" }\nOther: { $ref: "https://cdn.example/d.json" }',
		'https://api.example.com/docs/c.json': { Pet: NAMED },
		'https://cdn.example/d.json': { type: 'object', properties: { pet: { $ref: `${HOME}#/components/schemas/Home` } } },
	};
	const schema = { anyOf: [{ $ref: 'a/b.yaml#/Pet' }, { $ref: 'a/b.yaml#/Other' }, { $ref: './a/b.yaml#/Pet' }] };
	const reading = await fetchFrom(
		files,
		documentOf({ paths: { '/a': taking(schema) }, components: { schemas: { Home: { type: 'integer' } } } }),
		asked,
	);
	assert.equal(reading.operations[0]?.outcome, 'converted');
	assert.deepEqual(asked.toSorted(), Object.keys(files).toSorted());
	assert.ok(admits(reading, { name: 'x' }) && admits(reading, { pet: 1 }) && !admits(reading, { pet: 'x' }));
});

test('a document that cannot be read affects only the operations that need it, and a warning says why', async () => {
	const files = {
		'https://api.example.com/docs/bytes.json': new GatewayError('upstream_failed', 'The upstream closed the connection.'),
		'https://api.example.com/docs/broken.yaml': 'a: [',
	};
	const refs = ['none.json', 'bytes.json', 'broken.yaml', 'urn:example:x'];
	const paths = Object.fromEntries(refs.map((ref) => [`/${ref}`, taking({ $ref: ref })]));
	const { operations, warnings } = await fetchFrom(files, documentOf({ paths: { ...paths, '/ok': taking(NAMED) } }));
	assert.deepEqual(
		operations.map(({ outcome }) => outcome),
		['degraded', 'degraded', 'degraded', 'degraded', 'converted'],
	);
	const said = warnings.map(({ message }) => message).join('\n');
	assert.match(said, /“none\.json” could not be read: the server answered with status 404\./);
	assert.match(said, /“bytes\.json” could not be read: The upstream closed/);
	assert.match(said, /“broken\.yaml” could not be read: Neither JSON nor YAML: line 1/);
	assert.match(said, /“urn:example:x” could not be read: it is no http or https URL\./);
	const missing = await readFiles({ 'openapi.json': documentOf({ paths: { '/a': taking({ $ref: 'none.json' }) } }) });
	assert.match(missing.operations[0]?.reasons.join() ?? '', /External reference “none\.json”/);
	assert.match(missing.warnings[0]?.message ?? '', /“none\.json” could not be read: it is not among the files\./);
});

test('a reference to a refused address or to a file of the machine fails the import, naming it', async () => {
	for (const [ref, code] of [
		['http://169.254.169.254/latest', 'egress_refused'],
		['file:///etc/passwd', 'schema_invalid'],
	] as const) {
		const error = await refusal(fetchFrom({}, documentOf({ paths: { '/a': taking({ $ref: ref }) } })));
		assert.equal(error.code, code);
		assert.ok(error.message.includes(ref));
	}
});

test('a reference out of the imported files fails the import, and one to the web is not fetched', async () => {
	for (const ref of [
		'../up.json',
		'a/../../up.json',
		'%2e%2e/up.json',
		'a/%2E%2e/../up.json',
		'..\\up.json',
		'/etc/passwd',
		'//host/x.json',
		'file:///etc/passwd',
		'file:x',
	]) {
		const error = await refusal(readFiles({ 'openapi.json': documentOf({ paths: { '/a': taking({ $ref: ref }) } }) }));
		assert.equal(error.code, 'schema_invalid', ref);
		assert.match(error.message, /points outside the imported files/);
	}
	const inside = await readFiles(
		{
			'a/openapi.json': documentOf({ paths: { '/a': taking({ $ref: '../b/./c d.json' }) } }),
			'b/c d.json': NAMED,
		},
		'a/openapi.json',
	);
	assert.equal(inside.operations[0]?.outcome, 'converted');
	const { operations } = await readFiles({ 'openapi.json': documentOf({ paths: { '/a': taking({ $ref: 'https://x.example/y.json' }) } }) });
	assert.equal(operations[0]?.outcome, 'degraded');
});

test('a document may refer to 50 others, five deep, and no further', async () => {
	const wide = (count: number): object =>
		documentOf({
			paths: Object.fromEntries(Array.from({ length: count }, (_, index) => [`/${index}`, taking({ $ref: `s${index}.json` })])),
		});
	const files = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`https://api.example.com/docs/s${index}.json`, NAMED]));
	assert.equal((await fetchFrom(files, wide(50))).operations.length, 50);
	assert.match((await refusal(fetchFrom(files, wide(51)))).message, /more than 50 others/);
	const deep = (count: number): Files =>
		Object.fromEntries(
			Array.from({ length: count }, (_, index) => [
				`https://api.example.com/docs/d${index}.json`,
				index + 1 < count ? { $ref: `d${index + 1}.json` } : NAMED,
			]),
		);
	const first = documentOf({ paths: { '/a': taking({ $ref: 'd0.json' }) } });
	assert.ok(!admits(await fetchFrom(deep(5), first), {}));
	assert.match((await refusal(fetchFrom(deep(6), first))).message, /through more than 5 documents/);
});

test('schemas are found by their own identifiers, in one document and in others', async () => {
	const schemas = {
		Pet: {
			$id: 'https://schemas.example/pet',
			...NAMED,
			properties: { name: { $ref: '#/$defs/Name' }, age: { $ref: '#age' }, other: { $ref: 'other' } },
			$defs: { Name: { type: 'string', minLength: 2 }, Age: { $anchor: 'age', type: 'integer' } },
		},
		Other: { $id: 'https://schemas.example/other', type: 'boolean' },
		Lenient: { $id: 'lenient', type: 'object', properties: { pet: { $ref: '#/components/schemas/Other' } } },
		Anchored: { $anchor: 'here', type: 'integer' },
	};
	for (const [schema, good, bad] of [
		[{ $ref: 'https://schemas.example/pet' }, { name: 'ab', age: 1, other: true }, { name: 'a' }],
		[{ $ref: '#/components/schemas/Pet' }, { name: 'ab' }, { name: 'ab', age: 'x' }],
		[{ $ref: 'https://schemas.example/pet#/$defs/Age' }, 1, 'x'],
		[{ $ref: 'https://schemas.example/pet#age' }, 1, 'x'],
		[{ $ref: '#/components/schemas/Pet' }, { name: 'ab', other: true }, { name: 'ab', other: 1 }],
		[{ $ref: 'lenient' }, { pet: true }, { pet: 1 }],
		[{ $ref: '#here' }, 1, 'x'],
	] as const) {
		const reading = await readWith(importer, JSON.stringify(documentOf({ paths: { '/a': taking(schema) }, components: { schemas } })));
		assert.equal(reading.operations[0]?.outcome, 'converted', JSON.stringify(schema));
		assert.ok(admits(reading, good) && !admits(reading, bad), JSON.stringify(schema));
	}
});

test('a document of 3.2 can be referred to by its $self, and its references are relative to it', async () => {
	const reading = await readFiles(
		{
			'main.json': {
				...documentOf({ paths: { '/a': taking({ $ref: 'shared#/components/schemas/Pet' }) } }),
				openapi: '3.2.0',
				$self: 'https://api.example/root',
			},
			'other.json': {
				openapi: '3.2.0',
				$self: 'https://api.example/shared',
				components: { schemas: { Pet: { ...NAMED, properties: { name: { $ref: 'root#/x' } } } } },
			},
		},
		'main.json',
	);
	assert.ok(!admits(reading, {}));
	assert.match(bodyOf(reading.operations[0] ?? assert.fail())['$ref'] as string, /Pet_/);
});

test('a document is read the same wherever it is stored', async () => {
	const files = { 'openapi.json': documentOf({ paths: { '/a': taking({ $ref: 's/pet.json' }) } }), 's/pet.json': NAMED };
	const moved = Object.fromEntries(Object.entries(files).map(([path, content]) => [`deep/down/${path}`, content]));
	const fetched = { 'https://api.example.com/docs/s/pet.json': NAMED };
	const readings = [
		await readFiles(files),
		await readFiles(moved, 'deep/down/openapi.json'),
		await fetchFrom(fetched, files['openapi.json']),
	];
	for (const { operations } of readings) assert.deepEqual(operations, readings[0]?.operations);
});

test('YAML anchors that are used again are linked wherever they are used', async () => {
	const uses = Array.from({ length: 2_000 }, (_, index) => `  /${index}: *path`);
	const yaml = ['openapi: 3.1.0', 'x-path: &path { get: { parameters: [{ $ref: "c.json#/p" }], responses: {} } }', 'paths:', ...uses].join(
		'\n',
	);
	const reading = await readFiles({ 'openapi.yaml': yaml, 'c.json': { p: { name: 'q', in: 'query' } } }, 'openapi.yaml');
	assert.equal(reading.operations.length, 2_000);
	assert.ok(reading.operations.every(({ outcome }) => outcome === 'converted'));
});
