// The hash chain of the audit log: its links, and the entries that have none yet, which are noted in the transaction of their change and linked
// after it, so that no change waits for another one's link.

import type { Migration } from '../migrate.ts';

// A link stays when its entry is gone: that is how it is found out.
const LINKS = `
CREATE TABLE audit_chain (
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	position bigint NOT NULL CHECK (position > 0),
	entry_id uuid NOT NULL UNIQUE,
	hash bytea NOT NULL CHECK (length(hash) = 32),
	PRIMARY KEY (organization_id, position)
)`;

const UNCHAINED = `
CREATE TABLE audit_unchained (
	entry_id uuid PRIMARY KEY,
	seq bigint NOT NULL,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE
);
CREATE INDEX audit_unchained_order ON audit_unchained (seq);
CREATE INDEX audit_unchained_organization ON audit_unchained (organization_id);
INSERT INTO audit_unchained SELECT id, seq, organization_id FROM audit_log;`;

const NOTE = `
CREATE FUNCTION note_unchained() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	INSERT INTO audit_unchained SELECT id, seq, organization_id FROM fresh;
	RETURN NULL;
END
$function$;
CREATE TRIGGER note_unchained AFTER INSERT ON audit_log REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_unchained();`;

export const auditChain: Migration = { name: '0029-audit-chain', statements: [LINKS, UNCHAINED, NOTE] };
