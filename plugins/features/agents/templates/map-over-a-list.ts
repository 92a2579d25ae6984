// The template that does the same for each item of a list.

import type { Template } from './index.ts';

export const mapOverAList: Template = {
	id: 'map-over-a-list',
	title: 'Map over a list',
	summary: 'Asks a model the same of each item of a list, several at once; an item that fails does not end the others.',
	agent: {
		format: 'gatehouse.agent/1',
		name: 'Map over a list',
		description: 'Asks a model the same of each item of a list.',
		settings: { timeoutMs: 1_800_000 },
		pipeline: {
			nodes: [
				{
					id: 'input',
					type: 'input',
					data: {
						schema: {
							type: 'object',
							properties: {
								task: { type: 'string', description: 'What to do with each item.' },
								items: { type: 'array', items: { type: 'string' }, maxItems: 100 },
							},
							required: ['task', 'items'],
						},
					},
				},
				{
					id: 'each',
					type: 'map',
					data: {
						items: '{{input.items}}',
						concurrency: 4,
						body: {
							nodes: [
								{
									id: 'ask',
									type: 'llm_call',
									data: {
										providerId: 'Models',
										userPromptTemplate: '{{input.task}}\n\n<item>\n{{item}}\n</item>',
										policy: { retries: 2, backoffMs: 1000 },
									},
								},
								{ id: 'result', type: 'output', data: { mapping: { item: '{{item}}', answer: '{{nodes.ask.output}}' } } },
							],
							edges: [{ id: 'b1', source: 'ask', target: 'result' }],
						},
					},
				},
				{ id: 'output', type: 'output', data: { mapping: { results: '{{nodes.each.output}}' } } },
			],
			edges: [
				{ id: 'e1', source: 'input', target: 'each' },
				{ id: 'e2', source: 'each', target: 'output' },
			],
		},
		references: [{ key: 'provider:Models', kind: 'provider', name: 'Models', usedBy: [{ node: 'ask', path: '/providerId' }] }],
	},
};
