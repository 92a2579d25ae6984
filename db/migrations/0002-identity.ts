// Logins that can be ended, password resets, invitations, access keys; facts of the whole installation.

import type { Migration } from '../migrate.ts';

// `ended_at`: by logout, by a change of the password, or by a reset.
const SESSIONS = `
CREATE TABLE sessions (
	id uuid PRIMARY KEY,
	user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
	address text NOT NULL,
	user_agent text,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	ended_at timestamptz
);
CREATE INDEX sessions_user ON sessions (user_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_age ON sessions (created_at);
CREATE TABLE password_resets (
	hash bytea PRIMARY KEY,
	user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	expires_at timestamptz NOT NULL,
	used_at timestamptz
);
CREATE INDEX password_resets_user ON password_resets (user_id);
CREATE INDEX password_resets_expiry ON password_resets (expires_at);
`;

const INVITATIONS = `
ALTER TABLE memberships ADD CONSTRAINT memberships_role CHECK (role IN ('owner', 'admin', 'member', 'viewer'));
CREATE TABLE invitations (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	email text NOT NULL,
	role text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
	hash bytea NOT NULL CONSTRAINT invitations_hash UNIQUE,
	invited_by uuid NOT NULL REFERENCES users ON DELETE CASCADE,
	accepted_by uuid REFERENCES users ON DELETE SET NULL,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	expires_at timestamptz NOT NULL,
	accepted_at timestamptz,
	revoked_at timestamptz
);
CREATE INDEX invitations_list ON invitations (organization_id, seq);
CREATE INDEX invitations_address ON invitations (organization_id, lower(email)) WHERE accepted_at IS NULL AND revoked_at IS NULL;
`;

// A key for one gateway exists no longer than the gateway, and no longer than its owner's membership. A null in `permissions` grants
// everything that the owner may do.
const ACCESS_KEYS = `
CREATE TABLE access_keys (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
	organization_id uuid,
	gateway_id uuid,
	name text NOT NULL,
	prefix text NOT NULL,
	hash bytea NOT NULL CONSTRAINT access_keys_hash UNIQUE,
	permissions text[],
	revoked_at timestamptz,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (user_id, id),
	CONSTRAINT access_keys_scope CHECK ((organization_id IS NULL) = (gateway_id IS NULL)),
	FOREIGN KEY (organization_id, user_id) REFERENCES memberships (organization_id, user_id) ON DELETE CASCADE,
	FOREIGN KEY (organization_id, gateway_id) REFERENCES gateways (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX access_keys_list ON access_keys (user_id, seq);
CREATE INDEX access_keys_gateway ON access_keys (organization_id, gateway_id) WHERE gateway_id IS NOT NULL;
CREATE TABLE access_key_uses (
	user_id uuid NOT NULL,
	key_id uuid NOT NULL,
	last_used_at timestamptz NOT NULL,
	PRIMARY KEY (user_id, key_id),
	FOREIGN KEY (user_id, key_id) REFERENCES access_keys (user_id, id) ON DELETE CASCADE
);
CREATE TRIGGER touch BEFORE UPDATE ON access_keys FOR EACH ROW EXECUTE FUNCTION touch();
`;

// Facts of the installation that are written once, such as the proof of its encryption key.
const INSTALLATION = `
CREATE TABLE installation (
	name text PRIMARY KEY,
	value text NOT NULL,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
`;

// A change of these drops the replicas' cached data of an account. A new login changes nothing that is cached.
const ANNOUNCE = [
	['sessions', 'update', 'NEW'],
	['access_keys', 'update', 'NEW'],
	['access_keys', 'delete', 'OLD'],
].map(
	([table, event, side]) =>
		`CREATE TRIGGER announce_${event} AFTER ${event} ON ${table} REFERENCING ${side} TABLE AS touched
		FOR EACH STATEMENT EXECUTE FUNCTION announce('user:', 'user_id');`,
);

export const identity: Migration = {
	name: '0002-identity',
	statements: [SESSIONS, INVITATIONS, ACCESS_KEYS, INSTALLATION, ...ANNOUNCE],
};
