// Waiting for a promise with a signal and a time limit.

export interface Leaving {
	/** Called before waiting ends early: undoes the request that the promise belongs to. */
	leave?: () => void;
	/** Time limit, and the reason of the rejection after it. */
	late?: { afterMs: number; reason: () => unknown };
}

/**
 * Settles like the promise, or rejects when the signal aborts or the time is over; a later result of the promise is ignored.
 * @throws the signal's reason once it is aborted; the reason of `late` after its time
 */
export async function raceWith<T>(signal: AbortSignal, promise: Promise<T>, { leave, late }: Leaving = {}): Promise<T> {
	const { promise: left, reject } = Promise.withResolvers<never>();
	const go = (reason: unknown): void => {
		leave?.();
		reject(reason);
	};
	const onAbort = (): void => go(signal.reason);
	const timer = late && setTimeout(() => go(late.reason()), late.afterMs);
	if (signal.aborted) onAbort();
	else signal.addEventListener('abort', onAbort, { once: true });
	try {
		// If both are settled, the first one to settle wins, so leaving cannot undo what was already granted.
		return await Promise.race(signal.aborted ? [left, promise] : [promise, left]);
	} finally {
		clearTimeout(timer);
		signal.removeEventListener('abort', onAbort);
	}
}

/**
 * Settles like the promise, or rejects with the reason after a time; a later result of the promise is ignored.
 * @param errorOf converts the promise's own rejection
 */
export function inTime<T>(
	promise: Promise<T>,
	afterMs: number,
	reason: () => unknown,
	errorOf: (thrown: unknown) => unknown = (thrown) => thrown,
): Promise<T> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => reject(reason()), afterMs);
		promise.then(
			(value) => {
				clearTimeout(timer);
				resolve(value);
			},
			(error: unknown) => {
				clearTimeout(timer);
				reject(errorOf(error));
			},
		);
	});
}
