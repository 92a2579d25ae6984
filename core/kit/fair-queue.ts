// A queue before something scarce, such as threads. Accounts take turns, and so do the organizations of an account. An account may have as
// much of anything scarce as is left of its first half; the second half is for those who have none.

export interface Limits {
	/** Units of memory that all runs under way hold together. */
	units: number;
	/** Runs of one account that are under way and do not wait. */
	computing: number;
	/** Items in the queue, of all accounts. */
	waiting: number;
	waitingBytes: number;
}

export interface Asked {
	account: string;
	organization: string;
	/** Held while it is in the queue. */
	sizeBytes: number;
	/** Held while it is under way. */
	units: number;
}

interface Line<T> {
	/** In the order in which they take their turns. */
	organizations: Map<string, Map<T, Asked>>;
	waiting: number;
	waitingBytes: number;
	units: number;
	computing: number;
}

export class FairQueue<T> {
	readonly #limits: Limits;
	/** The lines of accounts, in the order in which they take their turns. */
	readonly #lines = new Map<string, Line<T>>();
	#waiting = 0;
	#waitingBytes = 0;
	#units = 0;

	constructor(limits: Limits) {
		this.#limits = limits;
	}

	/** False when too much waits already. */
	add(item: T, asked: Asked): boolean {
		const { account, organization, sizeBytes } = asked;
		const { waiting, waitingBytes } = this.#limits;
		const line = this.#lines.get(account) ?? { organizations: new Map(), waiting: 0, waitingBytes: 0, units: 0, computing: 0 };
		if (!mayHave(1, line.waiting, { total: waiting, taken: this.#waiting })) return false;
		if (!mayHave(sizeBytes, line.waitingBytes, { total: waitingBytes, taken: this.#waitingBytes })) return false;
		this.#lines.set(account, line);
		const own = line.organizations.get(organization) ?? new Map<T, Asked>();
		line.organizations.set(organization, own.set(item, asked));
		this.#count(line, 1, sizeBytes);
		return true;
	}

	/** Takes back what was added and has not been taken. */
	remove(item: T, { account, organization }: Pick<Asked, 'account' | 'organization'>): void {
		const line = this.#lines.get(account);
		const own = line?.organizations.get(organization);
		const asked = own?.get(item);
		if (!line || !own || !asked) return;
		own.delete(item);
		if (own.size === 0) line.organizations.delete(organization);
		this.#count(line, -1, -asked.sizeBytes);
		this.#forget(account, line);
	}

	/** The next, which is under way from now on; null when nothing may begin. */
	take(): T | null {
		const next = this.#next();
		if (!next) return null;
		const { line, item, asked } = next;
		const { account, organization } = asked;
		this.remove(item, asked);
		line.units += asked.units;
		line.computing++;
		this.#units += asked.units;
		this.#lines.delete(account);
		this.#lines.set(account, line);
		const others = line.organizations.get(organization);
		if (others && line.organizations.delete(organization)) line.organizations.set(organization, others);
		return item;
	}

	/** True when something could begin, had it a thread. */
	hasNext(): boolean {
		return this.#next() !== null;
	}

	/** Notes that something under way computes no longer (-1), or again (1). */
	compute(account: string, change: 1 | -1): void {
		const line = this.#lines.get(account);
		if (!line) return;
		line.computing += change;
		this.#forget(account, line);
	}

	/** Takes back the memory of something that has ended. It counts as computing until `compute` says that it does not. */
	giveBack({ account, units }: Asked): void {
		const line = this.#lines.get(account);
		if (!line) return;
		line.units -= units;
		this.#units -= units;
		this.#forget(account, line);
	}

	#next(): { line: Line<T>; item: T; asked: Asked } | null {
		const units = { total: this.#limits.units, taken: this.#units };
		for (const line of this.#lines.values()) {
			const [own] = line.organizations.values();
			const [first] = own ?? [];
			if (!first || line.computing >= this.#limits.computing) continue;
			const [item, asked] = first;
			if (mayHave(asked.units, line.units, units)) return { line, item, asked };
			// The next memory that comes free is for this one, not for smaller ones behind it.
			if (line.units === 0) return null;
		}
		return null;
	}

	#count(line: Line<T>, items: number, bytes: number): void {
		line.waiting += items;
		line.waitingBytes += bytes;
		this.#waiting += items;
		this.#waitingBytes += bytes;
	}

	#forget(account: string, { waiting, units, computing }: Line<T>): void {
		if (waiting + units + computing === 0) this.#lines.delete(account);
	}
}

/** @param own what the account has of it already */
function mayHave(need: number, own: number, { total, taken }: { total: number; taken: number }): boolean {
	const free = total - taken;
	return own === 0 ? need <= free : own + need <= free - total / 2;
}
