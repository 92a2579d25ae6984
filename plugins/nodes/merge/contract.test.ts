// The contract of nodes, for `merge`.

import { nodeContract } from '../../../testing/index.ts';
import merge from './index.ts';

const two = (first: object, second: object) => ({
	input: {},
	from: [
		{ nodeId: 'a', output: first as never },
		{ nodeId: 'b', output: second as never },
	],
});
const sample = { effect: 'none' } as const;

nodeContract(merge, {
	bad: [
		{ config: { mode: 'sum' }, says: /"mode" must be one of/ },
		{ config: { mode: 'list', by: 'x' }, says: /"by" is not allowed/ },
	],
	samples: [
		{ ...sample, name: 'nothing said', config: () => ({}), input: two({ x: 1 }, [2]), expected: { output: { a: { x: 1 }, b: [2] } } },
		{ ...sample, name: 'a list', config: () => ({ mode: 'list' }), input: two({ x: 1 }, [2]), expected: { output: [{ x: 1 }, [2]] } },
		{ ...sample, name: 'the first', config: () => ({ mode: 'first' }), input: two({ x: 1 }, [2]), expected: { output: { x: 1 } } },
		{
			...{ ...sample, name: 'members', config: () => ({ mode: 'assign' }), input: two({ x: 1, y: 1 }, { y: 2 }) },
			expected: { output: { x: 1, y: 2 } },
		},
		{ ...sample, name: 'items', config: () => ({ mode: 'concat' }), input: two([1], [[2], 3]), expected: { output: [1, [2], 3] } },
	],
});
