// New passwords: with the former one, or with a reset that was sent by mail. Both end the user's logins and resets.

import type { Transaction } from 'sequelize';
import type { Accounts } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { PERSON, type PersonColumns, toPerson } from './rows.ts';

// Everything here begins with the user's row, changed or locked. So a user's changes are serialized, and the statement after it sees all
// logins and resets that were added before.
const CHANGE = 'UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2 RETURNING id';
const LOCK = 'SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE';
const LOCK_OWNER = `
SELECT u.id FROM users u JOIN password_resets r ON r.user_id = u.id WHERE r.hash = $1 FOR NO KEY UPDATE OF u`;

const LIVE = 'used_at IS NULL AND expires_at > now()';
const ADD = `
INSERT INTO password_resets (hash, user_id, expires_at)
SELECT $2, $1, $3 WHERE (SELECT count(*) FROM password_resets WHERE user_id = $1 AND ${LIVE}) < $4
RETURNING hash`;
const IS_LIVE = `SELECT hash FROM password_resets WHERE hash = $1 AND ${LIVE}`;
const REDEEM = `
WITH taken AS (
	UPDATE password_resets SET used_at = now() WHERE hash = $1 AND ${LIVE} RETURNING user_id
)
UPDATE users u SET password_hash = $2 FROM taken WHERE u.id = taken.user_id RETURNING ${PERSON}`;
const END_OTHERS = `
WITH ended AS (
	UPDATE sessions SET ended_at = now() WHERE user_id = $1 AND id IS DISTINCT FROM $2 AND ended_at IS NULL
)
UPDATE password_resets SET used_at = now() WHERE user_id = $1 AND used_at IS NULL RETURNING hash`;

type Resets = Pick<Accounts, 'changePassword' | 'addReset' | 'isResetLive' | 'redeemReset'>;

export function createResets({ ordinary, write }: Database): Resets {
	/** @param keep the session that continues, if any */
	const endOthers = (userId: string, keep: string | null, transaction: Transaction) =>
		rows(ordinary, END_OTHERS, [userId, keep], transaction);
	return {
		changePassword: (userId, { from, to, keep }) =>
			write(async (transaction) => {
				const changed = await rows(ordinary, CHANGE, [uuid(userId), from, to], transaction);
				if (changed.length === 0) return false;
				await endOthers(uuid(userId), uuid(keep), transaction);
				return true;
			}),
		addReset: (userId, { hash, expiresAt, most }) =>
			write(async (transaction) => {
				const locked = await rows(ordinary, LOCK, [uuid(userId)], transaction);
				if (locked.length === 0) return false;
				const added = await rows(ordinary, ADD, [uuid(userId), hash, expiresAt, most], transaction);
				return added.length > 0;
			}),
		isResetLive: async (hash) => (await rows(ordinary, IS_LIVE, [hash])).length > 0,
		redeemReset: (hash, passwordHash) =>
			write(async (transaction) => {
				await rows(ordinary, LOCK_OWNER, [hash], transaction);
				const [user] = await rows<PersonColumns>(ordinary, REDEEM, [hash, passwordHash], transaction);
				if (!user) return null;
				await endOthers(user.userId, null, transaction);
				return toPerson(user);
			}),
	};
}
