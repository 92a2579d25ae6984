// The creator of each organization: the account for which its shares of scarce things count.

import type { Migration } from '../migrate.ts';

// The column refers to nothing, so that the id stays when the user is gone. It is null where nobody knows the creator, and where a replica of
// an older release makes an organization after this migration.
const COLUMN = 'ALTER TABLE organizations ADD COLUMN created_by uuid;';

// The audit log names the creator of organizations that were made since there is one; for others the first owner is taken, else the first
// member. Triggers are off meanwhile: nothing that anybody was told of has changed.
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
