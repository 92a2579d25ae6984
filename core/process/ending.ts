// The end of the process by a signal: once it is asked for, again by who cannot wait, and a third time whatever may be lost.

import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../contract/nouns.ts';

export interface Ending {
	/** From now on there is something to stop. Before, a signal ends the process as it is. @param graceMs after which it is given up */
	begun(running: Stoppable, graceMs: number): void;
}

export interface Stoppable {
	/** @param hurry aborted when nobody waits for others any more */
	stop(hurry: AbortSignal): Promise<void>;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/**
 * One Ctrl-C is heard several times: a terminal tells every process of the group, and a supervisor, npm among them, hands on what it
 * was told itself. What follows within this time is the same wish.
 */
const ECHO_MS = 1000;

/** Listens from now on. */
export function endOnSignals(log: Log): Ending {
	const hurry = new AbortController();
	let running: (() => void) | null = null;
	onSignals((signal, time) => {
		log.info({ signal, time }, time === 1 ? 'stopping' : 'stopping sooner');
		if (!running || time > 2) process.exit(128 + constants.signals[signal]);
		if (time === 1) running();
		else hurry.abort();
	});
	return {
		begun(service, graceMs) {
			running = () => {
				// A dependency that neither answers nor breaks must not keep the process.
				setTimeout(() => process.exit(1), graceMs).unref();
				service.stop(hurry.signal).then(
					() => process.exit(0),
					() => process.exit(1),
				);
			};
		},
	};
}

/** @param heard is told how often it was asked by now */
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

/** Waits, or not to the end where somebody is in a hurry. */
export async function delay(seconds: number, hurry: AbortSignal): Promise<void> {
	if (seconds === 0) return;
	await sleep(seconds * 1000, undefined, { signal: hurry }).catch(() => undefined);
}
