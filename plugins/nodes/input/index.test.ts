// The schema of the input: what it is by default, and what is refused when a pipeline is saved.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invalid, type NodeSaveContext } from '../../../core/index.ts';
import { saving } from '../../../testing/waiting.ts';
import input from './index.ts';

const GRAPH = { nodeId: 'in', nodes: [{ id: 'in', type: 'input' }], edges: [], ancestors: [] };

test('Any object is an input where the node has no schema', () => {
	const { value } = input.config.validate({});
	assert.deepEqual(input.inputSchema(value), { type: 'object' });
});

test('A schema that cannot check anything is a fault at its place, and no error', async () => {
	const context: NodeSaveContext = {
		...saving(),
		toolFaults: async () => [],
		checkSchema: async (_schema, at) => {
			throw invalid(`${at}/type`, 'It must be an object.');
		},
	};
	assert.deepEqual(await input.check({ schema: { type: 'array' } }, GRAPH, context), [
		{ path: '/schema/type', message: 'It must be an object.' },
	]);
	const broken: NodeSaveContext = { ...context, checkSchema: () => Promise.reject(new Error('the thread ended')) };
	await assert.rejects(async () => input.check({ schema: {} }, GRAPH, broken), /the thread ended/);
});
