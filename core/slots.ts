// A few places for costly work, and a bounded queue in front of them.

import { GatewayError } from './errors.ts';

export interface Slots {
	/**
	 * Runs `work` when a place is free. @throws unavailable when too many wait already; the signal's reason when it was
	 * aborted while waiting
	 */
	run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export function createSlots(places: number, maxWaiting: number, what: string): Slots {
	let free = places;
	const waiting = new Set<() => void>();

	async function enter(signal: AbortSignal): Promise<void> {
		signal.throwIfAborted();
		if (free > 0) {
			free--;
			return;
		}
		if (waiting.size >= maxWaiting)
			throw new GatewayError('unavailable', `Too many ${what} are waiting: try again later.`, { headers: { 'retry-after': '30' } });
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		const leave = (): void => {
			waiting.delete(resolve);
			reject(signal.reason);
		};
		waiting.add(resolve);
		signal.addEventListener('abort', leave, { once: true });
		await promise.finally(() => signal.removeEventListener('abort', leave));
	}

	function exit(): void {
		const [next] = waiting;
		if (!next) {
			free++;
			return;
		}
		// The place passes on without becoming free, so nobody can take it in between.
		waiting.delete(next);
		next();
	}

	return {
		async run(signal, work) {
			await enter(signal);
			try {
				return await work();
			} finally {
				exit();
			}
		},
	};
}
