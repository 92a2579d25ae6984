// Turns at a grant. Whoever loses its compare-and-set reads and writes the whole document again: many who come at once at one process have one
// try each when they come one after another.

import { type Context, GatewayError, raceWith } from '../../../core/index.ts';

/** The time for which the turns of a gateway are kept. Whoever comes later waits for none of the former ones; the compare-and-set decides then. */
const KEPT_MS = 60 * 60_000;
const OVER = 'The time of the request was over before its turn came.';

/** Does the work when all who came before have had their turn at the grant, in this process. @throws unavailable once the call is over */
export async function inTurn<T>(grantId: string, context: Pick<Context, 'memo' | 'signal'>, work: () => Promise<T>): Promise<T> {
	const turns = await context.memo('turns', KEPT_MS, async () => new Turns());
	return turns.take(grantId, context.signal, work);
}

/** Callers of a key, one after another. It holds something of those only who wait or have their turn, whom the requests in flight bound. */
export class Turns {
	/** By key, the time at which all who came so far have left. */
	readonly #last = new Map<string, Promise<void>>();

	/** The number of keys at which somebody is. */
	get size(): number {
		return this.#last.size;
	}

	/**
	 * Does the work in its turn. Whoever's time is over while they wait leaves without it; whoever's time is over during the work ends it, but
	 * nobody waits for that any more. @throws unavailable when the signal aborts before the work
	 */
	async take<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
		const before = this.#last.get(key) ?? Promise.resolve();
		const { promise: left, resolve: leave } = Promise.withResolvers<void>();
		const last = before.then(() => left);
		this.#last.set(key, last);
		void last.then(() => this.#last.get(key) === last && this.#last.delete(key));
		try {
			await raceWith(signal, before).catch((cause: unknown) => Promise.reject(new GatewayError('unavailable', OVER, { cause })));
			signal.addEventListener('abort', () => leave(), { once: true });
			return await work();
		} finally {
			leave();
		}
	}
}
