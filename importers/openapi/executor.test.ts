// Tests that the executor accepts the importer's configs: two plugins that may not import each other are compared here.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../core/index.ts';
import http from '../../plugins/executors/http/index.ts';
import { buildRequest } from '../../plugins/executors/http/request.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';
import { ADDITIONAL } from './operations.ts';

const api = { id: 'a', organizationId: 'o', name: 'x', type: 'openapi', baseUrl: 'https://api.example.com/v1' };

/** Returns the request that the tool of one operation sends. */
async function requestOf(path: string, operation: object, args: JsonObject, openapi = '3.0.3') {
	const document = { openapi, info: { title: 'x', version: '1' }, paths: { [path]: { post: { responses: {}, ...operation } } } };
	const { operations } = await readWith(importer, JSON.stringify(document));
	assert.ok(operations[0]);
	const { value, error } = http.config.validate(importer.tool(operations[0], api).executionConfig);
	assert.equal(error, undefined);
	return buildRequest(value, args, api);
}

test('the executor writes each media type as the argument’s schema asks for it', async () => {
	const base64 = Buffer.from('bytes').toString('base64');
	const cases: [contentType: string, body: Json, written: string][] = [
		['application/json', { a: 1 }, '{"a":1}'],
		['application/vnd.api+json', ['x'], '["x"]'],
		['text/json', 'x', '"x"'],
		['application/vnd.example.json', { a: 1 }, '{"a":1}'],
		['*/*', { a: 1 }, '{"a":1}'],
		['application/*+json', { a: 1 }, '{"a":1}'],
		['application/x-www-form-urlencoded', { a: 'b c' }, 'a=b%20c'],
		['text/plain', 'x', 'x'],
		['application/yaml', 'a: 1', 'a: 1'],
		['application/x-ndjson', '{}\n{}', '{}\n{}'],
		['application/ndjson', '{}\n{}', '{}\n{}'],
		['application/x-jsonlines', '{}\n{}', '{}\n{}'],
		['application/json-seq', 'x', 'x'],
		['application/geo+json-seq', 'x', 'x'],
		['application/xml', '<a/>', '<a/>'],
		['application/soap+xml', '<a/>', '<a/>'],
		['application/*+xml', '<a/>', '<a/>'],
		['application/octet-stream', base64, 'bytes'],
		['application/pdf', base64, 'bytes'],
		['image/*', base64, 'bytes'],
	];
	for (const [contentType, body, written] of cases) {
		const { body: sent, headers } = await requestOf('/x', { requestBody: { content: { [contentType]: {} } } }, { body });
		assert.equal(String(sent), written, contentType);
		if (!contentType.includes('*')) assert.equal(headers?.['content-type'], contentType);
	}
});

test('arguments go where the document says, whatever they are called', async () => {
	const parameters = [
		{ name: 'id', in: 'path', required: true, schema: { type: 'string' } },
		{ name: 'id', in: 'query', schema: { type: 'string' } },
		{ name: 'filter[name]', in: 'query', schema: { type: 'string' } },
		{ name: 'X-Trace', in: 'header', schema: { type: 'string' } },
	];
	const { url, headers } = await requestOf(
		'/pets/{id}/the {other}',
		{ parameters },
		{ id_path: 'a/b', id_query: '7', filter_name: 'x', 'X-Trace': 't', other: 'o' },
	);
	assert.equal(url, 'https://api.example.com/v1/pets/a%2Fb/the%20o?id=7&filter%5Bname%5D=x');
	assert.equal(headers?.['x-trace'] ?? headers?.['X-Trace'], 't');
});

test('a placeholder behind the ? of a path is filled by its parameter', async () => {
	const parameters = [{ name: 'user id', in: 'path', required: true, schema: { type: 'string' } }];
	const { url } = await requestOf('/x?kind=a&user={user id}&page={page}', { parameters }, { user_id: 'a&b', page: 2 });
	assert.equal(url, 'https://api.example.com/v1/x?kind=a&user=a%26b&page=2');
	const inQuery = [{ name: 'tags', in: 'query', schema: { type: 'array', items: { type: 'string' } } }];
	for (const path of ['/x?tags={tags}', '/x?a=b&tags={tags}', '/x?tags={tags}&a=b']) {
		const { url: once } = await requestOf(path, { parameters: inQuery }, { tags: ['c', 'd'] });
		assert.equal(once, `https://api.example.com/v1/x?${path.includes('a=b') ? 'a=b&' : ''}tags=c&tags=d`, path);
	}
});

