// Faults as they are kept with a run, without anything that must not be told.

import { asGatewayError, PluginFault } from '../contract/errors.ts';
import type { RunFault } from '../store/store.ts';
import { retryAfterMs } from '../upstreams/retries.ts';
import { RunError } from './context.ts';

const UNEXPECTED: RunFault = { code: 'internal', message: 'The run failed unexpectedly; the log of the service has the reason.' };

export function faultOf(error: unknown): RunFault {
	if (error instanceof RunError) return error.fault;
	const known = asGatewayError(error);
	if (!known) return UNEXPECTED;
	const afterMs = retryAfterMs(known.headers['retry-after']);
	return { code: known.code, message: known.message, ...(afterMs !== null && { retryAfterSeconds: Math.ceil(afterMs / 1000) }) };
}

export const isUnexpected = (error: unknown): boolean => !(error instanceof RunError) && asGatewayError(error) === null;

/** Names the plugin whose fault an error is, for the log. */
export const pluginOf = (error: unknown): { plugin?: string } => (error instanceof PluginFault ? { plugin: error.plugin } : {});

/** Tells whether the database was unreachable: what was to be written is written once it is back. */
export const isOfDatabase = (error: unknown): boolean => asGatewayError(error)?.code === 'unavailable';

/** The run has ended, or another process has it. */
export const LOST = new Error('This process does not hold the run any more.');
/** The run is given back. */
export const STOPPING = new Error('The service is stopping.');
export const DEADLINE = new RunError({ code: 'timed_out', message: 'The deadline of the run is over.' });
/** The characters that the steps of one run keep in all: whoever resumes it has them in memory. */
export const MAX_KEPT_CHARS = 64 * 1024 * 1024;
export const FULL = new RunError({ code: 'conflict', message: `The steps of a run may keep at most ${MAX_KEPT_CHARS} characters in all.` });
export const INTERRUPTED: RunFault = { code: 'interrupted', message: 'The process that ran it is gone, and it is not resumed.' };

/** Tells whether an attempt was stopped although its run goes on, or was ended by whoever ended it. */
export const isGivenUp = (reason: unknown): boolean => reason === LOST || reason === STOPPING;
