// The lane to one API: calls wait in it, in order, for places that its gate gives out. Bottleneck cannot remove a queued job, so the
// queue is here, and the gate is asked for one place at a time.

import { GatewayError } from '../contract/errors.ts';
import { raceWith } from '../kit/race.ts';
import type { ApiRow, OutboundLimits } from '../store/store.ts';

/** Gives a place back; a second call does nothing. */
export type Leave = () => void;

/** The source of a lane's places: this process alone, or all replicas together. */
export interface Gate {
	/** The number of places that this process may hold at once, whichever gate gave them. */
	readonly most: number;
	/** The name under which all replicas count the places of this gate; null when the others do not see them. */
	readonly countedAs: string | null;
	/**
	 * Resolves when there is a place. @throws Error when it cannot be known; the gate is replaced then
	 * @param holdMs the time after which a place expires
	 */
	place(holdMs: number): Promise<Leave>;
	/** Called when the gate is no longer asked; places that it gave stay valid. */
	drop(): void;
}

export type LaneApi = Pick<ApiRow, 'id' | 'organizationId' | 'name' | 'version'> & { outbound: OutboundLimits };

/** A call that waits for its place. */
export interface QueuedCall {
	/** Ends the waiting. */
	signal: AbortSignal;
	/** A time that the call cannot exceed. */
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

	/** The time on the clock of `performance` since which no call waits or is under way; null while one is. */
	get idleSinceMs(): number | null {
		return this.#isAsking || this.#waiting.size > 0 || this.#held.size > 0 ? null : this.#usedAtMs;
	}

	/**
	 * Resolves when the call may begin. @throws rate_limited when too many calls wait already, or this one has waited too long; the
	 * signal's reason when it was aborted
	 */
	async enter({ signal, holdMs }: QueuedCall): Promise<Leave> {
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

	/** Takes over changes of the API that leave the gate as it is. */
	update(api: LaneApi): void {
		this.#api = api;
	}

	/** Replaces the gate; calls that wait go on waiting at the new one. */
	use(gate: Gate, api: LaneApi = this.#api): void {
		this.#gate.drop();
		this.#api = api;
		this.#gate = gate;
		this.#isAsking = false;
		this.recount();
		this.#ask();
	}

	/**
	 * Takes a place for each call under way that the other replicas do not see. A spaced lane is left out: each such place would delay
	 * the next call, and a spaced lane fills slowly anyway.
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

	/** Refuses the calls that wait, and gives all places back. */
	close(reason?: GatewayError): void {
		for (const waiter of this.#waiting) this.#refuse(waiter, reason);
		for (const hold of this.#held) this.#end(hold);
		this.#gate.drop();
	}

	/** The number of calls that would begin at once, as far as this process knows: they pass through the queue without waiting. */
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
			// The cluster has reported the failure, and the gate is replaced.
			() => undefined,
		);
	}

	/** Grants the place to the first call that waits now: the one for which it was asked may have left. */
	#hand(hold: Hold, leave: Leave): void {
		// The gate was replaced, and the new one is asked already.
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
	refused('maxQueued', `The lane to the API "${name}" is full: ${queued} calls wait for it already. Try again later.`);

/** The details say that it is no refusal of the upstream: a repetition would only stand in the queue again. */
const refused = (setting: string, message: string): GatewayError =>
	new GatewayError('rate_limited', message, { details: [{ path: `/outbound/${setting}`, message }] });

const late = (name: string, waitedMs: number): GatewayError =>
	refused('maxWaitMs', `The API "${name}" was busy: the call waited ${waitedMs} ms for its turn. Try again later.`);
