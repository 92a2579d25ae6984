import assert from 'node:assert/strict';
import { test } from 'node:test';
import plugin from 'acme-postman';
import { importerContract } from 'gatehouse/testing';

const schema = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';
const url = (raw: string, more: object = {}) => ({ raw, ...more });
const PETS = [
	{
		name: 'List pets',
		request: { method: 'GET', url: url('{{baseUrl}}/pets?limit=10', { query: [{ key: 'limit', description: 'The most.' }] }) },
	},
	{
		name: 'Pet',
		item: [
			{
				name: 'Get pet',
				request: {
					method: 'GET',
					url: url('{{baseUrl}}/pets/:petId', { variable: [{ key: 'petId' }] }),
					header: [{ key: 'X-Trace', value: '1' }],
				},
			},
			{
				name: 'Add pet',
				request: {
					method: 'POST',
					url: url('{{baseUrl}}/pets'),
					body: { mode: 'raw', raw: '{"name":"Rex"}', options: { raw: { language: 'json' } } },
				},
			},
			{
				name: 'Photo',
				request: {
					method: 'PUT',
					url: url('{{baseUrl}}/pets/:petId/photo'),
					body: { mode: 'formdata', formdata: [{ key: 'photo', type: 'file' }] },
				},
			},
		],
	},
];
const collection = (item: unknown[], more: object = {}): string =>
	JSON.stringify(
		{ info: { name: 'Pets', schema }, variable: [{ key: 'baseUrl', value: 'https://pets.example/v1' }], item, ...more },
		null,
		1,
	);
const SHOPS = [
	{ name: 'Shops', request: 'https://shops.example/shops?open=1' },
	{ name: 'Shops', request: { method: 'DELETE', url: 'https://shops.example/shops/{{shop}}' } },
	{
		name: 'Token',
		request: { method: 'POST', url: 'https://login.example/token', body: { mode: 'urlencoded', urlencoded: [{ key: 'grant_type' }] } },
	},
];

importerContract(plugin, {
	samples: [
		{ name: 'pets', text: collection(PETS), operations: 4, shuffled: collection(PETS.toReversed()) },
		{
			name: 'shops',
			text: collection(SHOPS, { auth: { type: 'apikey', apikey: [{ key: 'key', value: 'X-Key' }] } }),
			operations: 3,
			shuffled: collection(SHOPS.toReversed()),
		},
	],
	foreign: [
		'{"openapi":"3.1.0","info":{},"paths":{}}',
		'{"info":{"schema":"https://schema.getpostman.com/json/collection/v1.0.0/"}}',
		'type Query { a: Int }',
	],
	broken: [
		{ text: `{"info":{"schema":"${schema}"},\n"item" 1}`, at: /^Line 2, column 8/ },
		{ text: `{"info":{"schema":"${schema}"}}`, at: /^\/item must be/ },
	],
	described: (text) => collection([{ name: 'One', request: { method: 'GET', url: 'https://a.example/one', description: text } }]),
});

test('variables, forms and several origins become exact requests', async () => {
	const source = { text: collection([...PETS, ...SHOPS]), url: null, path: null, files: new Map() };
	const api = { id: 'a', organizationId: 'o', name: 'x', type: 'x', baseUrl: 'https://base.example/' };
	const tools = (await Array.fromAsync(plugin.parse(source))).map((operation) => plugin.tool(operation, api).executionConfig);
	assert.deepEqual(tools[1], {
		...{ method: 'GET', url: 'https://pets.example/v1/pets/{petId}' },
		parameters: [
			{ arg: 'petId', name: 'petId', in: 'path' },
			{ arg: 'X-Trace', name: 'X-Trace', in: 'header' },
		],
	});
	assert.deepEqual(tools[3]?.['requestBody'], { arg: 'body', contentType: 'multipart/form-data', parts: { photo: { binary: true } } });
	assert.equal(tools[5]?.['url'], 'https://shops.example/shops/{shop}');
	assert.equal(tools[6]?.['url'], 'https://login.example/token');
});
