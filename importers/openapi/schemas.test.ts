import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileArguments, type JsonObject, type Operation } from '../../core/index.ts';
import { threadCpuMs } from '../../test/helpers/clock.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

/** Returns the only operation of a document whose JSON body has this schema. */
async function withBody(schema: unknown, schemas: unknown = {}, version = '3.0.3'): Promise<Operation> {
	const post = { requestBody: { content: { 'application/json': { schema } } }, responses: { 204: { description: 'done' } } };
	const info = { title: 'x', version: '1' };
	const { operations } = await readWith(
		importer,
		JSON.stringify({ openapi: version, info, paths: { '/x': { post } }, components: { schemas } }),
	);
	const [operation] = operations;
	assert.ok(operation && operation.outcome !== 'skipped', JSON.stringify(operation?.reasons));
	assert.doesNotThrow(() => compileArguments(operation.parameters));
	return operation;
}

const bodyOf = ({ parameters }: Operation): JsonObject => (parameters['properties'] as JsonObject)['body'] as JsonObject;

/** Tells whether the operation accepts the body. */
const admits = ({ parameters }: Operation, body: unknown): boolean => compileArguments(parameters)({ body } as JsonObject).length === 0;

test('nullable admits null beside every form of schema', async () => {
	const Pet = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
	for (const schema of [
		{ type: 'string', nullable: true },
		{ type: 'string', enum: ['a'], nullable: true },
		{ $ref: '#/components/schemas/Pet', nullable: true },
		{ allOf: [{ $ref: '#/components/schemas/Pet' }], nullable: true },
		{ type: 'object', anyOf: [{ $ref: '#/components/schemas/Pet' }], nullable: true, description: 'kept' },
	]) {
		// In 3.0 siblings of `$ref` are ignored, but `nullable` is widely used there and meant.
		const operation = await withBody({ type: 'object', properties: { it: schema } }, { Pet });
		assert.ok(admits(operation, { it: null }), JSON.stringify(schema));
		assert.ok(!admits(operation, { it: 7 }), JSON.stringify(schema));
	}
});

test('boolean bounds of 3.0 become bounds', async () => {
	const operation = await withBody({ type: 'integer', minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false });
	assert.deepEqual(bodyOf(operation), { type: 'integer', exclusiveMinimum: 1, maximum: 9 });
	assert.deepEqual(bodyOf(await withBody({ type: 'integer', exclusiveMinimum: 3 }, {}, '3.1.0')), { type: 'integer', exclusiveMinimum: 3 });
});

test('keywords that only OpenAPI has are dropped, and example becomes examples', async () => {
	const schema = {
		type: 'string',
		example: 'x',
		xml: {},
		externalDocs: {},
		discriminator: {},
		'x-mcp-header': 'Evil',
		$id: 'http://a/b',
		$anchor: 'a',
	};
	assert.deepEqual(bodyOf(await withBody(schema, {}, '3.1.0')), { type: 'string', examples: ['x'] });
});

test('a pattern that cannot run in linear time is dropped, and the operation degraded', async () => {
	const operation = await withBody({ type: 'string', pattern: '^(?=a)b(c)\\1$' });
	assert.deepEqual(bodyOf(operation), { type: 'string' });
	assert.equal(operation.outcome, 'degraded');
	assert.match(operation.reasons.join(), /pattern .* linear time/);
	assert.deepEqual(bodyOf(await withBody({ type: 'string', pattern: '^(a+)+$' })), { type: 'string', pattern: '^(a+)+$' });
});

test('values that the dialect does not allow are dropped, and the schema compiles', async () => {
	const operation = await withBody({
		type: ['object', 'file', 'nonsense'],
		required: true,
		minProperties: -1,
		enum: [],
		properties: {
			a: { type: 'file', minLength: '3', enum: ['x', 'x', 'y'], multipleOf: 0 },
			b: 'no',
			c: null,
			d: true,
			e: { items: [{}] },
		},
		allOf: [],
		patternProperties: { '(?=x)': {} },
	});
	const { properties } = bodyOf(operation) as { properties: JsonObject };
	assert.deepEqual(properties, { a: { type: 'string', enum: ['x', 'y'] }, b: {}, c: {}, d: {}, e: { items: {} } });
	assert.equal(operation.outcome, 'degraded');
});

