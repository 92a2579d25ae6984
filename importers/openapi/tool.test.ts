import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api, JsonObject, ToolDraft } from '../../core/index.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';

const api = (baseUrl: string): Api => ({ id: 'a', organizationId: 'o', name: 'x', type: 'openapi', baseUrl });

async function toolOf(
	item: object,
	servers: unknown,
	{ baseUrl = 'https://api.example.com', url = null as string | null } = {},
): Promise<ToolDraft> {
	const document = { openapi: '3.0.0', info: { title: 'x', version: '1' }, servers, paths: { '/pets/{id}': item } };
	const { operations } = await readWith(importer, JSON.stringify(document), url);
	const [operation] = operations;
	assert.ok(operation);
	return importer.tool(operation, api(baseUrl));
}

const urlOf = async (...given: Parameters<typeof toolOf>): Promise<unknown> => (await toolOf(...given)).executionConfig['url'];
const get = { responses: {} };

test('a tool is called at the base URL that the user gave', async () => {
	assert.equal(await urlOf({ get }, undefined), '/pets/{id}');
	assert.equal(await urlOf({ get }, [{ url: 'https://other.example.com/v1' }]), '/pets/{id}');
	assert.equal(await urlOf({ get }, [{ url: 'https://api.example.com/v1' }], { baseUrl: 'https://api.example.com/v2' }), '/pets/{id}');
});

test('the path of the document’s server is added where the user named that server without a path', async () => {
	assert.equal(await urlOf({ get }, [{ url: 'https://api.example.com/v1/' }]), '/v1/pets/{id}');
	assert.equal(await urlOf({ get }, [{ url: '/v1' }]), '/v1/pets/{id}');
	assert.equal(await urlOf({ get }, [{ url: 'v1' }], { url: 'https://api.example.com/docs/openapi.json' }), '/docs/v1/pets/{id}');
	assert.equal(await urlOf({ get }, [{ url: '/v1' }], { url: 'https://docs.example.com/openapi.json' }), '/pets/{id}');
	const variables = { version: { default: 'v3' } };
	assert.equal(await urlOf({ get }, [{ url: 'https://api.example.com/{version}', variables }]), '/v3/pets/{id}');
});

test('an operation’s or a path’s own server makes the URL absolute, unless it is the document’s', async () => {
	const own = [{ url: 'https://uploads.example.com/v1' }];
	assert.equal(await urlOf({ get: { ...get, servers: own } }, undefined), 'https://uploads.example.com/v1/pets/{id}');
	assert.equal(await urlOf({ get, servers: [{ url: '/v9' }] }, undefined), 'https://api.example.com/v9/pets/{id}');
	assert.equal(await urlOf({ get, servers: own }, own, { baseUrl: 'https://staging.example.com' }), '/pets/{id}');
	assert.equal(await urlOf({ get, servers: [{ url: 'wss://x.example.com' }] }, undefined), '/pets/{id}');
	assert.equal(await urlOf({ get, servers: [{ url: 'https://u:p@x.example.com' }] }, undefined), '/pets/{id}');
});

test('all hints are written out, as the method promises and the names say', async () => {
	const annotationsOf = async (method: string, named: object = {}): Promise<unknown> =>
		(await toolOf({ [method]: { ...get, ...named } }, undefined)).annotations;
	const hints = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
	assert.deepEqual(await annotationsOf('get'), { ...hints, readOnlyHint: true, destructiveHint: false, idempotentHint: true });
	assert.deepEqual(await annotationsOf('post'), hints);
	assert.deepEqual(await annotationsOf('post', { operationId: 'createPet' }), { ...hints, destructiveHint: false });
	assert.deepEqual(await annotationsOf('patch', { operationId: 'createPet' }), hints);
	for (const method of ['put', 'delete']) assert.deepEqual(await annotationsOf(method), { ...hints, idempotentHint: true });
});

test('the summary is the title, in one line', async () => {
	const titleOf = async (summary: unknown): Promise<unknown> => (await toolOf({ get: { ...get, summary } }, undefined)).annotations.title;
	assert.equal(await titleOf(' Find\n a  pet. '), 'Find a pet');
	assert.equal(String(await titleOf('x'.repeat(200))).length, 120);
	for (const none of [undefined, '', ' ', 5]) assert.equal(await titleOf(none), undefined);
});

test('the executor gets its config and nothing of the importer’s own', async () => {
	const parameters = [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }];
	const responses = { 200: { description: 'ok', content: { 'application/json': {} } } };
	const tool = await toolOf({ get: { summary: 'Find a pet', description: 'By its id.', parameters, responses } }, [{ url: '/v1' }]);
	assert.equal(tool.executor, 'http');
	assert.equal(tool.description, 'Find a pet\n\nBy its id.');
	assert.deepEqual(tool.executionConfig, {
		method: 'GET',
		parameters: [{ arg: 'id', name: 'id', in: 'path' }],
		headers: { accept: 'application/json' },
		url: '/v1/pets/{id}',
	});
});

test('a description is bounded, without a repeated summary, and says that an operation is deprecated', async () => {
	const describe = async (words: object): Promise<string> => (await toolOf({ get: { ...get, ...words } }, undefined)).description;
	assert.equal(await describe({ summary: 'Find', description: 'Find a pet.' }), 'Find a pet.');
	assert.equal(await describe({ summary: 'Find', deprecated: true }), 'Deprecated.\n\nFind');
	assert.equal(await describe({}), 'GET /pets/{id}');
	assert.equal((await describe({ description: 'é'.repeat(5_000) })).length, 1_000);
});

test('a header of a part with the name of a secret, stored by a former release, is left out, and the others stay', async () => {
	const [operation = assert.fail()] = (
		await readWith(importer, JSON.stringify({ openapi: '3.0.0', info: { title: 'x', version: '1' }, paths: { '/a': { get } } }), null)
	).operations;
	const config = (parts: JsonObject) => {
		const requestBody = { arg: 'body', contentType: 'multipart/form-data', parts };
		return importer.tool({ ...operation, definition: { ...operation.definition, requestBody } }, api('https://api.example.com'))
			.executionConfig;
	};
	const stored = {
		a: { headers: { 'X-Api-Key': 'canary', 'X-Open': 'x' } },
		b: { binary: true, headers: { Authorization: 'canary' } },
		c: {},
	};
	const made = config(stored)['requestBody'] as JsonObject;
	assert.deepEqual(made['parts'], { a: { headers: { 'X-Open': 'x' } }, b: { binary: true }, c: {} });
});
