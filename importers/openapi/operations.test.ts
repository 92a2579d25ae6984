import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileArguments, type JsonObject, type Operation } from '../../core/index.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

const RESPONSES = { 200: { description: 'ok' } };

async function readPaths(paths: unknown, rest: object = {}, options: object = {}): Promise<Operation[]> {
	const document = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths, ...rest };
	const { operations } = await readWith(importer, JSON.stringify(document), null, { options });
	for (const { parameters } of operations) assert.doesNotThrow(() => compileArguments(parameters));
	return operations;
}

async function readOne(path: string, operation: object, rest: object = {}): Promise<Operation> {
	const [only] = await readPaths({ [path]: { post: { responses: RESPONSES, ...operation } } }, rest);
	assert.ok(only);
	return only;
}

const argumentsOf = ({ parameters }: Operation): JsonObject => parameters['properties'] as JsonObject;
const wiresOf = ({ definition }: Operation): JsonObject[] => (definition['parameters'] ?? []) as JsonObject[];
const param = (name: string, location: string, more: object = {}): object => ({ name, in: location, schema: { type: 'string' }, ...more });

test('parameters of path item and operation become arguments side by side; the operation’s own win', async () => {
	const parameters = [param('id', 'path', { required: true }), param('q', 'query', { description: 'of the path' })];
	const get = {
		parameters: [
			param('q', 'query', { description: 'of the operation', required: true }),
			param('X-Trace', 'header'),
			param('c', 'cookie'),
		],
		responses: RESPONSES,
	};
	const [operation] = await readPaths({ '/pets/{id}': { parameters, get } });
	assert.ok(operation);
	assert.deepEqual(Object.keys(argumentsOf(operation)), ['id', 'q', 'X-Trace', 'c']);
	assert.deepEqual(argumentsOf(operation)['q'], { type: 'string', description: 'of the operation' });
	assert.deepEqual(operation.parameters['required'], ['id', 'q']);
	assert.deepEqual(
		wiresOf(operation).map((wire) => wire['in']),
		['path', 'query', 'header', 'cookie'],
	);
});

test('arguments with the same name get their location as a suffix, and the body is always called body', async () => {
	const requestBody = { content: { 'application/json': { schema: { type: 'object', properties: { id: {} } } } } };
	const operation = await readOne('/x/{id}', {
		parameters: [param('id', 'path'), param('id', 'query'), param('a[b]', 'query'), param('$a.b', 'query')],
		requestBody,
	});
	assert.deepEqual(Object.keys(argumentsOf(operation)), ['id_path', 'id_query', 'a_b', 'a.b', 'body']);
	assert.deepEqual(wiresOf(operation)[2], { arg: 'a_b', name: 'a[b]', in: 'query' });
	const taken = await readOne('/x', { parameters: [param('body', 'query')], requestBody });
	assert.deepEqual(Object.keys(argumentsOf(taken)), ['body', 'request_body']);
	assert.equal((taken.definition['requestBody'] as JsonObject)['arg'], 'request_body');
});

test('style, explode and allowReserved are passed to the executor where they are valid', async () => {
	const more = { style: 'deepObject', explode: true, allowReserved: true };
	const operation = await readOne('/x', {
		parameters: [
			param('a', 'query', more),
			param('b', 'header', more),
			param('c', 'query', { schema: undefined, content: { 'application/json': { schema: { type: 'object' } } } }),
		],
	});
	assert.deepEqual(wiresOf(operation), [
		{ arg: 'a', name: 'a', in: 'query', style: 'deepObject', explode: true, allowReserved: true },
		{ arg: 'b', name: 'b', in: 'header', explode: true },
		{ arg: 'c', name: 'c', in: 'query', contentType: 'application/json' },
	]);
	assert.deepEqual(argumentsOf(operation)['c'], { type: 'object' });
});

test('a path parameter may keep its slashes, by allowReserved or as Azure’s documents say it', async () => {
	const wires = [{ arg: 'scope', name: 'scope', in: 'path', allowReserved: true }];
	for (const more of [{ allowReserved: true }, { 'x-ms-skip-url-encoding': true }])
		assert.deepEqual(wiresOf(await readOne('/{scope}/x', { parameters: [param('scope', 'path', more)] })), wires);
});

