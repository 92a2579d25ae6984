// The tools that take their parameters from an agent.

import type { Request } from '@hapi/hapi';
import { type AgentRow, type Core, storeOf } from '../../../core/features.ts';

/** Gives the tools that follow an agent its input schema, after its pipeline was changed. */
export const tellTools = (request: Request, { organizationId, id, pipeline }: AgentRow, core: Core): Promise<void> =>
	storeOf(request, core).tools.follow(organizationId, id, core.agents.inputSchema(pipeline));
