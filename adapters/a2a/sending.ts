// Messages that begin a task, or go on with one that waits for its client.

import { randomUUID } from 'node:crypto';
import { type Call, GatewayError, type JsonObject, type Tool } from '../../core/index.ts';
import { runEarly } from './early.ts';
import { A2AError, noTask, wrong } from './errors.ts';
import type { Begun } from './following.ts';
import { type Guide, guidesOf, namesGuide } from './instructions.ts';
import type { MethodCall } from './methods.ts';
import { putReceiver, readReceiver } from './push.ts';
import { answered } from './questions.ts';
import { flagAt, historyLengthAt, objectAt, readMessage } from './reading.ts';
import { type Command, commandOf } from './skills.ts';
import { change, find, isFinal, moved, newTask, open, removeTask, says, type Task, withMessage } from './tasks.ts';
import type { Message, Part } from './wire.ts';
import { begin } from './work.ts';

/** The parameters of a message that is sent. */
export interface Sending {
	message: Message;
	metadata: JsonObject | null;
	modes: string[] | null;
	historyLength: number | null;
	returnImmediately: boolean;
	receiver: Awaited<ReturnType<typeof readReceiver>> | null;
}

/** The most skills that are named to a client that named none, and the most characters of their schemas. */
const NAMED = 100;
const MAX_SCHEMA_CHARS = 65_536;
/** The most characters of the arguments and answers of one task, over all of its messages. */
const MAX_GIVEN_CHARS = 600_000;

export async function readSending({ params, at, call, protocol }: MethodCall): Promise<Sending> {
	const configuration = objectAt(params.configuration, `${at}/configuration`) ?? {};
	const own = `${at}/configuration`;
	const { taskPushNotificationConfig: push, acceptedOutputModes: modes } = configuration;
	const isPushed = push !== undefined && push !== null;
	return {
		message: readMessage(params.message, `${at}/message`),
		metadata: objectAt(params.metadata, `${at}/metadata`),
		modes: readModes(modes, `${own}/acceptedOutputModes`),
		historyLength: historyLengthAt(configuration.historyLength, `${own}/historyLength`),
		returnImmediately: flagAt(configuration.returnImmediately, `${own}/returnImmediately`) ?? false,
		receiver: isPushed ? await readReceiver(push, { at: `${own}/taskPushNotificationConfig`, call, protocol }) : null,
	};
}

function readModes(modes: JsonObject[string] | undefined, path: string): string[] | null {
	if (modes === undefined || modes === null) return null;
	const isRight = Array.isArray(modes) && modes.length <= NAMED && modes.every((mode) => typeof mode === 'string' && mode.length <= 256);
	if (!isRight) throw wrong(path, 'acceptedOutputModes must be a list of media types.');
	// It was just checked.
	return modes.length === 0 ? null : (modes as string[]).map((mode) => mode.toLowerCase());
}

/** @throws insufficient_scope, with the challenge of the method that admitted the caller */
export async function assertMayRun(call: Call): Promise<void> {
	if (!call.caller?.scopes.includes('tools:execute')) await call.invoke({ name: '' }, {});
}

interface Seen {
	/** Null: the caller may see none. */
	tools: readonly Tool[] | null;
	guides: readonly Guide[];
}

/** Returns what the caller may see. */
async function seen(call: Call): Promise<Seen> {
	if (!call.caller?.scopes.includes('tools:read')) return { tools: null, guides: [] };
	const tools = await call.tools();
	return { tools, guides: guidesOf(await call.skills(), tools) };
}

/** @param isAwaited the client waits for the task, and follows no changes. @throws A2AError, rate_limited */
export async function take(sending: Sending, asked: MethodCall, isAwaited: boolean): Promise<Begun> {
	await assertMayRun(asked.call);
	const { taskId } = sending.message;
	return taskId === undefined ? start(sending, asked, isAwaited) : goOn(taskId, sending, asked);
}

async function start(
	{ message, metadata, modes, receiver }: Sending,
	{ call, config, at }: MethodCall,
	isAwaited: boolean,
): Promise<Begun> {
	const around = await seen(call);
	const command = commandOf(message, { ...around, metadata, earlier: null });
	const contextId = message.contextId ?? randomUUID();
	const state = isAwaited ? 'TASK_STATE_WORKING' : 'TASK_STATE_SUBMITTED';
	const fresh = newTask({ contextId, state, skill: command?.skill ?? null, args: command?.args ?? {}, modes }, call);
	const noted = { ...withMessage(fresh, message), pushes: receiver !== null, isRepeatable: isRepeatable(command, around) };
	const task = command ? noted : asksForSkill(noted, around);
	assertRoom(task, at);
	if (isAwaited && command && !receiver) return runEarly(task, { call, retention: config });
	await open(task, call, config);
	try {
		if (receiver) await putReceiver(task, receiver, call);
		return { task, jobId: command ? await begin(task, call, { isAwaited }) : null };
	} catch (error) {
		// Nothing was begun, so there is no task.
		await removeTask(task.id, call);
		throw error;
	}
}

