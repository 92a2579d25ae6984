// The checking threads: started on demand, ended after some idle time, and assigned to accounts in turn.

import { GatewayError } from '../contract/errors.ts';
import { FairQueue, type QueueRequest } from '../kit/fair-queue.ts';
import { raceWith } from '../kit/race.ts';
import type { CheckTask, ThreadData } from './messages.ts';
import { type CheckEnding, CheckThread } from './thread.ts';

const MEGABYTE = 1024 * 1024;
const MAX_THREADS = 2;
/** An account has at most one thread, so that others are left for the rest. */
const LIMITS = { units: MAX_THREADS, computing: 1, waiting: 2000, waitingBytes: 128 * MEGABYTE };
const MAX_WAIT_MS = 30_000;
const IDLE_MS = 60_000;

export interface CheckOrder {
	account: string;
	organization: string;
	/** Bytes held while the order waits. */
	sizeBytes: number;
	signal: AbortSignal;
}

export class CheckPool {
	readonly #data: ThreadData;
	readonly #queue = new FairQueue<(thread: CheckThread) => void>(LIMITS);
	readonly #all = new Set<CheckThread>();
	/** Idle threads, each with the timer that will end it. */
	readonly #idle = new Map<CheckThread, NodeJS.Timeout>();
	#isStarting = false;

	constructor(data: ThreadData) {
		this.#data = data;
	}

	/**
	 * Runs `work` on a thread. @param work one task, or several that depend on each other. @throws rate_limited when the queue is full; the
	 * signal's reason
	 */
	async use<T>({ signal, ...order }: CheckOrder, work: (run: (task: CheckTask) => Promise<CheckEnding>) => Promise<T>): Promise<T> {
		const asked = { ...order, units: 1 };
		const thread = await this.#turn(asked, signal);
		try {
			return await work((task) => thread.run(task));
		} finally {
			this.#queue.giveBack(asked);
			this.#queue.compute(asked.account, -1);
			if (thread.isGone) this.#drop(thread);
			else this.#rest(thread);
			this.#serve();
		}
	}

	close(): void {
		for (const thread of this.#all) this.#drop(thread);
	}

	async #turn(asked: QueueRequest, signal: AbortSignal): Promise<CheckThread> {
		signal.throwIfAborted();
		const { promise, resolve } = Promise.withResolvers<CheckThread>();
		if (!this.#queue.add(resolve, asked)) throw busy();
		this.#serve();
		return raceWith(signal, promise, {
			leave: () => this.#queue.remove(resolve, asked),
			late: { afterMs: MAX_WAIT_MS, reason: busy },
		});
	}

	/** Assigns idle threads to waiting orders, and starts missing threads. */
	#serve(): void {
		for (const [thread, timer] of this.#idle) {
			if (thread.isGone) this.#drop(thread);
			else {
				const next = this.#queue.take();
				if (!next) return;
				clearTimeout(timer);
				this.#idle.delete(thread);
				next(thread);
			}
		}
		if (!this.#isStarting && this.#queue.hasNext() && this.#all.size < MAX_THREADS) void this.#start();
	}

	async #start(): Promise<void> {
		this.#isStarting = true;
		const thread = new CheckThread(this.#data);
		this.#all.add(thread);
		await thread.ready.catch(() => undefined);
		thread.unref();
		this.#isStarting = false;
		// A thread that did not start is assigned to the next order, and fails there: otherwise threads would be started for ever.
		this.#rest(thread);
		this.#serve();
	}

	#rest(thread: CheckThread): void {
		this.#idle.set(thread, setTimeout(() => this.#drop(thread), IDLE_MS).unref());
	}

	#drop(thread: CheckThread): void {
		clearTimeout(this.#idle.get(thread));
		this.#idle.delete(thread);
		this.#all.delete(thread);
		thread.kill();
	}
}

const busy = (): GatewayError =>
	new GatewayError('rate_limited', 'Too many arguments of this account wait to be checked. Try again later.', {
		headers: { 'retry-after': '5' },
	});
