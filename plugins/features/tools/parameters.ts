// The parameters of a tool: its own, or those of the agent that it runs.

import { agentOfConfig, type Core, invalid, type JsonObject, type JsonSchema, type ToolRow } from '../../../core/features.ts';

/** The parameters of a tool whose author gave none. */
const NONE: JsonSchema = { type: 'object', properties: {} };

type Parameters = Pick<ToolRow, 'parameters' | 'followsAgent'>;

interface ParametersRequest {
	organizationId: string;
	executor: string;
	/** The config of the executor, as it has parsed it. */
	config: JsonObject;
	/** Null or absent: those of the agent that the tool runs, or none. */
	given?: JsonSchema | null | undefined;
}

/** Returns the parameters that a tool is saved with. @throws validation_failed naming the config's field when there is no such agent */
export async function parametersOf({ organizationId, executor, config, given }: ParametersRequest, core: Core): Promise<Parameters> {
	const named = agentOfConfig(core.registry, executor, config);
	if (!named) return { parameters: given ?? NONE, followsAgent: null };
	const agent = await core.store.agents.get(organizationId, named.id);
	if (!agent) throw invalid(named.at, `${named.at.slice(named.at.lastIndexOf('/') + 1)} names no agent of this organization.`);
	return given
		? { parameters: given, followsAgent: null }
		: { parameters: core.agents.inputSchema(agent.pipeline), followsAgent: agent.id };
}
