// Announces changes of plugins' watched documents, and logs those that the organization knows by name.

import type { Migration } from '../migrate.ts';

// `id` identifies a row in the log; the key may be a secret. An expired row that is put again gets a new id. `audit_told` counts the
// updates that are to be logged.
const COLUMNS = `
ALTER TABLE records
	ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid(),
	ADD COLUMN watched boolean NOT NULL DEFAULT false,
	ADD COLUMN audit_type text,
	ADD COLUMN audit_name text,
	ADD COLUMN audit_told integer NOT NULL DEFAULT 0,
	ADD CONSTRAINT records_audited CHECK ((audit_type IS NULL) = (audit_name IS NULL));
`;

// Expired rows are cached nowhere, so replacing or pruning them is not announced. One notification is enough for any number of rows, and
// more than a thousand rows share one topic, since every replica reads the table of changes.
const ANNOUNCE = `
CREATE FUNCTION announce_records() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
	seqs bigint[];
BEGIN
	SELECT array_agg(seq) INTO seqs FROM former WHERE watched AND (expires_at IS NULL OR expires_at > now());
	IF seqs IS NULL THEN
		RETURN NULL;
	END IF;
	IF cardinality(seqs) > 1000 THEN
		INSERT INTO changes (topic) VALUES ('record:*');
	ELSE
		INSERT INTO changes (topic) SELECT 'record:' || seq FROM unnest(seqs) AS seq;
	END IF;
	PERFORM pg_notify('gatehouse_changes', 'record');
	RETURN NULL;
END
$function$;
CREATE TRIGGER announce_update AFTER UPDATE ON records REFERENCING OLD TABLE AS former
FOR EACH STATEMENT EXECUTE FUNCTION announce_records();
CREATE TRIGGER announce_delete AFTER DELETE ON records REFERENCING OLD TABLE AS former
FOR EACH STATEMENT EXECUTE FUNCTION announce_records();
`;

// Arguments: the action, the side of the change that is shown, and a condition on the rows of `told`. Most records are not logged at all,
// and are skipped before anything is planned.
const AUDIT = `
CREATE FUNCTION audit_records() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	IF NOT EXISTS (SELECT FROM told WHERE audit_type IS NOT NULL) THEN
		RETURN NULL;
	END IF;
	EXECUTE $statement$
		INSERT INTO audit_log (organization_id, actor_id, actor_email, access_key_id, address, user_agent, request_id,
			action, resource_type, resource_id, resource_name, changes)
		SELECT o.id, ($1 ->> 'userId')::uuid, $1 ->> 'email', ($1 ->> 'accessKeyId')::uuid, $1 ->> 'address', $1 ->> 'userAgent',
			$1 ->> 'requestId', $2, told.audit_type, told.id, told.audit_name,
			jsonb_build_object('gatewayId', jsonb_build_object($3, told.gateway_id))
		FROM told JOIN organizations o ON o.id = told.organization_id
		WHERE told.audit_type IS NOT NULL AND ($statement$ || TG_ARGV[2] || $statement$)
	$statement$ USING nullif(current_setting('gatehouse.actor', true), '')::json, TG_ARGV[0], TG_ARGV[1];
	RETURN NULL;
END
$function$;
CREATE TRIGGER audit_insert AFTER INSERT ON records REFERENCING NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION audit_records('create', 'to', 'true');
CREATE TRIGGER audit_update AFTER UPDATE ON records REFERENCING OLD TABLE AS former NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION audit_records('create', 'to', 'NOT EXISTS (SELECT FROM former WHERE former.id = told.id)');
CREATE TRIGGER audit_told AFTER UPDATE ON records REFERENCING OLD TABLE AS former NEW TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION audit_records('update', 'to',
	'EXISTS (SELECT FROM former WHERE former.id = told.id AND former.audit_told <> told.audit_told)');
CREATE TRIGGER audit_delete AFTER DELETE ON records REFERENCING OLD TABLE AS told
FOR EACH STATEMENT EXECUTE FUNCTION audit_records('delete', 'from', 'told.expires_at IS NULL OR told.expires_at > now()');
`;

export const records: Migration = {
	name: '0005-records',
	statements: [COLUMNS, ANNOUNCE, AUDIT],
};
