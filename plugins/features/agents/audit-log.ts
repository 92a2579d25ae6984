// The audit log of one agent: its changes, those of its webhooks, and the approvals of its executions.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AuditRow,
	type Core,
	jsonObject,
	listQuery,
	operation,
	page,
	pageOf,
	present,
	shape,
	timestamp,
	uuid,
} from '../../../core/features.ts';
import { findAgent } from './find.ts';

const ENTRY = shape({
	id: uuid,
	at: timestamp,
	actor: shape({ userId: uuid, email: Joi.string(), accessKeyId: uuid.allow(null) })
		.allow(null)
		.description('Null: the service itself.'),
	action: Joi.string().valid('create', 'update', 'delete'),
	resourceType: Joi.string().valid('agent', 'agent_webhook', 'agent_approval', 'agent_version', 'agent_schedule'),
	resourceName: Joi.string().allow(null, ''),
	changes: jsonObject.description('By field: `from` and `to`, or `keys`, or `changed`.'),
}).meta({ schema: 'AgentAuditEntry' });

export const auditRoute = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/agents/{id}/audit-log',
		id: 'listAgentAuditLog',
		summary: 'Lists the changes of an agent and of its webhooks, and its approvals, the newest first.',
		need: 'audit:read',
		query: listQuery({ sorts: ['createdAt'] }),
		answer: page('entries', ENTRY),
		handler: async (request) => {
			const { id, organizationId } = await findAgent(request, core);
			const { items, nextCursor } = await core.store.audit.list(organizationId, pageOf(request), { resourceId: id });
			return { entries: items.map(presentEntry), nextCursor };
		},
	});

const presentEntry = (row: AuditRow) =>
	present(ENTRY, row, {
		actor: row.actor && { userId: row.actor.userId, email: row.actor.email, accessKeyId: row.actor.accessKeyId },
		changes: row.changes,
	});
