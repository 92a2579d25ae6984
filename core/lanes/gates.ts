// Bottleneck as the gate of a lane: the part that is alike with and without Redis.

import Bottleneck from 'bottleneck';
import type { OutboundLimits } from '../store/store.ts';
import type { Gate, Leave } from './lane.ts';

/** A crashed holder's place comes back so long after its call would have ended at the latest. */
export const GRACE_MS = 2000;

/** A gate of this process alone. */
export function localGate({ maxConcurrent, minTimeMs }: OutboundLimits): Gate {
	const limiter = new Bottleneck({ maxConcurrent: maxConcurrent ?? null, minTime: minTimeMs ?? 0 });
	return {
		most: maxConcurrent ?? Number.POSITIVE_INFINITY,
		countedAs: null,
		place: async (holdMs) => (await takePlace(limiter, holdMs + GRACE_MS)).leave,
		drop: () => stopLimiter(limiter),
	};
}

/** Its timers would keep the process. What was given runs on; the promise may wait for Redis, so nobody waits for it. */
export function stopLimiter(limiter: Bottleneck): void {
	limiter.stop({ dropWaitingJobs: true }).catch(() => undefined);
}

/** The part of a lane that each of so many replicas may use without asking the others: at least one call at a time. */
export const shareOf = ({ maxConcurrent, minTimeMs }: OutboundLimits, replicas: number): OutboundLimits => ({
	...(maxConcurrent !== undefined && { maxConcurrent: Math.max(1, Math.floor(maxConcurrent / replicas)) }),
	...(minTimeMs !== undefined && { minTimeMs: minTimeMs * replicas }),
});

/**
 * Resolves when Bottleneck begins the job that stands for the call; `over` when it has ended, for the other replicas too.
 * @param expirationMs always given: without it, what a crashed process held is held for ever
 */
export function takePlace(limiter: Bottleneck, expirationMs: number): Promise<{ leave: Leave; over: Promise<void> }> {
	return new Promise((resolve, reject) => {
		const begin = (): Promise<void> => new Promise((leave) => resolve({ leave, over }));
		const job = limiter.schedule({ expiration: expirationMs }, begin);
		// What goes wrong after the place was given is that it expired, which ends the job too.
		const over = job.catch(reject);
	});
}