test('a path parameter that is not declared is added, one that is not in the path left out', async () => {
	const operation = await readOne('/x/{a}/{b c}', { parameters: [param('z', 'path')] });
	assert.deepEqual(operation.parameters['required'], ['a', 'b_c']);
	assert.deepEqual(wiresOf(operation)[1], { arg: 'b_c', name: 'b%20c', in: 'path' });
	assert.equal(operation.outcome, 'degraded');
	assert.equal(operation.reasons.length, 3);
});

test('a query template at the end of a path names query parameters, declared or not', async () => {
	const parameters = [param('limit', 'query', { schema: { type: 'integer' } })];
	const operation = await readOne('/pets/{id}{?limit,tags*,name:3}', {
		parameters: [...parameters, param('id', 'path', { required: true })],
	});
	assert.equal(operation.definition['path'], '/pets/{id}');
	assert.deepEqual(
		wiresOf(operation).map(({ name, in: location }) => `${location} ${name}`),
		['query limit', 'path id', 'query tags', 'query name'],
	);
	assert.deepEqual(argumentsOf(operation)['limit'], { type: 'integer' });
	assert.deepEqual(operation.reasons, [
		'The query parameter “tags” is not declared: it is taken as a string.',
		'The query parameter “name” is not declared: it is taken as a string.',
	]);
});

test('headers that the protocol or the executor sends itself are no arguments', async () => {
	const securitySchemes = { key: { type: 'apiKey', in: 'header', name: 'X-Key' }, query: { type: 'apiKey', in: 'query', name: 'key' } };
	const names = ['x-key', 'Accept', 'content-type', 'Authorization', 'Host', 'Content-Length', 'bad name', 'X-Good'];
	const operation = await readOne(
		'/x',
		{ parameters: [...names.map((name) => param(name, 'header')), param('key', 'query'), param('key', 'cookie')] },
		{ components: { securitySchemes } },
	);
	assert.deepEqual(Object.keys(argumentsOf(operation)), ['x-key', 'X-Good', 'key_query', 'key_cookie']);
	assert.equal(operation.reasons.length, 3);
});

test('the media type that is easiest to fill is preferred, and a range or misnomer is sent as the type that it means', async () => {
	for (const [types, taken] of [
		[['application/xml', 'application/json'], 'application/json'],
		[['multipart/form-data', 'application/vnd.api+json; charset=utf-8'], 'application/vnd.api+json; charset=utf-8'],
		[['*/*'], 'application/json'],
		[['text/plain', 'application/x-www-form-urlencoded'], 'application/x-www-form-urlencoded'],
		[['application/form-data'], 'multipart/form-data'],
		[['image/*'], 'application/octet-stream'],
		[['image/*', 'image/png'], 'image/png'],
		[['application/*+json'], 'application/json'],
		[['application/*+xml'], 'application/xml'],
		[['text/*'], 'text/plain'],
		[['multipart/*'], 'multipart/form-data'],
		[['text/json'], 'text/json'],
		[['application/vnd.example.json'], 'application/vnd.example.json'],
		[['bad\r\nX-Evil: 1/x', 'text/xml'], 'text/xml'],
	] as const) {
		const operation = await readOne('/x', { requestBody: { content: Object.fromEntries(types.map((type) => [type, {}])) } });
		assert.equal((operation.definition['requestBody'] as JsonObject)['contentType'], taken, types.join());
	}
});

