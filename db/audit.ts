// Reads the audit log, which triggers (migration 0003) write in the transaction of the change.

import { QueryTypes } from 'sequelize';
import type { Actor, Audit, AuditRow } from '../core/store/store.ts';
import type { Database } from './connection.ts';
import { startWalk, toPage, uuid, type Walk } from './pages.ts';
import { rows } from './rows.ts';

const LIST = 'audit';

/** Columns of `audit_log`, as a `FoundEntry`. */
export const ENTRY = `a.id, a.at, a.action, a.resource_type AS "resourceType", a.resource_id AS "resourceId", a.resource_name AS "resourceName", a.changes,
	a.actor_id AS "userId", a.actor_email AS email, a.access_key_id AS "accessKeyId", a.address, a.user_agent AS "userAgent",
	a.request_id AS "requestId"`;

const find = ({ beyond, direction }: Walk<Found>): string => `
SELECT a.seq, ${ENTRY}, c.position::float8, encode(c.hash, 'hex') AS hash
FROM audit_log a LEFT JOIN audit_chain c ON c.entry_id = a.id
WHERE a.organization_id = $1 AND a.seq ${beyond} $2
	AND ($3::text IS NULL OR resource_type = $3) AND ($4::uuid IS NULL OR resource_id = $4)
	AND ($5::uuid IS NULL OR actor_id = $5) AND ($6::text IS NULL OR action = $6)
	AND ($7::timestamptz IS NULL OR at >= $7) AND ($8::timestamptz IS NULL OR at < $8)
ORDER BY a.seq ${direction} LIMIT $9`;

const ADD = `
INSERT INTO audit_log (organization_id, actor_id, actor_email, access_key_id, address, user_agent, request_id,
	action, resource_type, resource_id, resource_name, changes)
SELECT $1, (a.actor ->> 'userId')::uuid, a.actor ->> 'email', (a.actor ->> 'accessKeyId')::uuid, a.actor ->> 'address',
	a.actor ->> 'userAgent', a.actor ->> 'requestId', $2, $3, $4, $5, $6::jsonb
FROM (SELECT nullif(current_setting('gatehouse.actor', true), '')::json AS actor) AS a`;

/** All of the actor's columns are null, or only those that an actor may lack. */
export interface FoundEntry extends Omit<Actor, 'userId'>, Omit<AuditRow, 'actor' | 'link'> {
	userId: string | null;
}

interface Found extends FoundEntry {
	seq: string;
	/** Null without a link. */
	position: number | null;
	hash: string | null;
}

export function createAudit({ ordinary, write }: Database): Audit {
	return {
		async add(organizationId, { action, resourceType, resourceId, resourceName, changes }) {
			const bind = [uuid(organizationId), action, resourceType, uuid(resourceId), resourceName, JSON.stringify(changes)];
			await write((transaction) => ordinary.query(ADD, { bind, type: QueryTypes.INSERT, transaction }));
		},
		async list(organizationId, page, { resourceType, resourceId, actorId, action, since, until } = {}) {
			const ids = [resourceId, actorId].map((id) => (id === undefined ? null : uuid(id)));
			const filter = [resourceType ?? null, ...ids, action ?? null, since ?? null, until ?? null];
			const walk = startWalk<Found>(LIST, page, { usual: '-createdAt' });
			const bind = [uuid(organizationId), walk.last.seq, ...filter, page.limit + 1];
			return toPage(walk, await rows<Found>(ordinary, find(walk), bind), page, toAudit);
		},
	};
}

export function toEntry({ userId, email, accessKeyId, address, userAgent, requestId, ...row }: FoundEntry): AuditRow {
	const actor = userId === null ? null : { userId, email, accessKeyId, address, userAgent, requestId };
	return { ...row, actor, link: null };
}

const toAudit = ({ seq: _seq, position, hash, ...row }: Found): AuditRow => ({
	...toEntry(row),
	link: position === null || hash === null ? null : { position, hash },
});