test('a file of a form travels as its bytes', async () => {
	const schema = { type: 'object', properties: { file: { type: 'string', format: 'binary' }, note: { type: 'string' } } };
	const file = { data: Buffer.from('bytes').toString('base64'), filename: 'a.txt', contentType: 'text/plain' };
	const { body } = await requestOf(
		'/x',
		{ requestBody: { content: { 'multipart/form-data': { schema } } } },
		{ body: { file, note: 'n' } },
	);
	assert.match(String(body), /name="file"; filename="a\.txt"\r\nContent-Type: text\/plain\r\n\r\nbytes\r\n/);
});

/** Returns the parts of a multipart body, each as its name, its media type and its content. */
const partsOf = (body: unknown): (string | undefined)[][] =>
	[...String(body).matchAll(/name="([^"]*)"(?:; filename="[^"]*")?\r\n(?:Content-Type: ([^\r]*)\r\n)?\r\n([^\r]*)\r\n/g)].map((found) =>
		found.slice(1),
	);

const STYLED = {
	expand: { style: 'deepObject', explode: true },
	file_link_data: { style: 'deepObject', explode: true },
	csv: { style: 'form', explode: false },
	usual: { style: 'form' },
	typed: { style: 'form', contentType: 'application/json' },
	file: { style: 'form' },
};
const STYLED_BODY = {
	expand: ['a', 'b'],
	file: { data: 'aGk=' },
	file_link_data: { create: true, metadata: { k: 'v' } },
	csv: ['x', 'y'],
	purpose: 'dispute_evidence',
	usual: { p: 1 },
	typed: { q: 2 },
};
const WRITTEN = [
	...[
		['expand[0]', undefined, 'a'],
		['expand[1]', undefined, 'b'],
		['file', 'application/octet-stream', 'hi'],
	],
	...[
		['file_link_data[create]', undefined, 'true'],
		['file_link_data[metadata][k]', undefined, 'v'],
	],
	...[
		['csv', undefined, 'x,y'],
		['purpose', undefined, 'dispute_evidence'],
	],
];

test('fields of multipart/form-data are written in the style of their encoding', async () => {
	const properties = {
		...Object.fromEntries(Object.keys(STYLED_BODY).map((name) => [name, {}])),
		file: { type: 'string', format: 'binary' },
	};
	const media = { schema: { type: 'object', properties }, encoding: STYLED };
	const written = async (openapi: string, type = 'multipart/form-data') => {
		const { body } = await requestOf('/x', { requestBody: { content: { [type]: media } } }, { body: STYLED_BODY }, openapi);
		return partsOf(body);
	};
	const asJson = [
		['usual', 'application/json', '{"p":1}'],
		['typed', 'application/json', '{"q":2}'],
	];
	assert.deepEqual(await written('3.1.0'), [...WRITTEN, ['p', undefined, '1'], ['q', undefined, '2']]);
	assert.deepEqual(await written('3.1.0', 'multipart/*'), await written('3.1.0'));
	// OpenAPI 3.0 has no styles there, but APIs use those that a person must have written.
	assert.deepEqual(await written('3.0.3'), [...WRITTEN, ...asJson]);
	// OpenAPI 3.1.1 §4.8.15.1.2: "This field SHALL be ignored if the media type is not [a form or] multipart/form-data".
	assert.deepEqual((await written('3.1.0', 'multipart/mixed')).slice(-2), asJson);
});

test('files that have no name in the document are sent as their bytes, and fields that have one as they are', async () => {
	const File = { type: 'string', format: 'binary' };
	const schemas = [
		{ type: 'object', properties: { note: {} }, additionalProperties: File },
		{ type: 'object', properties: { note: {} }, additionalProperties: { type: 'array', items: File } },
		{ allOf: [{ properties: { note: {} } }, { additionalProperties: { anyOf: [File, { type: 'null' }] } }] },
		{ properties: { note: {} }, oneOf: [{ additionalProperties: { type: 'integer' } }, { additionalProperties: File }] },
	];
	for (const schema of schemas) {
		const { body } = await requestOf(
			'/x',
			{ requestBody: { content: { 'multipart/form-data': { schema } } } },
			{ body: { note: { data: 'n' }, f1: { data: 'aGk=', filename: 'a' }, constructor: ['aGk=', { data: 'aG8=' }] } },
		);
		const bytes = 'application/octet-stream';
		assert.deepEqual(partsOf(body), [
			...[
				['note', 'application/json', '{"data":"n"}'],
				['f1', bytes, 'hi'],
			],
			...[
				['constructor', bytes, 'hi'],
				['constructor', bytes, 'ho'],
			],
		]);
	}
});

