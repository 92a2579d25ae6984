// Logins. Each is a row, so that all its tokens end with it, on every replica.

import type { Accounts } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { lenient } from '../text.ts';
import { type AccessColumns, MEMBERSHIP, PERSON, toAccess } from './rows.ts';

// The lock waits for a running change of the password, and then finds the new one: a login that was checked against the former password
// cannot begin after the others were ended.
const START = `
INSERT INTO sessions (id, user_id, address, user_agent)
SELECT $1::uuid, id, $3, $4 FROM users WHERE id = $2 AND password_hash = $5 FOR SHARE
RETURNING id`;
const SESSION = `
SELECT ${PERSON}, ${MEMBERSHIP}
FROM sessions s JOIN users u ON u.id = s.user_id
LEFT JOIN memberships m ON m.user_id = u.id
LEFT JOIN organizations o ON o.id = m.organization_id
WHERE s.id = $1 AND s.user_id = $2 AND s.ended_at IS NULL
ORDER BY m.seq`;
const END = 'UPDATE sessions SET ended_at = now() WHERE id = $1 AND ended_at IS NULL RETURNING id';
const PRUNE = `
WITH old_sessions AS (
	DELETE FROM sessions WHERE created_at < $1 RETURNING id
), old_resets AS (
	DELETE FROM password_resets WHERE expires_at < now() - interval '1 day' RETURNING hash
)
SELECT (SELECT count(*)::int FROM old_sessions) + (SELECT count(*)::int FROM old_resets) AS pruned`;

type Sessions = Pick<Accounts, 'startSession' | 'session' | 'endSession' | 'prune'>;

export function createSessions({ ordinary, bulk }: Database): Sessions {
	return {
		async startSession({ id, userId, address, userAgent, passwordHash }) {
			const client = [lenient(address), userAgent && lenient(userAgent)];
			const started = await rows(ordinary, START, [id, uuid(userId), ...client, passwordHash]);
			return started.length > 0;
		},
		async session(sessionId, userId) {
			const found = await rows<AccessColumns>(ordinary, SESSION, [uuid(sessionId), uuid(userId)]);
			return found[0] ? toAccess(found[0], found) : null;
		},
		endSession: async (sessionId) => (await rows(ordinary, END, [uuid(sessionId)])).length > 0,
		async prune(sessionsOlderThan) {
			const [counted] = await rows<{ pruned: number }>(bulk, PRUNE, [sessionsOlderThan]);
			return counted?.pruned ?? 0;
		},
	};
}
