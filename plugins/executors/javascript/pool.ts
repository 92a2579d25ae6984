// The sandbox's threads: started when they are needed, kept warm for a while, and given to organizations in turn.

import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { GatewayError } from '../../../core/index.ts';
import type { RunTask } from './messages.ts';
import { FairQueue } from './queue.ts';
import { type Ended, type RunLimits, Thread } from './thread.ts';

/** A run that waits for an answer holds its thread, so there are more of them than cores. */
export const MAX_THREADS = Math.max(4, Math.min(32, 4 * availableParallelism()));
const QUEUE = {
	running: MAX_THREADS / 2,
	waiting: 2000,
	waitingBytes: 16 * 1024 * 1024,
	allWaiting: 10_000,
	allWaitingBytes: 64 * 1024 * 1024,
};
const MAX_WAIT_MS = 30_000;
const IDLE_MS = 60_000;
/** Threads and memory cost more than most runs: whose run took one along, or tens of megabytes, waits for its next turn. */
const COOLING_MS = { thread: 1000, memory: 250 };
/**
 * What computed for longer than `freeMs` makes its place rest for so many times as long, and again for each other organization
 * whose places rest: however many compute without end, together they hold less than half of the cores on average, and leave the
 * rest to who answers requests.
 */
const REST = { freeMs: 50, times: 4, maxMs: 60_000 };
/** Checks are nobody's: what was saved is compiled only. */
const CHECKS = 'checks';
/** The longest code takes 0.1 s where the machine has nothing else to do. */
const CHECK_MS = 5000;

interface Waiter {
	owner: string;
	start(thread: Thread): void;
	refuse(reason: unknown): void;
}

interface Order {
	owner: string;
	sizeBytes: number;
	signal: AbortSignal;
}

export interface Pool {
	/** @throws rate_limited when too many wait, or it waited too long; the signal's reason when that was aborted while waiting */
	run(task: RunTask, limits: RunLimits): Promise<Ended>;
	/** Whether it compiles. */
	check(code: string): Promise<Ended>;
	/** Kills what runs; for tests and benchmarks, as an idle pool keeps nobody from ending. */
	close(): void;
}

export function createPool(): Pool {
	const threads = new Threads();
	return {
		run: (task, limits) =>
			threads.use({ owner: task.owner, sizeBytes: task.code.length + task.parameters.length, signal: limits.signal }, (thread) =>
				thread.run(task, limits),
			),
		check(code) {
			const { signal } = new AbortController();
			const order = { owner: CHECKS, sizeBytes: code.length, signal };
			return threads.use(order, (thread) => thread.check(code, { timeoutMs: CHECK_MS, signal }));
		},
		close: () => threads.close(),
	};
}

class Threads {
	readonly #queue = new FairQueue<Waiter>(QUEUE);
	readonly #all = new Set<Thread>();
	/** With what will end them, should nobody come. */
	readonly #idle = new Map<Thread, NodeJS.Timeout>();
	/** By organization: its places that rest. */
	readonly #resting = new Map<string, number>();
	#isStarting = false;
	#module: Promise<WebAssembly.Module> | null = null;

