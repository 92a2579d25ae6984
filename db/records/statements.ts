// The statements on plugins' documents. An expired one does not exist, whether it was pruned yet or not; the database's clock decides.
// $1, $2 and $3 are the organization, the gateway or null, and the plugin.

import type { Tags } from '../../core/contract/nouns.ts';
import type { Walk } from '../pages.ts';

/** A search finds at most so many rows before their order decides how it goes on. */
const FEW = 1000;

const COLUMNS = `seq, watched, key, value, tags, revision, created_at AS "createdAt", updated_at AS "updatedAt", expires_at AS "expiresAt",
	taken_at AS "takenAt", now() AS "readAt", sealed`;
const LIVE = '(expires_at IS NULL OR expires_at > now())';
const NOW = `date_trunc('milliseconds', now())`;
const LATER = (milliseconds: string): string => `now() + ${milliseconds}::float8 * interval '1 millisecond'`;
const LIST = (texts: string): string => `ARRAY(SELECT json_array_elements_text(${texts}::json))`;

interface RowCondition {
	/** The condition that a record belongs there. */
	here: string;
	/** The unique columns of its key. */
	unique: string;
}

const OF_GATEWAY: RowCondition = { here: 'gateway_id = $2', unique: '(organization_id, gateway_id, plugin, key)' };
/** A condition with null is never true, and would not use the index. */
const OF_ORGANIZATION: RowCondition = {
	here: '(gateway_id IS NULL AND $2::uuid IS NULL)',
	unique: '(organization_id, plugin, key) WHERE gateway_id IS NULL',
};

/** The order of a search. `$5` is the last row of the page before, and `limit` the rows wanted. */
export interface Search {
	walk: Walk<{ seq: string; updatedAt: Date }>;
	/** Whether any tag is asked for. */
	hasTags: boolean;
	/** The start of the page by the key of the order: a literal, or null for the first page. */
	from: string | null;
}

export interface Statements {
	get: string;
	put: string;
	add: string;
	drop: string;
	remove: string;
	take: string;
	update: string;
	count(hasTags: boolean): string;
	find(search: Search): string;
}

function statements({ here, unique }: RowCondition): Statements {
	const inScope = `organization_id = $1 AND ${here} AND plugin = $3`;
	const one = `${inScope} AND key = $4 AND ${LIVE}`;
	// The function covers the scope, which is compared nevertheless.
	const tagged = 'record_tags(organization_id, gateway_id, plugin, tags) @> record_tags($1, $2, $3, $4)';
	// A new document under an old key replaces everything but its position in the order, unless the old one had expired: then it is a new
	// record.
	const put = `
INSERT INTO records AS r (organization_id, gateway_id, plugin, key, value, tags, expires_at, watched, sealed, audit_type, audit_name)
VALUES ($1, $2, $3, $4, $5::json, ${LIST('$6')}, ${LATER('$7')}, $8, ${LIST('$9')}, $10, $11)
ON CONFLICT ${unique} DO UPDATE SET
	value = excluded.value, tags = excluded.tags, expires_at = excluded.expires_at, taken_at = NULL, revision = r.revision + 1,
	updated_at = excluded.updated_at, watched = excluded.watched, sealed = excluded.sealed,
	audit_type = excluded.audit_type, audit_name = excluded.audit_name,
	id = CASE WHEN r.expires_at <= now() THEN excluded.id ELSE r.id END,
	created_at = CASE WHEN r.expires_at <= now() THEN excluded.created_at ELSE r.created_at END`;
	return {
		get: `SELECT ${COLUMNS} FROM records WHERE ${one}`,
		put,
		add: `${put} WHERE r.expires_at <= now() RETURNING seq`,
		drop: `DELETE FROM records WHERE ${inScope} AND ${tagged} AND ${LIVE}`,
		remove: `DELETE FROM records WHERE ${one}`,
		take: `UPDATE records SET taken_at = now(), updated_at = ${NOW}, revision = revision + 1 WHERE ${one} AND taken_at IS NULL RETURNING ${COLUMNS}`,
		update: `
UPDATE records SET value = $6::json, revision = revision + 1, updated_at = ${NOW}, expires_at = coalesce(${LATER('$7')}, expires_at),
	audit_told = audit_told + $8::integer, tags = CASE WHEN $9::text IS NULL THEN tags ELSE ${LIST('$9')} END
WHERE ${one} AND revision = $5 AND sealed = ${LIST('$10')}`,
		count: (hasTags) => `
SELECT count(*)::int AS n FROM (SELECT FROM records WHERE ${inScope} AND ${LIVE} ${hasTags ? `AND ${tagged}` : 'AND $4::text[] = ARRAY[]::text[]'} LIMIT $5) AS counted`,
		find: (search) => (search.hasTags ? findTagged(search, { inScope, tagged }) : findAll(search, inScope)),
	};
}

export const statementsAt = (gatewayId: string | null): Statements => (gatewayId === null ? ON_ORGANIZATION : ON_GATEWAY);

const ON_GATEWAY = statements(OF_GATEWAY);
const ON_ORGANIZATION = statements(OF_ORGANIZATION);

export const PRUNE = 'DELETE FROM records WHERE expires_at <= now()';
export const USAGE = `
SELECT count(*)::int AS records, coalesce(sum(pg_column_size(value)), 0)::float8 AS bytes FROM records WHERE organization_id = $1 AND plugin = $2`;

export const listOf = (tags: Tags): readonly string[] => (typeof tags === 'string' ? [tags] : tags.all);

const findAll = (search: Search, inScope: string): string => `
SELECT ${COLUMNS} FROM records WHERE ${inScope} AND $4::text[] = ARRAY[]::text[] AND ${LIVE} AND ${after(search)} ORDER BY ${order(search)} LIMIT $6`;

/**
 * Writes the search by tags so that its cost does not depend on what the planner believes of them, which it knows for all tenants together
 * only: a few records are all fetched and sorted; of many, the index of the order is walked until the page is full. The walk compares tags
 * in a CASE, whose outcome the planner takes for even, so that it does not fetch and sort all of them there.
 */
const findTagged = (search: Search, { inScope, tagged }: { inScope: string; tagged: string }): string => `
WITH found AS MATERIALIZED (SELECT seq AS found_seq FROM records WHERE ${tagged} LIMIT ${FEW + 1}),
size AS MATERIALIZED (SELECT count(*) <= ${FEW} AS is_small FROM found)
SELECT * FROM (
	(SELECT ${COLUMNS} FROM found JOIN records ON seq = found_seq
	WHERE (SELECT is_small FROM size) AND ${inScope} AND ${LIVE} AND ${after(search)} ORDER BY ${order(search)} LIMIT $6)
	UNION ALL
	(SELECT ${COLUMNS} FROM records WHERE NOT (SELECT is_small FROM size) AND ${inScope}
		AND CASE WHEN tags @> $4 THEN true ELSE false END AND ${LIVE} AND ${after(search)}
	ORDER BY ${order(search)} LIMIT $6)
) AS page ORDER BY ${search.walk.key ? `"updatedAt" ${search.walk.direction}, ` : ''}seq ${search.walk.direction}`;

const order = ({ walk: { key, direction } }: Search): string => (key ? `${key.sql} ${direction}, seq ${direction}` : `seq ${direction}`);

/** A cursor's `seq` has digits only. */
function after({ walk: { key, beyond }, from }: Search): string {
	if (!key) return `seq ${beyond} $5`;
	return from === null ? '$5::bigint IS NOT NULL' : `(${key.sql}, seq) ${beyond} (${from}, $5)`;
}
