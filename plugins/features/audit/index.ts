// The audit log of an organization: who changed what, when and from where.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AuditFilter,
	type AuditRow,
	type Core,
	dateTime,
	type Feature,
	filterOf,
	jsonObject,
	listQuery,
	operation,
	organizationOf,
	page,
	pageOf,
	present,
	shape,
	timestamp,
	uuid,
} from '../../../core/features.ts';

const action = Joi.string().valid('create', 'update', 'delete');

const QUERY = listQuery({
	filters: {
		resourceType: Joi.string().max(64).description('`gateway`, `tool`, `api`, `member`…'),
		resourceId: uuid.description('Of what was changed.'),
		actorId: uuid.description('The user who changed it.'),
		action,
		since: dateTime.description('From then on: a date (midnight UTC) or a time with its zone.').example('2026-03-01T12:00:00Z'),
		until: dateTime.description('Before then: a date (midnight UTC) or a time with its zone.').example('2026-04-01'),
	},
}).fork('sort', (sort) => sort.description('The order, descending with a `-` before the field. The newest first when absent.'));

const ACTOR = shape({
	userId: uuid,
	email: Joi.string().description('As it was then.'),
	accessKeyId: uuid.allow(null).description('Of the key that was used; null with a login.'),
});

const ENTRY = shape({
	id: uuid,
	at: timestamp,
	actor: ACTOR.allow(null).description('Null, as what follows is: the service did it itself.'),
	address: Joi.string().allow(null).description('From where.'),
	userAgent: Joi.string().allow('', null),
	requestId: Joi.string().allow(null).description('As the answer’s `X-Request-Id` named it.'),
	action,
	resourceType: Joi.string(),
	resourceId: uuid,
	resourceName: Joi.string().allow('', null).description('As it was called then.'),
	changes: jsonObject.description(
		'By field: `{ from, to }`, or `{ keys }` or `{ changed }` where values may hold secrets or would fill pages.',
	),
}).meta({ schema: 'AuditEntry' });

export default {
	kind: 'feature',
	name: 'audit',
	summary: 'The audit log: who changed what, when and from where.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		server.route(
			operation({
				method: 'GET',
				path: '/audit-log',
				id: 'listAuditEntries',
				summary: 'Lists who changed what in the organization, the newest first unless `sort` says otherwise.',
				need: 'audit:read',
				query: QUERY,
				answer: page('entries', ENTRY),
				handler: (request) => list(request, core),
			}),
		);
	},
} satisfies Feature;

async function list(request: Request, { store }: Core) {
	// The query has passed QUERY, which makes dates of `since` and `until`.
	const filter = filterOf<AuditFilter>(request);
	const { items, nextCursor } = await store.audit.list(organizationOf(request).id, pageOf(request), filter);
	return { entries: items.map(presentEntry), nextCursor };
}

/** `actor`, and from where, are null for what the service did itself. */
const presentEntry = (row: AuditRow) =>
	present(ENTRY, row, {
		actor: row.actor && present(ACTOR, row.actor),
		address: row.actor?.address ?? null,
		userAgent: row.actor?.userAgent ?? null,
		requestId: row.actor?.requestId ?? null,
	});
