// The memory of answers that are read whole, by owner: upstreams of one that send much and never end leave the process room for others.

const MIB = 1024 * 1024;
/** The most that one owner holds. */
export const HELD_PER_OWNER = 128 * MIB;
/** The same where the process holds much in all. */
const MOST_WHERE_FULL = 16 * MIB;
/** Bytes of all owners from which on memory is short. */
const FULL = 384 * MIB;

export class HeldBytes {
	readonly #byOwner = new Map<string, number>();
	readonly #most: number;
	#all = 0;

	constructor(most: number) {
		this.#most = most;
	}

	/** Counts bytes that are about to be held. @returns false when that is more than the owner may hold: nothing is counted then */
	add(owner: string, bytes: number): boolean {
		const held = (this.#byOwner.get(owner) ?? 0) + bytes;
		if (held > (this.#all + bytes > FULL ? Math.min(MOST_WHERE_FULL, this.#most) : this.#most)) return false;
		this.#byOwner.set(owner, held);
		this.#all += bytes;
		return true;
	}

	/** Takes back what was counted. */
	remove(owner: string, bytes: number): void {
		const held = (this.#byOwner.get(owner) ?? 0) - bytes;
		if (held > 0) this.#byOwner.set(owner, held);
		else this.#byOwner.delete(owner);
		this.#all -= bytes;
	}
}
