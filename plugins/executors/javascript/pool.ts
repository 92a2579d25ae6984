// The sandbox as a whole: accounts share its threads, its memory and the cores, so that something is always left for others.

import { availableParallelism } from 'node:os';
import { FairQueue, GatewayError, type QueueLimits as Limits, type QueueRequest, raceWith } from '../../../core/index.ts';
import { Cores } from './cores.ts';
import type { CheckTask, RunTask } from './messages.ts';
import { Rests } from './rests.ts';
import type { Ended, RunLimits, Thread } from './thread.ts';
import { Threads } from './threads.ts';

const CORES = availableParallelism();
const MEGABYTE = 1024 * 1024;
/** Units of memory. A run holds one for each 64 MB of its limit until it ends, waiting or not, so this also bounds the threads. */
export const UNITS = Math.max(32, Math.min(64, 8 * CORES));
const UNIT_BYTES = 64 * MEGABYTE;
/** Runs of one account that compute at once, without those that wait; more would only all be late. */
export const COMPUTING = Math.max(2, Math.min(16, 2 * CORES));
const LIMITS: Limits = { units: UNITS, computing: COMPUTING, waiting: 8000, waitingBytes: 64 * MEGABYTE };
const MAX_WAIT_MS = 30_000;
/** Deadline of a check; the longest code takes 0.1 s on an idle machine. */
const CHECK_MS = 5000;

interface Waiter {
	asked: QueueRequest;
	/** The thread, once its turn has come. */
	thread: Thread | null;
	start(thread: Thread): void;
	refuse(reason: unknown): void;
}

export interface Pool {
	/** @throws rate_limited if too many wait, or this one waited too long; the signal's reason if it was aborted while waiting */
	run(task: RunTask, limits: RunLimits): Promise<Ended>;
	/** Compiles the code without running it. @throws like `run` */
	check(task: CheckTask): Promise<Ended>;
	/** Kills all runs; for tests and benchmarks only, as an idle pool does not keep the process alive. */
	close(): void;
}

/** @param limits for tests, in place of the limits derived from the machine */
export function createPool(limits: Partial<Limits> = {}): Pool {
	const turns = new Turns({ ...LIMITS, ...limits });
	return {
		run(task, limits) {
			const sizeBytes = task.code.length + task.parameters.length;
			const asked = { ...ownerOf(task), sizeBytes, units: Math.ceil(task.memoryBytes / UNIT_BYTES) };
			return turns.use(asked, limits.signal, (thread) => thread.run(task, limits));
		},
		check(task) {
			const { signal } = new AbortController();
			const asked = { ...ownerOf(task), sizeBytes: task.code.length, units: 1 };
			return turns.use(asked, signal, (thread) => thread.check(task, { timeoutMs: CHECK_MS, signal }));
		},
		close: () => turns.close(),
	};
}

const ownerOf = ({ account, organization }: CheckTask): Pick<QueueRequest, 'account' | 'organization'> => ({ account, organization });

class Turns {
	readonly #queue: FairQueue<Waiter>;
	readonly #cores = new Cores(CORES);
	readonly #threads = new Threads({ failed: (cause) => this.#refuseNext(cause), started: () => this.#serve() });
	readonly #rests = new Rests();

	constructor(limits: Limits) {
		this.#queue = new FairQueue(limits);
	}

	async use(asked: QueueRequest, signal: AbortSignal, work: (thread: Thread) => Promise<Ended>): Promise<Ended> {
		const { account } = asked;
		const thread = await this.#turn(asked, signal);
		this.#cores.begin(account, thread);
		thread.onWaiting = () => this.#noteWaiting(account, thread);
		let ended: Ended | null = null;
		try {
			ended = await work(thread);
			return ended;
		} finally {
			if (thread.isWaiting) this.#queue.compute(account, 1);
			else this.#cores.end(account, thread);
			this.#threads.putBack(thread);
			this.#queue.giveBack(asked);
			this.#leave(account, this.#rests.msAfter(account, ended, thread));
		}
	}

	close(): void {
		this.#threads.close();
	}

	async #turn(asked: QueueRequest, signal: AbortSignal): Promise<Thread> {
		signal.throwIfAborted();
		const { promise, resolve, reject } = Promise.withResolvers<Thread>();
		const start = (thread: Thread): void => {
			waiter.thread = thread;
			resolve(thread);
		};
		const waiter: Waiter = { asked, thread: null, start, refuse: reject };
		if (!this.#queue.add(waiter, asked)) throw busy('Too many runs are waiting');
		this.#serve();
		if (waiter.thread) return waiter.thread;
		return raceWith(signal, promise, {
			leave: () => {
				this.#queue.remove(waiter, asked);
				// Others may have been waiting behind it.
				this.#serve();
			},
			late: { afterMs: MAX_WAIT_MS, reason: () => busy(`The run waited ${MAX_WAIT_MS / 1000} s to start`) },
		});
	}

	/** Gives free threads to waiting runs, and starts a thread if one is missing. */
	#serve(): void {
		while (this.#threads.hasIdle()) {
			const waiter = this.#queue.take();
			if (!waiter) return;
			waiter.start(this.#threads.take(waiter.asked.organization));
		}
		if (this.#queue.hasNext()) void this.#threads.start();
	}

	/** Refuses one waiter, or a thread that never starts would be retried for ever. */
	#refuseNext(cause: unknown): void {
		const waiter = this.#queue.take();
		if (!waiter) return;
		this.#queue.giveBack(waiter.asked);
		this.#queue.compute(waiter.asked.account, -1);
		waiter.refuse(new Error('A thread of the sandbox did not start.', { cause }));
	}

	/** Frees the part of the cores and the slot of a run that waits, and takes them again when it goes on. */
	#noteWaiting(account: string, thread: Thread): void {
		if (thread.isWaiting) this.#cores.end(account, thread);
		else this.#cores.begin(account, thread);
		this.#queue.compute(account, thread.isWaiting ? -1 : 1);
		this.#serve();
	}

	#leave(account: string, restMs: number): void {
		if (restMs === 0) this.#queue.compute(account, -1);
		else this.#rests.begin(account, restMs, () => this.#leave(account, 0));
		this.#serve();
	}
}

const busy = (why: string): GatewayError => new GatewayError('rate_limited', `${why}: JavaScript tools are busy. Try again later.`);
