// Tells the user once of each outage and each refused credential, and once that it is over.

import type { Refusal } from '../gateway/refusals.ts';

export class Reach {
	readonly #tell: (sentence: string) => void;
	readonly #onBack: () => void;
	#isAway = false;
	#isRefused = false;

	/** @param onBack is called when the gateway answers again after an outage */
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