test('values of an enum are of its type, since YAML reads true without quotes as a boolean', async () => {
	const enums: [schema: JsonObject, values: unknown[] | undefined][] = [
		[{ type: 'string', enum: ['regular', false, true] }, ['regular', 'false', 'true']],
		[{ type: 'boolean', enum: ['true', 'false'] }, [true, false]],
		[{ type: 'integer', enum: ['1', 2, '', '1e3'] }, [1, 2]],
		[{ type: ['string', 'null'], enum: ['a', null] }, ['a', null]],
		[{ type: ['string', 'integer'], enum: ['1', 2] }, ['1', 2]],
		[{ type: 'nonsense', enum: [1] }, [1]],
		// The text may be 1.0.
		[{ type: 'string', enum: [1, 'a'] }, undefined],
		[{ type: 'array', items: { type: 'string' }, enum: ['a', 'b'] }, undefined],
	];
	const properties = Object.fromEntries(enums.map(([schema], index) => [`p${index}`, schema]));
	const operation = await withBody({ type: 'object', properties });
	const converted = Object.values(bodyOf(operation)['properties'] as JsonObject);
	assert.deepEqual(
		converted.map((schema) => (schema as JsonObject)['enum']),
		enums.map(([, values]) => values),
	);
	assert.match(operation.reasons.join(), /An enum with values that are not of its type “"string"” was dropped/);
	assert.ok(admits(operation, { p0: 'false', p1: true, p2: 2, p6: '1.0', p7: ['a'] }));
	assert.ok(!admits(operation, { p0: 'no' }));
});

test('a property may be called $ref, constructor or pattern, but not __proto__', async () => {
	const schema = JSON.parse(
		'{"type":"object","properties":{"$ref":{"type":"string"},"constructor":{},"pattern":{"type":"integer"},"__proto__":{"type":"object"}}}',
	);
	const operation = await withBody(schema);
	assert.deepEqual(Object.keys(bodyOf(operation)['properties'] as JsonObject), ['$ref', 'constructor', 'pattern']);
	assert.ok(admits(operation, { $ref: 'x', pattern: 1 }));
});

test('properties that only the server sets need not be sent', async () => {
	const Id = { type: 'string', readOnly: true };
	const schema = {
		type: 'object',
		properties: { id: { $ref: '#/components/schemas/Id' }, at: { type: 'string', readOnly: true }, name: {} },
		required: ['id', 'at', 'name'],
	};
	assert.deepEqual(bodyOf(await withBody(schema, { Id }))['required'], ['name']);
});

test('properties that only the server sets need not be sent even if a subtype requires them', async () => {
	const Base = { type: 'object', properties: { id: { type: 'integer', readOnly: true }, name: { type: 'string' } } };
	const base = { $ref: '#/components/schemas/Base' };
	for (const [schema, version] of [
		[{ allOf: [base, { type: 'object', required: ['id', 'name'] }] }, '3.0.3'],
		[{ allOf: [base], required: ['id', 'name'] }, '3.0.3'],
		[{ allOf: [{ allOf: [base] }, { allOf: [{ required: ['id', 'name'] }] }] }, '3.0.3'],
		[{ ...base, required: ['id', 'name'] }, '3.1.0'],
	] as const) {
		const operation = await withBody(schema, { Base }, version);
		assert.ok(admits(operation, { name: 'Rex' }), JSON.stringify(schema));
		assert.ok(!admits(operation, { id: 1 }), JSON.stringify(schema));
	}
});

test('minContains 0 allows a list without a matching item', async () => {
	const operation = await withBody({ type: 'array', contains: { type: 'string' }, minContains: 0 }, {}, '3.1.0');
	assert.ok(admits(operation, [1]));
	const two = await withBody({ type: 'array', contains: { type: 'string' }, minContains: 2, maxContains: 3 }, {}, '3.1.0');
	assert.deepEqual([admits(two, ['a', 1]), admits(two, ['a', 'b'])], [false, true]);
});

test('the schema of additional properties is dropped together with a pattern that cannot be checked', async () => {
	const patternProperties = { '^(?=a)b': { type: 'integer' } };
	for (const additionalProperties of [false, { type: 'string' }])
		assert.ok(admits(await withBody({ type: 'object', patternProperties, additionalProperties }, {}, '3.1.0'), { ab: 1 }));
});

