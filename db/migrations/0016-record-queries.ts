// Records of an organization beside those of a gateway, their order by change, several tags at once, and the names of sealed fields. The
// coming of a watched record is announced, too.

import type { Migration } from '../migrate.ts';

// A record without a gateway belongs to the organization itself. The former key remains, for replicas of the release before; rows without a
// gateway have another one, since it takes nulls for different. The table is written anew once: a former row counts as changed when it was
// created or taken.
const COLUMNS = `
ALTER TABLE records ADD COLUMN updated_at timestamptz, ADD COLUMN sealed text[] NOT NULL DEFAULT '{}';
ALTER TABLE records
	DROP CONSTRAINT records_pkey,
	ALTER COLUMN gateway_id DROP NOT NULL,
	ALTER COLUMN updated_at TYPE timestamptz USING greatest(created_at, date_trunc('milliseconds', taken_at)),
	ALTER COLUMN updated_at SET DEFAULT date_trunc('milliseconds', now()),
	ALTER COLUMN updated_at SET NOT NULL,
	ADD PRIMARY KEY (seq),
	ADD FOREIGN KEY (organization_id) REFERENCES organizations ON DELETE CASCADE;
CREATE UNIQUE INDEX records_key ON records (organization_id, gateway_id, plugin, key);
CREATE UNIQUE INDEX records_key_of_organization ON records (organization_id, plugin, key) WHERE gateway_id IS NULL;
CREATE INDEX records_creation ON records (organization_id, gateway_id, plugin, seq);
CREATE INDEX records_change ON records (organization_id, gateway_id, plugin, updated_at, seq);
`;

// Tags are indexed together with the place that they belong to: by themselves they are the same words for all tenants, whose rows would be
// searched through together. The cost keeps the planner from computing the function row by row. Without the list of pending entries, a
// search takes no longer after many changes.
const TAGS = `
CREATE FUNCTION record_tags(organization_id uuid, gateway_id uuid, plugin text, tags text[]) RETURNS uuid[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000 AS $function$
	SELECT ARRAY(SELECT md5(concat_ws(' ', organization_id, coalesce(gateway_id::text, '-'), plugin, tag))::uuid FROM unnest(tags) AS tag)
$function$;
DROP INDEX records_tags;
CREATE INDEX records_tags ON records USING gin (record_tags(organization_id, gateway_id, plugin, tags)) WITH (fastupdate = off);
`;

// A record comes when it is inserted, or put in the place of one that had expired. Its topic is made of its place and key, which may be a
// secret.
const ANNOUNCE = `
CREATE FUNCTION announce_arrivals(topics text[]) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
	IF topics IS NULL THEN
		RETURN;
	END IF;
	INSERT INTO changes (topic) SELECT unnest(CASE WHEN cardinality(topics) > 1000 THEN ARRAY['record:new:*'] ELSE topics END);
	PERFORM pg_notify('gatehouse_changes', 'record');
END
$function$;
CREATE FUNCTION record_arrival(organization_id uuid, gateway_id uuid, plugin text, key text) RETURNS text LANGUAGE sql AS $function$
	SELECT 'record:new:' || encode(sha256(convert_to(
		concat_ws(' ', organization_id, coalesce(gateway_id::text, '-'), plugin, key), 'UTF8')), 'hex')
$function$;
CREATE FUNCTION announce_new_records() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	PERFORM announce_arrivals(array_agg(record_arrival(organization_id, gateway_id, plugin, key)))
	FROM latter WHERE watched AND (expires_at IS NULL OR expires_at > now());
	RETURN NULL;
END
$function$;
CREATE FUNCTION announce_revived_records() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	IF NOT EXISTS (SELECT FROM former WHERE expires_at <= now()) THEN
		RETURN NULL;
	END IF;
	PERFORM announce_arrivals(array_agg(record_arrival(l.organization_id, l.gateway_id, l.plugin, l.key)))
	FROM latter l JOIN former f USING (seq)
	WHERE l.watched AND f.expires_at <= now() AND (l.expires_at IS NULL OR l.expires_at > now());
	RETURN NULL;
END
$function$;
CREATE TRIGGER announce_insert AFTER INSERT ON records REFERENCING NEW TABLE AS latter
FOR EACH STATEMENT EXECUTE FUNCTION announce_new_records();
CREATE TRIGGER announce_revival AFTER UPDATE ON records REFERENCING OLD TABLE AS former NEW TABLE AS latter
FOR EACH STATEMENT EXECUTE FUNCTION announce_revived_records();
`;

// The function is that of 0005, but a record of the organization itself has no gateway to name.
const AUDIT = `
CREATE OR REPLACE FUNCTION audit_records() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	IF NOT EXISTS (SELECT FROM told WHERE audit_type IS NOT NULL) THEN
		RETURN NULL;
	END IF;
	EXECUTE $statement$
		INSERT INTO audit_log (organization_id, actor_id, actor_email, access_key_id, address, user_agent, request_id,
			action, resource_type, resource_id, resource_name, changes)
		SELECT o.id, ($1 ->> 'userId')::uuid, $1 ->> 'email', ($1 ->> 'accessKeyId')::uuid, $1 ->> 'address', $1 ->> 'userAgent',
			$1 ->> 'requestId', $2, told.audit_type, told.id, told.audit_name,
			CASE WHEN told.gateway_id IS NULL THEN '{}' ELSE jsonb_build_object('gatewayId', jsonb_build_object($3, told.gateway_id)) END
		FROM told JOIN organizations o ON o.id = told.organization_id
		WHERE told.audit_type IS NOT NULL AND ($statement$ || TG_ARGV[2] || $statement$)
	$statement$ USING nullif(current_setting('gatehouse.actor', true), '')::json, TG_ARGV[0], TG_ARGV[1];
	RETURN NULL;
END
$function$;
`;

export const recordQueries: Migration = { name: '0016-record-queries', statements: [COLUMNS, TAGS, ANNOUNCE, AUDIT] };
