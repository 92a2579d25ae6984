// Columns and tables for all endpoints: limits of calls to an API, a tool's description for one gateway, the answers kept under idempotency
// keys; and the function that lists compare text with.

import { retell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

const COLUMNS = `
ALTER TABLE apis ADD COLUMN outbound json;
ALTER TABLE gateway_tools ADD COLUMN description text;
`;

// `ended_at` is null while the request runs, `attempt` belongs to the running process, and the answer is set when the request has ended.
const IDEMPOTENCY = `
CREATE TABLE idempotency_keys (
	user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
	organization_id uuid REFERENCES organizations ON DELETE CASCADE,
	key text NOT NULL,
	operation text NOT NULL,
	fingerprint bytea NOT NULL,
	attempt uuid NOT NULL,
	status integer,
	body text,
	headers json,
	started_at timestamptz NOT NULL DEFAULT now(),
	ended_at timestamptz,
	CHECK (ended_at IS NULL OR (status IS NOT NULL AND body IS NOT NULL AND headers IS NOT NULL))
);
CREATE UNIQUE INDEX idempotency_keys_key
ON idempotency_keys (user_id, coalesce(organization_id, '00000000-0000-0000-0000-000000000000'), key);
CREATE INDEX idempotency_keys_age ON idempotency_keys (started_at);
`;

// Ignores case, whatever the locale of the database: the embedded one has "C", which knows only ASCII letters. A server built without ICU
// follows its locale. The order is that of code points, which no update of a library changes.
const FOLD = `
DO $block$
DECLARE
	letters text := CASE WHEN getdatabaseencoding() = 'UTF8' AND EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')
		THEN ' COLLATE "und-x-icu"' ELSE '' END;
BEGIN
	EXECUTE format($create$
		CREATE FUNCTION fold(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
			SELECT lower(value%s) COLLATE "C"
		$function$
	$create$, letters);
END
$block$;
`;

// An organization may have twenty thousand tools: a page in one of these orders then takes 3 ms, and 60 without. APIs and gateways are
// fewer.
const ORDERS = `
CREATE INDEX tools_by_name ON tools (organization_id, fold(left(coalesce(own_name, imported_name), 100)), seq);
CREATE INDEX tools_by_update ON tools (organization_id, updated_at, seq);
`;

export const contract: Migration = {
	name: '0004-contract',
	statements: [COLUMNS, IDEMPOTENCY, FOLD, ORDERS, ...retell(4, 'apis'), ...retell(4, 'gateway_tools')],
};
