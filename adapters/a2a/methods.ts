// The methods of A2A 1.0, as JSON-RPC names them: both bindings and both versions come here.

import type { Call, GatewayError, Incoming, JsonObject } from '../../core/index.ts';
import type { Document } from './card/written.ts';
import { extendedCard } from './card.ts';
import type { Config } from './config.ts';
import { A2AError } from './errors.ts';
import { type Begun, changesOf, whenPaused } from './following.ts';
import { withArtifacts } from './large-artifacts.ts';
import { listTasks } from './listing.ts';
import { getReceiver, listReceivers, putReceiver, readReceiver, removeReceiver } from './push.ts';
import { historyLengthAt, neededText } from './reading.ts';
import { assertMayRun, assertWithinLimit, readSending, take } from './sending.ts';
import { change, find, hasPaused, isFinal, type Shown, show, type Task } from './tasks.ts';
import { asJson, type Protocol, type StreamResponse } from './wire.ts';
import { begin, cancel, settled } from './work.ts';

/** One request on its way through the adapter. */
export interface MethodCall {
	params: JsonObject;
	/** JSON pointer of `params` in the body. */
	at: string;
	protocol: Protocol;
	request: Incoming;
	config: Config;
	call: Call;
}

/** Events, and the answer where the account has no more streams: the task goes on without one. */
export interface Streamed {
	events: AsyncIterable<StreamResponse>;
	whenFull(refused: GatewayError): Promise<JsonObject>;
}

/** A document is sent as it is. */
export type Method = (asked: MethodCall) => Promise<JsonObject | Document>;

/** A task that seems to work for longer may have lost its job. */
const DOUBTED_MS = 30_000;

/** A client that leaves does not cancel its task. */
const changingOf = ({ call, config }: MethodCall) => ({ call, retention: config });

async function sendMessage(asked: MethodCall): Promise<JsonObject> {
	const sending = await readSending(asked);
	const isAwaited = !sending.returnImmediately;
	const begun = await take(sending, asked, isAwaited);
	const task = isAwaited ? await whenPaused(begun, changingOf(asked)) : begun.task;
	if (isAwaited) await assertWithinLimit(task, asked.call);
	return { task: asJson(show(await withArtifacts(task, asked.call), sending)) };
}

async function sendStreamingMessage(asked: MethodCall): Promise<Streamed> {
	const sending = await readSending(asked);
	return streamed(await take(sending, asked, false), asked, sending);
}

async function subscribeToTask(asked: MethodCall): Promise<Streamed> {
	const task = await taskOf(asked);
	if (isFinal(task)) throw new A2AError('UNSUPPORTED_OPERATION', 'The task has ended: get it instead.');
	const jobId = hasPaused(task) ? null : await begin(task, asked.call, { isAwaited: false });
	return streamed({ task, jobId }, asked, {});
}

const streamed = (begun: Begun, asked: MethodCall, shown: Shown): Streamed => ({
	events: changesOf(begun, changingOf(asked), shown),
	whenFull: async () => ({ task: asJson(show(await find(begun.task.id, asked.call), shown)) }),
});

/** Finds the task that `id` names. @throws A2AError, insufficient_scope */
async function taskOf(asked: MethodCall): Promise<Task> {
	await assertMayRun(asked.call);
	return find(neededText(asked.params.id, `${asked.at}/id`), asked.call);
}

async function getTask(asked: MethodCall): Promise<JsonObject> {
	const { params, at, call } = asked;
	const historyLength = historyLengthAt(params.historyLength, `${at}/historyLength`);
	const task = await current(await taskOf(asked), asked);
	return asJson(show(await withArtifacts(task, call), { historyLength }));
}

/** Returns a task that says it works as it is, if its job has ended by itself. */
async function current(task: Task, asked: MethodCall): Promise<Task> {
	if (hasPaused(task) || Date.now() - Date.parse(task.statusAt) < DOUBTED_MS) return task;
	return settled(task, changingOf(asked), await begin(task, asked.call, { isAwaited: false }));
}

async function cancelTask(asked: MethodCall): Promise<JsonObject> {
	const task = await cancel(await taskOf(asked), changingOf(asked));
	if (task === null) throw new A2AError('TASK_NOT_CANCELABLE', 'The task has ended already.');
	return asJson(show(task));
}

// ── push notifications ───────────────────────────────────────────────────────────────────────────────────────────────

async function ofTask({ params, at, call }: MethodCall): Promise<Task> {
	await assertMayRun(call);
	return find(neededText(params.taskId, `${at}/taskId`), call);
}

async function createPush(asked: MethodCall): Promise<JsonObject> {
	const { call, at, params, protocol } = asked;
	const { id } = await ofTask(asked);
	// Clients of 0.3 that give no id know the configuration by that of its task.
	const given = protocol === '0.3' && !params.id ? { ...params, id } : params;
	const own = protocol === '0.3' ? `${at}/pushNotificationConfig` : at;
	const receiver = await readReceiver(given, { at: own, call, protocol });
	const answer = await putReceiver({ id }, receiver, call);
	await change(id, changingOf(asked), (now) => (now.pushes ? null : { ...now, pushes: true }));
	return answer;
}

const idOf = ({ params, at }: MethodCall): string => neededText(params.id, `${at}/id`);

const getPush: Method = async (asked) => getReceiver((await ofTask(asked)).id, idOf(asked), asked.call);

const listPushes: Method = async (asked) => ({ configs: await listReceivers((await ofTask(asked)).id, asked.call), nextPageToken: '' });

async function deletePush(asked: MethodCall): Promise<JsonObject> {
	await removeReceiver((await ofTask(asked)).id, idOf(asked), asked.call);
	return {};
}

async function list(asked: MethodCall): Promise<JsonObject> {
	await assertMayRun(asked.call);
	return listTasks(asked);
}

export const METHODS: ReadonlyMap<string, Method> = new Map([
	['SendMessage', sendMessage],
	['GetTask', getTask],
	['ListTasks', list],
	['CancelTask', cancelTask],
	['CreateTaskPushNotificationConfig', createPush],
	['GetTaskPushNotificationConfig', getPush],
	['ListTaskPushNotificationConfigs', listPushes],
	['DeleteTaskPushNotificationConfig', deletePush],
	['GetExtendedAgentCard', extendedCard],
]);

export const STREAMS: ReadonlyMap<string, (asked: MethodCall) => Promise<Streamed>> = new Map([
	['SendStreamingMessage', sendStreamingMessage],
	['SubscribeToTask', subscribeToTask],
]);
