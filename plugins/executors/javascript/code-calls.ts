// The calls that code makes of functions that were lent to it, counted in its thread: those beyond the bounds do not reach the main thread.

import { type CallBounds, LIMITS } from './messages.ts';
import { measure } from './result.ts';

type Send = (id: string, name: string, argument: string) => void;

export class CodeCalls {
	readonly #send: Send;
	#bounds: CallBounds | null = null;
	#count = 0;
	/** The calls that were sent and have no answer yet. */
	readonly #sent = new Set<string>();
	readonly #waiting: Parameters<Send>[] = [];

	constructor(send: Send) {
		this.#send = send;
	}

	allow(bounds: CallBounds | null): void {
		this.#bounds = bounds;
	}

	/** The number of calls without an answer. */
	get open(): number {
		return this.#sent.size + this.#waiting.length;
	}

	/** @param argument JSON. @returns the fault as JSON, if any */
	ask(id: string, name: string, argument: string): string | undefined {
		const fault = this.#faultOf(id, name, argument);
		if (fault !== null) return JSON.stringify(fault);
		this.#waiting.push([id, name, argument]);
		this.#sendNext();
		return undefined;
	}

	/** @returns whether the id is that of a call */
	answered(id: string): boolean {
		const isCall = this.#sent.delete(id);
		this.#sendNext();
		return isCall;
	}

	#faultOf(id: string, name: string, argument: string): string | null {
		if (!this.#bounds) return 'This run may not make calls.';
		if (++this.#count > this.#bounds.most) return `A run may make ${this.#bounds.most} calls.`;
		if (id === '' || this.#sent.has(id)) return 'A call needs an id of its own.';
		if (name === '' || name.length > LIMITS.callNameChars) return `A name has 1 to ${LIMITS.callNameChars} characters.`;
		const measured = measure(argument);
		return measured.type === 'unusable' ? `The argument of ${name} ${measured.message}.` : null;
	}

	#sendNext(): void {
		while (this.#bounds && this.#sent.size < this.#bounds.parallel) {
			const next = this.#waiting.shift();
			if (!next) return;
			this.#sent.add(next[0]);
			this.#send(...next);
		}
	}
}
