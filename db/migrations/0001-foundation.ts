// Accounts, connected APIs, tools, gateways, records, runs, and the announcement of changes.

import type { Migration } from '../migrate.ts';

const ACCOUNTS = `
CREATE TABLE organizations (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	name text NOT NULL,
	slug text NOT NULL CONSTRAINT organizations_slug UNIQUE,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE TABLE users (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	email text NOT NULL,
	password_hash text NOT NULL,
	first_name text NOT NULL,
	last_name text NOT NULL,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE UNIQUE INDEX users_email ON users (lower(email));
CREATE TABLE memberships (
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
	seq bigint GENERATED ALWAYS AS IDENTITY,
	role text NOT NULL,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id, seq);
`;

// Columns whose content must be returned as it was written, key order included, are `json`, not `jsonb`. An operation's key may be longer
// than an index entry, hence md5.
const APIS = `
CREATE TABLE apis (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	name text NOT NULL,
	type text NOT NULL,
	base_url text NOT NULL,
	description text,
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
	version integer NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (organization_id, id)
);
CREATE INDEX apis_list ON apis (organization_id, seq);
CREATE TABLE api_credentials (
	organization_id uuid NOT NULL,
	api_id uuid NOT NULL,
	type text NOT NULL,
	origin text NOT NULL,
	secret text NOT NULL,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	PRIMARY KEY (organization_id, api_id, type),
	FOREIGN KEY (organization_id, api_id) REFERENCES apis (organization_id, id) ON DELETE CASCADE
);
CREATE TABLE api_schemas (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL,
	api_id uuid NOT NULL,
	format text NOT NULL,
	title text,
	version text,
	servers json NOT NULL,
	source_url text,
	size_bytes integer NOT NULL,
	sha256 text NOT NULL,
	report json NOT NULL,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	FOREIGN KEY (organization_id, api_id) REFERENCES apis (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX api_schemas_list ON api_schemas (organization_id, api_id, seq);
CREATE TABLE operations (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL,
	api_id uuid NOT NULL,
	key text NOT NULL,
	operation_id text,
	name text NOT NULL,
	description text NOT NULL,
	method text NOT NULL,
	path text NOT NULL,
	tags text[] NOT NULL,
	deprecated boolean NOT NULL,
	parameters json NOT NULL,
	output_schema json,
	definition json NOT NULL,
	outcome text NOT NULL CHECK (outcome IN ('converted', 'degraded')),
	reasons json NOT NULL,
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'removed')),
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (organization_id, api_id, id),
	FOREIGN KEY (organization_id, api_id) REFERENCES apis (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX operations_list ON operations (organization_id, api_id, seq);
CREATE UNIQUE INDEX operations_key ON operations (api_id, md5(key));
`;

// A tool of an API has two layers of name and description: `imported_*` from the document, `own_*` from users' edits. `removed` follows the
// document, `status` the users: a restored operation finds the status that its tool had.
const TOOLS = `
CREATE TABLE tools (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	api_id uuid,
	operation_id uuid,
	type text NOT NULL,
	executor text NOT NULL,
	imported_name text,
	imported_description text,
	own_name text,
	own_description text,
	parameters json NOT NULL,
	output_schema json,
	annotations json NOT NULL,
	code text,
	execution_config json NOT NULL,
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
	removed boolean NOT NULL DEFAULT false,
	version integer NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (organization_id, id),
	CONSTRAINT tools_operation UNIQUE (organization_id, operation_id),
	CHECK (coalesce(own_name, imported_name) IS NOT NULL AND coalesce(own_description, imported_description) IS NOT NULL),
	CHECK ((api_id IS NULL) = (operation_id IS NULL)),
	FOREIGN KEY (organization_id, api_id) REFERENCES apis (organization_id, id) ON DELETE CASCADE,
	FOREIGN KEY (organization_id, api_id, operation_id) REFERENCES operations (organization_id, api_id, id) ON DELETE CASCADE
);
CREATE INDEX tools_list ON tools (organization_id, seq);
CREATE INDEX tools_api ON tools (organization_id, api_id, seq) WHERE api_id IS NOT NULL;
`;

const GATEWAYS = `
CREATE TABLE gateways (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	name text NOT NULL,
	type text NOT NULL,
	endpoint text NOT NULL,
	description text,
	configuration json NOT NULL,
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
	version integer NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (organization_id, id)
);
CREATE INDEX gateways_list ON gateways (organization_id, seq);
CREATE UNIQUE INDEX gateways_endpoint ON gateways (organization_id, lower(endpoint));
CREATE TABLE gateway_tools (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL,
	gateway_id uuid NOT NULL,
	tool_id uuid NOT NULL,
	name text NOT NULL,
	rate_limit integer,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	CONSTRAINT gateway_tools_tool UNIQUE (gateway_id, tool_id),
	FOREIGN KEY (organization_id, gateway_id) REFERENCES gateways (organization_id, id) ON DELETE CASCADE,
	FOREIGN KEY (organization_id, tool_id) REFERENCES tools (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX gateway_tools_list ON gateway_tools (organization_id, gateway_id, seq);
CREATE INDEX gateway_tools_by_tool ON gateway_tools (organization_id, tool_id);
CREATE UNIQUE INDEX gateway_tools_name ON gateway_tools (gateway_id, lower(name));
CREATE TABLE gateway_auth (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL,
	gateway_id uuid NOT NULL,
	type text NOT NULL,
	is_required boolean NOT NULL,
	configuration json NOT NULL,
	validation_rules json NOT NULL,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	FOREIGN KEY (organization_id, gateway_id) REFERENCES gateways (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX gateway_auth_list ON gateway_auth (organization_id, gateway_id, seq);
CREATE TABLE gateway_keys (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL,
	gateway_id uuid NOT NULL,
	name text NOT NULL,
	prefix text NOT NULL,
	hash bytea NOT NULL CONSTRAINT gateway_keys_hash UNIQUE,
	scopes text[] NOT NULL,
	expires_at timestamptz,
	revoked_at timestamptz,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (organization_id, id),
	FOREIGN KEY (organization_id, gateway_id) REFERENCES gateways (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX gateway_keys_list ON gateway_keys (organization_id, gateway_id, seq);
CREATE TABLE gateway_key_uses (
	organization_id uuid NOT NULL,
	key_id uuid NOT NULL,
	last_used_at timestamptz NOT NULL,
	PRIMARY KEY (organization_id, key_id),
	FOREIGN KEY (organization_id, key_id) REFERENCES gateway_keys (organization_id, id) ON DELETE CASCADE
);
`;

