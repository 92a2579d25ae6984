// Waiting for something that whoever waits may leave.

export interface Leaving {
	/** Called when it is left, before the waiting ends: takes back what was asked for. */
	leave?: () => void;
	/** How long it is waited for at the most, and why it is left then. */
	late?: { afterMs: number; reason: () => unknown };
}

/**
 * Settles as the promise does. Who leaves does not wait for what goes on without him: what comes of it then is nobody's.
 * @throws the signal's reason once it is aborted; the reason of `late` when its time is over
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
		// Of two that are settled the one that was settled first counts, so leaving takes nothing back that was granted before.
		return await Promise.race(signal.aborted ? [left, promise] : [promise, left]);
	} finally {
		clearTimeout(timer);
		signal.removeEventListener('abort', onAbort);
	}
}
