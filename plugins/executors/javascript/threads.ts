// The sandbox's threads: started on demand, kept warm for a while, and dropped when they may be broken.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Thread } from './thread.ts';

const IDLE_MS = 60_000;

export interface ThreadsParts {
	/** Called when a thread could not be started. */
	failed(cause: unknown): void;
	/** Called when a start has ended, well or not: there may be one more thread, and the next may be started. */
	started(): void;
}

export class Threads {
	readonly #parts: ThreadsParts;
	readonly #all = new Set<Thread>();
	/** Idle threads, with the timers that will end them. */
	readonly #idle = new Map<Thread, NodeJS.Timeout>();
	#isStarting = false;
	#module: Promise<WebAssembly.Module> | null = null;

	constructor(parts: ThreadsParts) {
		this.#parts = parts;
	}

	hasIdle(): boolean {
		for (const thread of this.#idle.keys()) if (thread.isGone) this.#drop(thread);
		return this.#idle.size > 0;
	}

	/** Takes an idle thread: the last one that worked for the organization lately, or the last of all, whose memory is still in the caches. */
	take(organization: string): Thread {
		const idle = [...this.#idle.keys()];
		const thread = idle.findLast((one) => one.knows(organization)) ?? idle.at(-1);
		if (!thread) throw new Error('No thread of the sandbox is idle.');
		clearTimeout(this.#idle.get(thread));
		this.#idle.delete(thread);
		return thread;
	}

	putBack(thread: Thread): void {
		if (thread.isGone) this.#drop(thread);
		else this.#rest(thread);
	}

	/** Starts a thread unless one is starting already, so that starting threads takes one core at most. */
	async start(): Promise<void> {
		if (this.#isStarting) return;
		this.#isStarting = true;
		try {
			this.#module ??= compileEngine();
			this.#rest(await this.#startOne(await this.#module));
		} catch (cause) {
			this.#module = null;
			this.#parts.failed(cause);
		} finally {
			this.#isStarting = false;
			this.#parts.started();
		}
	}

	close(): void {
		for (const thread of this.#all) thread.kill();
		for (const timer of this.#idle.values()) clearTimeout(timer);
		this.#all.clear();
		this.#idle.clear();
	}

	async #startOne(module: WebAssembly.Module): Promise<Thread> {
		const thread = new Thread(module);
		this.#all.add(thread);
		try {
			await thread.ready;
			thread.unref();
			return thread;
		} catch (cause) {
			this.#drop(thread);
			throw cause;
		}
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
}

/** Compiles the engine once; all threads share the module. */
export async function compileEngine(): Promise<WebAssembly.Module> {
	const path = fileURLToPath(import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm'));
	return WebAssembly.compile(await readFile(path));
}
