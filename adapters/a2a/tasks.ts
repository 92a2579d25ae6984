// Tasks as records, which every replica reads and changes.

import { randomUUID } from 'node:crypto';
import { asGatewayError, type Call, GatewayError, type JsonObject, type StoredRecord } from '../../core/index.ts';
import { noTask } from './errors.ts';
import type { KeptAnswers, KeptQuestion } from './questions.ts';
import { type Artifact, asJson, type Message, type Part, type Status, type TaskState, type WireTask } from './wire.ts';

/** The part of a task that is encrypted at rest. */
export type Content = {
	args: JsonObject;
	history: Message[];
	artifacts: Artifact[];
	/** The number of records that hold the artifacts, where they are too large for this one. */
	chunks: number;
	/** The message of the status. */
	said: Message | null;
	/** The question of a tool that waits for its answer, and the answers to earlier ones, by their keys. */
	question: KeptQuestion | null;
	answers: KeptAnswers;
	/** Media types that the client takes. */
	modes: string[] | null;
};

export type Task = {
	id: string;
	contextId: string;
	owner: string;
	state: TaskState;
	statusAt: string;
	/** The number of times that the client set the task to work. */
	turn: number;
	/** The turn whose tool was begun: it may have had an effect. */
	begun: number;
	skill: string | null;
	/** Whether its tool may be run again when nobody knows whether it ran. */
	isRepeatable: boolean;
	/** Whether somebody wants to be notified. */
	pushes: boolean;
	/** The tool was not run, since its limit was reached; seconds until it may be. */
	retryAfter: number | null;
	content: Content;
};

export const ANONYMOUS = 'anonymous';
const HOUR_MS = 3_600_000;
/** Longer than any job takes that a task waits for. */
const UNFINISHED_MS = 48 * HOUR_MS;
/** The most characters of the messages that are kept; of more, the oldest are dropped. */
const MAX_HISTORY_CHARS = 600_000;
/** The most characters of a task's content; a record holds 1 Mi with what else the task has. */
const MAX_CONTENT_CHARS = 1_000_000;
const SEALED = ['/content'];

const FINAL: readonly TaskState[] = ['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED'];
export const isFinal = ({ state }: Task): boolean => FINAL.includes(state);
/** Whether the task does nothing more until somebody says something. */
export const hasPaused = (task: Task): boolean => isFinal(task) || task.state === 'TASK_STATE_INPUT_REQUIRED';

/** Callers without a credential are one owner. */
export const ownerOf = ({ caller }: Call): string => caller?.subject ?? ANONYMOUS;

const keyOf = (id: string): string => `task:${id}`;
/** The tag of everything that belongs to a task, beside its own record. */
export const partOfTask = (id: string): string => `of:${id}`;
const hourOf = (time: string): string => `ended:${time.slice(0, 13)}`;
const ENDED = 'ended';

export function tagsOf(task: Task): string[] {
	const { contextId, owner, state, statusAt } = task;
	const ended = isFinal(task) ? [ENDED, hourOf(statusAt)] : [];
	return ['task', `owner:${owner}`, `context:${contextId}`, `state:${state}`, ...ended];
}

export interface Retention {
	taskRetentionHours: number;
}

const ttlOf = (task: Task, { taskRetentionHours }: Retention): number =>
	hasPaused(task) ? taskRetentionHours * HOUR_MS : Math.max(UNFINISHED_MS, taskRetentionHours * HOUR_MS);

export function newTask(
	parts: Pick<Task, 'contextId' | 'state' | 'skill'> & { args: JsonObject; modes: string[] | null },
	call: Call,
): Task {
	const { contextId, state, skill, args, modes } = parts;
	return {
		...{ id: randomUUID(), contextId, owner: ownerOf(call), state, statusAt: new Date().toISOString(), turn: 1, begun: 0, skill },
		...{ isRepeatable: false, pushes: false, retryAfter: null },
		content: { args, modes, history: [], artifacts: [], chunks: 0, said: null, question: null, answers: {} },
	};
}

/** Stores a new task. Where the organization keeps the most that it may, the tasks of the hour that ended first make room. @throws rate_limited */
export async function open(given: Task, call: Call, retention: Retention): Promise<void> {
	const task = fitted(given);
	try {
		await call.records.put(keyOf(task.id), asJson(task), { tags: tagsOf(task), ttlMs: ttlOf(task, retention), sealed: SEALED });
	} catch (error) {
		if (asGatewayError(error)?.code !== 'conflict') throw error;
		await makeRoom(call);
		throw new GatewayError('rate_limited', 'The organization keeps the most tasks that it may: the oldest ended ones are being removed.', {
			headers: { 'retry-after': '2' },
		});
	}
}

