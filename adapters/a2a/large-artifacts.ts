// Artifacts that are too large for the record of their task lie in records of their own, in pieces.

import { type Call, GatewayError } from '../../core/index.ts';
import { partOfTask, type Task } from './tasks.ts';
import type { Artifact } from './wire.ts';

/** The most characters of artifacts that lie in the record of the task. */
const MAX_INSIDE = 200_000;
const CHUNK_CHARS = 400_000;
/** The most characters of a task's artifacts: 4 Mi. */
const MAX_CHARS = 4 * 1024 * 1024;
/** A piece outlives its task, which is removed first. */
const TTL_MS = 31 * 24 * 3_600_000;

const keyOf = (task: Pick<Task, 'id'>, turn: number, index: number): string => `artifacts:${task.id}:${turn}:${index}`;

/** Stores what does not fit into the task's own record. @returns the parts of the task's content. @throws upstream_failed when it is too large */
export async function putArtifacts(
	task: Task,
	artifacts: Artifact[],
	{ records }: Call,
): Promise<Pick<Task['content'], 'artifacts' | 'chunks'>> {
	const text = JSON.stringify(artifacts);
	if (text.length <= MAX_INSIDE) return { artifacts, chunks: 0 };
	if (text.length > MAX_CHARS)
		throw new GatewayError(
			'upstream_failed',
			`The result of the tool is larger than the ${MAX_CHARS} characters that a task keeps. Ask for less.`,
		);
	const chunks = Math.ceil(text.length / CHUNK_CHARS);
	for (let index = 0; index < chunks; index++) {
		const piece = text.slice(index * CHUNK_CHARS, (index + 1) * CHUNK_CHARS);
		await records.put(keyOf(task, task.turn, index), { piece }, { tags: [partOfTask(task.id)], ttlMs: TTL_MS, sealed: ['/piece'] });
	}
	return { artifacts: [], chunks };
}

/** Returns the task with all of its artifacts. */
export async function withArtifacts(task: Task, { records }: Call): Promise<Task> {
	const { chunks } = task.content;
	if (chunks === 0) return task;
	const pieces = await Promise.all(Array.from({ length: chunks }, (_, index) => records.get(keyOf(task, task.turn, index))));
	if (pieces.includes(null)) return task;
	const text = pieces.map((record) => String(record?.value.piece)).join('');
	// `putArtifacts` wrote it.
	return { ...task, content: { ...task.content, artifacts: JSON.parse(text) as Artifact[] } };
}
