// The `agent` node: a model that calls tools until it has an answer. Each answer of the model and each run of a tool is a step of its own.

import { faultsIn, hintsOf, type NodeReference, type PipelineNode } from '../../../core/index.ts';
import { type AgentConfig, config } from './config.ts';
import { Loop } from './loop.ts';
import { offered } from './tools.ts';

export default {
	kind: 'node',
	api: 1,
	name: 'agent',
	summary: 'Lets a model call tools until it has an answer, within bounds.',
	config,
	// Answers, tools and questions are kept by themselves.
	effect: 'none',
	says: ({ output }) => !output,
	offersClientTools: true,
	uses: ({ providerId, toolIds, gatewayIds }) => [
		{ kind: 'provider', id: providerId, path: '/providerId' },
		...toolIds.map((id, at): NodeReference => ({ kind: 'tool', id, path: `/toolIds/${at}` })),
		...gatewayIds.map((id, at): NodeReference => ({ kind: 'gateway', id, path: `/gatewayIds/${at}` })),
	],
	check: ({ output }, _graph, { checkSchema }) => faultsIn(output && checkSchema(output.schema, '/output/schema')),
	async run(_input, given, call) {
		const box = await call.toolbox();
		const tools = offered(box.list, given);
		const asksFor = ({ name, annotations }: (typeof box.list)[number]): boolean => {
			if (given.approval === 'all' || given.requireApproval.includes(name)) return true;
			return given.approval === 'changing' && !hintsOf(annotations).readOnlyHint;
		};
		return { output: await new Loop(given, call, { tools, asksFor, invoke: (name, args) => box.invoke(name, args) }).run() };
	},
} satisfies PipelineNode<AgentConfig>;
