// The template that asks a person before it acts.

import type { Template } from './index.ts';

export const approveBeforeActing: Template = {
	id: 'approve-before-acting',
	title: 'Approve before acting',
	summary: 'Drafts a message, waits until a person has approved it, and sends it with a tool.',
	agent: {
		format: 'gatehouse.agent/1',
		name: 'Approve before acting',
		description: 'Drafts a message, waits until a person has approved it, and sends it with a tool.',
		settings: {},
		pipeline: {
			nodes: [
				{
					id: 'input',
					type: 'input',
					data: {
						schema: {
							type: 'object',
							properties: { recipient: { type: 'string' }, purpose: { type: 'string', description: 'What the message is for.' } },
							required: ['recipient', 'purpose'],
						},
					},
				},
				{
					id: 'draft',
					type: 'llm_call',
					data: {
						providerId: 'Models',
						systemPrompt: 'You write short and polite messages. Answer with the text of the message alone.',
						userPromptTemplate: 'Write to {{input.recipient}}: {{input.purpose}}',
					},
				},
				{
					id: 'approve',
					type: 'approval',
					data: {
						message: 'Send this to {{input.recipient}}?\n\n{{nodes.draft.output}}',
						timeoutMs: 604_800_000,
						onReject: 'branch',
					},
				},
				{
					id: 'send',
					type: 'tool_call',
					data: { toolId: 'send_message', arguments: { recipient: '{{input.recipient}}', text: '{{nodes.draft.output}}' }, effect: 'once' },
				},
				{ id: 'sent', type: 'output', data: { mapping: { sent: true, text: '{{nodes.draft.output}}' } } },
				{ id: 'rejected', type: 'output', data: { mapping: { sent: false, text: '{{nodes.draft.output}}' } } },
			],
			edges: [
				{ id: 'e1', source: 'input', target: 'draft' },
				{ id: 'e2', source: 'draft', target: 'approve' },
				{ id: 'e3', source: 'approve', target: 'send', sourceHandle: 'approved' },
				{ id: 'e4', source: 'approve', target: 'rejected', sourceHandle: 'rejected' },
				{ id: 'e5', source: 'send', target: 'sent' },
			],
		},
		references: [
			{ key: 'provider:Models', kind: 'provider', name: 'Models', usedBy: [{ node: 'draft', path: '/providerId' }] },
			{ key: 'tool:send_message', kind: 'tool', name: 'send_message', usedBy: [{ node: 'send', path: '/toolId' }] },
		],
	},
};