async function makeRoom({ records }: Call): Promise<void> {
	const { records: oldest } = await records.find({ all: ['task', ENDED] }, { sort: 'updatedAt', limit: 1 });
	const hour = oldest[0]?.tags.find((tag) => tag.startsWith(`${ENDED}:`));
	if (hour !== undefined) await records.drop(hour);
}

export const removeTask = async (id: string, { records }: Call): Promise<void> => {
	await records.remove(keyOf(id));
	await records.drop(partOfTask(id));
};

/** This plugin alone writes records of these keys. */
export const toTask = ({ value }: Pick<StoredRecord, 'value'>): Task => value as Task;

async function look(id: string, { records }: Call): Promise<StoredRecord | null> {
	return records.get(keyOf(id));
}

/** @throws A2AError for a task of another caller, which does not exist for this one */
export async function find(id: string, call: Call): Promise<Task> {
	const record = await look(id, call);
	if (!record || toTask(record).owner !== ownerOf(call)) throw noTask(id);
	return toTask(record);
}

/** Changes a task, whoever else does at the same time. @param alter returns null to leave it as it is */
export async function change(id: string, { call, retention }: Changing, alter: (task: Task) => Task | null): Promise<Task> {
	for (;;) {
		const record = await look(id, call);
		if (!record) throw noTask(id);
		const altered = alter(toTask(record));
		if (altered === null) return toTask(record);
		const changed = fitted(altered);
		const options = { tags: tagsOf(changed), ttlMs: ttlOf(changed, retention) };
		if (await call.records.update(keyOf(id), record.revision, asJson(changed), options)) return changed;
	}
}

export interface Changing {
	call: Call;
	retention: Retention;
}

/** Returns the task in another state, said at this moment. */
export const moved = (task: Task, state: TaskState, more: Partial<Content> = {}): Task => ({
	...task,
	state,
	statusAt: new Date().toISOString(),
	content: { ...task.content, said: null, ...more },
});

/** Adds a message of the client; what the agent said before becomes a part of the history, too. */
export function withMessage(task: Task, message: Message): Task {
	const { history, said } = task.content;
	const all = [...history, ...(said ? [said] : []), { ...message, taskId: task.id, contextId: task.contextId }];
	const newest = all.slice(-1);
	const kept = [...latest(all.slice(0, -1), MAX_HISTORY_CHARS - charsOf(newest)), ...newest];
	return { ...task, content: { ...task.content, history: kept } };
}

const charsOf = (value: unknown): number => JSON.stringify(value).length;

/** Returns the last of the messages that fit. */
function latest(messages: readonly Message[], maxChars: number): Message[] {
	let left = maxChars;
	const from = messages.findLastIndex((message) => {
		left -= charsOf(message) + 1;
		return left < 0;
	});
	return messages.slice(from + 1);
}

/** Returns the task without the oldest messages, where its record has no room for them. */
function fitted(task: Task): Task {
	const { history, ...rest } = task.content;
	const kept = latest(history, MAX_CONTENT_CHARS - charsOf(rest));
	return kept.length === history.length ? task : { ...task, content: { ...rest, history: kept } };
}

/** A message of the agent. */
export const says = ({ id, contextId }: Pick<Task, 'id' | 'contextId'>, ...parts: Part[]): Message => ({
	...{ messageId: randomUUID(), role: 'ROLE_AGENT', taskId: id, contextId },
	parts,
});

export const statusOf = ({ state, statusAt, content: { said } }: Task): Status => ({
	...{ state, timestamp: statusAt },
	...(said && { message: said }),
});

export interface Shown {
	/** The greatest number of messages; null: all. */
	historyLength?: number | null;
	/** Default true. */
	artifacts?: boolean;
}

export function show(task: Task, { historyLength = null, artifacts: isWanted = true }: Shown = {}): WireTask {
	const { id, contextId, content } = task;
	const history = historyLength === null ? content.history : historyLength === 0 ? [] : content.history.slice(-historyLength);
	const { artifacts } = content;
	return {
		...{ id, contextId, status: statusOf(task) },
		...(isWanted && artifacts.length > 0 && { artifacts }),
		...(history.length > 0 && { history }),
	};
}
