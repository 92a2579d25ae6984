// Push notifications: who is told of a task, and the webhooks that tell them.

import { randomUUID } from 'node:crypto';
import { type Call, GatewayError, headerValueFault, isObject, type Json, type JsonObject, type StoredRecord } from '../../core/index.ts';
import { A2AError, wrong } from './errors.ts';
import { withArtifacts } from './large-artifacts.ts';
import { legacyTask } from './legacy.ts';
import { objectAt, textAt } from './reading.ts';
import { partOfTask, show, type Task } from './tasks.ts';
import { asJson, type Protocol, type StreamResponse } from './wire.ts';

const MOST = 10;
const MAX_URL_CHARS = 2048;
const MAX_SECRET_CHARS = 4096;
const TTL_MS = 31 * 24 * 3_600_000;
/** The most characters of a webhook's body; a larger task is told without artifacts and history. */
const MAX_BODY_CHARS = 250_000;
const PUSH = 'push';
/** An authentication scheme of RFC 9110 §11.1. */
const SCHEME = /^[A-Za-z][\w.+-]{0,63}$/;

/** A receiver: what a client gave, and the version that it spoke. */
type Receiver = {
	id: string;
	url: string;
	scheme: string | null;
	protocol: Protocol;
	secrets: { token: string | null; credentials: string | null };
};

const keyOf = (taskId: string, id: string): string => `push:${taskId}:${id}`;

/** Reads a `TaskPushNotificationConfig`, and asks the guard for its address. @throws A2AError, egress_refused */
export async function readReceiver(
	given: Json | undefined,
	{ at, call, protocol }: { at: string; call: Call; protocol: Protocol },
): Promise<Receiver> {
	if (!isObject(given)) throw wrong(at, 'A push notification configuration must be an object.');
	const url = textAt(given.url, `${at}/url`, MAX_URL_CHARS);
	if (url === null || !URL.canParse(url)) throw wrong(`${at}/url`, 'url must be an address with http or https.');
	await call.checkUrl(url, `${at}/url`);
	const authentication = objectAt(given.authentication, `${at}/authentication`);
	const scheme = textAt(authentication?.scheme, `${at}/authentication/scheme`);
	if (scheme !== null && !SCHEME.test(scheme))
		throw wrong(`${at}/authentication/scheme`, 'scheme must be an authentication scheme, such as Bearer.');
	const credentials = secretAt(authentication?.credentials, `${at}/authentication/credentials`);
	const secrets = { token: secretAt(given.token, `${at}/token`), credentials: scheme === null ? null : credentials };
	return { id: textAt(given.id, `${at}/id`) ?? randomUUID(), url, scheme, protocol, secrets };
}

/** A secret is sent in a header. */
function secretAt(value: Json | undefined, path: string): string | null {
	const text = textAt(value, path, MAX_SECRET_CHARS);
	const fault = text === null ? null : headerValueFault(text);
	if (fault !== null) throw wrong(path, `${path.slice(path.lastIndexOf('/') + 1)} ${fault}.`);
	return text;
}

export async function putReceiver(task: Pick<Task, 'id'>, receiver: Receiver, { records }: Call): Promise<JsonObject> {
	const key = keyOf(task.id, receiver.id);
	const all = { all: [PUSH, partOfTask(task.id)] };
	const isNew = (await records.get(key)) === null;
	if (isNew && (await records.count(all, MOST)) >= MOST)
		throw new A2AError('INVALID_PARAMS', `A task has at most ${MOST} push notification configurations.`);
	await records.put(key, asJson(receiver), { tags: all.all, ttlMs: TTL_MS, sealed: ['/secrets'] });
	return shown(task.id, receiver);
}

/** A receiver as clients see it: its secrets are never told. */
const shown = (taskId: string, { id, url, scheme }: Receiver): JsonObject => ({
	id,
	taskId,
	url,
	...(scheme !== null && { authentication: { scheme } }),
});

/** `putReceiver` wrote it. */
const toReceiver = ({ value }: StoredRecord): Receiver => value as Receiver;

export async function getReceiver(taskId: string, id: string, { records }: Call): Promise<JsonObject> {
	const record = await records.get(keyOf(taskId, id));
	if (!record) throw new A2AError('TASK_NOT_FOUND', 'The task has no push notification configuration of this id.');
	return shown(taskId, toReceiver(record));
}

export async function listReceivers(taskId: string, call: Call): Promise<JsonObject[]> {
	return (await receiversOf(taskId, call)).map((receiver) => shown(taskId, receiver));
}

async function receiversOf(taskId: string, { records }: Call): Promise<Receiver[]> {
	const { records: found } = await records.find({ all: [PUSH, partOfTask(taskId)] }, { sort: 'createdAt', limit: MOST });
	return found.map(toReceiver);
}

export const removeReceiver = async (taskId: string, id: string, { records }: Call): Promise<void> =>
	void (await records.remove(keyOf(taskId, id)));

/** Tells all receivers that a task has paused or ended: once for each turn and state, whatever happens to this process in between. */
export async function notify(task: Task, call: Call): Promise<void> {
	if (!task.pushes) return;
	const complete = await withArtifacts(task, call);
	for (const receiver of await receiversOf(task.id, call)) {
		const { id, url, scheme, protocol, secrets } = receiver;
		const authorization = scheme !== null && secrets.credentials !== null ? `${scheme} ${secrets.credentials}` : null;
		try {
			await call.deliver({
				url,
				body: bodyOf(complete, protocol),
				event: 'task',
				headers: {
					'content-type': protocol === '1.0' ? 'application/a2a+json' : 'application/json',
					'a2a-version': protocol,
					...(authorization !== null && { authorization }),
					...(secrets.token !== null && { 'x-a2a-notification-token': secrets.token }),
				},
				key: `${keyOf(task.id, id)}:${task.turn}:${task.state}`,
			});
		} catch (error) {
			// The address is refused by now, or the account has too many of them on their way: the task itself is as it is.
			if (!(error instanceof GatewayError)) throw error;
			call.log.warn({ task: task.id, error: error.message }, 'a push notification could not be sent');
		}
	}
}

/** The content type is the message's own, so the body is sent as text. */
function bodyOf(task: Task, protocol: Protocol): string {
	const whole = encoded(task, protocol);
	return whole.length <= MAX_BODY_CHARS ? whole : encoded({ ...task, content: { ...task.content, artifacts: [], history: [] } }, protocol);
}

function encoded(task: Task, protocol: Protocol): string {
	const response: StreamResponse = { task: show(task) };
	return JSON.stringify(protocol === '1.0' ? response : legacyTask(response.task));
}
