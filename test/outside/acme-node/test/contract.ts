import plugin from 'acme-node';
import type { Json } from 'gatehouse';
import { nodeContract } from 'gatehouse/testing';

const rules = [
	{ way: 'small', most: 9 },
	{ way: 'large', least: 10 },
	{ way: 'large', is: 'many' },
];
const config = { value: '{{ input.count }}', rules };

const sample = (given: Json, port: string) => ({
	...{ name: JSON.stringify(given), config: () => config, effect: 'none' as const },
	...{ input: { input: { count: given }, from: [] }, values: { '{{ input.count }}': given }, expected: { output: given, port } },
});

nodeContract(plugin, {
	samples: [
		sample(3, 'small'),
		sample(10, 'large'),
		sample('many', 'large'),
		sample('few', 'otherwise'),
		sample(9.5, 'otherwise'),
		sample(null, 'otherwise'),
	],
	bad: [
		{ config: { rules }, says: /"value" is required/ },
		{ config: { value: 'x', rules: [{ way: 'a' }] }, says: /must contain at least one of \[is, least, most\]/ },
		{ config: { value: 'x', rules: [{ way: 'otherwise', is: 'a' }] }, says: /contains an invalid value/ },
	],
	wrong: [
		{
			config: { value: 'x', rules: [{ way: 'a', least: 2, most: 1 }] },
			graph: { nodeId: 'it', nodes: [{ id: 'it', type: 'acme_node' }], edges: [], ancestors: [] },
			paths: ['/rules/0/least', '/rules/0/way'],
		},
	],
});
