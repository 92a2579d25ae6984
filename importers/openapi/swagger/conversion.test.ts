// Tests the requests that tools of Swagger 2.0 documents send: parameters, bodies and forms, by way of the executor's config.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileArguments, type Json, type JsonObject, type Operation } from '../../../core/index.ts';
import http from '../../../plugins/executors/http/index.ts';
import { buildRequest } from '../../../plugins/executors/http/request.ts';
import { readWith } from '../../../test/helpers/importer.ts';
import importer from '../index.ts';

const api = { id: 'a', organizationId: 'o', name: 'x', type: 'openapi', baseUrl: 'https://api.example.com' };
const responses = { 200: { description: 'ok' } };

async function readAll(document: object, url: string | null = null) {
	const reading = await readWith(importer, JSON.stringify({ swagger: '2.0', info: { title: 'x', version: '1' }, ...document }), url);
	for (const { parameters } of reading.operations) assert.doesNotThrow(() => compileArguments(parameters));
	return reading;
}

async function readOne(operation: object, rest: object = {}, path = '/x'): Promise<Operation> {
	const { operations } = await readAll({ paths: { [path]: { post: { responses, ...operation } } }, ...rest });
	return operations[0] ?? assert.fail();
}

function requestOf(operation: Operation, args: JsonObject) {
	assert.deepEqual(compileArguments(operation.parameters)(structuredClone(args)), [], operation.key);
	const { value, error } = http.config.validate(importer.tool(operation, api).executionConfig, { convert: false });
	assert.equal(error, undefined);
	return buildRequest(value, args, api);
}

const argumentsOf = ({ parameters }: Operation): Record<string, JsonObject> => parameters['properties'] as Record<string, JsonObject>;

test('a path parameter of Azure may keep its slashes', async () => {
	const scope = { name: 'scope', in: 'path', required: true, type: 'string', 'x-ms-skip-url-encoding': true };
	const operation = await readOne({ parameters: [scope] }, {}, '/{scope}/roles');
	assert.equal(requestOf(operation, { scope: 'subscriptions/a b' }).url, 'https://api.example.com/subscriptions/a%20b/roles');
});

test('operations of x-ms-paths, which differ only in their query, are operations like others', async () => {
	const get = (comp: string): object => {
		const parameters = [{ $ref: '#/parameters/restype' }, { name: 'comp', in: 'query', required: true, type: 'string', enum: [comp] }];
		return { get: { operationId: comp, parameters, responses } };
	};
	const { operations } = await readAll({
		paths: { '/x': { get: { operationId: 'x', responses } } },
		'x-ms-paths': { '/?restype=service&comp=properties': get('properties'), '/?restype=service&comp=stats': get('stats') },
		parameters: { restype: { name: 'restype', in: 'query', required: true, type: 'string', enum: ['service'] } },
	});
	assert.deepEqual(
		operations.map(({ name, outcome }) => [name, outcome]),
		['x', 'properties', 'stats'].map((name) => [name, 'converted']),
	);
	const { url } = requestOf(operations[2] ?? assert.fail(), { restype: 'service', comp: 'stats' });
	assert.equal(url, 'https://api.example.com/?restype=service&comp=stats');
});

