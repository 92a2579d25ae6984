import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError, type JsonObject } from '../../core/index.ts';
import { threadCpuMs } from '../../test/helpers/clock.ts';
import { readWith } from '../../test/helpers/importer.ts';
import { detect } from './detect.ts';
import { readDocument } from './document.ts';
import importer from './index.ts';

/** Returns the error with which a text is refused. */
function refusal(text: string): GatewayError {
	try {
		readDocument(text);
	} catch (error) {
		assert.ok(error instanceof GatewayError, String(error));
		assert.equal(error.code, 'schema_invalid');
		return error;
	}
	throw new assert.AssertionError({ message: `accepted: ${text.slice(0, 200)}` });
}

test('a document of 2.0 to 3.2 is read, as JSON, as YAML, and with a byte order mark', () => {
	for (const [text, version, format] of [
		['{"openapi":"3.0.4","paths":{}}', '3.0', 'openapi 3.0.4'],
		['\ufeff{"openapi":"3.1.1","paths":{}}', '3.1', 'openapi 3.1.1'],
		['{"openapi":"3.2.0"}', '3.2', 'openapi 3.2.0'],
		['openapi: 3.0.0\npaths: {}\n', '3.0', 'openapi 3.0.0'],
		['openapi: 3.1\npaths: {}\n', '3.1', 'openapi 3.1'],
		['openapi: 3.0\npaths: {}\n', '3.0', 'openapi 3.0'],
		['{openapi: "3.1.0", paths: {}}', '3.1', 'openapi 3.1.0'],
		['swagger: 2.0\npaths: {}\n', '2.0', 'swagger 2.0'],
		['{"swagger":"2.0"}', '2.0', 'swagger 2.0'],
	] as const) {
		const document = readDocument(text);
		assert.deepEqual([document.version, document.format, document.note], [version, format, null], text);
	}
});

test('an unknown minor version is read as the nearest, with a warning', async () => {
	for (const version of ['3.3.0', '3.10.1']) {
		const { summary, warnings } = await readWith(importer, JSON.stringify({ openapi: version, paths: {} }));
		assert.equal(summary.format, `openapi ${version}`);
		assert.deepEqual(warnings, [{ message: `OpenAPI ${version} is not known: it was read as 3.2.`, fields: { pointer: '/openapi' } }]);
	}
});

test('numbers that JSON cannot write are left out, with a warning of their place', async () => {
	const schema = '{ type: number, enum: [1, .inf], default: .nan, maximum: 1e999, examples: [-.inf] }';
	const yaml = `openapi: 3.1.0
info: { title: x, version: '1' }
paths: { /a: { get: { parameters: [{ name: q, in: query, schema: ${schema} }], responses: { 200: { description: ok } } } } }`;
	const at = '/paths/~1a/get/parameters/0/schema';
	const { operations, warnings } = await readWith(importer, yaml);
	assert.deepEqual(operations[0]?.parameters['properties'], { q: { type: 'number', enum: [1] } });
	assert.deepEqual(
		warnings.map(({ fields }) => fields),
		['/enum/1', '/default', '/maximum', '/examples'].map((name) => ({ pointer: `${at}${name}` })),
	);
	const json = JSON.stringify({ openapi: '3.1.0', info: { title: 'x', version: '1' }, 'x-number': 'N', paths: {} });
	const other = await readWith(importer, json.replace('"N"', '1e400'));
	assert.deepEqual([other.warnings.length, other.warnings[0]?.fields], [1, { pointer: '/x-number' }]);
});

test('a path with a fragment is called without, with a warning', async () => {
	const item = { get: { responses: { 200: { description: 'ok' } } } };
	const document = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: { '/a': item, '/a#b': item } };
	const { operations, warnings } = await readWith(importer, JSON.stringify(document));
	assert.deepEqual(
		operations.map(({ definition }) => definition['path']),
		['/a', '/a'],
	);
	assert.deepEqual(
		warnings.filter(({ message }) => message.includes('fragment')).map(({ fields }) => fields),
		[{ pointer: '/paths/~1a#b' }],
	);
});

test('a document of another version is refused, naming its version and the supported ones', () => {
	assert.match(refusal('{"openapi":"4.0.0"}').message, /OpenAPI “4\.0\.0”.*2\.0 and OpenAPI 3\.0, 3\.1 and 3\.2/);
	assert.match(refusal('swagger: "1.2"').message, /Swagger “1\.2”.*3\.0, 3\.1 and 3\.2/);
	assert.match(refusal('{"openapi":"3"}').message, /OpenAPI “3”/);
	assert.deepEqual(
		refusal('{"openapi":{"a":1}}').details.map(({ path }) => path),
		['/openapi'],
	);
});

