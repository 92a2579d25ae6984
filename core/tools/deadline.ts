// The time limit of a run: work under a signal that aborts at its end, and is left behind when it goes on.

import { GatewayError } from '../contract/errors.ts';
import { LEAVE_MS } from '../process/hooks.ts';

/** The specification's timeout of an execution, for tools whose executor sets none. */
const DEADLINE_MS = 120_000;
/** The longest that an executor may set. */
const LONGEST_MS = 3_600_000;

/** Returns the time limit of a run. */
export const deadlineOf = ({ deadlineMs = DEADLINE_MS }: { deadlineMs?: number }): number => Math.min(LONGEST_MS, deadlineMs);

/** Settles like an executor's promise, or rejects some time after the signal aborted. @param onLeft is called where the executor goes on then */
type Leavable = <T>(run: Promise<T>, onLeft: () => void) => Promise<T>;

/**
 * Runs `work` with a signal. It waits for the executor by `leavable`: one that goes on although the signal aborted would hold its caller and
 * its place in the lane for ever.
 */
export async function underDeadline<T>(
	outer: AbortSignal,
	deadlineMs: number,
	work: (signal: AbortSignal, leavable: Leavable, end: (reason: unknown) => void) => Promise<T>,
): Promise<T> {
	const controller = new AbortController();
	let leaveBehind: ((reason: unknown) => void) | null = null;
	const leavable: Leavable = (run, onLeft) =>
		new Promise((resolve, reject) => {
			leaveBehind = (reason) => {
				onLeft();
				reject(reason);
			};
			run.then(
				(value) => {
					leaveBehind = null;
					resolve(value);
				},
				(thrown) => {
					leaveBehind = null;
					reject(thrown);
				},
			);
		});
	const abort = (reason: unknown): void => {
		controller.abort(reason);
		setTimeout(() => leaveBehind?.(reason), LEAVE_MS).unref();
	};
	const leave = (): void => abort(outer.reason);
	if (outer.aborted) leave();
	outer.addEventListener('abort', leave, { once: true });
	const timer = setTimeout(
		() => abort(new GatewayError('upstream_timeout', `The tool took longer than ${deadlineMs / 1000} s.`)),
		deadlineMs,
	);
	try {
		return await work(controller.signal, leavable, abort);
	} finally {
		clearTimeout(timer);
		outer.removeEventListener('abort', leave);
	}
}
