// A queue for a scarce resource, such as threads. Accounts are served in turn, and so are the organizations of an account. An account may
// hold what is left of the first half of the resource; the second half is for accounts that hold nothing.

export interface Limits {
	/** Units of memory that all running items may hold together. */
	units: number;
	/** Running items of one account that are computing, not waiting. */
	computing: number;
	/** Queued items of all accounts. */
	waiting: number;
	waitingBytes: number;
}

export interface QueueRequest {
	account: string;
	organization: string;
	/** Bytes held while the item is queued. */
	sizeBytes: number;
	/** Units of memory held while the item runs. */
	units: number;
}

interface Line<T> {
	/** Organizations in the order in which they are served. */
	organizations: Map<string, Map<T, QueueRequest>>;
	waiting: number;
	waitingBytes: number;
	units: number;
	computing: number;
}

export class FairQueue<T> {
	readonly #limits: Limits;
	/** Accounts in the order in which they are served. */
	readonly #lines = new Map<string, Line<T>>();
	#waiting = 0;
	#waitingBytes = 0;
	#units = 0;

	constructor(limits: Limits) {
		this.#limits = limits;
	}

	/** Queues an item. Returns false when the queue is full. */
	add(item: T, asked: QueueRequest): boolean {
		const { account, organization, sizeBytes } = asked;
		const { waiting, waitingBytes } = this.#limits;
		const line = this.#lines.get(account) ?? { organizations: new Map(), waiting: 0, waitingBytes: 0, units: 0, computing: 0 };
		if (!mayHave(1, line.waiting, { total: waiting, taken: this.#waiting })) return false;
		if (!mayHave(sizeBytes, line.waitingBytes, { total: waitingBytes, taken: this.#waitingBytes })) return false;
		this.#lines.set(account, line);
		const own = line.organizations.get(organization) ?? new Map<T, QueueRequest>();
		line.organizations.set(organization, own.set(item, asked));
		this.#count(line, 1, sizeBytes);
		return true;
	}

	/** Removes an item that has not been taken. */
	remove(item: T, { account, organization }: Pick<QueueRequest, 'account' | 'organization'>): void {
		const line = this.#lines.get(account);
		const own = line?.organizations.get(organization);
		const asked = own?.get(item);
		if (!line || !own || !asked) return;
		own.delete(item);
		if (own.size === 0) line.organizations.delete(organization);
		this.#count(line, -1, -asked.sizeBytes);
		this.#forget(account, line);
	}

	/** Takes the next item, which counts as running from now on; null when none may start. */
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

	/** Whether an item could start if it had a thread. */
	hasNext(): boolean {
		return this.#next() !== null;
	}

	/** Records that a running item stopped computing (-1), or continued (1). */
	compute(account: string, change: 1 | -1): void {
		const line = this.#lines.get(account);
		if (!line) return;
		line.computing += change;
		this.#forget(account, line);
	}

	/** Releases the memory of an item that has ended. It counts as computing until `compute` is called with -1. */
	giveBack({ account, units }: QueueRequest): void {
		const line = this.#lines.get(account);
		if (!line) return;
		line.units -= units;
		this.#units -= units;
		this.#forget(account, line);
	}

	#next(): { line: Line<T>; item: T; asked: QueueRequest } | null {
		const units = { total: this.#limits.units, taken: this.#units };
		for (const line of this.#lines.values()) {
			const [own] = line.organizations.values();
			const [first] = own ?? [];
			if (!first || line.computing >= this.#limits.computing) continue;
			const [item, asked] = first;
			if (mayHave(asked.units, line.units, units)) return { line, item, asked };
			// The next free memory is reserved for this item, not for smaller ones behind it.
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

/** @param own what the account already holds */
function mayHave(need: number, own: number, { total, taken }: { total: number; taken: number }): boolean {
	const free = total - taken;
	return own === 0 ? need <= free : own + need <= free - total / 2;
}
