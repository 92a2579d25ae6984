// Signals that end with others. AbortSignal.any keeps a signal that somebody listens to until it aborts, so runs that wait would stay in memory.

export interface Linked {
	signal: AbortSignal;
	abort(reason: unknown): void;
	/** Stops listening to the other signal. */
	leave(): void;
}

/** Makes a signal that also aborts with another one. */
export function linkedTo(outer: AbortSignal): Linked {
	const own = new AbortController();
	const follow = (): void => own.abort(outer.reason);
	if (outer.aborted) follow();
	else outer.addEventListener('abort', follow, { once: true });
	return { signal: own.signal, abort: (reason) => own.abort(reason), leave: () => outer.removeEventListener('abort', follow) };
}