function isRepeatable(command: Command | null, { tools, guides }: Seen): boolean {
	const annotations = tools?.find(({ name }) => name === command?.skill)?.annotations;
	return annotations?.readOnlyHint === true || annotations?.idempotentHint === true || namesGuide(command?.skill ?? '', guides);
}

/** The message names no skill: the client is told which ones there are. */
function asksForSkill(task: Task, { tools, guides }: Seen): Task {
	let chars = 0;
	const skills = [...(tools ?? []), ...guides].slice(0, NAMED).map(({ name, parameters }): JsonObject => {
		// Schemas behind the bound are not even measured: a hundred of them can be large.
		if (chars <= MAX_SCHEMA_CHARS) chars += JSON.stringify(parameters).length;
		return chars > MAX_SCHEMA_CHARS ? { id: name } : { id: name, inputSchema: parameters };
	});
	const text = 'Name a skill and its arguments: {"skill": "…", "arguments": {…}}.';
	const parts: Part[] = [{ text, mediaType: 'text/plain' }];
	if (skills.length > 0) parts.push({ data: { skills }, mediaType: 'application/json' });
	return moved(task, 'TASK_STATE_INPUT_REQUIRED', { said: says(task, ...parts) });
}

async function goOn(taskId: string, sending: Sending, { call, config, at }: MethodCall): Promise<Begun> {
	const { message, metadata, modes, receiver } = sending;
	const found = await find(taskId, call);
	if (message.contextId !== undefined && message.contextId !== found.contextId)
		throw wrong(`${at}/message/contextId`, 'contextId is not that of the task.');
	const around = await seen(call);
	const further = (now: Task): Task => {
		assertWaits(now);
		const next = { ...withMessage(now, message), turn: now.turn + 1, pushes: now.pushes || receiver !== null };
		const heard = modes === null ? next : { ...next, content: { ...next.content, modes } };
		const changed = now.content.question
			? answered(heard, now.content.question, message)
			: commanded(heard, { message, metadata, ...around });
		assertRoom(changed, at);
		return changed;
	};
	if (receiver) {
		// A message that is refused leaves no receiver, and one whose receiver is refused leaves the task where it was.
		further(found);
		await putReceiver(found, receiver, call);
	}
	const changing = { call, retention: config };
	let before = found;
	const task = await change(taskId, changing, (now) => {
		before = now;
		return further(now);
	});
	try {
		return { task, jobId: task.skill === null ? null : await begin(task, call, { isAwaited: false }) };
	} catch (error) {
		// Nothing was begun, so the task waits again, and the client may send its message again. A turn is never used twice: it names its job.
		const { turn, state } = task;
		await change(taskId, changing, (now) => (now.turn === turn && now.state === state ? { ...before, turn } : null));
		throw error;
	}
}

/** Bounds what the messages of a task bring, which is kept as long as the task is. @throws A2AError */
function assertRoom({ content: { args, answers } }: Task, at: string): void {
	if (JSON.stringify([args, answers]).length > MAX_GIVEN_CHARS)
		throw wrong(`${at}/message/parts`, `The arguments and answers of a task may have ${MAX_GIVEN_CHARS} characters of JSON together.`);
}

function assertWaits(task: Task): void {
	if (task.state === 'TASK_STATE_INPUT_REQUIRED') return;
	const why = isFinal(task) ? 'has ended, so it cannot go on: send a message without a taskId' : 'is at work and waits for no message';
	throw new A2AError('UNSUPPORTED_OPERATION', `The task ${why}.`);
}

interface Heard extends Seen {
	message: Message;
	metadata: JsonObject | null;
}

function commanded(task: Task, { message, ...heard }: Heard): Task {
	const { skill, content } = task;
	const command = commandOf(message, { ...heard, earlier: skill === null ? null : { skill, args: content.args } });
	if (!command) return asksForSkill(task, heard);
	const next = { ...task, skill: command.skill, isRepeatable: isRepeatable(command, heard) };
	// An answer to a run with other arguments, or to one before, is no word on this one.
	return moved(next, 'TASK_STATE_SUBMITTED', { args: command.args, answers: {} });
}

/** A tool whose limit is reached was not run: as everywhere, HTTP says so, and there is no task. @throws rate_limited */
export async function assertWithinLimit(task: Task, call: Call): Promise<void> {
	if (task.retryAfter === null) return;
	const text = task.content.said?.parts[0]?.text ?? noTask(task.id).message;
	await removeTask(task.id, call);
	throw new GatewayError('rate_limited', text, { headers: { 'retry-after': String(task.retryAfter) } });
}
