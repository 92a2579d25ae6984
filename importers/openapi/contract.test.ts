import executor from '../../plugins/executors/http/index.ts';
import { importerContract } from '../../testing/importer.ts';
import importer from './index.ts';

type Paths = Record<string, Record<string, object>>;

const ok = { responses: { 200: { description: 'ok', content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } } } };
const body = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } };
const PETS: Paths = {
	'/pets': {
		get: { operationId: 'listPets', parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', maximum: 100 } }], ...ok },
		post: { operationId: 'addPet', requestBody: { required: true, ...body }, ...ok },
	},
	'/pets/{id}': {
		get: { operationId: 'getPet', parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }], ...ok },
		head: { ...ok },
	},
};
const CLASHES: Paths = {
	'/a/b': { get: { ...ok }, put: { operationId: 'send', ...ok } },
	'/c': { get: { operationId: 'Read', ...ok }, put: { operationId: 'read', ...ok } },
	'/a_b': { get: { ...ok }, put: { operationId: 'SEND', ...ok }, delete: { operationId: 'send ', ...ok } },
};
const components = {
	schemas: {
		Pet: {
			type: 'object',
			required: ['name'],
			properties: {
				name: { type: 'string', pattern: '^[a-z]+$' },
				twice: { type: 'string', pattern: '^(a)\\1$' },
				friends: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
			},
		},
	},
};

const write = (paths: Paths): string => JSON.stringify({ openapi: '3.1.0', info: { title: 'Pets', version: '1' }, paths, components });
const reversed = (paths: Paths): Paths =>
	Object.fromEntries(
		Object.entries(paths)
			.toReversed()
			.map(([path, item]) => [path, Object.fromEntries(Object.entries(item).toReversed())]),
	);
const sampleOf = (name: string, paths: Paths) => ({
	name,
	text: write(paths),
	operations: Object.values(paths).reduce((sum, item) => sum + Object.keys(item).length, 0),
	shuffled: write(reversed(paths)),
});

importerContract(importer, {
	executors: [executor],
	samples: [sampleOf('pets', PETS), sampleOf('clashing names', CLASHES)],
	foreign: [
		'type Query { a: String }',
		'<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>',
		'syntax = "proto3";',
		'{"data":{"__schema":{}}}',
	],
	broken: [
		{ text: '{\n"openapi": "3.1.0",\n"paths": {,}\n}', at: /line 3/i },
		{ text: 'openapi: 3.1.0\npaths:\n  /a: [\n', at: /line \d/i },
	],
	described: (text) => write({ '/a': { get: { summary: text, description: text, ...ok } } }),
});
