// Who waits for a thread, fairly: organizations take turns, none has more than its share of the threads, and each waits in a
// queue of its own, bounded in number and in bytes.

export interface QueueLimits {
	/** Under way at once, of one owner. */
	running: number;
	/** Waiting, of one owner and of all. */
	waiting: number;
	waitingBytes: number;
	allWaiting: number;
	allWaitingBytes: number;
}

interface Line<T> {
	waiting: Map<T, number>;
	bytes: number;
	running: number;
}

export class FairQueue<T> {
	readonly #limits: QueueLimits;
	/** In the order in which they take their turns. */
	readonly #lines = new Map<string, Line<T>>();
	#waiting = 0;
	#bytes = 0;

	constructor(limits: QueueLimits) {
		this.#limits = limits;
	}

	/** False when too much waits already. */
	add(owner: string, item: T, sizeBytes: number): boolean {
		const line = this.#lines.get(owner) ?? { waiting: new Map<T, number>(), bytes: 0, running: 0 };
		const { waiting, waitingBytes, allWaiting, allWaitingBytes } = this.#limits;
		const isFull = line.waiting.size >= waiting || (line.bytes > 0 && line.bytes + sizeBytes > waitingBytes);
		if (isFull || this.#waiting >= allWaiting || (this.#bytes > 0 && this.#bytes + sizeBytes > allWaitingBytes)) return false;
		this.#lines.set(owner, line);
		line.waiting.set(item, sizeBytes);
		this.#count(line, 1, sizeBytes);
		return true;
	}

	/** Takes back what was added and has not been taken. */
	remove(owner: string, item: T): void {
		const line = this.#lines.get(owner);
		const sizeBytes = line?.waiting.get(item);
		if (!line || sizeBytes === undefined) return;
		line.waiting.delete(item);
		this.#count(line, -1, -sizeBytes);
		this.#forget(owner, line);
	}

	/** The next whose owner has a share left, who then has one less until `done`; null when there is none. */
	take(): T | null {
		for (const [owner, line] of this.#lines) {
			const [first] = line.waiting;
			if (!first || line.running >= this.#limits.running) continue;
			const [item, sizeBytes] = first;
			line.waiting.delete(item);
			line.running++;
			this.#count(line, -1, -sizeBytes);
			this.#lines.delete(owner);
			this.#lines.set(owner, line);
			return item;
		}
		return null;
	}

	done(owner: string): void {
		const line = this.#lines.get(owner);
		if (!line) return;
		line.running--;
		this.#forget(owner, line);
	}

	/** How many could begin now, had they threads. */
	eligible(): number {
		let count = 0;
		for (const { waiting, running } of this.#lines.values()) count += Math.min(waiting.size, this.#limits.running - running);
		return count;
	}

	#count(line: Line<T>, items: number, bytes: number): void {
		line.bytes += bytes;
		this.#waiting += items;
		this.#bytes += bytes;
	}

	#forget(owner: string, { waiting, running }: Line<T>): void {
		if (waiting.size + running === 0) this.#lines.delete(owner);
	}
}
