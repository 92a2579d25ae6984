// The input that another agent is given, and the references that core is told of.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError, type Json, type NodeCall } from '../../../core/index.ts';
import subAgent from './index.ts';

const config = subAgent.config.validate({ agentId: 'a1', input: { n: '{{input.n}}' } }).value;

test('The agent gets the filled-in input, and its fault is the node’s', async () => {
	const asked: Json[] = [];
	const fill = (): Json => ({ n: 5 });
	const run = async (agentId: string, input: Json): Promise<Json> => {
		asked.push({ agentId, input });
		throw new GatewayError('conflict', 'The agent is inactive.');
	};
	const input = { input: { n: 5 }, from: [] };
	await assert.rejects(subAgent.run(input, config, { fill, run } as unknown as NodeCall), /The agent is inactive/);
	assert.deepEqual(asked, [{ agentId: 'a1', input: { n: 5 } }]);
});

test('The agent is named to core, with its place', () => {
	assert.deepEqual(subAgent.uses(config), [{ kind: 'agent', id: 'a1', path: '/agentId' }]);
});
