// A task: the record of what was asked, and the job that does it.

import { type Call, type Job, type Json, type JsonObject, notFound } from 'gatehouse';

/** The record of a request, under the id of its job. */
export interface Asked {
	id: string;
	contextId: string;
	owner: string;
	message: JsonObject;
}

/** The output of a job. */
export interface Made {
	isError: boolean;
	parts: Json[];
}

const WEEK_MS = 7 * 24 * 3_600_000;
const STATES: Readonly<Record<Job['status'], string>> = {
	...{ queued: 'TASK_STATE_SUBMITTED', running: 'TASK_STATE_WORKING', waiting: 'TASK_STATE_WORKING' },
	...{ succeeded: 'TASK_STATE_COMPLETED', failed: 'TASK_STATE_FAILED', cancelled: 'TASK_STATE_CANCELED' },
};

export const hasEnded = ({ status }: Job): boolean => ['succeeded', 'failed', 'cancelled'].includes(status);
/** A caller without a name shares their tasks with the other ones without. */
export const ownerOf = ({ caller }: Call): string => caller?.subject ?? 'anonymous';
const keyOf = (id: string): string => `task:${id}`;

/** Keeps what was asked, once however often it is sent. */
export async function keep(asked: Asked, call: Call): Promise<void> {
	const tags = ['task', `owner:${asked.owner}`, `context:${asked.contextId}`];
	await call.records.add(keyOf(asked.id), { ...asked }, { tags, ttlMs: WEEK_MS });
}

/** @throws not_found also for another caller's task */
export async function find(id: Json | undefined, call: Call): Promise<{ asked: Asked; job: Job }> {
	const record = typeof id === 'string' && id !== '' ? await call.records.get(keyOf(id)) : null;
	const job = record?.value['owner'] === ownerOf(call) ? await call.jobs.get(String(id)) : null;
	if (!record || !job) throw notFound('Task');
	return { asked: askedOf(record.value), job };
}

/** The record was put by `keep`. */
export const askedOf = (value: JsonObject): Asked => value as unknown as Asked;

const madeOf = ({ output }: Job): Made | null => output as unknown as Made | null;

export function stateOf(job: Job): string {
	return job.status === 'succeeded' && madeOf(job)?.isError ? 'TASK_STATE_FAILED' : STATES[job.status];
}

export function statusOf({ id, contextId }: Asked, job: Job): JsonObject {
	const said = job.error?.message ?? (typeof job.progress === 'string' ? job.progress : null);
	const message = { messageId: `${id}:${job.status}`, taskId: id, contextId, role: 'ROLE_AGENT', parts: [{ text: said }] };
	const at = job.finishedAt ?? job.startedAt ?? job.createdAt;
	return { state: stateOf(job), timestamp: at.toISOString(), ...(said !== null && { message }) };
}

export function artifactOf({ id }: Asked, job: Job): JsonObject | null {
	const made = madeOf(job);
	return made && { artifactId: `${id}:result`, name: 'result', parts: made.parts };
}

export function shown(asked: Asked, job: Job): JsonObject {
	const artifact = artifactOf(asked, job);
	const { id, contextId, message } = asked;
	return {
		id,
		contextId,
		status: statusOf(asked, job),
		artifacts: artifact ? [artifact] : [],
		history: [{ ...message, taskId: id, contextId }],
	};
}

export const statusUpdate = (asked: Asked, job: Job): JsonObject => ({
	statusUpdate: { taskId: asked.id, contextId: asked.contextId, status: statusOf(asked, job) },
});

/** Yields the task, and then its changes until it ends, on whichever replica it runs. */
export async function* changes(asked: Asked, call: Call): AsyncGenerator<JsonObject> {
	let told: string | null = null;
	for await (const job of call.jobs.follow(asked.id, call.signal)) {
		if (!job) continue;
		const status = statusUpdate(asked, job);
		if (told === null) yield { task: shown(asked, job) };
		else if (told !== JSON.stringify(status)) {
			const artifact = artifactOf(asked, job);
			if (artifact) yield { artifactUpdate: { taskId: asked.id, contextId: asked.contextId, artifact, lastChunk: true } };
			yield status;
		}
		told = JSON.stringify(status);
	}
}
