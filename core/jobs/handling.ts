// One attempt at a job of a plugin: the call is made anew, the handler runs within its time, and its end is put into words.

import { asGatewayError, ERRORS, type ErrorCode, PluginFault } from '../contract/errors.ts';
import type { JobHandler, JobRun } from '../contract/jobs.ts';
import type { Json, JsonObject, Log } from '../contract/nouns.ts';
import { measureJson } from '../kit/json.ts';
import { raceWith } from '../kit/race.ts';
import { describeThrown } from '../process/strays.ts';
import { RunError } from '../runs/context.ts';
import type { RunFault } from '../store/store.ts';
import type { Tried } from './attempts.ts';

export const MAX_DATA_CHARS = 64 * 1024;
export const MAX_PROGRESS_CHARS = 4 * 1024;
const MINUTE_MS = 60_000;
export const TIMEOUT_MS = 10 * MINUTE_MS;

export interface Handling {
	/** `kind:name of the job`, for faults. */
	title: string;
	/** `kind:name`. */
	plugin: string;
	handler: JobHandler;
	id: string;
	attempt: number;
	data: Json;
	/** Returns the call: made anew, or the one with which the job begins here. */
	rebuild(signal: AbortSignal): Promise<Pick<JobRun, 'call' | 'config'>>;
	tell(value: Json): void;
	seal(output: Json): JsonObject;
}

/** @param signal of the run @throws its reason once it is aborted; never anything else */
export async function handleOnce(handling: Handling, signal: AbortSignal): Promise<Tried> {
	const { title, plugin, handler, attempt, id, data, tell, seal } = handling;
	const own = new AbortController();
	const both = AbortSignal.any([signal, own.signal]);
	let log: Log | null = null;
	try {
		const { call, config } = await handling.rebuild(both);
		log = call.log;
		const progress = (value: Json): void => tell(checked(plugin, `the progress of ${title}`, value, MAX_PROGRESS_CHARS));
		const { timeoutMs = TIMEOUT_MS } = handler;
		const late = new RunError({ code: 'timed_out', message: `The job took longer than ${timeoutMs / 1000} s.` });
		const running = (async () => handler.run(data, { id, attempt, config, call, signal: both, progress }))();
		const output = await raceWith(signal, running, { late: { afterMs: timeoutMs, reason: () => late } });
		return { how: 'done', output: seal(checked(plugin, `the output of ${title}`, output ?? null, MAX_DATA_CHARS)) };
	} catch (thrown) {
		signal.throwIfAborted();
		const tried = failed(thrown);
		if (tried.error === UNEXPECTED) log?.error({ job: title, runId: id, error: describeThrown(thrown) }, 'a job failed unexpectedly');
		return tried;
	} finally {
		own.abort(new Error('The attempt is over.'));
	}
}

const UNEXPECTED: RunFault = { code: 'internal', message: 'The job failed unexpectedly; the log of the service has the reason.' };

export function failed(thrown: unknown): Extract<Tried, { how: 'failed' }> {
	if (thrown instanceof RunError)
		return { how: 'failed', error: { code: thrown.code, message: thrown.message }, again: true, afterMs: null };
	const known = asGatewayError(thrown);
	if (!known) return { how: 'failed', error: UNEXPECTED, again: true, afterMs: null };
	return { how: 'failed', error: { code: known.code, message: known.message }, again: mayHelp(known.code), afterMs: null };
}

/** Whether another attempt may end otherwise: what is wrong in the request itself stays wrong. */
const mayHelp = (code: ErrorCode): boolean => code === 'rate_limited' || (ERRORS[code] >= 500 && code !== 'not_implemented');

/** @throws PluginFault */
function checked(plugin: string, what: string, value: Json, maxChars: number): Json {
	const { fault, chars } = measureJson(value, maxChars);
	if (fault !== null) throw new PluginFault(plugin, `${what} must be JSON: it ${fault}.`);
	if (chars > maxChars) throw new PluginFault(plugin, `${what} must have at most ${maxChars} characters.`);
	return value;
}
