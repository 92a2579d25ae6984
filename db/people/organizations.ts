// Organizations. Their members are in `members.ts` and `invitations.ts`.

import type { OrganizationRow, Organizations } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { ORGANIZATION } from '../models/account.ts';
import { pick } from '../models/columns.ts';
import type { Models } from '../models/index.ts';
import { startWalk, toPage, uuid, type Walk } from '../pages.ts';
import { rows } from '../rows.ts';
import { withSlug } from '../slugs.ts';
import { storable } from '../text.ts';
import { createInvitations } from './invitations.ts';
import { createMembers } from './members.ts';
import { MEMBERSHIP, type MembershipColumns, toMembership } from './rows.ts';

/** The list's name in its cursors. */
const NAME = 'organizations';
const list = ({ beyond, direction }: Walk<MembershipColumns>): string => `
SELECT ${MEMBERSHIP} FROM memberships m JOIN organizations o ON o.id = m.organization_id
WHERE m.user_id = $1 AND m.seq ${beyond} $2 ORDER BY m.seq ${direction} LIMIT $3`;
// Both rows or none; no row at all when the slug is taken.
const CREATE = `
WITH organization AS (
	INSERT INTO organizations (name, slug, created_by) VALUES ($2, $3, $1) ON CONFLICT ON CONSTRAINT organizations_slug DO NOTHING
	RETURNING id, name, slug, created_at
), membership AS (
	INSERT INTO memberships (organization_id, user_id, role) SELECT id, $1, 'owner' FROM organization
)
SELECT id, name, slug, created_at AS "createdAt" FROM organization`;

export function createOrganizations(database: Database, { Organization }: Models): Organizations {
	const { ordinary } = database;
	return {
		...createMembers(database),
		...createInvitations(database),
		async list(userId, page) {
			const walk = startWalk<MembershipColumns>(NAME, page);
			const found = await rows<MembershipColumns>(ordinary, list(walk), [uuid(userId), walk.last.seq, page.limit + 1]);
			return toPage(walk, found, page, toMembership);
		},
		async create(userId, { name, slugs }) {
			storable({ name });
			return database.write((transaction) =>
				withSlug({ ordinary, transaction }, slugs, async (slug) => {
					const [made] = await rows<OrganizationRow>(ordinary, CREATE, [uuid(userId), name, slug], transaction);
					return made ?? null;
				}),
			);
		},
		async get(organizationId) {
			const attributes = ['id', 'name', 'slug', 'createdAt'];
			return await Organization.findOne({ where: { id: uuid(organizationId) }, attributes, raw: true });
		},
		update: (organizationId, change) =>
			database.write(async (transaction) => {
				const where = { id: uuid(organizationId) };
				const [, [changed]] = await Organization.update(storable(change), { where, returning: true, transaction });
				return changed ? toOrganization(changed) : null;
			}),
		async settings(organizationId) {
			const found = await Organization.findOne({ where: { id: uuid(organizationId) }, attributes: ['codeMayFetch', 'toolExposure'] });
			return { codeMayFetch: found?.codeMayFetch ?? false, toolExposure: found?.toolExposure ?? 'full' };
		},
		async account(organizationId) {
			const found = await Organization.findOne({ where: { id: uuid(organizationId) }, attributes: ['createdBy'] });
			return found?.createdBy ?? organizationId;
		},
	};
}

const toOrganization = (row: OrganizationRow): OrganizationRow => pick(row, ORGANIZATION);
