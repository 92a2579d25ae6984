import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api, Operation, SchemaSource } from 'gatehouse';
import plugin from '../src/index.ts';

const LIST = '# operations\nGET /pets/{id} Shows a pet.\nPOST /pets\n\nGET /shops Lists shops.\n';
const api = { baseUrl: 'https://pets.example/v1/' } as Api;

async function operationsOf(text: string, prefix = ''): Promise<Operation[]> {
	const source: SchemaSource = { text, url: null, path: null, files: new Map() };
	const found: Operation[] = [];
	for await (const operation of plugin.parse(source, { prefix })) found.push(operation);
	return found;
}

test('it knows its own format', () => {
	assert.equal(plugin.detect(LIST), 1);
	assert.equal(plugin.detect('{"openapi":"3.1.0"}'), 0);
});

test('each line becomes an operation with a name and its arguments', async () => {
	const found = await operationsOf(LIST, '/pets');
	assert.deepEqual(
		found.map(({ key, name }) => [key, name]),
		[
			['GET /pets/{id}', 'get_pets_id'],
			['POST /pets', 'post_pets'],
		],
	);
	assert.deepEqual(found[0]?.parameters['required'], ['id']);
});

test('an operation becomes a tool at the address of the API', async () => {
	const [first] = await operationsOf(LIST);
	assert.ok(first);
	const { executor, executionConfig } = plugin.tool(first, api);
	assert.equal(executor, 'http');
	assert.equal(executionConfig['url'], 'https://pets.example/v1/pets/{id}');
});

test('a line that is no operation is named', async () => {
	await assert.rejects(operationsOf('# operations\nFETCH it'), { code: 'schema_invalid', message: /^Line 2 is no operation/ });
});