// A run outlives its tool, gateway and key, but not its organization.
const TRACES = `
CREATE TABLE records (
	organization_id uuid NOT NULL,
	gateway_id uuid NOT NULL,
	plugin text NOT NULL,
	key text NOT NULL,
	seq bigint GENERATED ALWAYS AS IDENTITY,
	value json NOT NULL,
	tags text[] NOT NULL,
	revision integer NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	expires_at timestamptz,
	taken_at timestamptz,
	PRIMARY KEY (organization_id, gateway_id, plugin, key),
	FOREIGN KEY (organization_id, gateway_id) REFERENCES gateways (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX records_tags ON records USING gin (tags);
CREATE INDEX records_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE tool_runs (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	tool_id uuid NOT NULL,
	gateway_id uuid,
	key_id uuid,
	subject text NOT NULL,
	status text NOT NULL CHECK (status IN ('success', 'failed')),
	error text,
	duration_ms integer NOT NULL,
	started_at timestamptz NOT NULL
);
CREATE INDEX tool_runs_list ON tool_runs (organization_id, started_at);
CREATE INDEX tool_runs_age ON tool_runs (started_at);
`;

// Every update, whoever writes it, gets a time in JavaScript's milliseconds, and increments the version of rows that have one.
const TOUCH = `
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	NEW.updated_at := date_trunc('milliseconds', clock_timestamp());
	RETURN NEW;
END
$function$;
CREATE FUNCTION revise() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	NEW.updated_at := date_trunc('milliseconds', clock_timestamp());
	NEW.version := OLD.version + 1;
	RETURN NEW;
END
$function$;
`;

const TOUCHED = ['organizations', 'users', 'memberships', 'api_credentials', 'operations', 'gateway_tools', 'gateway_auth', 'gateway_keys'];
const REVISED = ['apis', 'tools', 'gateways'];

// A trigger announces changes, so no code path can forget to. The row records what a poll has missed, the notification shortens the wait.
// Arguments: pairs of a topic's prefix and the column with its id.
const ANNOUNCE = `
CREATE TABLE changes (
	topic text NOT NULL,
	xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
	at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX changes_xid ON changes (xid);
CREATE INDEX changes_age ON changes (at);
CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
	topics text[];
BEGIN
	FOR pair IN 0 .. TG_NARGS - 1 BY 2 LOOP
		EXECUTE format('SELECT array_agg(DISTINCT %L || %I::text) FROM touched', TG_ARGV[pair], TG_ARGV[pair + 1]) INTO topics;
		INSERT INTO changes (topic) SELECT unnest(topics);
		PERFORM pg_notify('gatehouse_changes', topic) FROM unnest(topics) AS topic;
	END LOOP;
	RETURN NULL;
END
$function$;
`;

const OF_ORGANIZATION = `'org:', 'organization_id'`;
/** The tables read for a gateway's snapshot, a key's check or an account. */
const ANNOUNCED: Record<string, string> = {
	organizations: `'org:', 'id'`,
	users: `'user:', 'id'`,
	memberships: `${OF_ORGANIZATION}, 'user:', 'user_id'`,
	apis: OF_ORGANIZATION,
	api_credentials: OF_ORGANIZATION,
	tools: OF_ORGANIZATION,
	gateways: OF_ORGANIZATION,
	gateway_tools: OF_ORGANIZATION,
	gateway_auth: OF_ORGANIZATION,
	gateway_keys: OF_ORGANIZATION,
};

const updateTrigger =
	(action: 'touch' | 'revise') =>
	(table: string): string =>
		`CREATE TRIGGER ${action} BEFORE UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${action}();`;

/** PostgreSQL requires one trigger per event with transition tables. */
const announceTriggers = ([table, topics]: [string, string]): string =>
	[
		['insert', 'NEW'],
		['update', 'NEW'],
		['delete', 'OLD'],
	]
		.map(
			([event, side]) =>
				`CREATE TRIGGER announce_${event} AFTER ${event} ON ${table} REFERENCING ${side} TABLE AS touched
				FOR EACH STATEMENT EXECUTE FUNCTION announce(${topics});`,
		)
		.join('\n');

export const foundation: Migration = {
	name: '0001-foundation',
	statements: [
		ACCOUNTS,
		APIS,
		TOOLS,
		GATEWAYS,
		TRACES,
		TOUCH,
		...TOUCHED.map(updateTrigger('touch')),
		...REVISED.map(updateTrigger('revise')),
		ANNOUNCE,
		...Object.entries(ANNOUNCED).map(announceTriggers),
	],
};
