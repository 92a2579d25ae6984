// The requests of the client that are under way.

import { type Id, type JsonObject, onOneLine, type RequestMessage } from '../wire/messages.ts';
import type { Send } from '../wire/output.ts';
import type { Deadline } from './deadline.ts';

/** A client with more requests under way than this is told to wait. */
export const MOST_RUNNING = 256;

/** A request under way: answered once, and not at all after it was cancelled. */
export class Running {
	readonly request: RequestMessage;
	readonly time: Deadline;
	readonly #send: Send;
	#isOver = false;

	constructor(request: RequestMessage, time: Deadline, send: Send) {
		this.request = request;
		this.time = time;
		this.#send = send;
	}

	get isOver(): boolean {
		return this.#isOver;
	}

	/** Sends what belongs to the request before its answer. */
	async say(text: string): Promise<void> {
		if (!this.#isOver) await this.#send(onOneLine(text));
	}

	async answer(message: JsonObject | string): Promise<void> {
		if (this.#isOver) return;
		this.#isOver = true;
		await this.#send(typeof message === 'string' ? onOneLine(message) : message);
	}

	/** Makes it a request that nobody waits for: it gets no answer. */
	leave(): void {
		this.#isOver = true;
	}
}

/** Finds requests by their ids: `1` and `"1"` are two. */
export class RunningRequests {
	readonly #all = new Map<string, Running>();

	get size(): number {
		return this.#all.size;
	}

	has = (id: Id): boolean => this.#all.has(keyOf(id));
	get = (id: Id): Running | undefined => this.#all.get(keyOf(id));
	add = (running: Running): void => void this.#all.set(keyOf(running.request.id), running);
	remove = (id: Id): void => void this.#all.delete(keyOf(id));
	all = (): Running[] => [...this.#all.values()];
}

const keyOf = (id: Id): string => `${typeof id}:${id}`;
