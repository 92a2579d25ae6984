// The contract of nodes, for `sub_agent`.

import { nodeContract } from '../../../testing/index.ts';
import subAgent from './index.ts';

const AGENT = '00000000-0000-4000-8000-0000000000aa';

nodeContract(subAgent, {
	bad: [
		{ config: {}, says: /"agentId" is required/ },
		{ config: { agentId: AGENT, input: 'text' }, says: /"input" must be of type object/ },
	],
	samples: [
		{
			...{ name: 'an agent', config: () => ({ agentId: AGENT, input: { text: '{{input.text}}' } }), effect: 'none' },
			...{ input: { input: { text: 'hi' }, from: [] }, values: { '{{input.text}}': 'hi' }, results: { run: { said: 'hello' } } },
			expected: { output: { said: 'hello' } },
		},
	],
});
