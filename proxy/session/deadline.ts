// A signal that ends a request: when its time is over, or when the session ends.

import { Refusal } from '../gateway/refusals.ts';

export interface Deadline {
	signal: AbortSignal;
	end(reason: Refusal): void;
	/** Stops the clock, for as long as the user is asked. */
	pause(): void;
	resume(): void;
	/** Must be called when the request is over. */
	clear(): void;
}

export function deadline(ms: number, ending: AbortSignal): Deadline {
	const controller = new AbortController();
	let left = ms;
	let since = Date.now();
	let pauses = 0;
	let timer: NodeJS.Timeout | null = null;
	const late = (): void => controller.abort(new Refusal('late', `The gateway did not answer within ${Math.round(ms / 1000)} s.`));
	const start = (): void => {
		since = Date.now();
		timer = setTimeout(late, left);
	};
	const stop = (): void => {
		if (timer === null) return;
		clearTimeout(timer);
		timer = null;
		left -= Date.now() - since;
	};
	const onEnd = (): void => controller.abort(new Refusal('stopped', 'The proxy ends.'));
	ending.addEventListener('abort', onEnd, { once: true });
	if (ending.aborted) onEnd();
	start();
	return {
		signal: controller.signal,
		end: (reason) => controller.abort(reason),
		pause() {
			pauses += 1;
			stop();
		},
		resume() {
			pauses -= 1;
			if (pauses === 0 && !controller.signal.aborted) start();
		},
		clear() {
			stop();
			ending.removeEventListener('abort', onEnd);
		},
	};
}

/** Waits, and resolves early when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const done = (): void => {
			clearTimeout(timer);
			signal.removeEventListener('abort', done);
			resolve();
		};
		const timer = setTimeout(done, ms);
		signal.addEventListener('abort', done, { once: true });
		if (signal.aborted) done();
	});
}
