// Invitations into an organization. Only hashes of their links are stored; the database's clock decides on expiry.

import { GatewayError, notFound } from '../../core/contract/errors.ts';
import type { Role } from '../../core/contract/permissions.ts';
import type { InvitationRow, Organizations } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { unlessOrphan } from '../errors.ts';
import { startWalk, toPage, uuid, type Walk } from '../pages.ts';
import { rows } from '../rows.ts';
import { storable } from '../text.ts';
import { formsOfAddress, isAddress, storedAddress } from './addresses.ts';
import { lockPeople } from './members.ts';
import { MEMBERSHIP, type MembershipColumns, toMembership } from './rows.ts';

/** The list's name in its cursors. */
const NAME = 'invitations';
const COLUMNS = `v.id, v.seq, v.organization_id AS "organizationId", v.email, v.role, v.invited_by AS "invitedBy",
	v.created_at AS "createdAt", v.expires_at AS "expiresAt"`;
const LIVE = 'v.accepted_at IS NULL AND v.revoked_at IS NULL AND v.expires_at > now()';

const list = ({ beyond, direction }: Walk<InvitationColumns>): string => `
SELECT ${COLUMNS} FROM invitations v WHERE v.organization_id = $1 AND v.seq ${beyond} $2 AND ${LIVE}
ORDER BY v.seq ${direction} LIMIT $3`;
const FIND_MEMBER = `
SELECT u.id FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.organization_id = $1 AND ${isAddress('u.email', '$2')}`;
const REPLACE = `UPDATE invitations v SET revoked_at = now() WHERE v.organization_id = $1 AND ${isAddress('v.email', '$2')} AND ${LIVE}`;
const INVITE = `
INSERT INTO invitations AS v (organization_id, email, role, invited_by, hash, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
RETURNING ${COLUMNS}`;
const REVOKE = `UPDATE invitations v SET revoked_at = now() WHERE v.organization_id = $1 AND v.id = $2 AND ${LIVE} RETURNING ${COLUMNS}`;
const BY_HASH = `
SELECT ${COLUMNS}, o.name AS "organizationName", o.slug, o.created_at AS "foundedAt", i.role AS "inviterRole"
FROM invitations v JOIN organizations o ON o.id = v.organization_id
LEFT JOIN memberships i ON i.organization_id = v.organization_id AND i.user_id = v.invited_by
WHERE v.hash = $1 AND ${LIVE}`;
// Both rows or neither: for an existing member the key of `memberships` fails, and the invitation stays as it was.
const ACCEPT = `
WITH taken AS (
	UPDATE invitations v SET accepted_at = now(), accepted_by = $2 WHERE v.hash = $1 AND ${LIVE} RETURNING organization_id, role
), m AS (
	INSERT INTO memberships (organization_id, user_id, role) SELECT organization_id, $2, role FROM taken
	RETURNING organization_id, seq, role, created_at
)
SELECT ${MEMBERSHIP} FROM m JOIN organizations o ON o.id = m.organization_id`;

/** The constraints on `role` admit no other values than the type's. */
type InvitationColumns = InvitationRow & { seq: string };
type WithOrganization = InvitationColumns & { organizationName: string; slug: string; foundedAt: Date; inviterRole: Role | null };
type Invitations = Pick<Organizations, 'invitations' | 'invite' | 'revokeInvitation' | 'invitationByHash' | 'accept'>;

export function createInvitations(database: Database): Invitations {
	const { ordinary } = database;
	return {
		async invitations(organizationId, page) {
			const walk = startWalk<InvitationColumns>(NAME, page);
			const found = await rows<InvitationColumns>(ordinary, list(walk), [uuid(organizationId), walk.last.seq, page.limit + 1]);
			return toPage(walk, found, page, toInvitation);
		},
		invite: (organizationId, invitation) => invite(database, uuid(organizationId), invitation),
		revokeInvitation: (organizationId, id) =>
			database.write(async (transaction) => {
				const [revoked] = await rows<InvitationColumns>(ordinary, REVOKE, [uuid(organizationId), uuid(id)], transaction);
				return revoked ? toInvitation(revoked) : null;
			}),
		async invitationByHash(hash) {
			const [found] = await rows<WithOrganization>(ordinary, BY_HASH, [hash]);
			if (!found) return null;
			const { organizationId, organizationName, slug, foundedAt, inviterRole } = found;
			const organization = { id: organizationId, name: organizationName, slug, createdAt: foundedAt };
			return { invitation: toInvitation(found), organization, inviterRole };
		},
		accept: (hash, userId) =>
			unlessOrphan(() =>
				database.write(async (transaction) => {
					const [invitation] = await rows<InvitationColumns>(ordinary, BY_HASH, [hash], transaction);
					if (!invitation || !(await lockPeople(ordinary, invitation.organizationId, transaction))) return null;
					const [joined] = await rows<MembershipColumns>(ordinary, ACCEPT, [hash, uuid(userId)], transaction);
					return joined ? toMembership(joined) : null;
				}),
			),
	};
}

/** @throws not_found, conflict */
async function invite(
	database: Database,
	organizationId: string,
	{ email, role, invitedBy, expiresAt, hash }: Parameters<Organizations['invite']>[1],
): Promise<InvitationRow> {
	storable({ email });
	const { ordinary } = database;
	return database.write(async (transaction) => {
		if (!(await lockPeople(ordinary, organizationId, transaction))) throw notFound('Organization');
		const members = await rows(ordinary, FIND_MEMBER, [organizationId, formsOfAddress(email)], transaction);
		if (members.length > 0) throw isMember();
		await rows(ordinary, REPLACE, [organizationId, formsOfAddress(email)], transaction);
		const bind = [organizationId, storedAddress(email), role, uuid(invitedBy), hash, expiresAt];
		const [made] = await rows<InvitationColumns>(ordinary, INVITE, bind, transaction);
		if (!made) throw new Error('PostgreSQL inserted an invitation and answered without it.');
		return toInvitation(made);
	});
}

function isMember(): GatewayError {
	const message = 'email belongs to a member of the organization.';
	return new GatewayError('conflict', message, { details: [{ path: '/email', message }] });
}

const toInvitation = ({ id, organizationId, email, role, invitedBy, createdAt, expiresAt }: InvitationColumns): InvitationRow => ({
	id,
	organizationId,
	email,
	role,
	invitedBy,
	createdAt,
	expiresAt,
});
