// The requests that this process is answering, whose calls are told when the service does not wait for them any longer.

import type { GatewayError } from '../contract/errors.ts';

declare module '@hapi/hapi' {
	interface ServerApplicationState {
		inFlight?: InFlight;
	}
}

/** A call in the list, and its index there. */
export interface ListedCall {
	controller: AbortController;
	at: number;
}

/**
 * The list is an array, since a Set that shrinks and grows with every request leaves tables behind that point to each other: the young
 * generation's collector takes them for alive, and with them the requests that they listed.
 */
export class InFlight {
	readonly #calls: ListedCall[] = [];
	readonly #over = new AbortController();

	/** Aborted when the time of calls in flight is over: the signal of work that no client can cancel. */
	get over(): AbortSignal {
		return this.#over.signal;
	}

	/** The caller removes it when the answer is complete: one list costs a request less than a listener of a signal that all share. */
	add(controller: AbortController): ListedCall {
		const call = { controller, at: this.#calls.length };
		this.#calls.push(call);
		if (this.over.aborted) controller.abort(this.over.reason);
		return call;
	}

	/** Removes a call, once. */
	remove(call: ListedCall): void {
		const last = this.#calls.pop();
		if (last === undefined || last === call) return;
		this.#calls[call.at] = last;
		last.at = call.at;
	}

	/** Aborts all calls, and those that still come. */
	end(reason: GatewayError): void {
		this.#over.abort(reason);
		for (const { controller } of [...this.#calls]) controller.abort(reason);
	}
}