test('a document that is not OpenAPI is refused, naming what it is instead', () => {
	assert.match(refusal('[]').message, /must be an object, not an array/);
	assert.match(refusal('just words').message, /must be an object, not a string/);
	assert.match(refusal('{}').message, /no field "openapi"/);
	assert.match(refusal('{"openapi":"3.1.0","paths":[]}').message, /^\/paths must be an object, not an array/);
});

test('a syntax error names its line and column', () => {
	assert.match(refusal('{\n  "openapi": "3.0.0",\n  "paths": {]\n}').message, /line 3, column 13/);
	assert.match(refusal('openapi: 3.0.0\npaths:\n\t/pets: {}\n').message, /line 3, column 1/);
	assert.match(refusal('openapi: 3.0.0\nopenapi: 3.1.0\n').message, /line 2, column 1.*unique/);
	assert.equal(
		refusal('openapi: 3.0.0\n---\nopenapi: 3.1.0\n').message,
		'The text holds several YAML documents: the second begins at line 2. Import them as files.',
	);
});

test('a YAML alias bomb is refused', () => {
	const levels = Array.from({ length: 9 }, (_, level) => `l${level + 1}: &l${level + 1} [${Array(9).fill(`*l${level}`).join(',')}]`);
	assert.match(refusal(['openapi: 3.0.0', 'l0: &l0 [x,x,x,x,x,x,x,x,x]', ...levels, 'paths: {}'].join('\n')).message, /alias bomb/);
});

test('an anchor that is used a thousand times is not taken for a bomb', () => {
	const uses = Array.from({ length: 1_000 }, (_, index) => `    /${index}: { get: *get }`);
	const { root } = readDocument(['openapi: 3.0.0', 'x-get: &get { responses: {} }', 'paths:', ...uses].join('\n'));
	assert.equal(Object.keys(root['paths'] ?? {}).length, 1_000);
});

test('a document that is nested too deeply is refused without a crash', () => {
	const deep = `{"openapi":"3.0.0","paths":{},"x":${'['.repeat(400_000)}${']'.repeat(400_000)}}`;
	assert.match(refusal(deep).message, /deeper than 500/);
	for (const text of [
		'['.repeat(50_000),
		`${'- '.repeat(5000)}a`,
		Array.from({ length: 3000 }, (_, level) => `${' '.repeat(level)}a:`).join('\n'),
	])
		assert.match(refusal(text).message, /^The document is nested too deeply to be read: line \d+, column \d+\.$/);
	assert.match(refusal(`openapi: 3.0.0\nx: ${'['.repeat(100_000)}`).message, /deep|line 2/);
	assert.match(refusal(`openapi: 3.0.0\nx: &x [*x]\npaths: {}`).message, /deep|alias|line 2/i);
});

test('detect knows the format from the text, wherever the version field is', () => {
	assert.equal(detect('{"openapi":"3.0.0"}'), 1);
	assert.equal(detect(`{"paths":{${'"a":1,'.repeat(1_000)}"z":1},"openapi" : "3.1.0"}`), 1);
	assert.equal(detect('# comment\nopenapi: 3.0.0\n'), 1);
	assert.equal(detect("swagger: '2.0'\n"), 1);
	for (const other of ['', '{"data":{"__schema":{}}}', '<definitions/>', 'syntax = "proto3";', 'type Query { openapi: Int }'])
		assert.equal(detect(other), 0, other);
});

test('the summary names format, title, version and absolute servers', async () => {
	const text = JSON.stringify({
		openapi: '3.1.0',
		info: { title: 'Pets\u202e', version: 2 },
		servers: [
			{ url: 'https://{host}/v1/', variables: { host: { default: 'api.example.com' } } },
			{ url: '/v2' },
			{ url: 'ftp://example.com' },
		],
		paths: {},
	});
	const { summary } = await readWith(importer, text, 'https://docs.example.com/openapi.json');
	const servers = ['https://api.example.com/v1', 'https://docs.example.com/v2'];
	assert.deepEqual(summary, { format: 'openapi 3.1.0', title: 'Pets', version: '2', servers, credentials: [] });
});

test('faults that the validator finds are warnings with their pointer, and no document is refused for them', async () => {
	const { operations, warnings } = await readWith(
		importer,
		'{"openapi":"3.0.0","info":{"title":"x","version":"1"},"paths":{"/a":{"get":{}}}}',
	);
	assert.equal(operations[0]?.outcome, 'converted');
	assert.deepEqual(warnings, [{ message: "must have required property 'responses'", fields: { pointer: '/paths/~1a/get' } }]);
});

