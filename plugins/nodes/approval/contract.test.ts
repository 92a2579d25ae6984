// The contract of nodes, for `approval`.

import { nodeContract } from '../../../testing/index.ts';
import approval from './index.ts';

const input = { input: {}, from: [] };
const MESSAGE = 'Refund {{input.amount}}?';
const form = { type: 'object', properties: { amount: { type: 'number' } } };
const sample = { effect: 'none', input, values: { [MESSAGE]: 'Refund 5?' } } as const;

nodeContract(approval, {
	bad: [
		{ config: {}, says: /"message" is required/ },
		{ config: { message: MESSAGE, timeoutMs: 10 }, says: /"timeoutMs" must be greater than or equal to 1000/ },
		{ config: { message: MESSAGE, approvers: {} }, says: /must contain at least one of \[roles, emails\]/ },
		{ config: { message: MESSAGE, approvers: { roles: ['boss'] } }, says: /must be one of/ },
		{ config: { message: MESSAGE, onReject: 'retry' }, says: /"onReject" must be one of/ },
	],
	samples: [
		{
			...{ ...sample, name: 'an approval', config: () => ({ message: MESSAGE }), agreed: { approved: true } },
			expected: { output: { approved: true } },
		},
		{
			...{ ...sample, name: 'a way for each answer', config: () => ({ message: MESSAGE, onReject: 'branch' }), agreed: { approved: true } },
			expected: { output: { approved: true }, port: 'approved' },
		},
		{
			...{ ...sample, name: 'a rejection', config: () => ({ message: MESSAGE, onReject: 'branch' }) },
			agreed: { approved: false, comment: 'too much' },
			expected: { output: { approved: false, comment: 'too much' }, port: 'rejected' },
		},
		{
			...{ ...sample, name: 'a rejection that ends nothing', config: () => ({ message: MESSAGE, onReject: 'continue' }) },
			...{ agreed: { approved: false }, expected: { output: { approved: false } } },
		},
		{
			...{
				...sample,
				name: 'a form of its own',
				config: () => ({ message: MESSAGE, schema: form, timeoutMs: 60_000 }),
				agreed: { amount: 4 },
			},
			expected: { output: { amount: 4 } },
		},
	],
});
