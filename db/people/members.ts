// The members of an organization, and their roles.

import type { Sequelize, Transaction } from 'sequelize';
import { GatewayError } from '../../core/contract/errors.ts';
import type { Role } from '../../core/contract/permissions.ts';
import type { Organizations } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { startWalk, toPage, uuid, type Walk } from '../pages.ts';
import { rows } from '../rows.ts';
import { MEMBER, type MemberColumns, PERSON, toMember } from './rows.ts';

/** The list's name in its cursors. */
const NAME = 'members';
const list = ({ beyond, direction }: Walk<MemberColumns>): string => `
SELECT ${PERSON}, ${MEMBER} FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.organization_id = $1 AND m.seq ${beyond} $2 ORDER BY m.seq ${direction} LIMIT $3`;
// This lock does not conflict with foreign key checks, so that adding a tool and changing members do not wait for each other.
const LOCK = 'SELECT id FROM organizations WHERE id = $1 FOR NO KEY UPDATE';
const FIND = `
SELECT ${PERSON}, ${MEMBER},
	(SELECT role FROM memberships WHERE organization_id = $1 AND user_id = $3) AS "actorRole",
	(SELECT count(*)::int FROM memberships WHERE organization_id = $1 AND role = 'owner' AND user_id <> $2) AS "otherOwners"
FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.organization_id = $1 AND m.user_id = $2`;
const SET_ROLE = 'UPDATE memberships SET role = $3 WHERE organization_id = $1 AND user_id = $2 AND role <> $3';
const REMOVE = 'DELETE FROM memberships WHERE organization_id = $1 AND user_id = $2';

type Change = Parameters<Organizations['changeMember']>[2];
type Found = MemberColumns & { actorRole: Role | null; otherOwners: number };

export function createMembers(database: Database): Pick<Organizations, 'members' | 'changeMember'> {
	const { ordinary } = database;
	return {
		async members(organizationId, page) {
			const walk = startWalk<MemberColumns>(NAME, page);
			const found = await rows<MemberColumns>(ordinary, list(walk), [uuid(organizationId), walk.last.seq, page.limit + 1]);
			return toPage(walk, found, page, toMember);
		},
		changeMember: (organizationId, userId, change) =>
			database.write(async (transaction) => {
				const place = [uuid(organizationId), uuid(userId)];
				if (!(await lockPeople(ordinary, uuid(organizationId), transaction))) return null;
				// Read after the lock is held: a statement sees everything committed before it began.
				const [member] = await rows<Found>(ordinary, FIND, [...place, uuid(change.by)], transaction);
				if (!member) return null;
				assertAllowed(member, change);
				if (change.role === null) await rows(ordinary, REMOVE, place, transaction);
				else await rows(ordinary, SET_ROLE, [...place, change.role], transaction);
				return { ...toMember(member), role: change.role ?? member.role };
			}),
	};
}

/** Serializes changes of the organization's members until the transaction ends. @returns whether there is such an organization */
export async function lockPeople(sequelize: Sequelize, organizationId: string, transaction: Transaction): Promise<boolean> {
	return (await rows(sequelize, LOCK, [organizationId], transaction)).length > 0;
}

/** @throws conflict, and the error of `permit` */
function assertAllowed({ role, actorRole, otherOwners }: Found, change: Change): void {
	change.permit(actorRole, role);
	if (role !== 'owner' || change.role === 'owner' || otherOwners > 0) return;
	const message = 'An organization needs an owner: make somebody else one first.';
	throw new GatewayError('conflict', message, { details: change.role === null ? [] : [{ path: '/role', message }] });
}
