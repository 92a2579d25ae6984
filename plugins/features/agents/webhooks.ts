// The webhooks of an agent. A webhook’s id is none of its secrets: the secret signs each call, and is shown once.

import { randomUUID } from 'node:crypto';
import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AgentWebhookRow,
	body,
	type Core,
	displayName,
	expectedVersion,
	invalid,
	listQuery,
	notFound,
	operation,
	page,
	pageOf,
	present,
	requirePermission,
	shape,
	showVersion,
	storeOf,
	timestamp,
	uuid,
} from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';
import { findAgent, findWebhook } from './find.ts';
import { newSecret, secretFault } from './signatures.ts';

const scheme = Joi.string()
	.valid('standard', 'sha256')
	.description(
		'`standard`: Standard Webhooks, with `webhook-id`, `webhook-timestamp` and `webhook-signature`. `sha256`: `X-Hub-Signature-256` with the HMAC of ' +
			'the body, as GitHub sends it; it signs no time, so equal bodies are one message.',
	);
const secret = Joi.string().min(16).max(512).description('The secret that the sender has chosen. When absent, one is made.');
const status = Joi.string().valid('active', 'inactive');

const CREATE = body({ name: displayName.required(), scheme: scheme.default('standard'), secret }).example({ name: 'Shop orders' });
const UPDATE = body({ name: displayName, scheme, status }).min(1).example({ status: 'inactive' });
const ROTATE = body({ secret }).example({});

const fields = {
	id: uuid,
	agentId: uuid,
	name: Joi.string(),
	scheme,
	status,
	url: Joi.string().description('Where the sender posts to.').example('https://gateway.example/webhooks/6f1c…'),
	createdAt: timestamp,
	updatedAt: timestamp,
};
const WEBHOOK = shape(fields).meta({ schema: 'AgentWebhook' });
const WITH_SECRET = shape({ ...fields, secret: Joi.string().description('Shown in this answer only.').example('whsec_…') }).meta({
	schema: 'NewAgentWebhook',
});

/** The place of a webhook's secret. */
export const webhookLocation = ({ organizationId, id }: Pick<AgentWebhookRow, 'organizationId' | 'id'>) => ({
	...{ organizationId, table: 'agent_webhooks', row: id },
});

const PLACE = '/agents/{id}/webhooks/{webhookId}';

export const webhookRoutes = (core: Core): ServerRoute[] => [
	listWebhooks(core),
	createWebhook(core),
	getWebhook(core),
	updateWebhook(core),
	deleteWebhook(core),
	rotateSecret(core),
];

const listWebhooks = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/agents/{id}/webhooks',
		id: 'listAgentWebhooks',
		summary: 'Lists the webhooks that start an agent.',
		need: 'agents:read',
		query: listQuery({ sorts: ['createdAt', 'updatedAt', 'name'] }),
		answer: page('webhooks', WEBHOOK),
		handler: async (request) => {
			const { id, organizationId } = await findAgent(request, core);
			const { items, nextCursor } = await core.store.agents.webhooks(organizationId, id, pageOf(request));
			return { webhooks: items.map((row) => presentWebhook(row, core)), nextCursor };
		},
	});

const createWebhook = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/agents/{id}/webhooks',
		id: 'createAgentWebhook',
		summary: 'Adds a webhook that starts an agent, and shows its secret this once.',
		description: 'The caller needs `agents:execute`, too.',
		need: 'agents:write',
		body: CREATE,
		answer: WITH_SECRET,
		status: 201,
		errors: ['conflict'],
		handler: async (request) => {
			// Whoever has the secret starts the agent.
			requirePermission(request, 'agents:execute');
			const { id: agentId, organizationId } = await findAgent(request, core);
			const { name, scheme: kind, secret: plain } = withSecret<Pick<AgentWebhookRow, 'name' | 'scheme'>>(request);
			const id = randomUUID();
			const row = { name, scheme: kind, secret: core.secrets.seal(plain, webhookLocation({ organizationId, id })) };
			const made = await storeOf(request, core).agents.addWebhook(organizationId, agentId, id, row, BOUNDS.webhooks);
			if (!made) throw notFound('Agent');
			return presentSecret(made, plain, core);
		},
	});

const getWebhook = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: PLACE,
		id: 'getAgentWebhook',
		summary: 'Shows a webhook, without its secret.',
		need: 'agents:read',
		answer: WEBHOOK,
		versioned: true,
		handler: async (request) => show(request, await findWebhook(request, core), core),
	});

const updateWebhook = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: PLACE,
		id: 'updateAgentWebhook',
		summary: 'Changes the given fields of a webhook.',
		description: 'To activate it, the caller needs `agents:execute`, too.',
		need: 'agents:write',
		body: UPDATE,
		answer: WEBHOOK,
		versioned: true,
		handler: async (request) => {
			const { organizationId, agentId, id } = await findWebhook(request, core);
			// The body has passed UPDATE.
			const change = request.payload as Partial<Pick<AgentWebhookRow, 'name' | 'scheme' | 'status'>>;
			if (change.status === 'active') requirePermission(request, 'agents:execute');
			const row = await storeOf(request, core).agents.updateWebhook(organizationId, agentId, id, change, expectedVersion(request));
			if (!row) throw notFound('Webhook');
			return show(request, row, core);
		},
	});

const deleteWebhook = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: PLACE,
		id: 'deleteAgentWebhook',
		summary: 'Removes a webhook; what it started goes on.',
		need: 'agents:write',
		answer: shape({ id: uuid }),
		versioned: true,
		handler: async (request) => {
			const { organizationId, agentId, id } = await findWebhook(request, core);
			const removed = await storeOf(request, core).agents.removeWebhook(organizationId, agentId, id, expectedVersion(request));
			if (!removed) throw notFound('Webhook');
			return { id };
		},
	});

const rotateSecret = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: `${PLACE}/secret`,
		id: 'changeAgentWebhookSecret',
		summary: 'Replaces the secret of a webhook at once, and shows the new one this once.',
		description: 'The caller needs `agents:execute`, too.',
		need: 'agents:write',
		body: ROTATE,
		bodyIs: 'optional',
		answer: WITH_SECRET,
		handler: async (request) => {
			requirePermission(request, 'agents:execute');
			const { organizationId, agentId, id } = await findWebhook(request, core);
			const { secret: plain } = withSecret(request);
			const sealed = core.secrets.seal(plain, webhookLocation({ organizationId, id }));
			const row = await storeOf(request, core).agents.updateWebhook(organizationId, agentId, id, { secret: sealed });
			if (!row) throw notFound('Webhook');
			return presentSecret(row, plain, core);
		},
	});

/** Returns the body with a secret. @throws validation_failed */
function withSecret<B extends object>(request: Request): B & { secret: string } {
	// The body has passed its schema.
	const given = request.payload as B & { secret?: string };
	const fault = given.secret === undefined ? null : secretFault(given.secret);
	if (fault) throw invalid('/secret', `secret ${fault}.`);
	return { ...given, secret: given.secret ?? newSecret() };
}

const urlOf = ({ id }: AgentWebhookRow, { config }: Core): string => `${config.publicUrls[0]}/webhooks/${id}`;
const presentWebhook = (row: AgentWebhookRow, core: Core) => present(WEBHOOK, row, { url: urlOf(row, core) });
const presentSecret = (row: AgentWebhookRow, plain: string, core: Core) =>
	present(WITH_SECRET, row, { url: urlOf(row, core), secret: plain });

function show(request: Request, row: AgentWebhookRow, core: Core) {
	showVersion(request, row.version);
	return presentWebhook(row, core);
}
