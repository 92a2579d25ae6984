// Users, organizations and memberships.

import { col, fn, QueryTypes, type Sequelize, where } from 'sequelize';
import { GatewayError } from '../core/errors.ts';
import type { Accounts, MembershipRow, OrganizationRow, UserRow } from '../core/store.ts';
import type { Models } from './models/index.ts';
import { uuid } from './pages.ts';
import { storable } from './text.ts';

type NewUser = Parameters<Accounts['register']>[0];

// All three rows or none, in one statement; no row at all when the slug is taken.
const REGISTER = `
WITH organization AS (
	INSERT INTO organizations (name, slug) VALUES ($1, $2) ON CONFLICT ON CONSTRAINT organizations_slug DO NOTHING
	RETURNING id, created_at
), account AS (
	INSERT INTO users (email, password_hash, first_name, last_name) SELECT $3, $4, $5, $6 FROM organization
	RETURNING id, created_at
), membership AS (
	INSERT INTO memberships (organization_id, user_id, role) SELECT organization.id, account.id, 'owner' FROM organization, account
)
SELECT organization.id AS "organizationId", account.id AS "userId", account.created_at AS "createdAt" FROM organization, account`;

const MEMBERSHIPS = `
SELECT o.id, o.name, o.slug, o.created_at AS "createdAt", m.role
FROM memberships m JOIN organizations o ON o.id = m.organization_id
WHERE m.user_id = $1 ORDER BY m.seq`;

export function createAccounts(sequelize: Sequelize, { User }: Models): Accounts {
	return {
		async register(user, { name, slugs }) {
			storable({ organizationName: name });
			for (const slug of slugs) {
				const registered = await tryRegister(sequelize, user, { name, slug });
				if (registered) return registered;
			}
			throw new GatewayError('conflict', 'organizationName yields no free slug: choose another name.');
		},
		async byEmail(email) {
			const user = await User.findOne({ where: where(fn('lower', col('email')), fn('lower', email)), raw: true });
			return user && toUser(user);
		},
		async byId(userId) {
			const user = await User.findOne({ where: { id: uuid(userId) }, raw: true });
			return user && toUser(user);
		},
		async memberships(userId) {
			const rows = await sequelize.query<OrganizationRow & { role: string }>(MEMBERSHIPS, {
				bind: [uuid(userId)],
				type: QueryTypes.SELECT,
			});
			return rows.map(({ role, ...organization }): MembershipRow => ({ organization, role }));
		},
	};
}

async function tryRegister(sequelize: Sequelize, user: NewUser, organization: { name: string; slug: string }) {
	const { email, passwordHash, firstName, lastName } = storable(user);
	const [made] = await sequelize.query<{ organizationId: string; userId: string; createdAt: Date }>(REGISTER, {
		bind: [organization.name, organization.slug, email, passwordHash, firstName, lastName],
		type: QueryTypes.SELECT,
	});
	if (!made) return null;
	const { organizationId, userId, createdAt } = made;
	return {
		user: { id: userId, email, passwordHash, firstName, lastName, createdAt },
		organization: { id: organizationId, name: organization.name, slug: organization.slug, createdAt },
	};
}

const toUser = ({ id, email, passwordHash, firstName, lastName, createdAt }: UserRow): UserRow => ({
	id,
	email,
	passwordHash,
	firstName,
	lastName,
	createdAt,
});
