// Tells the user once of each outage and each refused credential, and once that it is over.

import type { Refusal } from '../gateway/refusals.ts';

export class Reach {
	readonly #tell: (sentence: string) => void;
	readonly #onBack: () => void;
	#isAway = false;
	#isRefused = false;

	/** @param onBack is called when the lists may be others: the gateway answers again after an outage, or there is a new login */
	constructor(tell: (sentence: string) => void, onBack: () => void) {
		this.#tell = tell;
		this.#onBack = onBack;
	}

	answered(): void {
		const wasAway = this.#isAway;
		const wasRefused = this.#isRefused;
		this.#isAway = false;
		this.#isRefused = false;
		if (wasAway) this.#tell('The gateway answers again.');
		if (wasAway || wasRefused) this.#onBack();
	}

	/** There is a new login: whether it is refused is another matter. */
	renewed(): void {
		this.#isRefused = false;
		this.#onBack();
	}

	refused({ kind, message }: Refusal): void {
		if (kind === 'credential') {
			if (!this.#isRefused) this.#tell(message);
			this.#isRefused = true;
		}
		if (kind === 'unreachable') {
			if (!this.#isAway) this.#tell(`${message} It is tried again.`);
			this.#isAway = true;
		}
	}
}