test('a closed object that other schemas complete accepts the members of all of them', async () => {
	const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
	const closed = (name: string): JsonObject => ({
		type: 'object',
		additionalProperties: false,
		properties: { [name]: { type: 'string' } },
	});
	const open = (name: string): JsonObject => ({ type: 'object', properties: { [name]: { type: 'string' } } });
	const Base = closed('base');
	const both = { base: 'x', own: 'y' };
	const Alias = { oneOf: [ref('Base'), { type: 'object', properties: { other: {} } }] };
	for (const [schema, version] of [
		[{ allOf: [ref('Base'), closed('own')] }, '3.0.3'],
		[{ allOf: [ref('Base'), open('own')] }, '3.0.3'],
		[{ allOf: [ref('Base')], ...closed('own') }, '3.0.3'],
		[{ oneOf: [ref('Base'), ref('Base')], ...closed('own') }, '3.0.3'],
		[{ anyOf: [{ allOf: [ref('Base'), closed('own')] }, { type: 'null' }] }, '3.1.0'],
		[{ ...ref('Base'), ...closed('own') }, '3.1.0'],
		[{ allOf: [ref('Alias'), closed('own')] }, '3.0.3'],
		[{ allOf: [{ ...Base, discriminator: { propertyName: 'base' } }, open('own')] }, '3.0.3'],
		[{ ...Base, discriminator: { propertyName: 'base' } }, '3.0.3'],
		[{ allOf: [{ type: 'object', additionalProperties: { type: 'integer' } }, closed('own')] }, '3.0.3'],
	] as const) {
		const operation = await withBody(schema, { Base, Alias }, version);
		assert.ok(admits(operation, both), JSON.stringify(schema));
		assert.ok(!admits(operation, { base: 1, own: 1 }), JSON.stringify(schema));
		const below = await withBody({ type: 'array', items: { type: 'object', properties: { it: schema } } }, { Base, Alias }, version);
		assert.ok(admits(below, [{ it: both }]), JSON.stringify(schema));
	}
});

test('a definition that an allOf elsewhere completes is open, and one that is only wrapped stays closed', async () => {
	const ref = { $ref: '#/components/schemas/Pet' };
	const Pet = { type: 'object', additionalProperties: false, properties: { name: {} } };
	const Dog = { allOf: [ref, { type: 'object', properties: { bark: {} } }] };
	assert.ok(admits(await withBody(ref, { Pet, Dog }), { name: 'x', bark: 1 }));
	const List = { type: 'object', properties: { pet: ref }, additionalProperties: false };
	for (const [schema, version] of [
		[ref, '3.0.3'],
		[{ allOf: [ref], nullable: true, description: 'x' }, '3.0.3'],
		[{ allOf: [ref, { required: ['name'] }] }, '3.0.3'],
		[{ ...Pet, anyOf: [{ required: ['name'] }, { maxProperties: 0 }] }, '3.0.3'],
		[{ oneOf: [ref, { type: 'null' }] }, '3.1.0'],
	] as const) {
		const operation = await withBody(schema, { Pet, List }, version);
		assert.ok(admits(operation, { name: 'x' }), JSON.stringify(schema));
		assert.ok(!admits(operation, { name: 'x', bark: 1 }), JSON.stringify(schema));
	}
});

test('a negation of a loosened schema is dropped and reported', async () => {
	const readOnly = { properties: { id: { readOnly: true } }, required: ['id'] };
	for (const [negated, body] of [
		[{ oneOf: [{ required: ['a'] }, { required: ['b'] }] }, { a: 1, b: 1 }],
		[{ unevaluatedProperties: false, properties: { a: {} } }, { b: 1 }],
		[{ if: { required: ['a'] }, else: { required: ['b'] } }, {}],
		[readOnly, {}],
		[{ allOf: [{ dependentSchemas: { a: { required: ['b'] } } }] }, { a: 1 }],
	] as const) {
		const operation = await withBody({ type: 'object', not: negated }, {}, '3.1.0');
		assert.ok(admits(operation, body), JSON.stringify(negated));
		assert.deepEqual(operation.reasons, ['A "not" that cannot be kept whole was dropped.']);
	}
	const whole = await withBody({ type: 'object', not: { required: ['a'], title: 'x', 'x-y': 1 } }, {}, '3.1.0');
	assert.deepEqual([admits(whole, { a: 1 }), admits(whole, {}), whole.reasons], [false, true, []]);
});

