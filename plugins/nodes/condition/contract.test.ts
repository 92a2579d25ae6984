// The contract of nodes, for `condition`.

import { nodeContract } from '../../../testing/index.ts';
import condition from './index.ts';

const SCORE = '{{nodes.rate.output.score}}';
const input = { input: {}, from: [] };
const high = { port: 'high', rules: [{ value: SCORE, operator: 'atLeast', than: 8 }] };
const odd = {
	port: 'odd',
	match: 'any',
	rules: [
		{ value: SCORE, operator: 'notExists' },
		{ value: SCORE, operator: 'isTrue' },
	],
};
const config = () => ({ cases: [high, odd] });

nodeContract(condition, {
	bad: [
		{ config: {}, says: /"cases" is required/ },
		{ config: { cases: [{ ...high, port: 'else' }] }, says: /port" contains an invalid value/ },
		{ config: { cases: [high, { ...odd, port: 'high' }] }, says: /contains a duplicate value/ },
		{ config: { cases: [{ port: 'a', rules: [{ value: 1, operator: 'matches', than: '.*' }] }] }, says: /operator" must be one of/ },
		{ config: { cases: [{ port: 'a', rules: [{ value: 1, operator: 'equals' }] }] }, says: /than" is required/ },
		{ config: { cases: [{ port: 'a', rules: [{ value: 1, operator: 'exists', than: 1 }] }] }, says: /than" is not allowed/ },
	],
	samples: [
		{ name: 'the first case', config, effect: 'none', input, values: { [SCORE]: 9 }, expected: { output: 'high', port: 'high' } },
		{ name: 'another case', config, effect: 'none', input, values: { [SCORE]: null }, expected: { output: 'odd', port: 'odd' } },
		{ name: 'no case', config, effect: 'none', input, values: { [SCORE]: 7 }, expected: { output: 'else', port: 'else' } },
		{
			...{ name: 'an output', config: () => ({ cases: [high], output: { score: SCORE } }), effect: 'none', input, values: { [SCORE]: 9 } },
			expected: { output: { score: 9 }, port: 'high' },
		},
	],
});