test('of several JSON types the plainest is preferred, and a JSON Patch only where its schema is a list, as RFC 6902 §3 says', async () => {
	const list = { type: 'array', items: { type: 'object' } };
	const patch = 'application/json-patch+json';
	for (const [content, taken] of [
		[{ [patch]: {}, 'application/merge-patch+json': {}, 'application/strategic-merge-patch+json': {} }, 'application/merge-patch+json'],
		[{ [patch]: {}, 'text/json': {}, 'application/json; charset=utf-8': {} }, 'application/json; charset=utf-8'],
		[{ 'application/ld+json': {}, 'application/vnd.api+json': {} }, 'application/ld+json'],
		[{ [patch]: {}, 'application/*+json': {} }, 'application/json'],
		[{ 'application/*+json': {}, 'text/json': {} }, 'text/json'],
		[{ [patch]: { schema: { $ref: '#/components/schemas/Patch' } }, '*/*': {} }, patch],
		[{ [patch]: { schema: list }, 'application/merge-patch+json': {} }, 'application/merge-patch+json'],
		[{ [patch]: {}, 'application/xml': {} }, patch],
	] as const) {
		const operation = await readOne('/x', { requestBody: { content } }, { components: { schemas: { Patch: list } } });
		assert.equal((operation.definition['requestBody'] as JsonObject)['contentType'], taken, Object.keys(content).join());
	}
});

test('bytes are given in base64, text and XML as they are', async () => {
	const bodyOf = async (type: string): Promise<unknown> =>
		argumentsOf(await readOne('/x', { requestBody: { content: { [type]: { schema: { type: 'object' } } } } }))['body'];
	assert.deepEqual(await bodyOf('application/pdf'), {
		type: 'string',
		contentEncoding: 'base64',
		description: 'The bytes of the body, in base64.',
	});
	assert.deepEqual(await bodyOf('text/plain'), { type: 'string' });
	assert.deepEqual(await bodyOf('text/xml'), { type: 'string', description: 'The XML document, as text.' });
});

test('files of a multipart form are objects with data, and the rest of the form stays what it is', async () => {
	const File = { type: 'string', format: 'binary' };
	const schema = {
		allOf: [
			{ type: 'object', properties: { a: { $ref: '#/components/schemas/File' } }, required: ['a'] },
			{ oneOf: [{ properties: { many: { type: 'array', items: File } }, required: ['many'] }] },
		],
		properties: { png: { type: 'string', contentMediaType: 'image/png' }, meta: { type: 'object' }, note: { type: 'string' } },
	};
	const encoding = { meta: { contentType: 'application/json' }, note: { style: 'form', explode: false } };
	const operation = await readOne(
		'/x',
		{ requestBody: { required: true, content: { 'multipart/form-data': { schema, encoding } } } },
		{ components: { schemas: { File } } },
	);
	const { properties, required } = argumentsOf(operation)['body'] as { properties: Record<string, JsonObject>; required: string[] };
	assert.deepEqual(properties['a']?.['required'], ['data']);
	assert.deepEqual(properties['many'], { type: 'array', items: properties['a'] });
	assert.deepEqual(properties['note'], { type: 'string' });
	assert.deepEqual(required, ['a']);
	assert.deepEqual((operation.definition['requestBody'] as JsonObject)['parts'], {
		a: { binary: true },
		many: { binary: true },
		png: { binary: true },
		meta: { contentType: 'application/json' },
		note: { style: 'form', explode: false },
	});
});

test('an optional file is a file, however the document writes it', async () => {
	const File = { type: 'string', format: 'binary' };
	const none = { type: 'null' };
	const properties = {
		list: { type: ['string', 'null'], format: 'binary' },
		// FastAPI writes optional uploads like this.
		any: { anyOf: [File, none] },
		many: { anyOf: [{ type: 'array', items: File }, none] },
		wrapped: { allOf: [{ $ref: '#/components/schemas/File' }], nullable: true, description: 'A face.' },
	};
	const operation = await readOne(
		'/x',
		{ requestBody: { content: { 'multipart/form-data': { schema: { type: 'object', properties } } } } },
		{ components: { schemas: { File } } },
	);
	const accepts = compileArguments(operation.parameters);
	const file = { data: 'AAAA', filename: 'a.bin' };
	const body = { list: file, any: file, many: [file], wrapped: file };
	assert.deepEqual(accepts({ body }), []);
	assert.deepEqual(accepts({ body: { list: null, any: null, many: null, wrapped: null } }), []);
	for (const name of Object.keys(properties)) assert.notDeepEqual(accepts({ body: { ...body, [name]: 'AAAA' } }), [], name);
	const { parts } = operation.definition['requestBody'] as { parts: JsonObject };
	assert.deepEqual(parts, { list: { binary: true }, any: { binary: true }, many: { binary: true }, wrapped: { binary: true } });
	const { properties: converted } = argumentsOf(operation)['body'] as { properties: Record<string, JsonObject> };
	assert.equal(converted['wrapped']?.['description'], 'A face.');
});