test('a dynamic reference is followed if only one schema has its name', async () => {
	const Tree = {
		$dynamicAnchor: 'node',
		type: 'object',
		properties: { value: { type: 'integer' }, children: { type: 'array', items: { $dynamicRef: '#node' } } },
	};
	const alone = await withBody({ $ref: '#node' }, { Tree }, '3.1.0');
	assert.deepEqual(
		[alone.outcome, admits(alone, { children: [{ value: 1 }] }), admits(alone, { children: [{ value: 'x' }] })],
		['converted', true, false],
	);
	const Strict = { $dynamicAnchor: 'node', $ref: '#/components/schemas/Tree' };
	const several = await withBody({ $ref: '#/components/schemas/Tree' }, { Tree, Strict }, '3.1.0');
	assert.deepEqual(several.reasons, ['A $dynamicRef that could mean several schemas accepts anything.']);
	assert.ok(admits(several, { children: [{ value: 'x' }] }));
});

test('a default stays only if its own schema accepts it', async () => {
	const properties = {
		a: { type: 'integer', default: 'ten' },
		b: { type: 'integer', default: 10 },
		c: { type: 'string', format: 'date', default: 'today' },
		d: { type: 'array', items: { enum: ['x'] }, default: ['x'] },
	};
	const { parameters } = await withBody({ type: 'object', properties });
	const { body } = parameters['properties'] as { body: { properties: Record<string, JsonObject> } };
	assert.deepEqual(
		Object.values(body.properties).map((property) => property['default']),
		[undefined, 10, undefined, ['x']],
	);
});

test('overlapping alternatives of oneOf refuse no valid body', async () => {
	const operation = await withBody({ oneOf: [{ type: 'integer' }, { type: 'number' }], anyOf: [{ minimum: 3 }] });
	assert.ok(admits(operation, 7));
	assert.ok(!admits(operation, 'x'));
	assert.ok(!admits(operation, 1));
});

test('recursion through properties stays whole', async () => {
	const Node = { type: 'object', properties: { next: { $ref: '#/components/schemas/Node' }, value: { type: 'integer' } } };
	const operation = await withBody({ $ref: '#/components/schemas/Node' }, { Node });
	assert.equal(operation.outcome, 'converted');
	assert.ok(admits(operation, { next: { next: { value: 1 } } }));
	assert.ok(!admits(operation, { next: { next: { value: 'x' } } }));
});

test('a schema that includes itself in place is cut there, and no longer checks arguments endlessly', async () => {
	for (const A of [
		{ $ref: '#/components/schemas/A' },
		{ allOf: [{ $ref: '#/components/schemas/A' }, { type: 'object' }] },
		{ anyOf: [{ type: 'string' }, { $ref: '#/components/schemas/B' }] },
		{ allOf: [{ $ref: '#/components/schemas/A/allOf/1' }, { allOf: [{ $ref: '#/components/schemas/A' }] }] },
	]) {
		const operation = await withBody({ $ref: '#/components/schemas/A' }, { A, B: { oneOf: [{ $ref: '#/components/schemas/A' }] } });
		assert.equal(operation.outcome, 'degraded', JSON.stringify(A));
		assert.ok(admits(operation, {}), JSON.stringify(A));
	}
});

test('a base that lists its subtypes, each of which lists the base, keeps its own checks and the list', async () => {
	const Dog = {
		allOf: [{ $ref: '#/components/schemas/Pet' }, { type: 'object', properties: { bark: { type: 'boolean' } }, required: ['bark'] }],
	};
	const Pet = {
		type: 'object',
		properties: { kind: { type: 'string' } },
		required: ['kind'],
		oneOf: [{ $ref: '#/components/schemas/Dog' }],
	};
	const operation = await withBody({ $ref: '#/components/schemas/Pet' }, { Pet, Dog });
	assert.ok(admits(operation, { kind: 'dog', bark: true }));
	assert.ok(!admits(operation, { bark: true }));
	assert.ok(!admits(operation, { kind: 'dog' }));
});

