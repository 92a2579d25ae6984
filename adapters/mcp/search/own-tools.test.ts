// Tests the gateway's own tools: which are listed, how they find and run others, and whose names come first.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError, type JsonObject } from '../../../core/index.ts';
import { type EndpointOptions, mcpEndpoint, modernRequest, request, sampleTool } from '../../../test/helpers/mcp.ts';

const TOOLS = [
	sampleTool({ name: 'list_invoices', description: 'Lists the invoices of a customer.', annotations: { title: 'Invoices' } }),
	sampleTool({
		name: 'delete-invoice',
		description: 'Removes an invoice.',
		outputSchema: { type: 'object', properties: { gone: { type: 'boolean' } } },
	}),
	sampleTool({ name: 'send_mail', description: 'Sends an e-mail.' }),
];

const endpoint = (options: EndpointOptions = {}) => mcpEndpoint({ tools: TOOLS, ...options });

const namesIn = async (options: EndpointOptions, params?: object): Promise<string[]> => {
	const { message } = await endpoint(options)(request('tools/list', params));
	return message.result.tools.map(({ name }: { name: string }) => name);
};

const callOwn = async (name: string, args: JsonObject, options: EndpointOptions = {}) =>
	(await endpoint(options)(request('tools/call', { name, arguments: args }))).message;

describe('tools/list', () => {
	test('shows what the configuration says, or what the client asks for, in both eras', async () => {
		const all = TOOLS.map(({ name }) => name);
		assert.deepEqual(await namesIn({}), all);
		const search = { config: { toolExposure: 'search' } };
		assert.deepEqual(await namesIn(search), ['search_tools', 'execute_tool']);
		assert.deepEqual(await namesIn({ config: { toolExposure: 'code' } }), ['search_tools', 'run_code']);
		assert.deepEqual(await namesIn(search, { _meta: { 'gatehouse/exposure': 'full' } }), all);
		assert.deepEqual(await namesIn({}, { _meta: { 'gatehouse/exposure': 'code' } }), ['search_tools', 'run_code']);
		const modern = await endpoint(search)(...modernRequest('tools/list'));
		assert.deepEqual(modern.message.result.tools.length, 2);
	});

	test('an exposure that there is not is the error -32602, in the request and in the configuration', async () => {
		const { message } = await endpoint()(request('tools/list', { _meta: { 'gatehouse/exposure': 'some' } }));
		assert.equal(message.error.code, -32602);
		assert.match(message.error.message, /full, search, code/);
		assert.throws(() => endpoint({ config: { toolExposure: 'some' } }), /toolExposure/);
	});

	test('a tool of the organization keeps its name, and the own one gets another, which is called so', async () => {
		const tools = [...TOOLS, sampleTool({ name: 'search_tools' }), sampleTool({ name: 'gatehouse_search_tools' })];
		const listed = (await mcpEndpoint({ tools, config: { toolExposure: 'search' } })(request('tools/list'))).message.result.tools;
		assert.deepEqual(
			listed.map(({ name, _meta }: { name: string; _meta: object }) => [name, _meta]),
			[
				['gatehouse_gatehouse_search_tools', { 'gatehouse/role': 'search' }],
				['execute_tool', { 'gatehouse/role': 'execute' }],
			],
		);
		assert.equal((await callOwn('search_tools', { name: 'x' }, { tools })).result.content[0].text, 'ran search_tools');
		const found = await callOwn('gatehouse_gatehouse_search_tools', { query: 'mail' }, { tools });
		assert.equal(found.result.structuredContent.tools[0].name, 'send_mail');
		const blind = await callOwn('search_tools', {}, { tools, scopes: ['tools:execute'] });
		assert.equal(blind.result.content[0].text, 'ran search_tools', 'also for a caller who may list nothing');
	});
});

