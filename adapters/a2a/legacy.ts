// A2A 0.3 over JSON-RPC, in the terms of 1.0: parameters on their way in, results and events on their way out.

import { isObject, type Json, type JsonObject } from '../../core/index.ts';
import { wrong } from './errors.ts';
import { type Artifact, asJson, type Message, type Part, STATES, type Status, type StreamResponse, type WireTask } from './wire.ts';

/** The methods of 0.3 by those of 1.0 that do their work. */
export const LEGACY_METHODS: ReadonlyMap<string, string> = new Map([
	['message/send', 'SendMessage'],
	['message/stream', 'SendStreamingMessage'],
	['tasks/get', 'GetTask'],
	['tasks/cancel', 'CancelTask'],
	['tasks/resubscribe', 'SubscribeToTask'],
	['tasks/pushNotificationConfig/set', 'CreateTaskPushNotificationConfig'],
	['tasks/pushNotificationConfig/get', 'GetTaskPushNotificationConfig'],
	['tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs'],
	['tasks/pushNotificationConfig/delete', 'DeleteTaskPushNotificationConfig'],
	['agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard'],
]);

/** Returns the parameters in the form of 1.0. What has the wrong type is passed on, and refused there. */
export function modernParams(method: string, params: JsonObject): JsonObject {
	if (method.startsWith('message/')) return sendParams(params);
	if (!method.startsWith('tasks/pushNotificationConfig/')) return params;
	const { id, pushNotificationConfigId, taskId, pushNotificationConfig } = params;
	if (method.endsWith('/set')) return { ...receiver(pushNotificationConfig, '/params/pushNotificationConfig'), taskId: taskId ?? null };
	// "If not given, the configuration that the task has": clients of 0.3 that set one without an id know it by that of its task.
	return { taskId: id ?? null, id: pushNotificationConfigId ?? id ?? null };
}

function sendParams({ message, configuration, ...rest }: JsonObject): JsonObject {
	const { blocking, pushNotificationConfig = null, ...others } = isObject(configuration) ? configuration : {};
	return {
		...rest,
		message: isObject(message) ? modernMessage(message) : (message ?? null),
		configuration: {
			...others,
			returnImmediately: blocking === false,
			...(pushNotificationConfig !== null && {
				taskPushNotificationConfig: receiver(pushNotificationConfig, '/params/configuration/pushNotificationConfig'),
			}),
		},
	};
}

function receiver(config: Json | undefined, path: string): JsonObject {
	if (!isObject(config)) throw wrong(path, 'pushNotificationConfig must be an object.');
	const { authentication, ...rest } = config;
	if (!isObject(authentication)) return rest;
	const { schemes, credentials } = authentication;
	const scheme = Array.isArray(schemes) ? (schemes[0] ?? null) : null;
	return { ...rest, authentication: { scheme, credentials: credentials ?? null } };
}

const ROLES: Readonly<Record<string, string>> = { user: 'ROLE_USER', agent: 'ROLE_AGENT' };

const modernMessage = ({ kind: _kind, role, parts, ...rest }: JsonObject): JsonObject => ({
	...rest,
	role: typeof role === 'string' ? (ROLES[role] ?? role) : (role ?? null),
	parts: Array.isArray(parts) ? parts.map(modernPart) : (parts ?? null),
});

function modernPart(part: Json): Json {
	if (!isObject(part)) return part;
	const { kind, text, data, file, metadata } = part;
	const more: JsonObject = metadata === undefined ? {} : { metadata };
	if (kind === 'text') return { ...more, text: text ?? null };
	if (kind === 'data') return { ...more, data: data ?? null };
	if (kind !== 'file' || !isObject(file)) return {};
	const { bytes, uri, mimeType, name } = file;
	return {
		...more,
		...(bytes === undefined || bytes === null ? { url: uri ?? null } : { raw: bytes }),
		...(mimeType !== undefined && { mediaType: mimeType }),
		...(name !== undefined && { filename: name }),
	};
}

// ── on their way out ─────────────────────────────────────────────────────────────────────────────────────────────────

export function legacyTask({ id, contextId, status, artifacts, history }: WireTask): JsonObject {
	return {
		...{ kind: 'task', id, contextId, status: legacyStatus(status) },
		...(artifacts && { artifacts: artifacts.map(legacyArtifact) }),
		...(history && { history: history.map(legacyMessage) }),
	};
}

const legacyStatus = ({ state, timestamp, message }: Status): JsonObject => ({
	...{ state: STATES[state], timestamp },
	...(message && { message: legacyMessage(message) }),
});

const legacyMessage = ({ role, parts, ...rest }: Message): JsonObject => ({
	...asJson(rest),
	kind: 'message',
	role: role === 'ROLE_USER' ? 'user' : 'agent',
	parts: parts.map(legacyPart),
});

const legacyArtifact = ({ parts, ...rest }: Artifact): JsonObject => ({ ...rest, parts: parts.map(legacyPart) });

/** Data of 0.3 is an object. */
function legacyPart({ text, raw, url, data, mediaType, filename, metadata }: Part): JsonObject {
	const more: JsonObject = metadata === undefined ? {} : { metadata };
	if (text !== undefined) return { ...more, kind: 'text', text };
	if (data !== undefined) return { ...more, kind: 'data', data: isObject(data) ? data : { result: data } };
	const about = { ...(mediaType !== undefined && { mimeType: mediaType }), ...(filename !== undefined && { name: filename }) };
	return { ...more, kind: 'file', file: raw === undefined ? { ...about, uri: url ?? '' } : { ...about, bytes: raw } };
}

const FINAL: readonly string[] = ['completed', 'failed', 'canceled', 'rejected', 'input-required'];

export function legacyEvent(event: StreamResponse): JsonObject {
	if ('task' in event) return legacyTask(event.task);
	if ('artifactUpdate' in event) {
		const { artifact, ...rest } = event.artifactUpdate;
		return { ...rest, kind: 'artifact-update', artifact: legacyArtifact(artifact) };
	}
	const { status, ...rest } = event.statusUpdate;
	return { ...rest, kind: 'status-update', status: legacyStatus(status), final: FINAL.includes(STATES[status.state]) };
}

/** Returns the result of a method of 1.0 as the method of 0.3 returns it. */
export function legacyResult(method: string, result: JsonObject): Json {
	if (method === 'message/send') return legacyTask(result.task as WireTask);
	if (method === 'tasks/get' || method === 'tasks/cancel') return legacyTask(result as WireTask);
	if (method.endsWith('/delete')) return null;
	if (method.endsWith('/list')) return (result.configs as JsonObject[]).map(legacyReceiver);
	return method.startsWith('tasks/pushNotificationConfig/') ? legacyReceiver(result) : result;
}

function legacyReceiver({ taskId, authentication, ...rest }: JsonObject): JsonObject {
	const { scheme = null } = isObject(authentication) ? authentication : {};
	return {
		taskId: taskId ?? null,
		pushNotificationConfig: { ...rest, ...(scheme !== null && { authentication: { schemes: [scheme] } }) },
	};
}
