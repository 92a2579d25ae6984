// The receivers that this process sends to at the moment: a few at a time for each, so that a dead one holds few places.

/** The number of sends to one receiver at a time in this process. */
const AT_ONCE = 2;

export class Targets {
	readonly #sending = new Map<string, number>();

	/** Takes a place. @returns false when the receiver has none free */
	enter(target: string): boolean {
		const now = this.#sending.get(target) ?? 0;
		if (now >= AT_ONCE) return false;
		this.#sending.set(target, now + 1);
		return true;
	}

	leave(target: string): void {
		const left = (this.#sending.get(target) ?? 1) - 1;
		if (left > 0) this.#sending.set(target, left);
		else this.#sending.delete(target);
	}
}
