// The audit log, and the triggers that write it: in the transaction of the change, so no code path can forget.

import { auditTriggers } from '../audit-triggers.ts';
import { auditedIn } from '../audited.ts';
import type { Migration } from '../migrate.ts';

// The log's facts about users, keys and rows remain true when these are gone, so its columns are no foreign keys.
const LOG = `
CREATE TABLE audit_log (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp()),
	actor_id uuid,
	actor_email text,
	access_key_id uuid,
	address text,
	user_agent text,
	request_id text,
	action text NOT NULL CHECK (action IN ('create', 'update', 'delete')),
	resource_type text NOT NULL,
	resource_id uuid NOT NULL,
	resource_name text,
	changes jsonb NOT NULL
);
CREATE INDEX audit_log_list ON audit_log (organization_id, seq);
CREATE INDEX audit_log_resource ON audit_log (organization_id, resource_id, seq);
`;

// Arguments: the action, the type of the resource, and a query over the transition tables `former` and `fresh` that yields `organizations,
// id, name, changes`. The log of an organization is removed with it, and gets no more rows meanwhile. The query is planned each time,
// because transition tables hold one row now and thousands then.
const WRITE = `
CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	-- A cascade comes once per row above, mostly with nothing below it.
	IF TG_OP = 'DELETE' THEN
		IF NOT EXISTS (SELECT FROM former) THEN
			RETURN NULL;
		END IF;
	END IF;
	EXECUTE $statement$
		INSERT INTO audit_log (organization_id, actor_id, actor_email, access_key_id, address, user_agent, request_id,
			action, resource_type, resource_id, resource_name, changes)
		SELECT o.id, ($1 ->> 'userId')::uuid, $1 ->> 'email', ($1 ->> 'accessKeyId')::uuid, $1 ->> 'address', $1 ->> 'userAgent',
			$1 ->> 'requestId', $2, $3, changed.id, changed.name, changed.changes
		FROM ($statement$ || TG_ARGV[2] || $statement$) AS changed JOIN organizations o ON o.id = ANY (changed.organizations)
	$statement$ USING nullif(current_setting('gatehouse.actor', true), '')::json, TG_ARGV[0], TG_ARGV[1];
	RETURN NULL;
END
$function$;
`;

// Documents are stored as received; `jsonb` accepts neither NUL nor lone surrogates. Both are always escaped, after an even number of
// backslashes.
const READABLE = `
CREATE FUNCTION readable(document json) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $function$
	SELECT regexp_replace(document::text, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\1\\ufffd', 'g')::jsonb
$function$;
`;

export const audit: Migration = {
	name: '0003-audit',
	statements: [LOG, READABLE, WRITE, ...auditedIn(3).flatMap(auditTriggers)],
};
