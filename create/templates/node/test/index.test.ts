// The contract of pipeline nodes: each sample is a node of a graph with what it makes of an input.

import { nodeContract } from 'gatehouse/testing';
import plugin from '../src/index.ts';

const input = { input: { count: 5 }, from: [] };
const config = (least: number) => () => ({ value: '{{ input.count }}', least });

nodeContract(plugin, {
	bad: [
		{ config: {}, says: /"value" is required/ },
		{ config: { value: 'x', least: 'many' }, says: /"least" must be a number/ },
	],
	samples: [
		{
			...{ name: 'a number that is large enough', config: config(5), effect: 'none', input },
			values: { '{{ input.count }}': 5 },
			expected: { output: 5, port: 'enough' },
		},
		{
			...{ name: 'a number that is too small', config: config(6), effect: 'none', input },
			values: { '{{ input.count }}': 5 },
			expected: { output: 5, port: 'less' },
		},
		{
			...{ name: 'no number at all', config: config(0), effect: 'none', input },
			values: { '{{ input.count }}': 'many' },
			expected: { output: 'many', port: 'less' },
		},
	],
	wrong: [
		{
			config: { value: 'x', least: 0.5 },
			graph: { nodeId: 'it', nodes: [{ id: 'it', type: 'my_plugin' }], edges: [], ancestors: [] },
			paths: ['/least'],
		},
	],
});
