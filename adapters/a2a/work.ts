// The work of a task: a job that runs its skill, on whichever replica, and stops where the client has to say more.

import {
	asGatewayError,
	type Call,
	type GatewayError,
	type JobHandler,
	type JobRun,
	type Json,
	type ToolResult,
} from '../../core/index.ts';
import { artifactOf, textOf } from './artifacts.ts';
import { adopted } from './early.ts';
import { A2AError } from './errors.ts';
import { handOver } from './instructions.ts';
import { putArtifacts } from './large-artifacts.ts';
import { notify } from './push.ts';
import { asker, asking, type KeptQuestion } from './questions.ts';
import { type Changing, change, hasPaused, isFinal, moved, type Retention, says, type Task } from './tasks.ts';
import type { TaskState } from './wire.ts';

/** A client waits for the task and follows no changes, so that its beginning need not be told. */
type Data = { id: string; turn: number; isAwaited: boolean };

const USUAL: Retention = { taskRetentionHours: 24 };
const ATTEMPTS = 3;
/** No tool runs longer than an hour, and few as long as that: core ends each at the time limit of its executor. */
const TIMEOUT_MS = 65 * 60_000;
/** Tasks that run at a time, in each process and of each account: most of them wait for an upstream. */
const PLACES = 500;
const PER_ACCOUNT = 100;

export const jobs: Record<string, JobHandler<Retention>> = {
	task: { run, attempts: ATTEMPTS, timeoutMs: TIMEOUT_MS, places: PLACES, perAccount: PER_ACCOUNT },
};

interface Beginning {
	isAwaited: boolean;
	here?: true | 'only';
}

/** Begins the work of a task's present turn: once, however often this is called. @returns the id of the job. @throws rate_limited */
export async function begin({ id, turn }: Pick<Task, 'id' | 'turn'>, call: Call, { isAwaited, here = true }: Beginning): Promise<string> {
	const data: Data = { id, turn, isAwaited };
	const job = await call.jobs.add('task', data, { key: `${id}:${turn}`, here });
	return job.id;
}

async function run(given: Json, job: JobRun<Retention>): Promise<void> {
	// `begin` wrote it.
	const { id, turn, isAwaited } = given as Data;
	const { call, config } = job;
	const changing: Changing = { call, retention: config ?? USUAL };
	const early = await adopted(id, job);
	const isOurs = (task: Task): boolean => task.turn === turn && !hasPaused(task);
	let isRepeated = false;
	const task = await unlessGone(id, changing, (now) => {
		if (!isOurs(now)) return null;
		isRepeated = now.begun === turn;
		// Nobody would see that it begins, and it may begin again: a write is saved.
		return isAwaited && now.isRepeatable ? null : { ...moved(now, 'TASK_STATE_WORKING'), begun: turn };
	});
	if (!task) return;
	const end = isOurs(task) ? await (early?.end ?? outcome(task, job, isRepeated)) : null;
	const after = end ? await change(id, changing, (now) => (isOurs(now) ? end(now) : null)) : task;
	// An attempt that ended after the state was stored has told nobody.
	if (after.turn === turn && hasPaused(after)) await notify(after, call);
}

/** Returns null for a task that is not there: its process ended before it was stored, or it was removed, so nobody waits for it. */
async function unlessGone(...given: Parameters<typeof change>): Promise<Task | null> {
	try {
		return await change(...given);
	} catch (thrown) {
		if (thrown instanceof A2AError && thrown.reason === 'TASK_NOT_FOUND') return null;
		throw thrown;
	}
}

/** How a task ends or pauses. */
export type End = (task: Task) => Task;

/** The part of a job by which a tool is run. */
export type Running = Pick<JobRun<Retention>, 'call' | 'signal' | 'attempt' | 'progress'>;

/** Runs the tool. @returns how the task ends or pauses. @throws unavailable for another attempt; the signal's reason */
export async function outcome(task: Task, job: Running, isRepeated: boolean): Promise<End> {
	if (isRepeated && !task.isRepeatable) return failing(LOST);
	const { call, signal, attempt } = job;
	const asked: KeptQuestion[] = [];
	const its = call.with({ progress: teller(job), ask: asker(task, asked) });
	try {
		const result = await ran(task, its);
		if (result.isError) signal.throwIfAborted();
		return result.isError ? failing(textOf(result)) : await completing(task, result, call);
	} catch (thrown) {
		signal.throwIfAborted();
		const [question] = asked;
		if (question) return asking(question);
		const error = asGatewayError(thrown);
		if (!error) throw thrown;
		if (error.code === 'unavailable' && attempt < ATTEMPTS && task.isRepeatable) throw error;
		return refusing(error);
	}
}

