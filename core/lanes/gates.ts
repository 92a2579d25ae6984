// Bottleneck as the gate of a lane: the part that is the same with and without Redis.

import Bottleneck from 'bottleneck';
import type { OutboundLimits } from '../store/store.ts';
import type { Gate, Leave } from './lane.ts';

/** The place of a crashed replica is freed this long after the latest end of its call; it also covers clocks that differ between replicas. */
export const GRACE_MS = 2000;

/** Returns a gate that counts the calls of this process alone. */
export function localGate({ maxConcurrent, minTimeMs }: OutboundLimits): Gate {
	const limiter = new Bottleneck({ maxConcurrent: maxConcurrent ?? null, minTime: minTimeMs ?? 0 });
	return {
		most: maxConcurrent ?? Number.POSITIVE_INFINITY,
		countedAs: null,
		place: async (holdMs) => (await takePlace(limiter, holdMs + GRACE_MS)).leave,
		drop: () => stopLimiter(limiter),
	};
}

/** Clears the timers, which would keep the process alive. Calls under way go on; the promise is not awaited, since it may wait for Redis. */
export function stopLimiter(limiter: Bottleneck): void {
	limiter.stop({ dropWaitingJobs: true }).catch(() => undefined);
}

/** Returns the part of the limits that one of so many replicas may use without asking the others: at least one call at a time. */
export const shareOf = ({ maxConcurrent, minTimeMs }: OutboundLimits, replicas: number): OutboundLimits => ({
	...(maxConcurrent !== undefined && { maxConcurrent: Math.max(1, Math.floor(maxConcurrent / replicas)) }),
	...(minTimeMs !== undefined && { minTimeMs: minTimeMs * replicas }),
});

/**
 * Resolves when Bottleneck begins the job that stands for the call; `over` resolves when the job has ended and its place is free in Redis.
 * @param expirationMs required, since Bottleneck would keep the places of a crashed process for ever
 */
export function takePlace(limiter: Bottleneck, expirationMs: number): Promise<{ leave: Leave; over: Promise<void> }> {
	return new Promise((resolve, reject) => {
		const begin = (): Promise<void> => new Promise((leave) => resolve({ leave, over }));
		const job = limiter.schedule({ expiration: expirationMs }, begin);
		// The only failure after the place was given is that it expired, which ends the job too.
		const over = job.catch(reject);
	});
}
