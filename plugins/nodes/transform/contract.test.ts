// The contract of nodes, for `transform`.

import { nodeContract } from '../../../testing/index.ts';
import transform from './index.ts';

const input = { input: { name: 'Ada', tags: ['a'] }, from: [] };

nodeContract(transform, {
	bad: [
		{ config: {}, says: /"template" is required/ },
		{ config: { template: 1, expression: 'x' }, says: /"expression" is not allowed/ },
	],
	samples: [
		{
			...{
				name: 'an object',
				config: () => ({ template: { who: '{{input.name}}', tags: '{{input.tags}}', n: 1 } }),
				effect: 'none',
				input,
			},
			values: { '{{input.name}}': 'Ada', '{{input.tags}}': ['a'] },
			expected: { output: { who: 'Ada', tags: ['a'], n: 1 } },
		},
		{
			...{ name: 'one placeholder', config: () => ({ template: '{{input.tags}}' }), effect: 'none', input },
			values: { '{{input.tags}}': ['a'] },
			expected: { output: ['a'] },
		},
	],
});
