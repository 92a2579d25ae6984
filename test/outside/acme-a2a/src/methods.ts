// The methods of the protocol.

import { randomUUID } from 'node:crypto';
import { type Call, GatewayError, type Incoming, invalid, isObject, type Json, type JsonObject, notFound } from 'gatehouse';
import type { Config } from './index.ts';
import { askedOf, changes, find, hasEnded, keep, ownerOf, shown, stateOf } from './tasks.ts';
import { notify } from './work.ts';

interface About {
	request: Incoming;
	config: Config;
	call: Call;
}

type Method = (params: JsonObject, about: About) => Promise<JsonObject | AsyncIterable<JsonObject>>;

/** A client that waits for a task gets it as it is after this time. */
const PATIENCE_MS = 20_000;
const MOST_PUSHES = 10;
const PAGE = 50;

/** The skill that a message asks for: a part of data names it, or the text is for the one that the config names. */
function workOf(message: JsonObject, { textSkill, textArgument }: Config): { skill: string; args: Json } {
	const parts = Array.isArray(message['parts']) ? message['parts'].filter(isObject) : [];
	const data = parts.map((part) => part['data']).find(isObject);
	if (data && typeof data['skill'] === 'string') return { skill: data['skill'], args: data['arguments'] ?? {} };
	const text = parts.flatMap((part) => (typeof part['text'] === 'string' ? [part['text']] : [])).join('\n');
	if (textSkill !== undefined && text !== '') return { skill: textSkill, args: { [textArgument]: text } };
	throw invalid('/params/message/parts', 'A part of data must name a skill: {"data":{"skill":"name","arguments":{}}}.');
}

async function begin(params: JsonObject, { request, config, call }: About): Promise<string> {
	const version = request.headers['a2a-version'];
	if (!version?.startsWith('1.')) throw new GatewayError('precondition_failed', 'The agent speaks version 1.0 of A2A alone.');
	const { message } = params;
	if (!isObject(message) || typeof message['messageId'] !== 'string' || message['messageId'].length > 200)
		throw invalid('/params/message/messageId', 'The message must have a messageId of at most 200 characters.');
	if (typeof message['taskId'] === 'string' && message['taskId'] !== '') {
		await find(message['taskId'], call);
		throw new GatewayError('not_implemented', 'No task of this agent takes further messages.');
	}
	const { skill, args } = workOf(message, config);
	// A skill that the caller may not use is refused now.
	if (!(await call.tools()).some(({ name }) => name === skill))
		throw invalid('/params/message/parts', `There is no skill ${JSON.stringify(skill.slice(0, 100))}.`);
	const owner = ownerOf(call);
	// A message that is sent again is the same task.
	const { id } = await call.jobs.add(
		'task',
		{ skill, args },
		{ key: JSON.stringify([owner, message['messageId']]), deadlineMs: 3_600_000 },
	);
	const contextId =
		typeof message['contextId'] === 'string' && message['contextId'] !== '' ? message['contextId'].slice(0, 200) : randomUUID();
	await keep({ id, contextId, owner, message }, call);
	const { taskPushNotificationConfig: push } = isObject(params['configuration']) ? params['configuration'] : {};
	if (isObject(push)) await putPush({ ...push, taskId: id }, call);
	return id;
}

async function shownOnce(id: string, call: Call): Promise<JsonObject> {
	const { asked, job } = await find(id, call);
	return shown(asked, job);
}

/** Resolves with the task when it has ended, or when the client has waited long enough. */
async function ended(id: string, call: Call): Promise<JsonObject> {
	const { asked } = await find(id, call);
	const patience = call.with({ signal: AbortSignal.timeout(PATIENCE_MS) });
	try {
		for await (const _change of changes(asked, patience));
	} catch (error) {
		if (!patience.signal.aborted || call.signal.aborted) throw error;
	}
	return shownOnce(id, call);
}

// ── push notifications ───────────────────────────────────────────────────────────────────────────────────────────────

const pushKey = (taskId: Json | undefined, id: Json | undefined): string => `push:${String(taskId)}:${String(id)}`;

