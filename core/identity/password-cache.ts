// A cache of valid pairs of e-mail address and password, kept for a minute: a client of Basic sends them with each request, and bcrypt
// takes a quarter of a second (decisions, 25).

import { hash, randomBytes } from 'node:crypto';
import { checkPassword, type LoginParts } from './logins.ts';
import { OwnerCache } from './owner-cache.ts';

const KEPT_MS = 60_000;

export type PasswordParts = Pick<LoginParts, 'store' | 'passwords'>;

interface Owner {
	userId: string;
	/** The version of the password: another password has another one. */
	version: string;
}

/** The place at which a password is shown. */
interface Place {
	place: string;
	isMember(userId: string): Promise<boolean>;
}

/** Names a password without telling anything of it: the hash is salted. */
export const passwordVersion = (passwordHash: string): string => hash('sha256', passwordHash, 'base64url').slice(0, 16);

export class KnownPasswords {
	readonly #parts: PasswordParts;
	/** The key belongs to this process alone, so a dump of its memory does not help to guess passwords elsewhere. */
	readonly #key = randomBytes(32).toString('base64');
	/** Valid pairs only: invalid ones are too many, and a new password must not be refused because of an earlier attempt. */
	readonly #owners: OwnerCache<Owner>;

	constructor(parts: PasswordParts) {
		this.#parts = parts;
		this.#owners = new OwnerCache(parts.store.changes, { owners: 'user', ownerOf: ({ userId }) => userId, keepsNobody: false });
	}

	/**
	 * Returns the owner of a pair who is a member of a place; null when either part is wrong, after the same time, and for anybody else: that a
	 * password is somebody's is told nobody who is not.
	 * @throws rate_limited when too many wait
	 */
	owner(email: string, password: string, { place, isMember }: Place): Promise<Owner | null> {
		// Nobody sees it, so it needs no more than the key before it; an HMAC would take ten times as long.
		const id = hash('sha256', this.#key + JSON.stringify([email, password, place]), 'base64');
		const look = async (found: (userId: string) => void): Promise<Owner | null> => {
			const owner = await this.#check({ email, password }, found);
			return owner && (await isMember(owner.userId)) ? owner : null;
		};
		return this.#owners.get(id) ?? this.#owners.add(id, { expiresAtMs: Date.now() + KEPT_MS, look });
	}

	close(): void {
		this.#owners.close();
	}

	async #check(given: { email: string; password: string }, found: (userId: string) => void): Promise<Owner | null> {
		const user = await checkPassword(given, this.#parts, found);
		// The check may have waited for seconds, and the password may have changed meanwhile.
		const now = user && (await this.#parts.store.accounts.byId(user.id));
		return now && now.passwordHash === user.passwordHash ? { userId: user.id, version: passwordVersion(now.passwordHash) } : null;
	}
}
