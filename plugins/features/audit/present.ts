// Entries of the audit log as they are shown, and the filters of their lists.

import Joi from 'joi';
import { type AuditRow, count, dateTime, jsonObject, present, shape, text, timestamp, uuid } from '../../../core/features.ts';

const action = Joi.string().valid('create', 'update', 'delete');

export const FILTERS = {
	resourceType: Joi.string().max(64).description('`gateway`, `tool`, `api`, `member`…'),
	resourceId: uuid.description('Id of the changed resource.'),
	actorId: uuid.description('The user who changed it.'),
	action,
	since: dateTime.description('Entries from this time on: a date (midnight UTC) or a time with its zone.').example('2026-03-01T12:00:00Z'),
	until: dateTime.description('Entries before this time: a date (midnight UTC) or a time with its zone.').example('2026-04-01'),
};

const ACTOR = shape({
	userId: uuid,
	email: Joi.string().description('The user’s address at that time.'),
	accessKeyId: uuid.allow(null).description('Id of the access key that was used; null with a login.'),
});

export const LINK = shape({
	position: count.description('The number of the link, from 1.'),
	hash: text.description('SHA-256 over the hash before it and the entry, in hexadecimal.'),
});

export const ENTRY = shape({
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
	link: LINK.allow(null).description('The entry’s link in the hash chain of the log; null until it gets one, about a minute later.'),
}).meta({ schema: 'AuditEntry' });

/** Shows an entry; `actor` and its origin are null for changes by the service itself. */
export const presentEntry = (row: AuditRow) =>
	present(ENTRY, row, {
		actor: row.actor && present(ACTOR, row.actor),
		address: row.actor?.address ?? null,
		userAgent: row.actor?.userAgent ?? null,
		requestId: row.actor?.requestId ?? null,
		link: row.link && present(LINK, row.link),
	});
