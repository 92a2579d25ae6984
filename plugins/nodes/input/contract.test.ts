// The contract of nodes, for `input`.

import { nodeContract } from '../../../testing/index.ts';
import input from './index.ts';

const SCHEMA = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

nodeContract(input, {
	bad: [
		{ config: { schema: 'x' }, says: /"schema" must be of type object/ },
		{ config: { schema: [] }, says: /"schema" must be of type object/ },
	],
	samples: [
		{
			...{ name: 'a schema', config: () => ({ schema: SCHEMA }), effect: 'none', input: { input: { text: 'hi' }, from: [] } },
			expected: { output: { text: 'hi' } },
		},
		{ name: 'nothing', config: () => ({}), effect: 'none', input: { input: {}, from: [] }, expected: { output: {} } },
	],
});
