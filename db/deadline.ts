// How long one request waits for the database in all: each statement has its deadline, but those of a request add up, and so do the
// wait for a connection and the statement that gets it.

import { AsyncLocalStorage } from 'node:async_hooks';

const DEADLINE_MS = 2_000;
/** Whoever answers within this is well again, so a request that goes on for hours does not use its time up. */
const PROMPT_MS = 100;

const current = new AsyncLocalStorage<{ leftMs: number }>();

/** Whatever `work` begins shares one deadline. */
export const withDeadline = <T>(work: () => T): T => current.run({ leftMs: DEADLINE_MS }, work);

/** Milliseconds; null outside a request. */
const timeLeft = (): number | null => current.getStore()?.leftMs ?? null;

/**
 * @param mostMs also outside a request; null: as long as it takes there
 * @throws Error when it took longer, which aborts the signal
 */
export async function inTime<T>(mostMs: number | null, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
	const leftMs = Math.min(timeLeft() ?? Number.POSITIVE_INFINITY, mostMs ?? Number.POSITIVE_INFINITY);
	const giveUp = new AbortController();
	if (leftMs === Number.POSITIVE_INFINITY) return work(giveUp.signal);
	const startedMs = performance.now();
	const { promise: late, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(() => {
		const error = new Error('Timeout of the request at the database');
		giveUp.abort(error);
		// An answer that lies unread when the event loop was held up is read first.
		setImmediate(reject, error);
	}, leftMs);
	try {
		return await Promise.race([work(giveUp.signal), late]);
	} finally {
		clearTimeout(timer);
		spend(performance.now() - startedMs);
	}
}

function spend(tookMs: number): void {
	const store = current.getStore();
	if (store) store.leftMs = tookMs < PROMPT_MS ? DEADLINE_MS : Math.max(0, store.leftMs - tookMs);
}
