// Tests of how tools are listed and how their results are shown.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { JsonSchema, ToolResult } from '../../core/index.ts';
import { mcpEndpoint, request, sampleTool } from '../../test/helpers/mcp.ts';
import { documentOutput } from './listing.ts';

describe('tools/list', () => {
	test('a tool is shown with its title, schema and annotations (tools, “Tool”)', async () => {
		const parameters = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', $defs: { a: { $anchor: 'x' } }, if: {} };
		const icon = 'data:image/png;base64,AA==';
		const tool = sampleTool({ parameters, annotations: { title: 'Greet', readOnlyHint: true }, icon });
		const { tools } = (await mcpEndpoint({ tools: [tool] })(request('tools/list'))).message.result;
		const annotations = { title: 'Greet', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true };
		const icons = [{ src: icon, mimeType: 'image/png' }];
		assert.deepEqual(tools, [{ name: 'greet', title: 'Greet', description: 'Greets.', icons, inputSchema: parameters, annotations }]);
	});

	test('hints that a tool lacks are written out, and a server has its icon (basic, “Icons”)', async () => {
		const post = mcpEndpoint({ gateway: { icon: 'https://acme.example/i.svg' } });
		const [tool] = (await post(request('tools/list'))).message.result.tools;
		assert.deepEqual(tool.annotations, { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true });
		const { serverInfo } = (await post(request('initialize', { protocolVersion: '2025-11-25' }))).message.result;
		assert.deepEqual(serverInfo.icons, [{ src: 'https://acme.example/i.svg' }]);
	});

	test('pages keep the gateway’s order, each tool once, until no cursor is left (utilities, “Pagination”)', async () => {
		const all = Array.from({ length: 1201 }, (_, index) => sampleTool({ name: `tool_${index}` }));
		const post = mcpEndpoint({ tools: all });
		const names: string[] = [];
		const sizes: number[] = [];
		let cursor: string | undefined;
		do {
			const { tools, nextCursor } = (await post(request('tools/list', cursor === undefined ? {} : { cursor }))).message.result;
			names.push(...tools.map((tool: { name: string }) => tool.name));
			sizes.push(tools.length);
			cursor = nextCursor;
		} while (cursor !== undefined);
		assert.deepEqual(
			names,
			all.map(({ name }) => name),
		);
		assert.deepEqual(sizes, [500, 500, 201]);
	});

	test('a full last page has no cursor', async () => {
		const tools = Array.from({ length: 500 }, (_, index) => sampleTool({ name: `tool_${index}` }));
		assert.equal((await mcpEndpoint({ tools })(request('tools/list'))).message.result.nextCursor, undefined);
	});

	test('a cursor that is not of the list is the error -32602 (utilities, “Pagination”)', async () => {
		for (const cursor of ['', 'bm9uZQ', 5, {}]) {
			assert.equal((await mcpEndpoint()(request('tools/list', { cursor }))).message.error.code, -32602);
		}
	});
});

describe('an output schema', () => {
	const schema: JsonSchema = {
		$schema: 'http://json-schema.org/draft-04/schema#',
		$id: 'https://upstream.example/pet',
		type: 'object',
		description: 'A pet.',
		required: ['id'],
		additionalProperties: false,
		properties: {
			id: { type: ['integer', 'null'], description: 'Its number.', minimum: 1 },
			owner: { $ref: '#/$defs/owner' },
			tags: { type: 'array', items: { type: 'string', enum: ['a'] } },
			lost: { $ref: '#/$defs/nowhere' },
			elsewhere: { $ref: 'https://upstream.example/other' },
		},
		$defs: { owner: { type: 'object', properties: { name: { type: 'string' }, pet: { $ref: '#' }, self: { $ref: '#/$defs/owner' } } } },
	};

	test('is shown as documentation of names and types', () => {
		const { properties, ...rest } = documentOutput(schema);
		assert.deepEqual(rest, { type: 'object', description: 'A pet.' });
		const { id, tags, lost } = properties as Record<string, JsonSchema>;
		assert.deepEqual(id, { description: 'integer or null: Its number.' });
		assert.deepEqual(tags, { description: 'array', items: { description: 'string' } });
		assert.deepEqual(lost, {});
	});

	test('compiles in the SDK’s validator and takes every object, whatever the upstream sends', () => {
		const validate = new AjvJsonSchemaValidator().getValidator(documentOutput(schema));
		for (const sent of [{}, { id: 'x', extra: 1, owner: 5, tags: { b: 1 } }, { owner: { name: 1 }, tags: ['z'] }]) {
			assert.equal(validate(sent).valid, true, JSON.stringify(sent));
		}
	});

	test('follows references as RFC 6901 spells them: percent-encoded, escaped, into lists; others document nothing', () => {
		const properties: JsonSchema = {
			encoded: { $ref: '#/$defs/a%20pet%2C%7E1b%7E0' },
			plain: { $ref: '#/$defs/a pet,~1b~0' },
			listed: { $ref: '#/oneOf/1/properties/name' },
			beyond: { $ref: '#/oneOf/2' },
			length: { $ref: '#/oneOf/length' },
			broken: { $ref: '#/$defs/%zz' },
		};
		const $defs = { 'a pet,/b~': { type: 'integer' }, '%zz': { type: 'boolean' } };
		const shown = documentOutput({ type: 'object', properties, $defs, oneOf: [{}, { properties: { name: { type: 'string' } } }] });
		const [integer, none] = [{ description: 'integer' }, {}];
		assert.deepEqual(shown['properties'], {
			...{ encoded: integer, plain: integer, listed: { description: 'string' } },
			...{ beyond: none, length: none, broken: { description: 'boolean' } },
		});
	});

	test('that refers to itself ends', () => {
		assert.ok(JSON.stringify(documentOutput({ type: 'object', properties: { self: { $ref: '#' } } })).length < 1000);
		assert.deepEqual(documentOutput({ $ref: '#' }), { type: 'object' });
	});
});

