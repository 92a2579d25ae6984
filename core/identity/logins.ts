// Logs a user in, by the API or on a page of a gateway: checks the password, then starts a session with its first token.

import { randomUUID } from 'node:crypto';
import type { Passwords } from '../secrets/passwords.ts';
import type { Login, Tokens } from '../secrets/tokens.ts';
import type { Store, UserRow } from '../store/store.ts';

export interface LoginParts {
	store: Store;
	passwords: Passwords;
	tokens: Tokens;
}

const MAX_EMAIL_LENGTH = 254;

/**
 * Returns the user with this address and password; null when either is wrong, after the same time.
 * @param found receives the user of the address before the password is checked
 * @throws rate_limited when too many wait
 */
export async function checkPassword(
	{ email, password }: { email: string; password: string },
	{ store, passwords }: Pick<LoginParts, 'store' | 'passwords'>,
	found?: (userId: string) => void,
): Promise<UserRow | null> {
	const user = canBeStored(email) ? await store.accounts.byEmail(email) : null;
	if (user) found?.(user.id);
	const matches = await passwords.verify(password, user?.passwordHash ?? null);
	return matches ? user : null;
}

/** Tells whether the database can store such an address: there is no account with another one. */
const canBeStored = (email: string): boolean => email.length <= MAX_EMAIL_LENGTH && email.isWellFormed() && !email.includes('\0');

/** Starts a new login with its first token; null when the password was changed while it was checked. */
export async function beginLogin(
	{ id: userId, passwordHash }: Pick<UserRow, 'id' | 'passwordHash'>,
	{ address, userAgent }: { address: string; userAgent: string | null },
	{ store, tokens }: Pick<LoginParts, 'store' | 'tokens'>,
): Promise<{ login: Login; token: string } | null> {
	const login: Login = { sessionId: randomUUID(), userId, at: new Date() };
	const begun = await store.accounts.startSession({ id: login.sessionId, userId, address, userAgent, passwordHash });
	return begun ? { login, token: tokens.issue(login) } : null;
}
