// Follows a task on whichever replica it is worked on: until it pauses, or as the events of a stream.

import { type Call, isObject, type Job } from '../../core/index.ts';
import { withArtifacts } from './large-artifacts.ts';
import { type Changing, find, hasPaused, type Shown, says, show, statusOf, type Task } from './tasks.ts';
import type { Status, StreamResponse } from './wire.ts';
import { begin, settled } from './work.ts';

/** A handler has 130 s, and a tool 120 s. A client that waits longer is told how far the task is. */
const WAIT_MS = 125_000;

/** A task that is worked on, with its job. */
export interface Begun {
	task: Task;
	/** Null: the task waits for its client. */
	jobId: string | null;
}

/** Waits until the task has ended or waits for its client. */
export async function whenPaused({ task, jobId }: Begun, changing: Changing): Promise<Task> {
	const { call } = changing;
	if (jobId === null) return task;
	const signal = AbortSignal.any([call.signal, AbortSignal.timeout(WAIT_MS)]);
	for await (const job of call.jobs.follow(jobId, signal)) if (job && job.finishedAt !== null) break;
	const after = await find(task.id, call);
	return hasPaused(after) || signal.aborted ? after : settled(after, changing, jobId);
}

/** Yields the task, then its changes, until it has ended or waits for its client. */
export async function* changesOf({ task, jobId }: Begun, changing: Changing, shown: Shown): AsyncGenerator<StreamResponse, void> {
	const { call } = changing;
	yield { task: show(await withArtifacts(task, call), shown) };
	let known = task;
	for (let next = jobId; next !== null; ) {
		yield* workOf(known, next, call);
		if (call.signal.aborted) return;
		known = await settled(await find(task.id, call), changing, next);
		// Meanwhile the client may have set it to work again.
		next = hasPaused(known) ? null : await begin(known, call, { isAwaited: false });
	}
	if (hasPaused(task)) return;
	const { id: taskId, contextId } = task;
	const { content } = await withArtifacts(known, call);
	for (const artifact of content.artifacts) yield { artifactUpdate: { taskId, contextId, artifact, lastChunk: true } };
	yield { statusUpdate: { taskId, contextId, status: statusOf(known) } };
}

/** Yields what a job tells until it ends. */
async function* workOf(task: Task, jobId: string, call: Call): AsyncGenerator<StreamResponse, void> {
	const { id: taskId, contextId } = task;
	let told: string | null = task.state === 'TASK_STATE_SUBMITTED' ? null : '';
	for await (const job of call.jobs.follow(jobId, call.signal)) {
		if (!job) continue;
		if (job.finishedAt !== null) return;
		const text = textOf(job);
		if (text === null || text === told) continue;
		told = text;
		yield { statusUpdate: { taskId, contextId, status: working(task, text) } };
	}
}

/** Returns what a running job tells of its progress: nothing is an empty text. Null: it does not run. */
const textOf = ({ status, progress }: Job): string | null => {
	if (status !== 'running') return null;
	return isObject(progress) && typeof progress.text === 'string' ? progress.text : '';
};

const working = (task: Task, text: string): Status => ({
	...{ state: 'TASK_STATE_WORKING', timestamp: new Date().toISOString() },
	...(text !== '' && { message: says(task, { text, mediaType: 'text/plain' }) }),
});
