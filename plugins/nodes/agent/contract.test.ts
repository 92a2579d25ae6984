// The contract of nodes, for `agent`.

import { nodeContract } from '../../../testing/index.ts';
import agent from './index.ts';

const PROVIDER = '00000000-0000-4000-8000-0000000000aa';
const TOOL = '00000000-0000-4000-8000-0000000000bb';
const input = { input: { question: 'What is x?' }, from: [] };
const config = () => ({ providerId: PROVIDER, prompt: '{{input.question}}' });
const usage = { inputTokens: 10, outputTokens: 2, cachedTokens: 0, costMicroUsd: 3 };
const end = { type: 'end', reason: 'stop', model: 'small', usage } as const;
const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };

nodeContract(agent, {
	bad: [
		{ config: { prompt: 'x' }, says: /"providerId" is required/ },
		{ config: { providerId: PROVIDER }, says: /"prompt" is required/ },
		{ config: { ...config(), maxIterations: 0 }, says: /"maxIterations" must be greater than or equal to 1/ },
		{ config: { ...config(), maxCost: 0 }, says: /"maxCost" must be a positive number/ },
		{ config: { ...config(), toolIds: [TOOL, TOOL] }, says: /contains a duplicate value/ },
		{ config: { ...config(), approval: 'some' }, says: /"approval" must be one of/ },
	],
	samples: [
		{
			...{ name: 'an answer without tools', config, effect: 'none', input, values: { '{{input.question}}': 'What is x?' } },
			results: { chat: [{ type: 'text', text: 'A letter.' }, end] },
			expected: { output: 'A letter.' },
		},
		{
			...{ name: 'JSON of a schema', config: () => ({ ...config(), toolIds: [TOOL], output: { schema } }), effect: 'none', input },
			...{ tool: { id: TOOL, name: 'find' }, results: { chat: [{ type: 'text', text: '{"n":1}' }, end] } },
			expected: { output: { n: 1 } },
		},
	],
});
