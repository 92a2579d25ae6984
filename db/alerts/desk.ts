// The desk of alerts, for all organizations: turns, rules, incidents, and what was not told yet.

import type { AlertDesk, AlertIncident, AlertRuleRow, UntoldAlert } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';

const NIL = '00000000-0000-0000-0000-000000000000';

const TAKE = `
INSERT INTO alert_looks AS l (name, looked_at) VALUES ($1, now())
ON CONFLICT (name) DO UPDATE SET looked_at = now() WHERE l.looked_at <= now() - make_interval(secs => $2::float8)
RETURNING name`;

const RULE = `r.id, r.organization_id AS "organizationId", r.name, r.kind, r.tool_id AS "toolId", r.api_id AS "apiId", r.bound,
	r.window_minutes AS "windowMinutes", r.min_calls AS "minCalls", r.url, r.secret, r.status, r.version,
	r.created_at AS "createdAt", r.updated_at AS "updatedAt"`;
const ACTIVE = `
SELECT ${RULE} FROM alert_rules r
WHERE r.status = 'active' AND r.kind IN (SELECT json_array_elements_text($1::json)) AND r.id > $2 ORDER BY r.id LIMIT $3`;
const OF_API = `
SELECT ${RULE} FROM alert_rules r
WHERE r.organization_id = $1 AND r.kind = $2 AND r.status = 'active' AND (r.api_id IS NULL OR r.api_id = $3) ORDER BY r.seq`;

const INCIDENT = `i.organization_id AS "organizationId", i.rule_id AS "ruleId", i.subject, i.id, i.is_open AS "isOpen", i.opened_at AS "openedAt"`;
const OPEN = `
SELECT ${INCIDENT}, i.digest FROM alert_incidents i
JOIN alert_rules r ON r.organization_id = i.organization_id AND r.id = i.rule_id
WHERE i.is_open AND r.id IN (SELECT value::uuid FROM json_array_elements_text($1::json) AS value)`;
const OPEN_APIS = `
SELECT DISTINCT i.organization_id AS "organizationId", i.subject AS "apiId" FROM alert_rules r
JOIN alert_incidents i ON i.organization_id = r.organization_id AND i.rule_id = r.id
WHERE r.status = 'active' AND r.kind = $1 AND i.is_open LIMIT $2`;

/** A rule that is off is not looked at; an API that is gone, or has no credential, or is not watched, is neither called with one nor read. */
const ORPHANS = `
SELECT ${RULE}, i.subject FROM alert_rules r JOIN alert_incidents i ON i.organization_id = r.organization_id AND i.rule_id = r.id
WHERE i.is_open AND (
	r.status <> 'active'
	OR (r.kind = 'credential' AND NOT EXISTS (
		SELECT FROM api_credentials c WHERE c.organization_id = i.organization_id AND c.api_id::text = i.subject))
	OR (r.kind = 'document' AND NOT EXISTS (
		SELECT FROM apis a WHERE a.organization_id = i.organization_id AND a.id::text = i.subject AND a.watch IS NOT NULL))
) LIMIT $1`;

// Without a rule there is nothing to tell: it may have been removed meanwhile.
const BEGIN = `
INSERT INTO alert_incidents AS i (organization_id, rule_id, subject, is_open, digest, untold)
SELECT r.organization_id, r.id, $3, true, $4, $5::json FROM alert_rules r WHERE r.organization_id = $1 AND r.id = $2 FOR KEY SHARE
ON CONFLICT (organization_id, rule_id, subject) DO UPDATE
SET is_open = true, digest = excluded.digest, untold = excluded.untold, id = excluded.id, opened_at = now()
WHERE NOT i.is_open OR i.digest IS DISTINCT FROM excluded.digest
RETURNING i.id`;
const END = `
UPDATE alert_incidents SET is_open = false, untold = $4::json
WHERE organization_id = $1 AND rule_id = $2 AND subject = $3 AND is_open RETURNING id`;

