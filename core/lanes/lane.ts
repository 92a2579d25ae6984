// The lane to one API: calls wait in it, in their order, for places that its gate gives out. Bottleneck cannot take back what it
// has queued, so the queue is here, and the gate is asked for one place at a time.

import { GatewayError } from '../contract/errors.ts';
import { raceWith } from '../kit/race.ts';
import type { ApiRow, OutboundLimits } from '../store/store.ts';

/** Gives a place back; harmless when it was given back already. */
export type Leave = () => void;

/** Where the places of a lane come from: this process alone, or all replicas. */
export interface Gate {
	/** Places that this process may hold at once, whoever gave them. */
	readonly most: number;
	/** The name under which all replicas count the places that it gave; null when the others do not see them. */
	readonly countedAs: string | null;
	/**
	 * Resolves when there is a place. @throws Error when it cannot tell; it is replaced then
	 * @param holdMs after which a place comes back by itself
	 */
	place(holdMs: number): Promise<Leave>;
	/** Nobody will ask any more; what it gave stays given. */
	drop(): void;
}

export type LaneApi = Pick<ApiRow, 'id' | 'name' | 'version'> & { outbound: OutboundLimits };

/** One call that wants to begin. */
export interface Entry {
	/** Ends the waiting. */
	signal: AbortSignal;
	/** Longer than the call can take. */
	holdMs: number;
}

interface Waiter {
	holdMs: number;
	grant: (leave: Leave) => void;
	refuse: (reason: unknown) => void;
}

/** A call under way. */
interface Hold {
	gate: Gate;
	holdMs: number;
	leaves: Leave[];
	isOver: boolean;
}

const MAX_QUEUED = 100;
const MAX_WAIT_MS = 10_000;

export class Lane {
	readonly #waiting = new Set<Waiter>();
	readonly #held = new Set<Hold>();
	#api: LaneApi;
	#gate: Gate;
	#isAsking = false;
	#usedAtMs = performance.now();

	constructor(api: LaneApi, gate: Gate) {
		this.#api = api;
		this.#gate = gate;
	}

	get api(): LaneApi {
		return this.#api;
	}

	/** Since when nothing waits or is under way, on the clock of `performance`; null while something is. */
	get idleSinceMs(): number | null {
		return this.#isAsking || this.#waiting.size > 0 || this.#held.size > 0 ? null : this.#usedAtMs;
	}

	/**
	 * Resolves when the call may begin. @throws rate_limited when too many wait already, or it has waited too long; the
	 * signal's reason when it was aborted
	 */
	async enter({ signal, holdMs }: Entry): Promise<Leave> {
		signal.throwIfAborted();
		const { maxQueued = MAX_QUEUED, maxWaitMs = MAX_WAIT_MS } = this.#api.outbound;
		if (this.#waiting.size >= maxQueued + this.#room()) throw full(this.#api.name, maxQueued);
		const { promise, resolve, reject } = Promise.withResolvers<Leave>();
		const waiter: Waiter = { holdMs, grant: resolve, refuse: reject };
		this.#waiting.add(waiter);
		this.#ask();
		return raceWith(signal, promise, {
			leave: () => this.#waiting.delete(waiter),
			late: { afterMs: maxWaitMs, reason: () => late(this.#api.name, maxWaitMs) },
		});
	}

	/** As the API is now, when that does not change where places come from. */
	update(api: LaneApi): void {
		this.#api = api;
	}

	/** From now on, places come from another gate. */
	use(gate: Gate, api: LaneApi = this.#api): void {
		this.#gate.drop();
		this.#api = api;
		this.#gate = gate;
		this.#isAsking = false;
		this.recount();
		this.#ask();
	}

	/**
	 * Calls under way that the other replicas do not see take a place where they do. Not in a spaced lane, which each of them
	 * would stop for a while, and which fills slowly anyway.
	 */
	recount(): void {
		const gate = this.#gate;
		if (gate.countedAs === null || this.#api.outbound.minTimeMs) return;
		for (const hold of this.#held) {
			if (hold.gate.countedAs === gate.countedAs) continue;
			hold.gate = gate;
			gate.place(hold.holdMs).then(
				(leave) => (hold.isOver ? leave() : void hold.leaves.push(leave)),
				() => undefined,
			);
		}
	}

	/** Nobody waits any longer, and what is under way holds nothing. */
	close(reason?: GatewayError): void {
		for (const waiter of this.#waiting) this.#refuse(waiter, reason);
		for (const hold of this.#held) this.#end(hold);
		this.#gate.drop();
	}

	/** Calls that would begin at once, as far as this process can tell: they are on their way through the queue, not waiting. */
	#room(): number {
		const { maxConcurrent } = this.#api.outbound;
		return maxConcurrent === undefined ? 1 : Math.max(0, maxConcurrent - this.#held.size);
	}

	#refuse(waiter: Waiter, reason: unknown): void {
		if (this.#waiting.delete(waiter)) waiter.refuse(reason);
	}

	#ask(): void {
		const [first] = this.#waiting;
		if (!first || this.#isAsking || this.#held.size >= this.#gate.most) return;
		const { holdMs } = first;
		const gate = this.#gate;
		this.#isAsking = true;
		gate.place(holdMs).then(
			(leave) => this.#hand({ gate, holdMs, leaves: [leave], isOver: false }, leave),
			// The gate has told its maker, who puts another in its place.
			() => undefined,
		);
	}

	/** To the first who waits by now: whoever asked may have gone. */
	#hand(hold: Hold, leave: Leave): void {
		// The lane has moved on to another gate, which is asked already.
		if (hold.gate !== this.#gate) {
			leave();
			return;
		}
		this.#isAsking = false;
		this.#usedAtMs = performance.now();
		const waiter = this.#waiting.values().find(({ holdMs }) => holdMs <= hold.holdMs);
		if (waiter) {
			this.#waiting.delete(waiter);
			this.#held.add(hold);
			waiter.grant(() => this.#end(hold));
		} else leave();
		this.#ask();
	}

	#end(hold: Hold): void {
		if (!this.#held.delete(hold)) return;
		hold.isOver = true;
		this.#usedAtMs = performance.now();
		for (const leave of hold.leaves) leave();
		this.#ask();
	}
}

const full = (name: string, queued: number): GatewayError =>
	new GatewayError('rate_limited', `The lane to the API "${name}" is full: ${queued} calls wait for it already. Try again later.`);

const late = (name: string, waitedMs: number): GatewayError =>
	new GatewayError('rate_limited', `The API "${name}" was busy: the call waited ${waitedMs} ms for its turn. Try again later.`);