test('every collectionFormat is sent as specified, in each location', async () => {
	const values = ['a', 'b c'];
	const cases: [place: string, format: string | undefined, value: Json, sent: string][] = [
		['query', undefined, values, '/x?v=a,b%20c'],
		['query', 'csv', values, '/x?v=a,b%20c'],
		['query', 'ssv', ['a', 'b'], '/x?v=a%20b'],
		['query', 'tsv', 'a\tb c', '/x?v=a%09b%20c'],
		['query', 'pipes', values, '/x?v=a%7Cb%20c'],
		['query', 'multi', values, '/x?v=a&v=b%20c'],
		['path', undefined, values, '/x/a,b%20c'],
		['path', 'csv', values, '/x/a,b%20c'],
		['path', 'ssv', 'a b', '/x/a%20b'],
		['path', 'tsv', 'a\tb', '/x/a%09b'],
		['path', 'pipes', 'a|b', '/x/a%7Cb'],
		['header', undefined, values, 'a,b c'],
		['header', 'csv', values, 'a,b c'],
		['header', 'ssv', 'a b', 'a b'],
		['header', 'pipes', 'a|b', 'a|b'],
	];
	for (const [place, collectionFormat, value, sent] of cases) {
		const parameter = { name: 'v', in: place, required: true, type: 'array', items: { type: 'string' }, collectionFormat };
		const operation = await readOne({ parameters: [parameter] }, {}, place === 'path' ? '/x/{v}' : '/x');
		assert.equal(operation.outcome, 'converted');
		assert.deepEqual(compileArguments(operation.parameters)({ v: value }), [], `${place} ${collectionFormat}`);
		const { url, headers } = requestOf(operation, { v: value });
		assert.equal(place === 'header' ? headers?.['v'] : url.slice(api.baseUrl.length), sent, `${place} ${collectionFormat}`);
	}
});

test('lists that have to be one text are described as such, beside their own description', async () => {
	const parameter = { name: 'v', in: 'query', type: 'array', items: { type: 'string' }, collectionFormat: 'tsv', description: 'Ids.' };
	const { v } = argumentsOf(await readOne({ parameters: [parameter] }));
	assert.deepEqual(v, { type: 'string', description: 'Several values in one text, separated by tabs. Ids.' });
});

test('a form is sent in its collectionFormats', async () => {
	const field = (name: string, collectionFormat?: string): object => ({
		...{ name, in: 'formData', type: 'array', items: { type: 'string' } },
		...(collectionFormat ? { collectionFormat } : {}),
	});
	const parameters = [
		field('none'),
		field('csv', 'csv'),
		field('ssv', 'ssv'),
		field('pipes', 'pipes'),
		field('multi', 'multi'),
		field('tsv', 'tsv'),
	];
	const operation = await readOne({ parameters });
	const list = ['a', 'b'];
	const body = { none: list, csv: list, ssv: list, pipes: list, multi: list, tsv: 'a\tb' };
	assert.equal(requestOf(operation, { body }).body, 'none=a,b&csv=a,b&ssv=a%20b&pipes=a%7Cb&multi=a&multi=b&tsv=a%09b');
});

test('a form with a file is multipart, whatever it consumes', async () => {
	const parameters = [
		{ name: 'file', in: 'formData', type: 'file', required: true },
		{ name: 'note', in: 'formData', type: 'string', description: 'A note.' },
		{ name: 'ids', in: 'formData', type: 'array', items: { type: 'integer' } },
		{ name: 'tags', in: 'formData', type: 'array', items: { type: 'string' }, collectionFormat: 'multi' },
	];
	for (const consumes of [
		undefined,
		['multipart/form-data'],
		['application/x-www-form-urlencoded', 'multipart/form-data'],
		['application/json'],
	]) {
		const operation = await readOne({ parameters, ...(consumes ? { consumes } : {}) });
		assert.deepEqual([operation.outcome, operation.parameters['required']], ['converted', ['body']]);
		const args = { file: { data: 'Ynl0ZXM=', filename: 'a.bin' }, note: 'n', ids: '1,2', tags: ['x', 'y'] };
		const body = String(requestOf(operation, { body: args }).body);
		assert.match(body, /name="file"; filename="a\.bin"\r\n[^\n]*\r\n\r\nbytes\r\n/);
		assert.match(body, /name="note"\r\n\r\nn\r\n/);
		assert.match(body, /name="ids"\r\n\r\n1,2\r\n/);
		assert.match(body, /name="tags"\r\n\r\nx\r\n[\s\S]*name="tags"\r\n\r\ny\r\n/);
	}
});

