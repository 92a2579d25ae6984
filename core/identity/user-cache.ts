// What was looked up about users, remembered in this process until a change of theirs is heard, on whichever replica it was made.

import type { Changes, Topic } from '../store/store.ts';

/** Of each cache; those that nobody asked for lately go first. */
const CAPACITY = 10_000;

interface Entry<T> {
	/** Whom it is about; null while that is not known, and when it is about nobody. */
	userId: string | null;
	expiresAtMs: number;
	/** Since the last time that room was made. */
	wasUsed: boolean;
	value: Promise<T | null>;
}

export interface LookUp<T> {
	/** Whom it is about, where that is known before. */
	userId?: string;
	/** Unix time. Default: never. */
	expiresAtMs?: number;
	/** @param found to be told whom it is about as soon as that is known: from then on, changes of others do not matter */
	look(found: (userId: string) => void): Promise<T | null>;
}

export class UserCache<T extends { userId: string }> {
	readonly #entries = new Map<string, Entry<T>>();
	readonly #keepsNobody: boolean;
	readonly #unsubscribe: () => void;

	/** @param options.keepsNobody whether it remembers, too, that there was nobody */
	constructor(changes: Changes, { keepsNobody }: { keepsNobody: boolean }) {
		this.#keepsNobody = keepsNobody;
		this.#unsubscribe = changes.subscribe((topics) => this.#drop(new Set(topics)));
	}

	/** What is remembered or being looked up; undefined when it is neither, or has expired. One look-up on the hot path. */
	get(id: string): Promise<T | null> | undefined {
		const entry = this.#entries.get(id);
		if (!entry || entry.expiresAtMs <= Date.now()) return undefined;
		entry.wasUsed = true;
		return entry.value;
	}

	/** Begins a look-up in place of what was there; a failed one is not remembered. */
	add(id: string, { userId, expiresAtMs = Number.POSITIVE_INFINITY, look }: LookUp<T>): Promise<T | null> {
		const entry: Entry<T> = { userId: userId ?? null, expiresAtMs, wasUsed: false, value: Promise.resolve(null) };
		const found = (owner: string): void => {
			entry.userId = owner;
		};
		entry.value = look(found).then((value) => {
			if (value) found(value.userId);
			else if (!this.#keepsNobody) this.#forget(id, entry);
			return value;
		});
		entry.value.catch(() => this.#forget(id, entry));
		this.#entries.delete(id);
		this.#makeRoom();
		this.#entries.set(id, entry);
		return entry.value;
	}

	close(): void {
		this.#unsubscribe();
		this.#entries.clear();
	}

	#forget(id: string, entry: Entry<T>): void {
		if (this.#entries.get(id) === entry) this.#entries.delete(id);
	}

	/** For one more. The oldest goes, unless it was used since it was last spared: so a hit moves nothing, and what is in use stays. */
	#makeRoom(): void {
		for (const [id, entry] of this.#entries) {
			if (this.#entries.size < CAPACITY) return;
			this.#entries.delete(id);
			if (!entry.wasUsed) continue;
			entry.wasUsed = false;
			this.#entries.set(id, entry);
		}
	}

	/**
	 * What is still being looked up may have been read before the change, and may be about anybody: those who wait for it get it,
	 * those who come after the change was heard do not.
	 */
	#drop(topics: ReadonlySet<Topic>): void {
		const all = topics.has('*');
		if (!all && ![...topics].some((topic) => topic.startsWith('user:'))) return;
		for (const [id, { userId }] of this.#entries) {
			if (all || userId === null || topics.has(`user:${userId}`)) this.#entries.delete(id);
		}
	}
}
