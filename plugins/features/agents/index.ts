// Agents (specification 4.4): pipelines of an organization, checked when they are saved, invoked, traced, and started by webhooks.

import { randomUUID } from 'node:crypto';
import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AgentChange,
	type AgentRow,
	type Core,
	expectedVersion,
	type Feature,
	filterOf,
	listQuery,
	type NewAgent,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	removal,
	showVersion,
	storeOf,
	type TextFilter,
	words,
} from '../../../core/features.ts';
import { approvalRoutes } from './approvals.ts';
import { auditRoute } from './audit-log.ts';
import { BOUNDS } from './bounds.ts';
import { chatRoutes } from './chat/index.ts';
import { assertRuns } from './check.ts';
import { estimateRoute } from './estimate.ts';
import { executionRoutes } from './executions.ts';
import { CREATE, DUPLICATE, UPDATE } from './fields.ts';
import { findAgent } from './find.ts';
import { incomingRoute } from './incoming.ts';
import { invokeRoute } from './invoke.ts';
import { evaluationRoute } from './lifecycle/evaluation.ts';
import { scheduleRoutes } from './lifecycle/schedule.ts';
import { transferRoutes } from './lifecycle/transfer.ts';
import { versionRoutes } from './lifecycle/versions.ts';
import { linkRoutes, tellByMail } from './links.ts';
import { AGENT, presentAgent } from './present.ts';
import { webhookRoutes } from './webhooks.ts';

export default {
	kind: 'feature',
	api: 1,
	name: 'agents',
	summary: 'Agents: pipelines that are invoked, traced, approved by people, kept in versions, and started by webhooks and by the clock.',
	config: Joi.object({}),
	segments: ['agents', 'webhooks', 'approvals'],
	limits: { 'agent-tests': { max: 10, seconds: 60 } },
	register(server: Server, _config, core) {
		core.agents.tells((question) => tellByMail(question, core));
		server.route([
			...[listAgents(core), createAgent(core), getAgent(core), updateAgent(core), deleteAgent(core)],
			...[switchAgent(core, 'activate'), switchAgent(core, 'deactivate'), duplicateAgent(core), invokeRoute(core)],
			...[...executionRoutes(core), ...approvalRoutes(core), ...linkRoutes(core), auditRoute(core), estimateRoute(core)],
			...[...webhookRoutes(core), incomingRoute(core)],
			...chatRoutes(core),
			...[...versionRoutes(core), ...transferRoutes(core), ...scheduleRoutes(core), evaluationRoute(core)],
		]);
	},
} satisfies Feature;

const COPY = 'Copy of ';
const LONGEST_NAME = 200;

const listAgents = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/agents',
		id: 'listAgents',
		summary: 'Lists the agents.',
		need: 'agents:read',
		bare: true,
		query: listQuery({ sorts: ['createdAt', 'updatedAt', 'name'], filters: { q: words } }),
		answer: page('agents', AGENT),
		handler: async (request) => {
			const { id } = organizationOf(request);
			const { items, nextCursor } = await core.store.agents.list(id, pageOf(request), filterOf<TextFilter>(request));
			return { agents: items.map(presentAgent), nextCursor };
		},
	});

const createAgent = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/agents',
		id: 'createAgent',
		summary: 'Creates an agent.',
		need: 'agents:write',
		body: CREATE,
		answer: AGENT,
		status: 201,
		errors: ['conflict', 'upstream_timeout'],
		idempotent: true,
		versioned: true,
		handler: async (request) => {
			// The body has passed CREATE.
			const row = { settings: {}, ...(request.payload as Omit<NewAgent, 'settings'> & Partial<NewAgent>) };
			const { id } = organizationOf(request);
			await assertRuns(core, id, row.pipeline, null);
			return show(request, await storeOf(request, core).agents.create(id, randomUUID(), row, BOUNDS.agents));
		},
	});

const getAgent = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/agents/{id}',
		id: 'getAgent',
		summary: 'Shows an agent.',
		need: 'agents:read',
		answer: AGENT,
		versioned: true,
		handler: async (request) => show(request, await findAgent(request, core)),
	});

const updateAgent = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/agents/{id}',
		id: 'updateAgent',
		summary: 'Changes the given fields of an agent.',
		description: 'Executions that are under way, also those that wait, go on under the pipeline that they began with.',
		need: 'agents:write',
		body: UPDATE,
		answer: AGENT,
		versioned: true,
		handler: async (request) => {
			const { id, organizationId } = await findAgent(request, core);
			// The body has passed UPDATE.
			const change = request.payload as AgentChange;
			if (change.pipeline) await assertRuns(core, organizationId, change.pipeline, id);
			return update(request, core, { organizationId, id }, change);
		},
	});

const deleteAgent = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/agents/{id}',
		id: 'deleteAgent',
		summary: 'Removes an agent with its executions, webhooks and keys; executions that are under way are cancelled.',
		need: 'agents:write',
		answer: removal('executions', 'webhooks', 'accessKeys'),
		versioned: true,
		handler: async (request) => {
			const { id, organizationId } = await findAgent(request, core);
			const removed = await storeOf(request, core).agents.remove(organizationId, id, expectedVersion(request));
			if (!removed) throw notFound('Agent');
			return { id, removed };
		},
	});

const STATUS = { activate: 'active', deactivate: 'inactive' } as const;

const switchAgent = (core: Core, verb: keyof typeof STATUS): ServerRoute =>
	operation({
		method: 'POST',
		path: `/agents/{id}/${verb}`,
		id: `${verb}Agent`,
		summary: verb === 'activate' ? 'Activates an agent.' : 'Deactivates an agent: it is not invoked any more.',
		description:
			verb === 'activate'
				? 'The pipeline is checked again, since what it uses may have changed.'
				: 'Executions that are under way end as they would. Doing it twice has the same result as once.',
		need: 'agents:write',
		answer: AGENT,
		versioned: true,
		conditional: true,
		handler: async (request) => {
			const { id, organizationId, pipeline } = await findAgent(request, core);
			if (verb === 'activate') await assertRuns(core, organizationId, pipeline, id);
			return update(request, core, { organizationId, id }, { status: STATUS[verb] });
		},
	});

const duplicateAgent = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/agents/{id}/duplicate',
		id: 'duplicateAgent',
		summary: 'Makes a copy of an agent.',
		description: 'The copy has the pipeline and the settings, and is active; executions, webhooks and keys stay with the original.',
		need: 'agents:write',
		body: DUPLICATE,
		bodyIs: 'optional',
		answer: AGENT,
		status: 201,
		errors: ['conflict', 'upstream_timeout'],
		idempotent: true,
		versioned: true,
		handler: async (request) => {
			const { organizationId, pipeline, settings, description, name } = await findAgent(request, core);
			// The body has passed DUPLICATE.
			const { name: asked = [...`${COPY}${name}`].slice(0, LONGEST_NAME).join('') } = request.payload as { name?: string };
			const row = { name: asked, description, pipeline, settings };
			return show(request, await storeOf(request, core).agents.create(organizationId, randomUUID(), row, BOUNDS.agents));
		},
	});

async function update(request: Request, core: Core, { organizationId, id }: Pick<AgentRow, 'organizationId' | 'id'>, change: AgentChange) {
	const { agents } = storeOf(request, core);
	const row = await agents.update(organizationId, id, change, expectedVersion(request), core.agents.inputSchema);
	if (!row) throw notFound('Agent');
	return show(request, row);
}

function show(request: Request, row: AgentRow) {
	showVersion(request, row.version);
	return presentAgent(row);
}
