// Lists the audit log of an organization: who changed what, when and from where.

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
		resourceId: uuid.description('Id of the changed resource.'),
		actorId: uuid.description('The user who changed it.'),
		action,
		since: dateTime
			.description('Entries from this time on: a date (midnight UTC) or a time with its zone.')
			.example('2026-03-01T12:00:00Z'),
		until: dateTime.description('Entries before this time: a date (midnight UTC) or a time with its zone.').example('2026-04-01'),
	},
}).fork('sort', (sort) => sort.description('The order, descending with a `-` before the field. When absent: the newest first.'));

const ACTOR = shape({
	userId: uuid,
	email: Joi.string().description('The user’s address at that time.'),
	accessKeyId: uuid.allow(null).description('Id of the access key that was used; null with a login.'),
});

const ENTRY = shape({
	id: uuid,
	at: timestamp,
	actor: ACTOR.allow(null).description('Null, like the fields below, when the service itself made the change.'),
	address: Joi.string().allow(null).description('IP address of the client.'),
	userAgent: Joi.string().allow('', null),
	requestId: Joi.string().allow(null).description('The `X-Request-Id` of the answer.'),
	action,
	resourceType: Joi.string(),
	resourceId: uuid,
	resourceName: Joi.string().allow('', null).description('Its name at that time.'),
	changes: jsonObject.description('By field: `{ from, to }`, or `{ keys }` or `{ changed }` where values may contain secrets or are long.'),
}).meta({ schema: 'AuditEntry' });

export default {
	kind: 'feature',
	api: 1,
	name: 'audit',
	summary: 'The audit log: who changed what, when and from where.',
	config: Joi.object({}),
	segments: ['audit-log'],
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
	// The query has passed QUERY, which converts `since` and `until` to dates.
	const filter = filterOf<AuditFilter>(request);
	const { items, nextCursor } = await store.audit.list(organizationOf(request).id, pageOf(request), filter);
	return { entries: items.map(presentEntry), nextCursor };
}

/** Shows an entry; `actor` and its origin are null for changes by the service itself. */
const presentEntry = (row: AuditRow) =>
	present(ENTRY, row, {
		actor: row.actor && present(ACTOR, row.actor),
		address: row.actor?.address ?? null,
		userAgent: row.actor?.userAgent ?? null,
		requestId: row.actor?.requestId ?? null,
	});
