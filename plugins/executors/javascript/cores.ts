// Divides the cores among the runs that compute: each account gets the same part, and so does each run of an account. A run never gets
// more than one core.

/** A run that computes. */
export interface Computing {
	/** @param part of one core's time, up to 1 */
	setPart(part: number): void;
}

export class Cores {
	readonly #count: number;
	readonly #accounts = new Map<string, Set<Computing>>();
	#computing = 0;
	/** True while any run has less than a core. */
	#isDivided = false;

	constructor(count: number) {
		this.#count = count;
	}

	begin(account: string, one: Computing): void {
		const own = this.#accounts.get(account);
		if (own) own.add(one);
		else this.#accounts.set(account, new Set([one]));
		this.#computing++;
		one.setPart(1);
		this.#divide();
	}

	end(account: string, one: Computing): void {
		const own = this.#accounts.get(account);
		if (!own?.delete(one)) return;
		if (own.size === 0) this.#accounts.delete(account);
		this.#computing--;
		this.#divide();
	}

	#divide(): void {
		const isEnough = this.#computing <= this.#count;
		if (isEnough && !this.#isDivided) return;
		this.#isDivided = !isEnough;
		for (const own of this.#accounts.values()) {
			const part = isEnough ? 1 : Math.min(1, this.#count / (this.#accounts.size * own.size));
			for (const one of own) one.setPart(part);
		}
	}
}