/** One of each organization, then a second one of each: what cannot be told keeps its place in its own row only. */
const UNTOLD = `
SELECT ${INCIDENT}, i.untold, json_build_object('name', r.name, 'url', r.url, 'secret', r.secret) AS rule
FROM alert_incidents i JOIN alert_rules r ON r.organization_id = i.organization_id AND r.id = i.rule_id
WHERE i.untold IS NOT NULL
ORDER BY row_number() OVER (PARTITION BY i.organization_id ORDER BY i.opened_at), i.opened_at LIMIT $1`;
// A change since is told on its own.
const THIS = 'organization_id = $1 AND rule_id = $2 AND subject = $3 AND id = $4 AND is_open = $5';
const TOLD = `UPDATE alert_incidents SET untold = NULL WHERE ${THIS} RETURNING id`;
const OVER = `DELETE FROM alert_incidents WHERE ${THIS} RETURNING id`;

const OLD = `(now() - make_interval(secs => $1::float8))`;
const SINCE = 'coalesce(w.looked_at, a.created_at)';
/** One of each account, then a second one of each: whoever has many watched waits for their own alone. */
const WATCHED = `
WITH due AS (
	SELECT a.organization_id, a.id FROM apis a JOIN organizations o ON o.id = a.organization_id
	LEFT JOIN api_watches w ON w.organization_id = a.organization_id AND w.api_id = a.id
	WHERE a.watch IS NOT NULL AND (w.looked_at IS NULL OR w.looked_at <= ${OLD})
	ORDER BY row_number() OVER (PARTITION BY coalesce(o.created_by, o.id) ORDER BY ${SINCE}), ${SINCE} LIMIT $2
)
INSERT INTO api_watches AS w (organization_id, api_id, looked_at) SELECT organization_id, id, now() FROM due
ON CONFLICT (organization_id, api_id) DO UPDATE SET looked_at = now() WHERE w.looked_at <= ${OLD}
RETURNING w.organization_id AS "organizationId", w.api_id AS "apiId"`;

export function createAlertDesk({ ordinary }: Database): AlertDesk {
	const some = async (sql: string, bind: unknown[]): Promise<boolean> => (await rows<object>(ordinary, sql, bind)).length > 0;
	return {
		take: (name, everyMs) => some(TAKE, [name, everyMs / 1000]),
		active: (kinds, after, limit) => rows<AlertRuleRow>(ordinary, ACTIVE, [JSON.stringify(kinds), after ?? NIL, limit]),
		ofApi: (organizationId, kind, apiId) => rows<AlertRuleRow>(ordinary, OF_API, [uuid(organizationId), kind, uuid(apiId)]),
		open: (ruleIds) => rows<AlertIncident>(ordinary, OPEN, [JSON.stringify(ruleIds.map(uuid))]),
		openApis: (kind, limit) => rows<{ organizationId: string; apiId: string }>(ordinary, OPEN_APIS, [kind, limit]),
		async orphans(limit) {
			const found = await rows<AlertRuleRow & { subject: string }>(ordinary, ORPHANS, [limit]);
			return found.map(({ subject, ...rule }) => ({ rule, subject }));
		},
		begin: ({ organizationId, id }, subject, { digest, untold }) =>
			some(BEGIN, [uuid(organizationId), uuid(id), subject, digest, JSON.stringify(untold)]),
		end: ({ organizationId, ruleId, subject }, untold) => some(END, [uuid(organizationId), uuid(ruleId), subject, JSON.stringify(untold)]),
		untold: (limit) => rows<UntoldAlert>(ordinary, UNTOLD, [limit]),
		told: async ({ organizationId, ruleId, subject, id, isOpen }) =>
			void (await some(isOpen ? TOLD : OVER, [uuid(organizationId), uuid(ruleId), subject, uuid(id), isOpen])),
		watched: (everyMs, limit) => rows<{ organizationId: string; apiId: string }>(ordinary, WATCHED, [everyMs / 1000, limit]),
	};
}