test('a part without a type is a file where its encoding names a media type that is no text', async () => {
	const properties = { face: { description: 'A face.' }, note: {}, data: {}, any: {}, shaped: { minimum: 1 } };
	const encoding = {
		face: { contentType: 'image/png, image/jpeg' },
		note: { contentType: 'text/plain' },
		data: { contentType: 'application/json' },
		shaped: { contentType: 'image/png' },
	};
	const operation = await readOne('/x', {
		requestBody: { content: { 'multipart/form-data': { schema: { type: 'object', properties }, encoding } } },
	});
	assert.deepEqual((operation.definition['requestBody'] as JsonObject)['parts'], {
		face: { binary: true, contentType: 'image/png, image/jpeg' },
		note: { contentType: 'text/plain' },
		data: { contentType: 'application/json' },
		shaped: { contentType: 'image/png' },
	});
});

test('a file whose contentEncoding says that its bytes are not encoded is a file, and one in base64 is a text', async () => {
	const properties = {
		binary: { type: 'string', contentMediaType: 'application/octet-stream', contentEncoding: 'binary' },
		alone: { type: 'string', contentEncoding: 'BINARY' },
		notes: { type: 'string', contentMediaType: 'text/plain', contentEncoding: '8bit' },
		encoded: { type: 'string', contentMediaType: 'image/png', contentEncoding: 'base64' },
	};
	const operation = await readOne('/x', {
		requestBody: { content: { 'multipart/form-data': { schema: { type: 'object', properties } } } },
	});
	const { parts } = operation.definition['requestBody'] as { parts: JsonObject };
	assert.deepEqual(parts, { binary: { binary: true }, alone: { binary: true } });
});

test('a part has the required headers with a single value, and other required ones are reported', async () => {
	const headers = {
		'X-Const': { schema: { const: 'c' }, required: true },
		'X-Only': { $ref: '#/components/headers/Only' },
		'X-Default': { schema: { default: true }, required: true },
		'X-Optional': { schema: { const: 'c' } },
		'X-Free': { schema: { type: 'string' }, example: 'e' },
		'X-Asked': { schema: { type: 'string' }, required: true, example: 'e' },
		'Content-Type': { schema: { const: 'text/html' } },
		'X-Bad': { schema: { const: 'a\r\nb' }, required: true },
		'X-Api-Key': { schema: { const: 'c' }, required: true },
		Host: { schema: { const: 'x' }, required: true },
	};
	const media = { schema: { type: 'object', properties: { note: { type: 'string' } } }, encoding: { note: { headers } } };
	const read = (type: string): Promise<Operation> =>
		readOne(
			'/x',
			{ requestBody: { content: { [type]: media } } },
			{ components: { headers: { Only: { schema: { enum: [7] }, required: true } } } },
		);
	const { definition, reasons } = await read('multipart/form-data');
	const parts = { note: { headers: { 'X-Const': 'c', 'X-Only': '7' } } };
	assert.deepEqual(definition['requestBody'], { arg: 'body', contentType: 'multipart/form-data', parts });
	const named = (name: string): string => `The header “${name}” of the part “note” has no fixed value and is not sent.`;
	const secret = 'The header “X-Api-Key” of the part “note” has the name of a secret and is not sent.';
	assert.deepEqual(reasons, [...['X-Default', 'X-Asked', 'X-Bad'].map(named), secret, named('Host')]);
	// OpenAPI 3.1.1 §4.8.15.1: "This field SHALL be ignored if the request body media type is not a multipart."
	assert.equal(((await read('application/x-www-form-urlencoded')).definition['requestBody'] as JsonObject)['parts'], undefined);
});