describe('structuredContent (tools, “Structured Content”)', () => {
	const answerOf = async (result: ToolResult, outputSchema: JsonSchema | null) => {
		const post = mcpEndpoint({ tools: [sampleTool({ outputSchema })], run: async () => result });
		return (await post(request('tools/call', { name: 'greet' }))).message.result;
	};
	const content: ToolResult['content'] = [{ type: 'text', text: 'Hi' }];
	const promised = { type: 'object' };

	test('is an object as it is, promised or not', async () => {
		for (const schema of [null, promised]) {
			assert.deepEqual(await answerOf({ content, structured: { a: 1 } }, schema), { content, structuredContent: { a: 1 } });
		}
	});

	test('wraps what is no object where an object is promised, and is left out where none is', async () => {
		for (const structured of [[1], 'x', 0, false]) {
			assert.deepEqual((await answerOf({ content, structured }, promised)).structuredContent, { result: structured });
			assert.equal((await answerOf({ content, structured }, null)).structuredContent, undefined);
		}
		assert.deepEqual((await answerOf({ content }, promised)).structuredContent, { result: 'Hi' });
		assert.equal((await answerOf({ content }, null)).structuredContent, undefined);
	});

	test('is not made up for a failure', async () => {
		assert.deepEqual(await answerOf({ content, isError: true }, promised), { content, isError: true });
	});
});

describe('a strict output schema', () => {
	const listed = async (outputSchema: JsonSchema): Promise<JsonSchema> =>
		(await mcpEndpoint({ tools: [sampleTool({ outputSchema, strictOutput: true })] })(request('tools/list'))).message.result.tools[0]
			.outputSchema;
	const answered = async (outputSchema: JsonSchema, result: ToolResult): Promise<unknown> => {
		const post = mcpEndpoint({ tools: [sampleTool({ outputSchema, strictOutput: true })], run: async () => result });
		return (await post(request('tools/call', { name: 'greet' }))).message.result.structuredContent;
	};

	test('is shown as it is, and its data too', async () => {
		const schema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
		assert.deepEqual(await listed(schema), schema);
		assert.deepEqual(await answered(schema, { content: [], structured: { id: 1 } }), { id: 1 });
	});

	test('that allows other data than objects is wrapped with all data, so that every client can check it', async () => {
		const schema = { $defs: { pet: { type: 'object' } }, anyOf: [{ type: 'array', items: { $ref: '#/$defs/pet' } }, { type: 'object' }] };
		const shown = await listed(schema);
		const check = new AjvJsonSchemaValidator().getValidator(shown as never);
		for (const structured of [[{}], { a: 1 }])
			assert.equal(check(await answered(schema, { content: [], structured })).valid, true, JSON.stringify(structured));
		assert.equal(check(await answered(schema, { content: [], structured: [1] })).valid, false);
		assert.deepEqual(await listed({ type: 'array', items: { $ref: '#' } }), {
			type: 'object',
			properties: { result: {} },
			required: ['result'],
		});
	});

	test('takes no text in place of data, and none is asked of a failed call', async () => {
		const schema = { type: 'object', required: ['id'] };
		assert.equal(await answered(schema, { content: [{ type: 'text', text: 'No.' }], isError: true }), undefined);
	});
});