test('schemas that combine others exponentially are cut before a validator follows them', async () => {
	const twice = (index: number): object => ({
		allOf: [{ $ref: `#/components/schemas/S${index}` }, { $ref: `#/components/schemas/S${index}` }],
	});
	const schemas = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`S${index}`, twice(index + 1)]));
	const operation = await withBody({ $ref: '#/components/schemas/S0' }, { ...schemas, S60: { type: 'object' } });
	assert.match(operation.reasons.join(), /combines too many/);
	const cpuMs = await threadCpuMs(() => assert.ok(admits(operation, {})));
	assert.ok(cpuMs < 2_000, `${cpuMs} ms`);
});

test('nesting of any depth ends in a schema that accepts anything', async () => {
	let schema: unknown = { type: 'string' };
	for (let depth = 0; depth < 200; depth++) schema = { type: 'array', items: schema };
	const operation = await withBody(schema);
	assert.match(operation.reasons.join(), /nested deeper than 40/);
});

test('a long chain of definitions is cut before a validator overflows on it', async () => {
	const chain = Object.fromEntries(
		Array.from({ length: 5_000 }, (_, index) => [`S${index}`, { properties: { next: { $ref: `#/components/schemas/S${index + 1}` } } }]),
	);
	const operation = await withBody({ $ref: '#/components/schemas/S0' }, { ...chain, S5000: {} });
	assert.match(operation.reasons.join(), /left out/);
	assert.ok(JSON.stringify(operation.parameters).length < 65 * 1024);
});

/** Makes definitions that each refer to the next, and a body that refers to all of them, so that none is far from it. */
function linked(length: number, link: (next: object) => object): [schema: object, schemas: object] {
	const refTo = (index: number): object => ({ $ref: `#/components/schemas/S${index}` });
	const schemas = Object.fromEntries(Array.from({ length }, (_, index) => [`S${index}`, link(refTo((index + 1) % length))]));
	return [{ type: 'object', properties: Object.fromEntries(Object.keys(schemas).map((name, index) => [name, refTo(index)])) }, schemas];
}

const nested = (depth: number, wrap: (inner: object) => object): ((next: object) => object) =>
	depth === 0 ? (next) => next : (next) => wrap(nested(depth - 1, wrap)(next));

test('definitions that link in a chain are cut before the schema compiler overflows on it, however they link', async () => {
	for (const [length, link] of [
		[60, (next: object) => ({ properties: { next } })],
		[300, (next: object) => ({ properties: { next } })],
		[1_000, (next: object) => ({ properties: { next } })],
		[300, (next: object) => ({ allOf: [next] })],
		[300, (next: object) => ({ anyOf: [{ properties: { next } }, { type: 'null' }] })],
		[100, nested(10, (inner) => ({ anyOf: [inner, { type: 'null' }] }))],
		[60, nested(35, (inner) => ({ additionalProperties: inner }))],
		[40, nested(35, (inner) => ({ type: 'array', items: inner }))],
	] as const) {
		const operation = await withBody(...linked(length, link));
		assert.equal(operation.outcome, length === 60 && operation.reasons.length === 0 ? 'converted' : 'degraded', String(length));
		assert.ok(admits(operation, {}));
	}
});

test('a reference without a target, to an anchor or out of the document accepts anything and says so', async () => {
	for (const ref of [
		'#/components/schemas/None',
		'#anchor',
		'#',
		'./pet.json',
		'file:///etc/passwd',
		'http://169.254.169.254/x',
		'#/components/schemas/constructor',
		'#/%',
	]) {
		const operation = await withBody({ type: 'object', properties: { it: { $ref: ref } } });
		assert.equal(operation.outcome, 'degraded', ref);
		assert.ok(admits(operation, { it: [1] }), ref);
	}
	const external = await withBody({ $ref: './pet.json#/Pet' });
	assert.match(external.reasons.join(), /External reference “\.\/pet\.json#\/Pet”/);
});

test('control and invisible characters are stripped from titles and descriptions', async () => {
	const operation = await withBody({ type: 'string', description: 'a\u001b[31mb\u202ec\u200bd\u{e0041}e\u0000f' });
	assert.equal(bodyOf(operation)['description'], 'a[31mbcdef');
});
