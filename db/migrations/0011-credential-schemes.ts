// Credentials of connected APIs by security scheme, several of one type; and the arguments of tools that they replace.

import { retell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

// The empty text stands for no scheme: such a credential serves every need of its type, and there is one per type, as before. The foreign
// key of upstream tokens to the former primary key is replaced with it.
const CREDENTIALS = `
ALTER TABLE api_credentials ADD COLUMN scheme text NOT NULL DEFAULT '' CHECK (char_length(scheme) <= 200);
ALTER TABLE api_credentials DROP CONSTRAINT api_credentials_pkey CASCADE;
ALTER TABLE api_credentials ADD PRIMARY KEY (organization_id, api_id, type, scheme);
`;

const TOKENS = `
ALTER TABLE upstream_tokens ADD COLUMN scheme text NOT NULL DEFAULT '';
ALTER TABLE upstream_tokens
	DROP CONSTRAINT upstream_tokens_pkey,
	ADD PRIMARY KEY (organization_id, api_id, type, scheme),
	ADD FOREIGN KEY (organization_id, api_id, type, scheme)
		REFERENCES api_credentials (organization_id, api_id, type, scheme) ON DELETE CASCADE;
`;

const DROP = `
CREATE OR REPLACE FUNCTION drop_upstream_tokens() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	DELETE FROM upstream_tokens
	WHERE organization_id = NEW.organization_id AND api_id = NEW.api_id AND type = NEW.type AND scheme = NEW.scheme;
	RETURN NULL;
END
$function$;
`;

const TOOLS = `
ALTER TABLE tools ADD COLUMN fillable json;
`;

export const credentialSchemes: Migration = {
	name: '0011-credential-schemes',
	statements: [CREDENTIALS, TOKENS, DROP, TOOLS, ...retell(11, 'api_credentials')],
};
