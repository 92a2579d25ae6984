// The audit log of an organization: who changed what, when and from where.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AuditFilter,
	type AuditRow,
	type Core,
	type Feature,
	needs,
	organizationOf,
	type Page,
	pageOf,
	pageQuery,
	success,
} from '../../../core/index.ts';

const moment = Joi.date().iso().min('1970-01-01T00:00:00Z').max('9999-12-31T23:59:59Z');

const QUERY = pageQuery({
	resourceType: Joi.string().max(64),
	resourceId: Joi.string().guid(),
	actorId: Joi.string().guid(),
	action: Joi.string().valid('create', 'update', 'delete'),
	since: moment,
	until: moment,
});

export default {
	kind: 'feature',
	name: 'audit',
	summary: 'The audit log: who changed what, when and from where.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		server.route({
			method: 'GET',
			path: '/audit-log',
			options: { ...needs('audit:read'), validate: { query: QUERY } },
			handler: async (request) => success(await list(request, core)),
		});
	},
} satisfies Feature;

async function list(request: Request, { store }: Core) {
	const query: unknown = request.query;
	// It has passed QUERY, which makes dates of `since` and `until`.
	const { limit, cursor, ...filter } = query as AuditFilter & Page;
	const { items, nextCursor } = await store.audit.list(organizationOf(request).id, pageOf(request), filter);
	return { entries: items.map(presentEntry), nextCursor };
}

/** `actor`, and from where, are null for what the service did itself. */
const presentEntry = ({ id, at, actor, action, resourceType, resourceId, resourceName, changes }: AuditRow) => ({
	id,
	at,
	actor: actor && { userId: actor.userId, email: actor.email, accessKeyId: actor.accessKeyId },
	address: actor?.address ?? null,
	userAgent: actor?.userAgent ?? null,
	requestId: actor?.requestId ?? null,
	action,
	resourceType,
	resourceId,
	resourceName,
	changes,
});