	async use(order: Order, work: (thread: Thread) => Promise<Ended>): Promise<Ended> {
		const thread = await this.#turn(order);
		let coolingMs = 0;
		try {
			const ended = await work(thread);
			coolingMs = restOf(ended, this.#resting.size + (this.#resting.has(order.owner) ? 0 : 1));
			return ended;
		} finally {
			this.#putBack(thread);
			this.#release(order.owner, thread.isGone ? Math.max(COOLING_MS.thread, coolingMs) : coolingMs);
		}
	}

	close(): void {
		for (const thread of this.#all) thread.kill();
		for (const timer of this.#idle.values()) clearTimeout(timer);
		this.#all.clear();
		this.#idle.clear();
	}

	async #turn({ owner, sizeBytes, signal }: Order): Promise<Thread> {
		signal.throwIfAborted();
		const { promise, resolve, reject } = Promise.withResolvers<Thread>();
		const waiter: Waiter = { owner, start: resolve, refuse: reject };
		if (!this.#queue.add(owner, waiter, sizeBytes)) throw busy('Too many runs wait already');
		const leave = (reason: unknown): void => {
			this.#queue.remove(owner, waiter);
			reject(reason);
		};
		const onAbort = (): void => leave(signal.reason);
		const timer = setTimeout(() => leave(busy(`The run waited ${MAX_WAIT_MS / 1000} s for its turn`)), MAX_WAIT_MS);
		signal.addEventListener('abort', onAbort, { once: true });
		this.#serve();
		try {
			return await promise;
		} finally {
			clearTimeout(timer);
			signal.removeEventListener('abort', onAbort);
		}
	}

	/** Brings together who waits and what is free, and starts what is missing. */
	#serve(): void {
		for (const thread of this.#idle.keys()) if (thread.isGone) this.#drop(thread);
		while (this.#idle.size > 0) {
			const waiter = this.#queue.take();
			if (!waiter) return;
			waiter.start(this.#wake(waiter.owner));
		}
		// One after the other, so that starting them takes a core at most.
		if (!this.#isStarting && this.#queue.eligible() > 0 && this.#all.size < MAX_THREADS) void this.#start();
	}

	async #start(): Promise<void> {
		this.#isStarting = true;
		try {
			this.#module ??= compileEngine();
			const thread = new Thread(await this.#module);
			this.#all.add(thread);
			await thread.ready.catch((cause: unknown) => this.#fail(thread, cause));
			thread.unref();
			if (!thread.isGone) this.#rest(thread);
		} catch (cause) {
			this.#module = null;
			this.#refuseNext(cause);
		} finally {
			this.#isStarting = false;
			this.#serve();
		}
	}

	#fail(thread: Thread, cause: unknown): void {
		this.#drop(thread);
		this.#refuseNext(cause);
	}

	/** Or whoever waits would have another try made for ever. */
	#refuseNext(cause: unknown): void {
		const waiter = this.#queue.take();
		if (!waiter) return;
		this.#queue.done(waiter.owner);
		waiter.refuse(new Error('A thread of the sandbox did not start.', { cause }));
	}

	/** One that worked for the owner before, if there is one. */
	#wake(owner: string): Thread {
		const [first, ...others] = this.#idle.keys();
		const thread = [first, ...others].find((one) => one?.owner === owner) ?? first;
		if (!thread) throw new Error('No thread of the sandbox is idle.');
		clearTimeout(this.#idle.get(thread));
		this.#idle.delete(thread);
		return thread;
	}

	#rest(thread: Thread): void {
		this.#idle.set(thread, setTimeout(() => this.#drop(thread), IDLE_MS).unref());
	}

	#drop(thread: Thread): void {
		clearTimeout(this.#idle.get(thread));
		this.#idle.delete(thread);
		this.#all.delete(thread);
		thread.kill();
	}

	#putBack(thread: Thread): void {
		if (thread.isGone) this.#drop(thread);
		else this.#rest(thread);
	}

	#release(owner: string, coolingMs: number): void {
		if (coolingMs > 0) this.#cool(owner, coolingMs);
		else this.#leave(owner);
		this.#serve();
	}

	#cool(owner: string, coolingMs: number): void {
		this.#resting.set(owner, (this.#resting.get(owner) ?? 0) + 1);
		const rested = (): void => {
			const others = (this.#resting.get(owner) ?? 1) - 1;
			if (others > 0) this.#resting.set(owner, others);
			else this.#resting.delete(owner);
			this.#leave(owner);
		};
		setTimeout(rested, coolingMs).unref();
	}

	#leave(owner: string): void {
		this.#queue.done(owner);
		this.#serve();
	}
}

/** @param owners whose places rest then */
function restOf({ computedMs, isHeavy }: Ended, owners: number): number {
	const restMs = computedMs > REST.freeMs ? Math.min(REST.times * computedMs * owners, REST.maxMs) : 0;
	return isHeavy ? Math.max(COOLING_MS.memory, restMs) : restMs;
}

async function compileEngine(): Promise<WebAssembly.Module> {
	const path = fileURLToPath(import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm'));
	return WebAssembly.compile(await readFile(path));
}

const busy = (why: string): GatewayError =>
	new GatewayError('rate_limited', `${why}: JavaScript tools of this organization are busy. Try again later.`);
