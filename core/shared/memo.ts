// Values computed once and cached for a while in this process: bounded, single-flight, failures not cached.

interface MemoEntry {
	value: Promise<unknown>;
	expiresAt: number;
}

/** A bound of the values of an organization that have the same group. */
export interface MemoShare {
	group: string;
	most: number;
}

type Entries = Map<string, MemoEntry>;

/** The entries that are looked at whenever one is added: expired ones are then at most a third of those that are good. */
const LOOKED_AT = 4;
/** The part of its entries that an organization loses when there is no room, so that the largest is not looked for each time. */
const GIVEN_WAY = 1 / 64;

export class Memo {
	readonly #capacity: number;
	/** The entries of each organization, the oldest first. */
	readonly #owners = new Map<string, Entries>();
	#size = 0;
	#round = this.#walk();

	/** @param capacity number of entries. Where there are more, those of the organization with the most give way, the oldest first */
	constructor(capacity: number) {
		this.#capacity = capacity;
	}

	/**
	 * @param organization that the value is of
	 * @param share where it has so many values of the group already, the oldest of those gives way
	 */
	get<T>(organization: string, key: string, ttlMs: number, compute: () => Promise<T>, share?: MemoShare): Promise<T> {
		const owner = share ? `${organization} ${share.group}` : organization;
		const now = performance.now();
		const known = this.#owners.get(owner)?.get(key);
		// Values of a key come from the same caller's `compute`, so the value is its T.
		if (known && known.expiresAt > now) return known.value as Promise<T>;
		const value = compute();
		const entry = { value, expiresAt: now + ttlMs };
		this.#dropExpired(now);
		this.#drop(owner, key);
		this.#add(owner, key, entry);
		if (share) this.#keep(owner, share.most);
		value.catch(() => this.#owners.get(owner)?.get(key) === entry && this.#drop(owner, key));
		return value;
	}

	/** The number of entries. */
	get size(): number {
		return this.#size;
	}

	#add(owner: string, key: string, entry: MemoEntry): void {
		const entries = this.#owners.get(owner) ?? new Map<string, MemoEntry>();
		this.#owners.set(owner, entries.set(key, entry));
		this.#size += 1;
		if (this.#size > this.#capacity) this.#makeRoom();
	}

	/** Drops the oldest beyond so many. */
	#keep(owner: string, most: number): void {
		const entries = this.#owners.get(owner);
		const [oldest] = entries?.keys() ?? [];
		if (entries && oldest !== undefined && entries.size > most) this.#drop(owner, oldest);
	}

	#drop(owner: string, key: string): void {
		const entries = this.#owners.get(owner);
		if (!entries?.delete(key)) return;
		this.#size -= 1;
		if (entries.size === 0) this.#owners.delete(owner);
	}

	/** Looks at the next entries: memory is bounded by the lifetime of entries, not by all that were ever added. */
	#dropExpired(now: number): void {
		for (let looked = 0; looked < LOOKED_AT; looked++) {
			const next = this.#round.next();
			if (next.done) {
				this.#round = this.#walk();
				return;
			}
			const [owner, key, { expiresAt }] = next.value;
			if (expiresAt <= now) this.#drop(owner, key);
		}
	}

	/** Goes over all entries, also over those that are added meanwhile. */
	*#walk(): Generator<[owner: string, key: string, entry: MemoEntry], undefined, undefined> {
		for (const [owner, entries] of this.#owners) for (const [key, entry] of entries) yield [owner, key, entry];
	}

	#makeRoom(): void {
		let [largest, most] = ['', 0];
		for (const [owner, { size }] of this.#owners) if (size > most) [largest, most] = [owner, size];
		let left = Math.ceil(most * GIVEN_WAY);
		for (const key of this.#owners.get(largest)?.keys() ?? []) {
			if (left-- === 0) return;
			this.#drop(largest, key);
		}
	}
}

/** Returns the share of a memo that the values of a plugin have whose keys begin alike; none where they are not bounded. */
export const shareOf = (plugin: string, key: string, most: number | undefined): MemoShare | undefined =>
	most === undefined ? undefined : { group: `${plugin}:${key.split(':', 1)[0]}`, most };
