// Tools of clients that wait: they run at once, and most are quicker than it takes to make a task and its job. So a task is stored when it ends, or
// with its job when that takes longer; the job then takes the running tool over.

import { setTimeout as delay } from 'node:timers/promises';
import { type Changing, change, hasPaused, open, type Task } from './tasks.ts';
import { begin, type End, outcome, type Running } from './work.ts';

interface Early {
	end: Promise<End>;
	leave: AbortController;
	/** Passes on what the tool tells, once there is a job to tell it. */
	tell: Running['progress'];
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
export async function runEarly(task: Task, { call, retention }: Changing): Promise<Begun> {
	const leave = new AbortController();
	const own = call.with({ detached: true, signal: leave.signal });
	const told: Pick<Early, 'tell'> = { tell: () => undefined };
	const end = outcome(task, { call: own, signal: leave.signal, attempt: 1, progress: (value) => told.tell(value) }, false);
	const early: Early = Object.assign(told, { leave, end });
	const first = await soon(early.end);
	if (!first) return guarded(task, early, { call, retention });
	const ended = first(task);
	// Nothing was run, so there is no task.
	if (ended.retryAfter === null) await open(ended, call, retention);
	return { task: ended, jobId: null };
}

async function soon(end: Promise<End>): Promise<End | null> {
	const timer = new AbortController();
	try {
		return await Promise.race([end, delay(EARLY_MS, null, { signal: timer.signal }).catch(() => null)]);
	} finally {
		timer.abort();
	}
}

/** Stores the task, with a job that takes the tool over here, and on another replica only when this process ends. */
async function guarded(task: Task, early: Early, { call, retention }: Changing): Promise<Begun> {
	early.end.catch(() => undefined);
	EARLY.set(task.id, early);
	const begun = { ...task, begun: task.turn };
	try {
		await open(begun, call, retention);
		const jobId = await begin(begun, call, { isAwaited: true });
		if ((await call.jobs.get(jobId))?.status === 'running') return { task: begun, jobId };
		await call.jobs.cancel(jobId);
		return await unguarded(begun, early, { call, retention });
	} catch (error) {
		EARLY.delete(task.id);
		early.leave.abort(error);
		throw error;
	}
}

/** There is no room for the job here, and elsewhere it would run the tool again. */
async function unguarded({ id }: Task, { end }: Early, changing: Changing): Promise<Begun> {
	EARLY.delete(id);
	const ended = await end;
	return { task: await change(id, changing, (now) => (hasPaused(now) ? null : ended(now))), jobId: null };
}

/** Returns the end of the tool that runs already; null when none does. */
export function adopted({ id }: Task, { signal, progress }: Running): Promise<End> | null {
	const early = EARLY.get(id);
	if (!early) return null;
	EARLY.delete(id);
	early.tell = progress;
	const leave = (): void => early.leave.abort(signal.reason);
	signal.addEventListener('abort', leave, { once: true });
	return early.end.finally(() => signal.removeEventListener('abort', leave));
}
