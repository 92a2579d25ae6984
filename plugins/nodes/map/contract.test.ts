// The contract of nodes, for `map`.

import { nodeContract } from '../../../testing/index.ts';
import map from './index.ts';

const body = { nodes: [{ id: 'out', type: 'output', data: { mapping: '{{item}}' } }] };
const ROWS = '{{input.rows}}';
const input = { input: {}, from: [] };
const config = (more = {}) => ({ items: ROWS, body, ...more });
const fault = { error: { code: 'upstream_failed', message: 'The tool failed.' } };

nodeContract(map, {
	bad: [
		{ config: { items: ROWS }, says: /"body" is required/ },
		{ config: { body }, says: /"items" is required/ },
		{ config: config({ concurrency: 0 }), says: /"concurrency" must be greater than or equal to 1/ },
		{ config: config({ maxItems: 1001 }), says: /"maxItems" must be less than or equal to 1000/ },
		{ config: { items: ROWS, body: { nodes: [] } }, says: /nodes" must contain at least 1 items/ },
		{ config: { items: ROWS, body: { nodes: [{ id: 'a' }] } }, says: /type" is required/ },
	],
	samples: [
		{
			...{ name: 'faults collected', config: () => config(), effect: 'none', input, values: { [ROWS]: [1, 2] } },
			results: { each: [{ ok: 'one' }, fault] },
			expected: { output: [{ ok: 'one' }, fault] },
		},
		{
			...{
				name: 'the end at the first fault',
				config: () => config({ onError: 'stop' }),
				effect: 'none',
				input,
				values: { [ROWS]: [1, [2]] },
			},
			expected: { output: [1, [2]] },
		},
		{ name: 'no items', config: () => config(), effect: 'none', input, values: { [ROWS]: [] }, expected: { output: [] } },
	],
});
