// The creator of each organization: the account that the organization's quotas count for.

import type { Migration } from '../migrate.ts';

// The column is no foreign key, so that the id stays when the user is gone. It is null when the creator is unknown, and when a replica of
// an older release creates an organization after this migration.
const COLUMN = 'ALTER TABLE organizations ADD COLUMN created_by uuid;';

// The audit log names the creators of organizations that are younger than the log; others get their first owner, else their first member.
// Triggers are disabled meanwhile, since nothing that was announced has changed.
const BACK_FILL = `
ALTER TABLE organizations DISABLE TRIGGER USER;
UPDATE organizations o SET created_by = coalesce(
	(SELECT a.actor_id FROM audit_log a WHERE a.organization_id = o.id AND a.resource_id = o.id
		AND a.resource_type = 'organization' AND a.action = 'create' ORDER BY a.seq LIMIT 1),
	(SELECT m.user_id FROM memberships m WHERE m.organization_id = o.id ORDER BY m.role <> 'owner', m.seq LIMIT 1)
);
ALTER TABLE organizations ENABLE TRIGGER USER;
`;

export const creators: Migration = { name: '0010-creators', statements: [COLUMN, BACK_FILL] };
