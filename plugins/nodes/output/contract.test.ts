// The contract of nodes, for `output`.

import { nodeContract } from '../../../testing/index.ts';
import output from './index.ts';

const from = [{ nodeId: 'ask', output: 'Hello' }];
const TEXT = '{{nodes.ask.output}}';

nodeContract(output, {
	bad: [
		{ config: { maping: {} }, says: /"maping" is not allowed/ },
		{ config: { mapping: 'x', template: 'y' }, says: /"template" is not allowed/ },
	],
	samples: [
		{
			...{ name: 'a mapping', config: () => ({ mapping: { result: TEXT, list: [TEXT] } }), effect: 'none', input: { input: {}, from } },
			values: { [TEXT]: { a: 1 } },
			expected: { output: { result: { a: 1 }, list: [{ a: 1 }] } },
		},
		{
			name: 'a mapping of null',
			config: () => ({ mapping: null }),
			effect: 'none',
			input: { input: {}, from },
			expected: { output: null },
		},
		{
			name: 'no mapping and one node before',
			config: () => ({}),
			effect: 'none',
			input: { input: {}, from },
			expected: { output: 'Hello' },
		},
		{
			...{ name: 'no mapping and several nodes before', config: () => ({}), effect: 'none' },
			input: { input: {}, from: [...from, { nodeId: 'look', output: [1] }] },
			expected: { output: { ask: 'Hello', look: [1] } },
		},
	],
});
