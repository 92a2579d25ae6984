// Tools as a node runs them: arguments, data, failures, what is repeated after a loss, with real tools and a real upstream.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { asGatewayError, type JsonObject, type NodeCall, type NodeSaveContext, type Tool } from '../../../core/index.ts';
import { nodeWorld, told } from '../../../test/helpers/node-world.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import { loopbackCall } from '../../../testing/fake-call.ts';
import { saving } from '../../../testing/waiting.ts';
import http from '../../executors/http/index.ts';
import toolCall from './index.ts';

const input = { input: {}, from: [] };
const scope = { input: { id: 7 } };
const configOf = (given: JsonObject) => {
	const { value, error } = toolCall.config.validate(given);
	if (error) throw error;
	return value;
};
const FIND = {
	name: 'find',
	parameters: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
	run: () => ({ content: [{ type: 'text' as const, text: '{"name":"Rex"}' }], structured: { name: 'Rex' } }),
};
const BY_NAME = { gatewayId: 'g', toolName: 'find', arguments: { id: '{{input.id}}' } };

test('A tool gets the filled-in arguments in their types, and its data is the output', async (t) => {
	const world = await nodeWorld(t, { tools: [FIND], scope });
	assert.deepEqual(await toolCall.run(input, configOf(BY_NAME), world.call()), { output: { name: 'Rex' } });
	assert.deepEqual(world.ran, [{ name: 'find', args: { id: 7 } }]);
});

const RESULTS: [what: string, result: ReturnType<typeof told>, output: unknown][] = [
	['text', told('Rex'), 'Rex'],
	['nothing', { content: [] }, ''],
	['null', { content: [{ type: 'text', text: 'null' }], structured: null }, null],
	[
		'an image',
		{ content: [{ type: 'image', data: 'aa==', mimeType: 'image/png' }] },
		[{ type: 'image', data: 'aa==', mimeType: 'image/png' }],
	],
];

for (const [what, result, output] of RESULTS)
	test(`A result of ${what} is an output`, async (t) => {
		const world = await nodeWorld(t, { tools: [{ ...FIND, run: () => result }], scope });
		assert.deepEqual(await toolCall.run(input, configOf(BY_NAME), world.call()), { output });
	});

test('A tool that ran and failed is an error, for the policy of the node', async (t) => {
	const world = await nodeWorld(t, { tools: [{ ...FIND, run: () => told('no such pet', true) }], scope });
	await assert.rejects(toolCall.run(input, configOf(BY_NAME), world.call()), (error) => {
		assert.equal(asGatewayError(error)?.code, 'upstream_failed');
		return /no such pet/.test(String(error));
	});
});

test('Arguments that do not fit are an error that names them', async (t) => {
	const world = await nodeWorld(t, { tools: [FIND], scope: { input: { id: 'seven' } } });
	await assert.rejects(toolCall.run(input, configOf(BY_NAME), world.call()), /\/id must be integer/);
	assert.deepEqual(world.ran, []);
});

test('A tool that is gone is an error that says so', async (t) => {
	const world = await nodeWorld(t, { scope });
	await assert.rejects(toolCall.run(input, configOf(BY_NAME), world.call()), /The gateway has no tool "find"/);
	await assert.rejects(
		toolCall.run(input, configOf({ toolId: 'x' }), world.call()),
		(error) => asGatewayError(error)?.code === 'tool_not_found',
	);
});

const GET = { type: 'http', executionConfig: { method: 'get', url: 'https://api.example.com' } };
const POST = { type: 'http', executionConfig: { method: 'POST', url: 'https://api.example.com' } };
const graphql = (query: string) => ({ type: 'graphql', executionConfig: { endpoint: 'https://api.example.com', query } });