test('a broken operation is skipped with the reason, and its neighbours are not', async () => {
	const fine = { get: { responses: RESPONSES } };
	const operations = await readPaths({
		'/ok': fine,
		'/null': { get: null },
		'/../up': fine,
		'//other.example/x': fine,
		relative: fine,
		'/{open': fine,
		'/head': { head: { responses: RESPONSES }, options: {}, trace: {} },
		'/file': { $ref: './paths.json' },
		'/body': { post: { requestBody: { $ref: 'http://127.0.0.1/body.json' }, responses: RESPONSES } },
		'x-other': 1,
	});
	const skipped = operations.filter(({ outcome }) => outcome === 'skipped');
	assert.deepEqual(
		operations.filter(({ outcome }) => outcome !== 'skipped').map(({ key }) => key),
		['GET /ok'],
	);
	assert.equal(skipped.length, 10);
	for (const { reasons } of skipped) assert.equal(reasons.length, 1);
	const reasonOf = (key: string): string | undefined => skipped.find((operation) => operation.key === key)?.reasons[0];
	assert.match(reasonOf('* /file') ?? '', /external reference “\.\/paths\.json”/);
	assert.match(reasonOf('POST /body') ?? '', /external reference “http:\/\/127\.0\.0\.1\/body\.json”/);
	assert.match(reasonOf('HEAD /head') ?? '', /^HEAD operations become tools only where options\.methods of the import names them\.$/);
});