test('a body is sent in the media type that the operation or the document consumes, else as JSON', async () => {
	const schema = { $ref: '#/definitions/Pet' };
	const rest = {
		definitions: { Pet: { type: 'object', properties: { name: { type: 'string', 'x-nullable': true } }, required: ['name'] } },
	};
	const body = { name: 'pet', in: 'body', required: true, description: 'The pet.', schema };
	for (const [consumes, root, sent] of [
		[undefined, undefined, 'application/json'],
		[undefined, ['application/vnd.api+json'], 'application/vnd.api+json'],
		[['application/xml', 'application/json'], undefined, 'application/json'],
		[['text/xml'], ['application/json'], 'text/xml'],
		[['application/json-patch+json', 'application/merge-patch+json'], undefined, 'application/merge-patch+json'],
		[[], ['text/xml'], 'application/json'],
	] as const) {
		const operation = await readOne({ parameters: [body], ...(consumes && { consumes }) }, { ...rest, ...(root && { consumes: root }) });
		assert.equal((operation.definition['requestBody'] as JsonObject)['contentType'], sent);
		assert.deepEqual(operation.parameters['required'], ['body']);
		if (sent !== 'text/xml') assert.equal(argumentsOf(operation)['body']?.['description'], 'The pet.');
	}
	const operation = await readOne({ parameters: [body] }, rest);
	const check = compileArguments(operation.parameters);
	assert.deepEqual(check({ body: { name: null } }), []);
	assert.equal(check({ body: {} }).length, 1);
	assert.deepEqual(Object.keys(operation.parameters['$defs'] as object), ['Pet']);
});

