// Bounds the connections that one owner has open at a time, to all origins together: slow upstreams of one leave the process room for others.

import type { buildConnector } from 'undici';
import { GatewayError } from '../contract/errors.ts';

type Connector = buildConnector.connector;

/** The most connections of one owner. */
export const SOCKETS_PER_OWNER = 1024;
/** The time in which idle connections are closed, so whoever waits longer waits for calls under way. */
const WAIT_MS = 5_000;

export class Sockets {
	readonly #most: number;
	readonly #waiting = new Set<() => void>();
	#open = 0;

	constructor(most: number) {
		this.#most = most;
	}

	/** Returns a connector that waits for room before it connects. It fails with rate_limited when there is none in time. */
	bounded(connect: Connector): Connector {
		return (options, callback) => {
			this.#enter((refusal) => {
				if (refusal) return callback(refusal, null);
				connect(options, (...outcome) => {
					const [, socket] = outcome;
					if (socket) socket.once('close', () => this.#leave());
					else this.#leave();
					callback(...outcome);
				});
			});
		};
	}

	#enter(begin: (refusal: GatewayError | null) => void): void {
		if (this.#open < this.#most) {
			this.#open++;
			begin(null);
			return;
		}
		const turn = (): void => {
			clearTimeout(timer);
			begin(null);
		};
		const timer = setTimeout(() => {
			this.#waiting.delete(turn);
			begin(new GatewayError('rate_limited', `All ${this.#most} connections of the organization are in use: retry later.`));
		}, WAIT_MS);
		this.#waiting.add(turn);
	}

	#leave(): void {
		const [next] = this.#waiting;
		if (!next) {
			this.#open--;
			return;
		}
		// The place is handed over without becoming free.
		this.#waiting.delete(next);
		next();
	}
}
