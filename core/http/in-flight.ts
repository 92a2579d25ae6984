// The requests that this process is answering, whose calls are told when the service does not wait for them any longer.

import type { GatewayError } from '../contract/errors.ts';

declare module '@hapi/hapi' {
	interface ServerApplicationState {
		inFlight?: InFlight;
	}
}

export class InFlight {
	readonly #calls = new Set<AbortController>();
	readonly #over = new AbortController();

	/** Aborted when the time of calls in flight is over: the signal of work that no client can cancel. */
	get over(): AbortSignal {
		return this.#over.signal;
	}

	/** The caller removes it when the answer is complete: one list costs a request less than a listener of a signal that all share. */
	add(call: AbortController): void {
		if (this.over.aborted) call.abort(this.over.reason);
		else this.#calls.add(call);
	}

	remove(call: AbortController): void {
		this.#calls.delete(call);
	}

	/** Aborts all calls, and those that still come. */
	end(reason: GatewayError): void {
		this.#over.abort(reason);
		for (const call of this.#calls) call.abort(reason);
		this.#calls.clear();
	}
}