test('bodies and forms are found behind references and at the path, and the operation’s own win', async () => {
	const parameters = {
		Pet: { name: 'pet', in: 'body', schema: { type: 'object', properties: { shared: {} } } },
		File: { name: 'file', in: 'formData', type: 'file' },
		Limit: { name: 'limit', in: 'query', type: 'integer', default: 10 },
	};
	const own = { name: 'other', in: 'body', schema: { type: 'object', properties: { own: {} } } };
	const { operations } = await readAll({
		parameters,
		paths: {
			'/a': {
				parameters: [{ $ref: '#/parameters/Pet' }, { $ref: '#/parameters/Limit' }],
				post: { responses },
				put: { responses, parameters: [own, { name: 'limit', in: 'query', type: 'string' }] },
			},
			'/b': { post: { responses, parameters: [{ $ref: '#/parameters/File' }] } },
			'/c': { post: { responses, parameters: [{ $ref: '#/parameters/None' }] } },
		},
	});
	const byKey = Object.fromEntries(operations.map((operation) => [operation.key, operation]));
	const bodyOf = (key: string): unknown => Object.keys((argumentsOf(byKey[key] as Operation)['body']?.['properties'] ?? {}) as object);
	assert.deepEqual([bodyOf('POST /a'), bodyOf('PUT /a'), bodyOf('POST /b')], [['shared'], ['own'], ['file']]);
	assert.deepEqual(argumentsOf(byKey['POST /a'] as Operation)['limit'], { type: 'integer', default: 10 });
	assert.deepEqual(argumentsOf(byKey['PUT /a'] as Operation)['limit'], { type: 'string' });
	assert.match(byKey['POST /c']?.reasons.join() ?? '', /“#\/parameters\/None” has no target/);
});

test('host, base path and schemes become servers, https first', async () => {
	const servers = async (root: object, url: string | null = null): Promise<string[]> =>
		(await readAll({ paths: {}, ...root }, url)).summary.servers;
	assert.deepEqual(await servers({ host: 'a.example', basePath: '/v1/', schemes: ['http', 'https', 'ws'] }), [
		'https://a.example/v1',
		'http://a.example/v1',
	]);
	assert.deepEqual(await servers({ host: 'a.example:8080', basePath: '/' }), ['https://a.example:8080']);
	assert.deepEqual(await servers({ host: 'a.example' }, 'http://docs.example/x.json'), ['http://a.example']);
	assert.deepEqual(await servers({ basePath: 'v1' }, 'https://docs.example/x/y.json'), ['https://docs.example/v1']);
	assert.deepEqual(await servers({}), []);
	const { operations } = await readAll({
		...{ host: 'api.example.com', basePath: '/v1', schemes: ['https'] },
		paths: { '/a': { get: { responses }, post: { responses, schemes: ['http'] }, put: { responses, schemes: ['https'] } } },
	});
	const urls = operations.map((operation) => importer.tool(operation, api).executionConfig['url']);
	assert.deepEqual(urls, ['/v1/a', '/v1/a', 'http://api.example.com/v1/a']);
});

test('security definitions become those of 3.0, and a credential may fill their keys', async () => {
	const securityDefinitions = {
		basic: { type: 'basic' },
		key: { type: 'apiKey', in: 'query', name: 'key' },
		...Object.fromEntries(
			['accessCode', 'application', 'implicit', 'password'].map((flow) => [
				flow,
				{ type: 'oauth2', flow, tokenUrl: 'https://t.example', scopes: {} },
			]),
		),
	};
	const securityOf = async (security: unknown): Promise<unknown> =>
		(await readOne({ security, parameters: [{ name: 'key', in: 'query', type: 'string' }] }, { securityDefinitions })).definition[
			'security'
		];
	assert.deepEqual(await securityOf([{ basic: [] }, { key: [] }]), [
		[{ scheme: 'basic', type: 'basic_auth' }],
		[{ scheme: 'key', type: 'api_key', in: 'query', name: 'key', only: true }],
	]);
	for (const flow of ['accessCode', 'application', 'implicit', 'password'])
		assert.deepEqual(
			await securityOf([{ [flow]: [] }]),
			['oauth2', 'bearer_token'].map((type) => [{ scheme: flow, type }]),
			flow,
		);
	const untold = await readOne({ parameters: [{ name: 'key', in: 'query', type: 'string' }] }, { securityDefinitions });
	assert.deepEqual([Object.keys(argumentsOf(untold)), untold.definition['fillable']], [['key'], [{ arg: 'key' }]]);
});

test('the Accept header and the output schema follow produces', async () => {
	const rest = { definitions: { Pet: { type: 'object', properties: { name: { type: 'string' } } } } };
	const schema = { $ref: '#/definitions/Pet' };
	const answer = { 200: { description: 'ok', schema } };
	const json = await readOne({ produces: ['application/xml', 'application/json'], responses: answer }, rest);
	assert.deepEqual(
		[json.definition['headers'], json.outputSchema?.['type']],
		[{ accept: 'application/json, application/xml;q=0.9' }, 'object'],
	);
	const shared = await readOne(
		{ responses: { 200: { $ref: '#/responses/Pet' } } },
		{ ...rest, responses: { Pet: answer[200] }, produces: ['text/plain'] },
	);
	assert.deepEqual([shared.definition['headers'], shared.outputSchema], [{ accept: 'text/plain' }, null]);
	const untold = await readOne({ responses: answer }, rest);
	assert.deepEqual([untold.definition['headers'], untold.outputSchema?.['type']], [{ accept: '*/*' }, 'object']);
});

test('a fault affects its own operation only, and every loss is reported', async () => {
	const { operations, summary } = await readAll({
		paths: {
			'/a': { get: null, post: { responses }, put: { parameters: 'x', responses: 'x' }, delete: { parameters: [null, 7] } },
			'/b': null,
			'/c': { $ref: '#/nowhere' },
			'x-other': { get: {} },
		},
		securityDefinitions: { a: null },
		definitions: { A: null },
		parameters: null,
	});
	assert.equal(summary.format, 'swagger 2.0');
	assert.deepEqual(
		operations.map(({ key, outcome }) => `${key}: ${outcome}`),
		['GET /a: skipped', 'PUT /a: converted', 'POST /a: converted', 'DELETE /a: degraded', '* /b: skipped', '* /c: skipped'],
	);
});
