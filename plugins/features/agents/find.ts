// Finds the agent, the execution or the webhook that a path names.

import type { Request } from '@hapi/hapi';
import { type AgentRow, type AgentWebhookRow, type Core, type Execution, notFound, organizationOf } from '../../../core/features.ts';

const idOf = (request: Request, name = 'id'): string => String(request.params[name]);

/** @throws not_found */
export async function findAgent(request: Request, { store }: Core): Promise<AgentRow> {
	const row = await store.agents.get(organizationOf(request).id, idOf(request));
	if (!row) throw notFound('Agent');
	return row;
}

/** Finds an execution with its input and output in clear. @throws not_found */
export async function findExecution(request: Request, core: Core): Promise<Execution> {
	const place = { organizationId: organizationOf(request).id, id: idOf(request, 'execId') };
	const found = await core.agents.get(place);
	// One of another agent is none of this path, and a key for this agent must not read it.
	if (!found || found.agentId !== idOf(request).toLowerCase()) throw notFound('Execution');
	return found;
}

/** @throws not_found */
export async function findWebhook(request: Request, { store }: Core): Promise<AgentWebhookRow> {
	const row = await store.agents.webhook(organizationOf(request).id, idOf(request), idOf(request, 'webhookId'));
	if (!row) throw notFound('Webhook');
	return row;
}