const EFFECTS: [what: string, config: JsonObject, tool: Partial<Tool>, once: boolean][] = [
	['a tool without hints', BY_NAME, {}, true],
	['a tool that only reads', BY_NAME, { annotations: { readOnlyHint: true } }, false],
	['a tool that may be repeated', BY_NAME, { annotations: { idempotentHint: true } }, false],
	['one that is said to be repeatable', { ...BY_NAME, effect: 'repeatable' }, {}, false],
	['one that is said not to be', { ...BY_NAME, effect: 'once' }, { annotations: { readOnlyHint: true } }, true],
	['a GET', { tool: GET }, {}, false],
	['a POST', { tool: POST }, {}, true],
	['a query', { tool: graphql('query ($id: ID) { pet(id: $id) { name } }') }, {}, false],
	['a mutation', { tool: graphql('mutation { drop }') }, {}, true],
	['code', { tool: { type: 'javascript', code: 'return 1' } }, {}, true],
];

for (const [what, config, tool, once] of EFFECTS)
	test(`${what} is ${once ? 'never repeated' : 'repeated'} after a loss of the process`, async (t) => {
		let runs = 0;
		const lost = (): never => {
			runs += 1;
			throw new Error('the process is gone');
		};
		const world = await nodeWorld(t, { tools: [{ ...FIND, ...tool, run: FIND.run }], scope, execute: lost });
		const call = { ...world.call(), fill: world.call().fill, step: world.call().step, execute: lost } as unknown as NodeCall;
		const box = { list: [{ ...FIND, id: 'x', annotations: {}, ...tool }], invoke: lost };
		const broken = Object.assign(call, { toolbox: async () => box });
		await assert.rejects(toolCall.run(input, configOf(config), broken), /the process is gone/);
		await assert.rejects(toolCall.run(input, configOf(config), broken), once ? /in doubt/ : /the process is gone/);
		assert.equal(runs, once ? 1 : 2);
	});

test('A tool of the pipeline runs by its executor, and only once where it was seen to end', async (t) => {
	const paths: (string | undefined)[] = [];
	const upstream = await httpUpstream(t, (request, response) => {
		paths.push(request.url);
		response.setHeader('content-type', 'application/json').end('{"name":"Rex"}');
	});
	const execute = execution(t);
	const world = await nodeWorld(t, { execute, scope });
	const tool = { type: 'http', executionConfig: { method: 'POST', url: `${upstream.origin}/pets/{id}` } };
	const config = configOf({ tool, arguments: { id: '{{input.id}}' } });
	for (let time = 0; time < 2; time++) assert.deepEqual(await toolCall.run(input, config, world.call()), { output: { name: 'Rex' } });
	assert.deepEqual(paths, ['/pets/7']);
});

const execution =
	(t: TestContext): NodeCall['execute'] =>
	async ({ executor, config }, args) => {
		assert.equal(executor, 'http');
		return http.execute(args, await http.config.validateAsync(config), loopbackCall(t));
	};

test('A definition is checked when a pipeline is saved, with its code', async () => {
	const seen: unknown[] = [];
	const context: NodeSaveContext = {
		...saving(),
		toolFaults: async (tool, at) => {
			seen.push(tool, at);
			return [{ path: `${at}/code`, message: 'It ends too early.' }];
		},
	};
	const graph = { nodeId: 'it', nodes: [], edges: [], ancestors: [] };
	const faults = await toolCall.check(
		configOf({ tool: { type: 'javascript', code: 'return 1', executionConfig: { memoryMb: 8 } } }),
		graph,
		context,
	);
	assert.deepEqual(faults, [{ path: '/tool/code', message: 'It ends too early.' }]);
	assert.deepEqual(seen, [{ executor: 'javascript', config: { memoryMb: 8, code: 'return 1' } }, '/tool/executionConfig']);
});

test('The rows that it names are told to core', () => {
	assert.deepEqual(toolCall.uses(configOf(BY_NAME)), [{ kind: 'gateway', id: 'g', path: '/gatewayId' }]);
	assert.deepEqual(toolCall.uses(configOf({ toolId: 't' })), [{ kind: 'tool', id: 't', path: '/toolId' }]);
	assert.deepEqual(toolCall.uses(configOf({ tool: GET })), []);
});