describe('search_tools', () => {
	test('finds tools with their schemas, listed or not; the text is the same data', async () => {
		const { result } = await callOwn('search_tools', { query: 'remove an invoice', withOutput: true, limit: null });
		const [first, second, ...rest] = result.structuredContent.tools;
		assert.equal(first.name, 'delete-invoice');
		assert.deepEqual(first.inputSchema, TOOLS[1]?.parameters);
		assert.deepEqual(first.outputSchema.properties, { gone: { description: 'boolean' } });
		assert.equal(second.name, 'list_invoices');
		assert.equal(second.title, 'Invoices');
		assert.deepEqual(rest, []);
		assert.equal(result.structuredContent.searched, 3);
		assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
	});

	test('puts the tool of that exact name first, and leaves out schemas beyond a size', async () => {
		const parameters = { type: 'object', properties: { text: { description: 'x'.repeat(20_000) } } };
		const tools = Array.from({ length: 4 }, (_none, n) => sampleTool({ name: `find_${n}`, description: 'Finds the thing.', parameters }));
		const { structuredContent } = (await callOwn('search_tools', { query: 'FIND_2' }, { tools })).result;
		assert.equal(structuredContent.tools[0].name, 'find_2');
		assert.deepEqual(
			structuredContent.tools.map((tool: JsonObject) => tool['inputSchema'] !== undefined),
			[true, false, false, false],
		);
		assert.match(structuredContent.note, /exact name/);
	});

	test('arguments that do not fit are a result that names the field', async () => {
		for (const [args, says] of [
			[{}, /"query" is required/],
			[{ query: ' ' }, /"query" is required/],
			[{ query: 'x'.repeat(501) }, /500 characters/],
			[{ query: 'x', limit: 26 }, /"limit" must be an integer from 1 to 25/],
			[{ query: 'x', withOutput: 'yes' }, /"withOutput"/],
		] as const) {
			const { result } = await callOwn('search_tools', args);
			assert.equal(result.isError, true);
			assert.match(result.content[0].text, says);
		}
	});

	test('needs the scope to list tools', async () => {
		await assert.rejects(callOwn('search_tools', { query: 'x' }, { scopes: ['tools:execute'] }), { code: 'insufficient_scope' });
	});
});

describe('execute_tool', () => {
	test('runs a tool like a direct call: its result and its errors', async () => {
		const run: EndpointOptions['run'] = async (name, args) => {
			if (args['bad']) throw new GatewayError('validation_failed', '/bad is not a field.');
			return { content: [{ type: 'text', text: `${name} ${JSON.stringify(args)}` }], structured: [1] };
		};
		const args = { name: 'delete-invoice', arguments: { id: 1 } };
		const direct = (await endpoint({ run })(request('tools/call', args))).message;
		assert.deepEqual(await callOwn('execute_tool', args, { run }), direct);
		assert.deepEqual(direct.result.structuredContent, { result: [1] });
		const bad = await callOwn('execute_tool', { name: 'send_mail', arguments: { bad: 1 } }, { run });
		assert.deepEqual(bad.result, { content: [{ type: 'text', text: '/bad is not a field.' }], isError: true });
	});

	test('offers the nearest names for one that is not there, and does not run itself', async () => {
		const { result } = await callOwn('execute_tool', { name: 'send_email' });
		assert.equal(result.isError, true);
		assert.match(result.content[0].text, /There is no tool "send_email" here\. Did you mean send_mail\?/);
		assert.equal((await callOwn('execute_tool', { name: 'execute_tool', arguments: { name: 'send_mail' } })).result.isError, true);
		assert.match((await callOwn('execute_tool', {})).result.content[0].text, /"name" is required/);
		assert.match(
			(await callOwn('execute_tool', { name: 'send_mail', arguments: [] })).result.content[0].text,
			/"arguments" must be an object/,
		);
	});

	test('refuses arguments under another name, without which the tool would run', async () => {
		const runs: string[] = [];
		const run: EndpointOptions['run'] = async (name) => {
			runs.push(name);
			return { content: [] };
		};
		const { result } = await callOwn('execute_tool', { name: 'send_mail', parameters: { to: 'all' } }, { run });
		assert.deepEqual([result.isError, runs], [true, []]);
		assert.equal(result.content[0].text, '"parameters" is not known: what the tool gets is in "arguments".');
	});

	test('in 2026-07-28, with the header of its own name', async () => {
		const [body, headers] = modernRequest('tools/call', { name: 'execute_tool', arguments: { name: 'send_mail' } });
		const { message } = await endpoint()(body, headers);
		assert.equal(message.result.content[0].text, 'ran send_mail');
	});
});
