// Tests of the additions of OpenAPI 3.2, and that they do not apply to documents of earlier versions.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { compileArguments, type JsonObject, type Operation } from '../../core/index.ts';
import http from '../../plugins/executors/http/index.ts';
import { buildRequest } from '../../plugins/executors/http/request.ts';
import { type Reading, readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

const TEXT = readFileSync(new URL('../../test/fixtures/openapi/streams.yaml', import.meta.url), 'utf8');
let operations: Reading['operations'];
let summary: Reading['summary'];
let warnings: Reading['warnings'];
before(async () => {
	({ operations, summary, warnings } = await readWith(importer, TEXT));
});
const api = { id: 'a', organizationId: 'o', name: 'x', type: 'openapi', baseUrl: 'https://api.example.com' };

const named = (operationId: string): Operation =>
	operations.find((operation) => operation.operationId === operationId) ?? assert.fail(operationId);
const argumentsOf = ({ parameters }: Operation): Record<string, JsonObject> => parameters['properties'] as Record<string, JsonObject>;

/** Returns the request that the tool sends for these arguments, after checking them. */
function requestOf(operationId: string, args: JsonObject) {
	const operation = named(operationId);
	assert.deepEqual(compileArguments(operation.parameters)(args), []);
	const { value, error } = http.config.validate(importer.tool(operation, api).executionConfig, { convert: false });
	assert.equal(error, undefined);
	return buildRequest(value, args, api);
}

test('a document of 3.2 is read without the validator, which refuses it', () => {
	assert.equal(summary.format, 'openapi 3.2.0');
	assert.deepEqual(summary.servers, ['https://eu.example.com']);
	assert.deepEqual(warnings, []);
});

test('QUERY and additional operations become tools, with the hints of their methods', () => {
	const query = requestOf('queryEvents', { body: { name: 'x' } });
	assert.deepEqual([query.method, query.body], ['QUERY', '{"name":"x"}']);
	const copy = requestOf('copyEvents', { Destination: '/b' });
	assert.deepEqual([copy.method, copy.headers?.['destination']], ['COPY', '/b']);
	const hints = (id: string): unknown => importer.tool(named(id), api).annotations.readOnlyHint;
	assert.deepEqual([hints('queryEvents'), hints('findProperties'), hints('copyEvents')], [true, true, false]);
	assert.deepEqual(
		operations.map(({ key }) => key),
		[
			...['PUT /events', 'POST /events', 'QUERY /events', 'PROPFIND /events', 'COPY /events', 'WHATEVER /events', 'copy /events'],
			...['additionalOperations.POST /events', 'GET /search', 'GET /select', 'GET /bytes', 'POST /parts', 'GET /device'],
		],
	);
});

test('the whole query is one argument, written in its media type', () => {
	assert.deepEqual(named('search').parameters['required'], ['all']);
	assert.equal(
		requestOf('search', { all: { name: 'a b', tags: ['x', 'y'] } }).url,
		'https://api.example.com/search?name=a%20b&tags=x&tags=y',
	);
	const json = requestOf('select', { all: { name: 'a&b' } }).url;
	assert.equal(json, `https://api.example.com/select?${encodeURIComponent('{"name":"a&b"}')}`);
	assert.equal(requestOf('select', {}).url, 'https://api.example.com/select');
});

test('fields of a whole query and of media types by reference are written as the document says', async () => {
	const Form = { schema: { type: 'object', properties: { tags: { type: 'array', items: { type: 'string' } } } } };
	const encoding = { tags: { style: 'pipeDelimited', explode: false } };
	const document = {
		openapi: '3.2.0',
		components: { mediaTypes: { Form: { ...Form, encoding }, Filter: { schema: { type: 'object', required: ['name'] } } } },
		paths: {
			'/x': {
				get: {
					parameters: [
						{ name: 'all', in: 'querystring', content: { 'application/x-www-form-urlencoded': { $ref: '#/components/mediaTypes/Form' } } },
						{ name: 'X-Filter', in: 'header', content: { 'application/json': { $ref: '#/components/mediaTypes/Filter' } } },
					],
				},
			},
		},
	};
	const reading = await readWith(importer, JSON.stringify(document));
	const operation = reading.operations[0] ?? assert.fail();
	const check = compileArguments(operation.parameters);
	assert.deepEqual([check({ 'X-Filter': {} }).length, check({ 'X-Filter': { name: 'a' } })], [1, []]);
	const { value, error } = http.config.validate(importer.tool(operation, api).executionConfig, { convert: false });
	assert.equal(error, undefined);
	assert.equal(buildRequest(value, { all: { tags: ['a', 'b'] } }, api).url, 'https://api.example.com/x?tags=a%7Cb');
});

test('sequential media types are lists of values', () => {
	const { properties, items } = argumentsOf(named('sendEvents'))['body'] as { properties?: unknown; items: JsonObject };
	assert.deepEqual([properties, items], [undefined, { $ref: '#/$defs/Event' }]);
	const lines = requestOf('sendEvents', { body: [{ name: 'a' }, { name: 'b' }] });
	assert.deepEqual([lines.body, lines.headers?.['content-type']], ['{"name":"a"}\n{"name":"b"}\n', 'application/jsonl']);
	// RFC 7464 §2.2: a record separator precedes each text, and a line feed follows it.
	assert.equal(requestOf('sendSequence', { body: [1, 2] }).body, '\u001e1\n\u001e2\n');
});

test('operations also get the parents of their tags', () => {
	assert.deepEqual(named('queryEvents').tags, ['clicks', 'events', 'data']);
});

test('tags that are parents of each other are listed once', async () => {
	const tags = [{ name: 'a', parent: 'b' }, { name: 'b', parent: 'a' }, { name: 'c', parent: 'none' }, null, { parent: 'a' }];
	const paths = { '/a': { get: { tags: ['a', 'c'], responses: {} } } };
	const reading = await readWith(importer, JSON.stringify({ openapi: '3.2.0', tags, paths }));
	assert.deepEqual(reading.operations[0]?.tags, ['a', 'c', 'b', 'none']);
});

test('the device flow becomes an OAuth 2 credential like the other flows', () => {
	const needs = ['oauth2', 'bearer_token'].map((type) => [{ scheme: 'device', type }]);
	assert.deepEqual(named('device').definition['security'], needs);
});

test('documents of earlier versions are read without these additions', async () => {
	const item = {
		query: { responses: {} },
		additionalOperations: { COPY: { responses: {} } },
		get: { parameters: [{ name: 'q', in: 'querystring' }], responses: {} },
	};
	const reading = await readWith(importer, JSON.stringify({ openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: { '/a': item } }));
	assert.deepEqual(
		reading.operations.map(({ key, outcome }) => [key, outcome]),
		[['GET /a', 'degraded']],
	);
});

test('reserved characters of a form’s field stay where the document allows them', async () => {
	const schema = { type: 'object', properties: { path: { type: 'string' }, name: { type: 'string' } } };
	const content = { 'application/x-www-form-urlencoded': { schema, encoding: { path: { allowReserved: true } } } };
	const post = { operationId: 'send', requestBody: { content }, responses: { 200: { description: 'ok' } } };
	const document = { openapi: '3.2.0', info: { title: 't', version: '1' }, paths: { '/x': { post } } };
	const { operations: read } = await readWith(importer, JSON.stringify(document));
	const { value, error } = http.config.validate(importer.tool(read[0] ?? assert.fail(), api).executionConfig, { convert: false });
	assert.equal(error, undefined);
	assert.equal(buildRequest(value, { body: { path: '/a/b', name: '/a/b' } }, api).body, 'path=/a/b&name=%2Fa%2Fb');
});