test('a warning names the root as well as a path with blanks', async () => {
	const pointed = async (document: object): Promise<unknown> =>
		(await readWith(importer, JSON.stringify(document))).warnings.map(({ fields, message }) => [fields, message]);
	assert.deepEqual(await pointed({ openapi: '3.0.3', paths: {} }), [[{ pointer: '' }, "must have required property 'info'"]]);
	const paths = { '/a b': { get: {} } };
	assert.deepEqual(await pointed({ openapi: '3.0.3', info: { title: 'x', version: '1' }, paths }), [
		[{ pointer: '/paths/~1a b/get' }, "must have required property 'responses'"],
	]);
});

test('the validator follows no reference out of the document', async () => {
	const reference = (ref: string): object => ({ get: { responses: { 200: { $ref: ref } } } });
	const paths = { '/a': reference('file:///etc/passwd'), '/b': reference('/etc/passwd'), '/c': reference('http://127.0.0.1:1/x.json') };
	const text = JSON.stringify({ openapi: '3.0.0', info: { title: 'x', version: '1' }, paths });
	const { operations, warnings } = await readWith(importer, text);
	assert.equal(operations.length, 3);
	assert.doesNotMatch(JSON.stringify([operations, warnings]), /root:|ECONNREFUSED/);
});

test('a document that grows without bound when it is expanded is not expanded', async () => {
	const schemaOf = (index: number): object => ({
		properties: { a: { $ref: `#/components/schemas/S${index + 1}` }, b: { $ref: `#/components/schemas/S${index + 1}` } },
	});
	const schemas = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`S${index}`, schemaOf(index)]));
	const get = {
		responses: { 200: { description: 'ok', content: { 'application/json': { schema: { $ref: '#/components/schemas/S0' } } } } },
	};
	const document = {
		openapi: '3.0.0',
		info: { title: 'x', version: '1' },
		paths: { '/a': { get } },
		components: { schemas: { ...schemas, S60: {} } },
	};
	const { operations, warnings } = await readWith(importer, JSON.stringify(document));
	assert.equal(operations[0]?.outcome, 'converted');
	assert.match(warnings[0]?.message ?? '', /not validated/);
});

/** Describes schemas each of which is reached through the next level at every step of a pointer. */
function throughOthers(levels: number, steps: number, start: string): JsonObject {
	const to = (level: number): JsonObject => ({ $ref: `#${start}/e${level}${'/k'.repeat(steps)}/j` });
	const entry = (level: number): JsonObject => ({ k: to(level + 1), ...(level > 0 ? { j: entry(level - 1) } : {}) });
	const last = Array.from({ length: steps }).reduce<JsonObject>((inner) => ({ k: inner }), { j: entry(levels - 1) });
	return { ...Object.fromEntries(Array.from({ length: levels }, (_, level) => [`e${level}`, entry(level)])), [`e${levels}`]: last };
}

test('a document whose references lead through too many others, or start from an address of their own, is not validated', async () => {
	const warningsOf = async (schemas: JsonObject): Promise<string> => {
		const document = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: {}, components: { schemas } };
		return (await readWith(importer, JSON.stringify(document))).warnings.map(({ message }) => message).join();
	};
	assert.doesNotMatch(await warningsOf(throughOthers(3, 2, '/components/schemas')), /not validated/);
	const before = process.threadCpuUsage();
	assert.match(await warningsOf(throughOthers(8, 4, '/components/schemas')), /not validated: its references lead through too many others/);
	const own = { $id: 'https://x.example/x', ...throughOthers(8, 4, '') };
	assert.match(await warningsOf({ own }), /not validated: a schema has an address of its own/);
	const circle = { a: { $ref: '#/components/schemas/b' }, b: { $ref: '#/components/schemas/a' } };
	assert.match(await warningsOf(circle), /not validated: its references lead through too many others/);
	const { user, system } = process.threadCpuUsage(before);
	assert.ok(user + system < 2_000_000, `${user + system} µs`);
});

test('detect takes time that grows with the text, whatever the text is', async () => {
	const cpuMs = await threadCpuMs(() => {
		for (const part of [' ', '\n', '{', '{ ', 'openapi', '"openapi" ']) importer.detect(part.repeat(300_000));
	});
	assert.ok(cpuMs < 2_000, `${cpuMs} ms`);
});
