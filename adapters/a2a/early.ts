// Tools of clients that wait: they run at once, and most are quicker than it takes to make a task and its job. So a task is stored when it ends, or
// with its job when that takes longer; the job then takes the running tool over.

import { setTimeout as delay } from 'node:timers/promises';
import { asGatewayError, type Json } from '../../core/index.ts';
import { type Changing, isFinal, open, type Task } from './tasks.ts';
import { begin, type End, outcome, type Running } from './work.ts';

interface Early {
	end: Promise<End>;
	leave: AbortController;
	/** Resolves when the task is stored: its job has begun by then. */
	stored: PromiseWithResolvers<void>;
	/** The progress that the tool told last; null: none. */
	told: Json;
	/** Passes on what the tool tells, once there is a job to tell it. */
	tell: Running['progress'] | null;
}

/** Tools that run in this process, until the job of their task takes them over: no other process could. */
const EARLY = new Map<string, Early>();
const EARLY_MS = 1_000;

/** A task with the job that works on it; null: none does. */
interface Begun {
	task: Task;
	jobId: string | null;
}

/** Runs the tool of a new task. @returns the task as it ended, or at work with its job. @throws unavailable, rate_limited */
export async function runEarly(task: Task, changing: Changing): Promise<Begun> {
	const early = start(task, changing);
	const first = await soon(early.end);
	return first ? ended(task, first, changing) : guarded(task, early, changing);
}

function start(task: Task, { call }: Changing): Early {
	const leave = new AbortController();
	const own = call.with({ detached: true, signal: leave.signal });
	const told: Pick<Early, 'told' | 'tell'> = { told: null, tell: null };
	const progress = (value: Json): void => {
		told.told = value;
		told.tell?.(value);
	};
	const end = outcome(task, { call: own, signal: leave.signal, attempt: 1, progress }, false);
	return Object.assign(told, { leave, end, stored: Promise.withResolvers<void>() });
}

async function soon(end: Promise<End>): Promise<End | null> {
	const timer = new AbortController();
	try {
		return await Promise.race([end, delay(EARLY_MS, null, { signal: timer.signal }).catch(() => null)]);
	} finally {
		timer.abort();
	}
}

async function ended(task: Task, end: End, { call, retention }: Changing): Promise<Begun> {
	const after = end(task);
	// Nothing was run, so there is no task.
	if (after.retryAfter !== null) return { task: after, jobId: null };
	try {
		await open(after, call, retention);
	} catch (error) {
		// The tool has run: with an error the client would send its message again.
		if (!isFinal(after) || !asGatewayError(error)) throw error;
		call.log.warn(
			{ task: after.id, error: asGatewayError(error)?.message },
			'a task that has ended could not be stored: its client is answered all the same',
		);
	}
	return { task: after, jobId: null };
}

/**
 * Stores the task, with a job that takes the tool over here, and on another replica only when this process ends. The job comes first: while
 * nobody knows of the task, no other job can work on it. Where there is no room for both, the task is stored when the tool ends.
 */
async function guarded(task: Task, early: Early, changing: Changing): Promise<Begun> {
	const { call, retention } = changing;
	early.end.catch(() => undefined);
	early.stored.promise.catch(() => undefined);
	const begun = { ...task, begun: task.turn };
	EARLY.set(task.id, early);
	let jobId: string | null = null;
	try {
		jobId = await begin(begun, call, { isAwaited: true, here: 'only' });
		await open(begun, call, retention);
		early.stored.resolve();
		return { task: begun, jobId };
	} catch (error) {
		EARLY.delete(task.id);
		early.stored.reject(error);
		if (!asGatewayError(error)) throw error;
		// It has nothing to do: a job without its task ends.
		if (jobId !== null) await call.jobs.cancel(jobId).catch(() => false);
		return ended(task, await early.end, changing);
	}
}

/** Takes the tool of a task over, if it runs here already. @returns how it ends, once the task is stored; null: it does not run here */
export async function adopted(id: string, { signal, progress }: Running): Promise<{ end: Promise<End> } | null> {
	const early = EARLY.get(id);
	if (!early) return null;
	EARLY.delete(id);
	await early.stored.promise;
	if (early.told !== null) progress(early.told);
	early.tell = progress;
	const leave = (): void => early.leave.abort(signal.reason);
	if (signal.aborted) leave();
	signal.addEventListener('abort', leave, { once: true });
	return { end: early.end.finally(() => signal.removeEventListener('abort', leave)) };
}
