// Users: registration, look-up, and memberships. Logins are in `sessions.ts`, new passwords in `resets.ts`.

import type { Transaction } from 'sequelize';
import type { Accounts, UserRow } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import type { Models } from '../models/index.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { findFreeSlug, findTakenSlugs, withSlug } from '../slugs.ts';
import { lenient, storable } from '../text.ts';
import { formsOfAddress, isAddress, storedAddress } from './addresses.ts';
import { createResets } from './resets.ts';
import { MEMBERSHIP, type MembershipColumns, PERSON, type PersonColumns, toMembership, toPerson, toUser } from './rows.ts';
import { createSessions } from './sessions.ts';

type NewUser = Parameters<Accounts['register']>[0];

// All three rows or none, in one statement; no row at all when the slug is taken.
const REGISTER = `
WITH person AS MATERIALIZED (
	SELECT coalesce($7, gen_random_uuid()) AS id
), organization AS (
	INSERT INTO organizations (name, slug, created_by) SELECT $1, $2, id FROM person
	ON CONFLICT ON CONSTRAINT organizations_slug DO NOTHING
	RETURNING id, created_at, created_by
), account AS (
	INSERT INTO users (email, password_hash, first_name, last_name, id) SELECT $3, $4, $5, $6, created_by FROM organization
	RETURNING id, created_at
), membership AS (
	INSERT INTO memberships (organization_id, user_id, role) SELECT organization.id, account.id, 'owner' FROM organization, account
)
SELECT organization.id AS "organizationId", account.id AS "userId", account.created_at AS "createdAt" FROM organization, account`;

// A former version may have made two accounts of one address: the one in the given form comes first.
const BY_EMAIL = `
SELECT ${PERSON}, u.password_hash AS "passwordHash" FROM users u WHERE ${isAddress('u.email', '$1')}
ORDER BY array_position(ARRAY(SELECT lower(form) FROM unnest($1::text[]) WITH ORDINALITY AS f (form, at) ORDER BY at), lower(u.email)) LIMIT 1`;

const MEMBERSHIPS = `
SELECT ${MEMBERSHIP} FROM memberships m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = $1 ORDER BY m.seq`;

export function createAccounts(database: Database, { User }: Models): Accounts {
	const byId = async (userId: string): Promise<UserRow | null> => {
		const user = await User.findOne({ where: { id: uuid(userId) }, raw: true });
		return user && toUser(user);
	};
	return {
		...createSessions(database),
		...createResets(database),
		async register(user, { name, slugs }) {
			storable({ organizationName: name });
			return database.write((transaction) =>
				withSlug({ ordinary: database.ordinary, transaction }, slugs, (slug) => tryRegister(database, user, { name, slug }, transaction)),
			);
		},
		async byEmail(email) {
			if (email !== lenient(email)) return null;
			const [user] = await rows<PersonColumns & { passwordHash: string }>(database.ordinary, BY_EMAIL, [formsOfAddress(email)]);
			return user ? { ...toPerson(user), passwordHash: user.passwordHash } : null;
		},
		byId,
		async memberships(userId) {
			const found = await rows<MembershipColumns>(database.ordinary, MEMBERSHIPS, [uuid(userId)]);
			return found.map(toMembership);
		},
		async update(userId, change) {
			if (Object.keys(change).length > 0) await User.update(storable(change), { where: { id: uuid(userId) } });
			return byId(userId);
		},
		takenSlugs: (slugs) => findTakenSlugs(database.ordinary, slugs),
		freeSlug: (slugs) => findFreeSlug({ ordinary: database.ordinary, transaction: null }, slugs),
	};
}

interface Registered {
	organizationId: string;
	userId: string;
	createdAt: Date;
}

/** Registers under one slug; null when it is taken. */
async function tryRegister(
	{ ordinary }: Database,
	user: NewUser,
	organization: { name: string; slug: string },
	transaction: Transaction,
): Promise<Awaited<ReturnType<Accounts['register']>> | null> {
	const { passwordHash, firstName, lastName, ...given } = storable(user);
	const email = storedAddress(given.email);
	const bind = [organization.name, organization.slug, email, passwordHash, firstName, lastName, user.id ?? null];
	const [made] = await rows<Registered>(ordinary, REGISTER, bind, transaction);
	if (!made) return null;
	const { organizationId, userId, createdAt } = made;
	return {
		user: { id: userId, email, passwordHash, firstName, lastName, createdAt },
		organization: { id: organizationId, name: organization.name, slug: organization.slug, createdAt },
	};
}