async function putPush({ id, taskId, url, token, authentication }: JsonObject, call: Call): Promise<JsonObject> {
	if (typeof url !== 'string') throw invalid('/params/url', 'The configuration must have a url.');
	await call.checkUrl(url, '/params/url');
	const tags = ['push', `of:${String(taskId)}`];
	if ((await call.records.count({ all: tags }, MOST_PUSHES)) >= MOST_PUSHES)
		throw invalid('/params', `A task has at most ${MOST_PUSHES} receivers.`);
	const secrets = { ...(typeof token === 'string' && token !== '' && { token }), ...(isObject(authentication) && { authentication }) };
	const value = { id: typeof id === 'string' && id !== '' ? id.slice(0, 200) : randomUUID(), taskId: String(taskId), url, ...secrets };
	const sealed = Object.keys(secrets).map((name) => `/${name}`);
	await call.records.put(pushKey(taskId, value.id), value, { tags, sealed, ttlMs: 7 * 24 * 3_600_000 });
	return pushOf(value);
}

/** A receiver without its secrets. */
const pushOf = ({ id, taskId, url }: JsonObject): JsonObject => ({ id: id ?? null, taskId: taskId ?? null, url: url ?? null });

async function findPush({ taskId, id }: JsonObject, call: Call): Promise<{ key: string; value: JsonObject }> {
	await find(taskId, call);
	const record = await call.records.get(pushKey(taskId, id));
	if (!record) throw notFound('Push notification configuration');
	return record;
}

// ── the methods ──────────────────────────────────────────────────────────────────────────────────────────────────────

export const METHODS: ReadonlyMap<string, Method> = new Map(
	Object.entries({
		async SendMessage(params, about) {
			const id = await begin(params, about);
			const { returnImmediately } = isObject(params['configuration']) ? params['configuration'] : {};
			return { task: returnImmediately === true ? await shownOnce(id, about.call) : await ended(id, about.call) };
		},
		async SendStreamingMessage(params, about) {
			const { asked } = await find(await begin(params, about), about.call);
			return changes(asked, about.call);
		},
		async SubscribeToTask({ id }, { call }) {
			const { asked, job } = await find(id, call);
			if (hasEnded(job)) throw new GatewayError('not_implemented', 'The task has ended.');
			return changes(asked, call);
		},
		GetTask: ({ id }, { call }) => shownOnce(String(id), call),
		async ListTasks({ contextId, status, pageSize = PAGE, pageToken }, { call }) {
			const all = [
				'task',
				`owner:${ownerOf(call)}`,
				...(typeof contextId === 'string' && contextId !== '' ? [`context:${contextId}`] : []),
			];
			const limit = Math.min(Math.max(Math.trunc(Number(pageSize)) || PAGE, 1), 100);
			const cursor = typeof pageToken === 'string' && pageToken !== '' ? pageToken : undefined;
			const { records, nextCursor } = await call.records.find({ all }, { limit, ...(cursor !== undefined && { cursor }) });
			const found = await Promise.all(
				records.map(async ({ value }) => ({ asked: askedOf(value), job: await call.jobs.get(String(value['id'])) })),
			);
			const tasks = found.flatMap(({ asked, job }) =>
				job && (typeof status !== 'string' || status === 'TASK_STATE_UNSPECIFIED' || status === stateOf(job)) ? [shown(asked, job)] : [],
			);
			return { tasks, nextPageToken: nextCursor ?? '', pageSize: limit, totalSize: await call.records.count({ all }, 1000) };
		},
		async CancelTask({ id }, { call }) {
			const { asked, job } = await find(id, call);
			if (hasEnded(job) || !(await call.jobs.cancel(job.id))) throw new GatewayError('conflict', 'The task has ended.');
			await notify(asked.id, { status: 'cancelled', output: null }, call);
			return shown(asked, { ...job, status: 'cancelled', finishedAt: new Date() });
		},
		async CreateTaskPushNotificationConfig(params, { call }) {
			await find(params['taskId'], call);
			return putPush(params, call);
		},
		GetTaskPushNotificationConfig: async (params, { call }) => pushOf((await findPush(params, call)).value),
		async ListTaskPushNotificationConfigs({ taskId }, { call }) {
			await find(taskId, call);
			const { records } = await call.records.find({ all: ['push', `of:${String(taskId)}`] }, { limit: MOST_PUSHES });
			return { configs: records.map(({ value }) => pushOf(value)), nextPageToken: '' };
		},
		async DeleteTaskPushNotificationConfig(params, { call }) {
			await call.records.remove((await findPush(params, call)).key);
			return {};
		},
	} satisfies Record<string, Method>),
);
