// Stops the process by signals (the first stops it, the second hurries it, the third ends it at once), and after an error that nothing caught.

import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../contract/nouns.ts';

export interface Ending {
	/** Registers the service to stop. Before, a signal ends the process at once. @param graceMs time after which stopping is given up */
	begun(running: Stoppable, graceMs: number): void;
	/** Ends the process with exit code 1 after an error that nothing caught: the service stops in order, and waits for nobody else. */
	fail(): void;
}

export interface Stoppable {
	/** @param hurry aborted when the service must stop waiting for others */
	stop(hurry: AbortSignal): Promise<void>;
}

/** The time in which requests in flight may end when the service stops. */
export const DRAIN_MS = 25_000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/**
 * One Ctrl-C arrives several times: a terminal signals every process of the group, and a supervisor such as npm forwards the signal that it
 * received itself. Signals within this time count as one.
 */
const ECHO_MS = 1000;

/** Installs the handlers. */
export function endOnSignals(log: Log): Ending {
	const hurry = new AbortController();
	let running: (() => void) | null = null;
	let code = 0;
	onSignals((signal, time) => {
		log.info({ signal }, time === 1 ? 'stopping' : 'stopping sooner');
		if (!running || time > 2) process.exit(128 + constants.signals[signal]);
		if (time === 1) running();
		else hurry.abort();
	});
	return {
		begun(service, graceMs) {
			let isStopping = false;
			running = () => {
				if (isStopping) return;
				isStopping = true;
				// A dependency that neither answers nor breaks must not keep the process.
				setTimeout(() => process.exit(1), graceMs).unref();
				service.stop(hurry.signal).then(
					() => process.exit(code),
					() => process.exit(1),
				);
			};
		},
		fail() {
			code = 1;
			if (!running) process.exit(code);
			// The state after such an error is unknown, so no new requests are waited for.
			hurry.abort();
			running();
		},
	};
}

/** @param heard is called with the count of requests so far */
export function onSignals(heard: (signal: NodeJS.Signals, time: number) => void): void {
	let time = 0;
	let lastMs = -Infinity;
	for (const signal of SIGNALS) {
		process.on(signal, () => {
			const nowMs = performance.now();
			if (nowMs - lastMs < ECHO_MS) return;
			lastMs = nowMs;
			time++;
			heard(signal, time);
		});
	}
}

/** Waits; `hurry` ends the wait early. */
export async function delay(seconds: number, hurry: AbortSignal): Promise<void> {
	if (seconds === 0) return;
	await sleep(seconds * 1000, undefined, { signal: hurry }).catch(() => undefined);
}
