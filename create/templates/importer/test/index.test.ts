// The contract of importers, and what this one promises beside it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importerContract } from 'gatehouse/testing';
import plugin from '../src/index.ts';

const HEAD = '# operations';
const PETS = [HEAD, 'GET /pets/{id} Shows a pet.', 'POST /pets', 'GET /shops Lists shops.'].join('\n');
const SHUFFLED = [HEAD, 'GET /shops Lists shops.', 'POST /pets', 'GET /pets/{id} Shows a pet.'].join('\n');

importerContract(plugin, {
	samples: [
		{ name: 'pets and shops', text: PETS, operations: 3, shuffled: SHUFFLED },
		{ name: 'one operation', text: `${HEAD}\nDELETE /pets/{id} Removes a pet.\n`, operations: 1, shuffled: null },
	],
	foreign: ['{"openapi":"3.1.0","paths":{}}', 'type Query { a: String }'],
	broken: [{ text: `${HEAD}\nFETCH it`, at: /^Line 2 / }],
	described: (text) => `${HEAD}\nGET /pets ${text.replaceAll('\n', ' ')}`,
});

test('an operation becomes a tool at the address of the API', async () => {
	const parsing = plugin.parse({ text: PETS, url: null, path: null, files: new Map() }, { prefix: '/pets' });
	const { value } = await parsing.next();
	assert.ok(value && 'key' in value);
	const api = { id: 'a', organizationId: 'o', name: 'Pets', type: 'my_plugin', baseUrl: 'https://pets.example/v1/' };
	assert.equal(plugin.tool(value, api).executionConfig['url'], 'https://pets.example/v1/pets/{id}');
});