test('the executor sends every method that becomes a tool', async () => {
	for (const method of ADDITIONAL) {
		const document = { openapi: '3.2.0', paths: { '/x': { additionalOperations: { [method]: { responses: {} } } } } };
		const { operations } = await readWith(importer, JSON.stringify(document));
		const { error } = http.config.validate(importer.tool(operations[0] ?? assert.fail(), api).executionConfig, { convert: false });
		assert.deepEqual([operations[0]?.outcome, error], ['converted', undefined], method);
	}
});

test('a server of an operation’s own makes its URL absolute, so that the credential of the API stays behind', async () => {
	const { url } = await requestOf(
		'/x',
		{ servers: [{ url: 'https://{host}.example.com', variables: { host: { default: 'other' } } }] },
		{},
	);
	assert.equal(url, 'https://other.example.com/x');
});

test('a value that a path’s own query fixes is sent once, also if it is a required parameter', async () => {
	const query = (name: string, required: boolean): object => ({ name, in: 'query', required, schema: { type: 'string' } });
	const args = { restype: 'service', comp: 'list' };
	const cases: [path: string, parameters: object[], sent: string][] = [
		['/?restype=service&comp=list', [query('restype', true), query('comp', true)], '/?restype=service&comp=list'],
		['/x?restype=service&comp=list&v=1', [query('restype', true)], '/x?comp=list&v=1&restype=service'],
		['/x?v=1&comp=list', [query('comp', true)], '/x?v=1&comp=list'],
		['/x?comp=list', [], '/x?comp=list'],
		['/x?comp={comp}&restype=service', [query('comp', true), query('restype', true)], '/x?comp=list&restype=service'],
	];
	for (const [path, parameters, sent] of cases) {
		const { url } = await requestOf(path, { parameters }, args);
		assert.equal(url, `https://api.example.com/v1${sent}`, path);
	}
});

const jsonParameter = (key: string): object => ({
	get: {
		parameters: [{ name: 'q', in: 'query', content: { [key]: { schema: { type: 'object' } } } }],
		responses: { 200: { description: 'ok' } },
	},
});
const form = (properties: object, encoding: object): object => ({
	post: {
		requestBody: { content: { 'multipart/form-data': { schema: { type: 'object', properties }, encoding } } },
		responses: { 200: { description: 'ok' } },
	},
});
const longTypes = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`application/${'x'.repeat(600)}${at}`, { schema: {} }]));
const STRANGE: [what: string, path: string, item: object, sent: string | null][] = [
	['a parameter in a media type that is none, but JSON', '/x', jsonParameter('json'), 'application/json'],
	['a parameter in a media type with spaces around', '/x', jsonParameter(' application/json '), 'application/json'],
	['a parameter in a media type that is none', '/x', jsonParameter('anything'), null],
	['a field without a name', '/x', form({ '': { type: 'string' } }, { '': { contentType: 'text/plain' } }), null],
	['a field whose name is a line break', '/x', form({ '\n': { type: 'string' } }, { '\n': { contentType: 'text/plain' } }), null],
	['twenty media types of 600 characters', '/x', { get: { responses: { 200: { description: 'ok', content: longTypes } } } }, null],
	['a path of 9,000 characters', `/${'x'.repeat(9_000)}`, { get: { responses: { 200: { description: 'ok' } } } }, null],
];

for (const [what, path, item, sent] of STRANGE)
	test(`an operation with ${what} becomes a tool whose config fits, or none`, async () => {
		const document = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: { [path]: item } };
		const { operations } = await readWith(importer, JSON.stringify(document));
		const [operation = assert.fail()] = operations;
		if (operation.outcome === 'skipped') {
			assert.match(operation.reasons.join(), /its path has more than 8000 characters/i);
			return;
		}
		const { value, error } = http.config.validate(importer.tool(operation, api).executionConfig, { convert: false });
		assert.equal(error, undefined);
		if (sent !== null) assert.equal(value.parameters?.[0]?.contentType, sent);
		assert.equal(/is no media type/.test(operation.reasons.join()), what.includes('that is none'));
	});
