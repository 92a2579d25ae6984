// The contract of nodes, for `tool_call`.

import { nodeContract } from '../../../testing/index.ts';
import toolCall from './index.ts';

const TOOL = '00000000-0000-4000-8000-0000000000bb';
const input = { input: { id: 7 }, from: [] };
const args = { id: '{{input.id}}' };
const http = { type: 'http', executionConfig: { method: 'GET', url: 'https://api.example.com/pets/{id}' } };
const sample = { effect: 'none', input, values: { '{{input.id}}': 7 }, results: { tool: { name: 'Rex' } } } as const;

nodeContract(toolCall, {
	bad: [
		{ config: {}, says: /must contain at least one of \[toolId, gatewayId, tool\]/ },
		{ config: { toolId: TOOL, tool: http }, says: /conflict between exclusive peers/ },
		{ config: { gatewayId: TOOL }, says: /without its required peers \[toolName\]/ },
		{ config: { tool: { type: 'grpc' } }, says: /"tool.type" must be one of/ },
		{ config: { toolId: TOOL, arguments: 'x' }, says: /"arguments" must be of type object/ },
	],
	samples: [
		{
			...{ ...sample, name: 'a tool of the organization', config: () => ({ toolId: TOOL, arguments: args }), tool: { id: TOOL } },
			expected: { output: { name: 'Rex' } },
		},
		{
			...{
				...sample,
				name: 'one of a gateway',
				config: () => ({ gatewayId: TOOL, toolName: 'find', arguments: args }),
				tool: { name: 'find' },
			},
			expected: { output: { name: 'Rex' } },
		},
		{ ...sample, name: 'one of its own', config: () => ({ tool: http, arguments: args }), expected: { output: { name: 'Rex' } } },
		{
			...{ ...sample, name: 'a whole result', config: () => ({ tool: http, result: 'whole' }) },
			expected: { output: { content: [{ type: 'text', text: '{"name":"Rex"}' }], structured: { name: 'Rex' } } },
		},
	],
});
