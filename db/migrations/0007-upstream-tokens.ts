// Access tokens to connected APIs, one per credential, obtained by one replica for all; and the location of a stored API key.

import type { Migration } from '../migrate.ts';

const COLUMNS = `
ALTER TABLE api_credentials ADD COLUMN place json;
`;

// `lease` identifies the replica that may ask the token server. Before the first token, the revision is 0.
const TOKENS = `
CREATE TABLE upstream_tokens (
	organization_id uuid NOT NULL,
	api_id uuid NOT NULL,
	type text NOT NULL,
	revision integer NOT NULL DEFAULT 0,
	sealed text,
	expires_at timestamptz,
	lease uuid,
	leased_until timestamptz,
	PRIMARY KEY (organization_id, api_id, type),
	FOREIGN KEY (organization_id, api_id, type) REFERENCES api_credentials (organization_id, api_id, type) ON DELETE CASCADE,
	CHECK ((sealed IS NULL) = (expires_at IS NULL)),
	CHECK ((lease IS NULL) = (leased_until IS NULL))
);
`;

// A token is dropped with the former credential. The statement that begins a lease locks the credential, so none slips in between.
const DROP = `
CREATE FUNCTION drop_upstream_tokens() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	DELETE FROM upstream_tokens
	WHERE organization_id = NEW.organization_id AND api_id = NEW.api_id AND type = NEW.type;
	RETURN NULL;
END
$function$;
CREATE TRIGGER drop_tokens AFTER UPDATE ON api_credentials FOR EACH ROW
WHEN (OLD.secret IS DISTINCT FROM NEW.secret) EXECUTE FUNCTION drop_upstream_tokens();
`;

// A separate topic, since gateways kept ready do not depend on tokens.
const ANNOUNCE = `
CREATE FUNCTION announce_upstream_token() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	INSERT INTO changes (topic) VALUES ('token:' || OLD.api_id);
	PERFORM pg_notify('gatehouse_changes', 'token');
	RETURN NULL;
END
$function$;
CREATE TRIGGER announce_update AFTER UPDATE ON upstream_tokens FOR EACH ROW
WHEN (OLD.sealed IS DISTINCT FROM NEW.sealed) EXECUTE FUNCTION announce_upstream_token();
CREATE TRIGGER announce_delete AFTER DELETE ON upstream_tokens FOR EACH ROW EXECUTE FUNCTION announce_upstream_token();
`;

export const upstreamTokens: Migration = {
	name: '0007-upstream-tokens',
	statements: [COLUMNS, TOKENS, DROP, ANNOUNCE],
};