test('a parameter that is an external reference is left out, and the operation says so', async () => {
	const operation = await readOne('/x/{id}', { parameters: [{ $ref: 'common.yaml#/id' }] });
	assert.match(operation.reasons.join(), /external reference “common\.yaml#\/id”/);
	assert.deepEqual(operation.parameters['required'], ['id']);
});

test('an output schema is given only if every success is one JSON object without a loss', async () => {
	const json = (schema: unknown): object => ({ description: 'ok', content: { 'application/json': { schema } } });
	const Pet = {
		type: 'object',
		properties: { name: { type: 'string', format: 'date' }, secret: { writeOnly: true } },
		required: ['name', 'secret'],
		additionalProperties: false,
	};
	const outputOf = async (responses: unknown): Promise<unknown> =>
		(await readOne('/x', { responses }, { components: { schemas: { Pet } } })).outputSchema;
	const promised = { type: 'object', properties: { name: { type: 'string' }, secret: { writeOnly: true } }, required: ['name'] };
	assert.deepEqual(await outputOf({ 200: json({ $ref: '#/components/schemas/Pet' }), 404: json({}) }), promised);
	assert.equal(await outputOf({ 200: json({ $ref: '#/components/schemas/Pet' }), 204: { description: 'none' } }), null);
	assert.equal(await outputOf({ 200: json({ type: 'array' }) }), null);
	assert.equal(await outputOf({ 200: json({ type: 'object', oneOf: [{}] }) }), null);
	assert.equal(await outputOf({ 200: json({ type: ['object', 'null'] }) }), null);
	assert.equal(await outputOf({ 200: json({ type: 'object', properties: { a: { $ref: 'x.json' } } }) }), null);
	assert.equal(await outputOf({ 200: json({ type: 'object', properties: { a: { enum: ['x'.repeat(40_000)] } } }) }), null);
	assert.equal(await outputOf({ 200: { $ref: 'x.json' } }), null);
});

test('security requirements become alternatives of stored credentials, none last', async () => {
	const securitySchemes = {
		key: { type: 'apiKey', in: 'header', name: 'k' },
		basic: { type: 'http', scheme: 'Basic' },
		token: { type: 'http', scheme: 'bearer' },
		oauth: { type: 'oauth2', flows: {} },
		tls: { type: 'mutualTLS' },
	};
	const securityOf = async (security: unknown, root?: unknown): Promise<unknown> =>
		(await readOne('/x', { security }, { components: { securitySchemes }, ...(root === undefined ? {} : { security: root }) })).definition[
			'security'
		];
	assert.equal(await securityOf(undefined), undefined);
	const [basic, token] = [
		{ scheme: 'basic', type: 'basic_auth' },
		{ scheme: 'token', type: 'bearer_token' },
	];
	const key = { scheme: 'key', type: 'api_key', in: 'header', name: 'k', only: true };
	assert.deepEqual(await securityOf(undefined, [{ basic: [] }]), [[basic]]);
	assert.deepEqual(await securityOf([], [{ basic: [] }]), []);
	assert.deepEqual(await securityOf([{}, { key: [], token: [] }]), [[key, token], []]);
	const oauth = [[{ scheme: 'oauth', type: 'oauth2' }], [{ scheme: 'oauth', type: 'bearer_token' }]];
	assert.deepEqual(await securityOf([{ oauth: ['read'] }]), oauth);
	assert.deepEqual(await securityOf([{ tls: [] }, { key: [] }]), [[key]]);
	assert.deepEqual(await securityOf([{ tls: [] }]), []);
	assert.equal(await securityOf([{ constructor: [] }]), undefined);
});

test('HEAD and OPTIONS become tools where the import asks for them, and TRACE never does', async () => {
	const paths = { '/a': { get: { responses: RESPONSES }, head: {}, options: {}, trace: {} } };
	const usable = async (options: object): Promise<string[]> =>
		(await readPaths(paths, {}, options)).filter(({ outcome }) => outcome !== 'skipped').map(({ method }) => method);
	assert.deepEqual(await usable({}), ['GET']);
	assert.deepEqual(await usable({ methods: ['HEAD'] }), ['GET', 'HEAD']);
	assert.deepEqual(await usable({ methods: ['HEAD', 'OPTIONS'] }), ['GET', 'OPTIONS', 'HEAD']);
});

test('an operation without a description is described by its operationId in words, and by its method and path', async () => {
	for (const [operationId, described] of [
		['listUserRepos', 'List user repos (POST /a)'],
		['pets.find_byID', 'Pets find by ID (POST /a)'],
		['getHTTPStatus2xx', 'Get HTTP status2xx (POST /a)'],
		[undefined, 'POST /a'],
		['--', 'POST /a'],
	] as const)
		assert.equal((await readOne('/a', operationId === undefined ? {} : { operationId })).description, described);
	assert.equal((await readOne('/a', { operationId: 'listUserRepos', summary: 'All of them.' })).description, 'All of them.');
});

test('parameters that are not a list are reported', async () => {
	const { outcome, reasons } = await readOne('/a', { parameters: {} });
	assert.deepEqual([outcome, reasons], ['degraded', ['Its parameters are not a list and were left out.']]);
});

test('base64 that the server decodes is sent as it is, and bytes are sent as bytes', async () => {
	const bodyOf = async (schema: object, rest: object = {}): Promise<unknown> =>
		(await readOne('/a', { requestBody: { content: { 'image/jpeg': { schema } } } }, rest)).definition['requestBody'];
	const plain = { arg: 'body', contentType: 'image/jpeg' };
	assert.deepEqual(await bodyOf({ type: 'string', format: 'byte' }, { openapi: '3.0.3' }), { ...plain, isText: true });
	assert.deepEqual(await bodyOf({ type: 'string', contentEncoding: 'base64' }), { ...plain, isText: true });
	assert.deepEqual(await bodyOf({ type: 'string', format: 'binary' }, { openapi: '3.0.3' }), plain);
	assert.deepEqual(await bodyOf({}), plain);
});

test('all media types of the responses are accepted, streams last', async () => {
	const content = { 'text/event-stream': {}, 'audio/mpeg': {}, 'application/json': {} };
	const { definition } = await readOne('/a', {
		responses: { 200: { description: 'ok', content }, 202: { description: 'later', content: { 'text/plain': {} } } },
	});
	assert.deepEqual(definition['headers'], { accept: 'application/json, text/event-stream;q=0.1, text/plain;q=0.9, audio/mpeg;q=0.9' });
});
