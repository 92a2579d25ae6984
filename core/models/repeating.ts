// Repeats a request to a model while nothing of its answer has come.

import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError, GatewayError, PluginFault } from '../contract/errors.ts';
import type { ChatChunk } from '../contract/providers.ts';
import { retryAfterMs } from '../upstreams/retries.ts';

const ATTEMPTS = 3;
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;
const PASSING: readonly string[] = ['upstream_failed', 'upstream_timeout', 'rate_limited'];

export interface Repeating {
	signal: AbortSignal;
	/** The time by `performance.now()` at which the call has to be over. */
	endsAtMs: number;
	/** Tells whether the attempt that failed cost nothing that has to be counted. */
	mayRepeat(): boolean;
}

/**
 * Yields the chunks of the first attempt that has any. An error with details is of the request or the connection, and is not repeated.
 * @throws the error of the last attempt, upstream_failed for an answer without an end
 */
export async function* repeated(
	attempt: () => AsyncIterable<ChatChunk>,
	{ signal, endsAtMs, mayRepeat }: Repeating,
): AsyncGenerator<ChatChunk> {
	for (let count = 1; ; count++) {
		let hasBegun = false;
		try {
			for await (const chunk of attempt()) {
				hasBegun = true;
				yield chunk;
				if (chunk.type === 'end') return;
			}
			throw new GatewayError('upstream_failed', 'The answer of the model provider breaks off.');
		} catch (thrown) {
			if (thrown instanceof PluginFault) throw thrown;
			signal.throwIfAborted();
			const waitMs = hasBegun || count === ATTEMPTS || !mayRepeat() ? null : waitAfter(thrown, count);
			if (waitMs === null || performance.now() + waitMs >= endsAtMs) throw thrown;
			await sleep(waitMs, null, { signal });
		}
	}
}

/** Returns the pause before the next attempt; null when there is none. */
export function waitAfter(thrown: unknown, count: number): number | null {
	const error = asGatewayError(thrown);
	if (!error || !PASSING.includes(error.code) || error.details.length > 0) return null;
	const askedMs = retryAfterMs(error.headers['retry-after']);
	if (askedMs === null) return FIRST_WAIT_MS * 2 ** (count - 1);
	return askedMs <= MAX_WAIT_MS ? askedMs : null;
}
