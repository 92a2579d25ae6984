// The `sub_agent` node: runs another agent of the organization, and waits for it.

import Joi from 'joi';
import type { JsonObject, PipelineNode } from '../../../core/index.ts';

export interface SubAgentConfig {
	agentId: string;
	input: JsonObject;
}

export default {
	kind: 'node',
	api: 1,
	name: 'sub_agent',
	summary: 'Runs another agent and waits for its output.',
	config: Joi.object<SubAgentConfig>({
		agentId: Joi.string().max(100).required().description('Id of the agent. Agents that run each other in a circle are refused'),
		input: Joi.object()
			.unknown()
			.default({})
			.meta({ template: true })
			.description(
				'The input of that agent, whose texts may hold {{input.<field>}} and {{nodes.<id>.output}}. It has to fit that agent’s schema',
			),
	}),
	// The other agent's run is kept by itself, once.
	effect: 'none',
	uses: ({ agentId }) => [{ kind: 'agent', id: agentId, path: '/agentId' }],
	run: async (_input, { agentId, input }, call) => ({ output: await call.run(agentId, call.fill(input)) }),
} satisfies PipelineNode<SubAgentConfig>;
