// Tests what nodes say about a config: what breaks their contract is a fault that names the plugin and the function.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import { invalid } from '../contract/errors.ts';
import type { NodeGraph, NodeSaveContext, PipelineNode } from '../contract/nodes.ts';
import { HOOK_MS } from '../process/hooks.ts';
import { effectOf, faultsBy, inputSchemaBy, nodeBodyOf, portsOf, saysOf, templateOf, usesOf } from './node-hooks.ts';

const nodeWith = (hooks: object): PipelineNode => ({
	...{ kind: 'node', api: 1, name: 'acme', summary: 'Acme.', config: Joi.object({}), effect: 'none' },
	run: async () => ({ output: null }),
	...hooks,
});

/** The nodes of this file read neither. */
const around = { graph: {} as NodeGraph, context: {} as NodeSaveContext };
const ASKS = {
	effect: (node: PipelineNode) => effectOf(node, {}),
	ports: (node: PipelineNode) => portsOf(node, {}),
	uses: (node: PipelineNode) => usesOf(node, {}),
	body: (node: PipelineNode) => nodeBodyOf(node, {}),
	inputSchema: (node: PipelineNode) => inputSchemaBy(node, {}),
	says: (node: PipelineNode) => saysOf(node, {}),
	check: (node: PipelineNode) => faultsBy(node, {}, around),
};
const USE = { kind: 'tool', id: 'a', path: '/toolId' };
const BODY = { path: '/body', nodes: [{ id: 'a', type: 'b', data: {} }], edges: [{ id: 'e', source: 'a', target: 'a' }] };

const GOOD: [hook: keyof typeof ASKS, returned: unknown, read?: unknown][] = [
	['effect', 'once'],
	['ports', undefined, null],
	['ports', ['yes', 'no']],
	['uses', undefined, []],
	['uses', [USE]],
	['body', null],
	['body', BODY],
	['inputSchema', { type: 'object' }],
	['says', undefined, false],
	['says', true],
	['check', undefined, []],
	['check', [{ path: '/a', message: 'is wrong' }]],
];
const WRONG: [hook: keyof typeof ASKS, returned: unknown, said: RegExp][] = [
	...[undefined, 'twice', Promise.resolve('once')].map((value) => ['effect', value, /one of none, repeatable, once/] as never),
	...['yes', [], ['a', 'a'], [''], [7], Promise.resolve(['a'])].map((value) => ['ports', value, /a list of one or more/] as never),
	...['tool', USE, [{ ...USE, kind: 'row' }], [{ ...USE, id: 7 }], [{ ...USE, path: 'toolId' }], [null]].map(
		(value) => ['uses', value, /one of tool, gateway, agent, provider as kind/] as never,
	),
	...['body', {}, { ...BODY, path: 7 }, { ...BODY, nodes: [{ id: 1 }] }, { ...BODY, edges: null }].map(
		(value) => ['body', value, /lists of nodes and of edges/] as never,
	),
	...[undefined, 'string', [], Promise.resolve({})].map((value) => ['inputSchema', value, /a JSON Schema/] as never),
	['says', 'yes', /a boolean/],
	...[false, 'is wrong', ['is wrong'], [{ path: 'a', message: 'is wrong' }], [{ path: '/a' }]].map(
		(value) => ['check', value, /a list of faults/] as never,
	),
];

test('what the contract allows is read', async () => {
	for (const [hook, returned, read = returned] of GOOD)
		assert.deepEqual(await ASKS[hook](nodeWith({ [hook]: () => returned })), read, hook);
	assert.equal(templateOf(nodeWith({ template: () => '{{a}}' }), {}), '{{a}}');
	assert.equal(effectOf(nodeWith({}), {}), 'none');
	assert.deepEqual(portsOf(nodeWith({ ports: ['a'] }), {}), ['a']);
	assert.equal(inputSchemaBy(nodeWith({}), {}), null);
});

test('what it does not allow, and an error, is a fault of the plugin', async () => {
	for (const [hook, returned, said] of WRONG)
		await assert.rejects(
			async () => ASKS[hook](nodeWith({ [hook]: () => returned })),
			({ name, message }: Error) => name === 'PluginFault' && message.startsWith(`node:acme: ${hook} must return `) && said.test(message),
			`${hook} ${String(returned)}`,
		);
	const bug = new TypeError('canary');
	const throwing = (): never => {
		throw bug;
	};
	for (const [hook, asked] of Object.entries({ ...ASKS, template: (node: PipelineNode) => templateOf(node, {}) }))
		await assert.rejects(async () => asked(nodeWith({ [hook]: throwing })), {
			...{ name: 'PluginFault', message: `node:acme: ${hook} failed unexpectedly.`, cause: bug },
		});
});

test('a check may refuse by throwing, and has its time', async (t) => {
	await assert.rejects(ASKS.check(nodeWith({ check: () => Promise.reject(invalid('/a', 'a is wrong.')) })), { code: 'validation_failed' });
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const late = ASKS.check(nodeWith({ check: () => new Promise(() => undefined) }));
	t.mock.timers.tick(HOOK_MS + 5000);
	await assert.rejects(late, { code: 'upstream_timeout', message: 'node:acme: check gave no answer within 35 s.' });
});
