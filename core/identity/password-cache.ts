// E-mail addresses and passwords that were found to be right, remembered for a minute: a client of Basic sends them with each
// request, and bcrypt takes a quarter of a second (decisions, 25).

import { createHmac, randomBytes } from 'node:crypto';
import { checkPassword, type LoginParts } from './logins.ts';
import { UserCache } from './user-cache.ts';

const KEPT_MS = 60_000;

export type PasswordParts = Pick<LoginParts, 'store' | 'passwords'>;

interface Owner {
	userId: string;
}

export class KnownPasswords {
	readonly #parts: PasswordParts;
	/** Of this process alone: what lies in memory is good for no guessing of passwords elsewhere. */
	readonly #key = randomBytes(32);
	/** Those that are wrong are not kept: there are many of them, and a new password must not have been refused before. */
	readonly #owners: UserCache<Owner>;

	constructor(parts: PasswordParts) {
		this.#parts = parts;
		this.#owners = new UserCache(parts.store.changes, { keepsNobody: false });
	}

	/** Whose they are; null when either is wrong, after the same time. @throws rate_limited when too many wait */
	owner(email: string, password: string): Promise<Owner | null> {
		const id = createHmac('sha256', this.#key)
			.update(JSON.stringify([email, password]))
			.digest('base64');
		const look = (found: (userId: string) => void): Promise<Owner | null> => this.#check({ email, password }, found);
		return this.#owners.get(id) ?? this.#owners.add(id, { expiresAtMs: Date.now() + KEPT_MS, look });
	}

	close(): void {
		this.#owners.close();
	}

	async #check(given: { email: string; password: string }, found: (userId: string) => void): Promise<Owner | null> {
		const user = await checkPassword(given, this.#parts, found);
		// It may have waited for seconds, and the password may be another by now.
		const now = user && (await this.#parts.store.accounts.byId(user.id));
		return now && now.passwordHash === user.passwordHash ? { userId: user.id } : null;
	}
}