/** Runs the tool, or hands the organization's instructions over. */
async function ran({ skill, content: { args } }: Task, call: Call): Promise<ToolResult> {
	try {
		// Core fills arguments in; the message in the history, which may hold the same object, stays what the client sent.
		return await call.invoke({ name: skill ?? '' }, structuredClone(args));
	} catch (thrown) {
		const instructions = asGatewayError(thrown)?.code === 'tool_not_found' ? await handOver(skill ?? '', args, call) : null;
		if (!instructions) throw thrown;
		return instructions;
	}
}

const LOST = 'The process that ran the tool has ended, so nobody knows whether the tool had its effect. It was not run again.';

const failing = (text: string): End => ending('TASK_STATE_FAILED', text);

/** The most characters of a failure that a task keeps: a tool may fail with megabytes. */
const MAX_SAID_CHARS = 50_000;

function ending(state: TaskState, whole: string): End {
	const text = whole.length <= MAX_SAID_CHARS ? whole : `${whole.slice(0, MAX_SAID_CHARS).toWellFormed()}…`;
	return (task) => moved(task, state, { said: says(task, { text, mediaType: 'text/plain' }) });
}

async function completing(task: Task, result: ToolResult, call: Call): Promise<End> {
	const { turn, skill, content } = task;
	const artifact = artifactOf(result, { id: `turn-${turn}`, name: skill ?? '', modes: content.modes });
	const kept = await putArtifacts(task, [artifact], call);
	return (now) => moved(now, 'TASK_STATE_COMPLETED', kept);
}

/** The answer to each error of a call. */
function refusing(error: GatewayError): End {
	const { code, message, details, headers } = error;
	if (code === 'validation_failed') return missing(message, details);
	if (code === 'tool_not_found') return ending('TASK_STATE_REJECTED', message);
	if (code !== 'rate_limited') return failing(message);
	const seconds = Number(headers['retry-after'] ?? 1);
	return (task) => ({ ...failing(message)(task), retryAfter: Number.isFinite(seconds) ? seconds : 1 });
}

/** Arguments that are missing or wrong are asked for: the client sends them with the id of the task. */
function missing(message: string, details: GatewayError['details']): End {
	const errors = details.map(({ path, message: fault }) => ({ path, message: fault }));
	return (task) =>
		moved(task, 'TASK_STATE_INPUT_REQUIRED', {
			said: says(task, { text: message, mediaType: 'text/plain' }, { data: { skill: task.skill, errors }, mediaType: 'application/json' }),
		});
}

/** Tells followers how far the tool is. */
const teller =
	({ progress }: Running) =>
	(done: number, total?: number, message?: string): void => {
		const text = [total === undefined ? String(done) : `${done} of ${total}`, ...(message === undefined ? [] : [message.slice(0, 1000)])];
		progress({ text: text.join(': ') });
	};

/** A job that ended by itself, as when its caller's key was revoked, left its task where it was. */
export async function settled(task: Task, changing: Changing, jobId: string): Promise<Task> {
	if (hasPaused(task)) return task;
	const job = await changing.call.jobs.get(jobId);
	if (job && job.finishedAt === null) return task;
	const text = job?.error?.message ?? 'The work on the task has ended without a result.';
	return change(task.id, changing, (now) => (now.turn === task.turn && !hasPaused(now) ? failing(text)(now) : null));
}

/** Cancels a task. @returns null when it has ended already */
export async function cancel(task: Task, changing: Changing): Promise<Task | null> {
	const { call } = changing;
	let isCancelled = false;
	let isAtWork = false;
	const after = await change(task.id, changing, (now) => {
		isCancelled = !isFinal(now);
		// Its client may have set it to work since it was read.
		isAtWork = !hasPaused(now);
		return isCancelled ? moved(now, 'TASK_STATE_CANCELED', { question: null }) : null;
	});
	if (!isCancelled) return null;
	if (isAtWork) await call.jobs.cancel(await begin(after, call, { isAwaited: false }));
	await notify(after, call);
	return after;
}
