// The A2A SDK's own clients, of both versions and bindings, as one: over replicas that take turns.

import { randomUUID } from 'node:crypto';
import { Role, type StreamResponse, type Task, taskStateToJSON } from '@a2a-js/sdk';
import {
	type Client,
	ClientFactory,
	ClientFactoryOptions,
	DefaultAgentCardResolver,
	JsonRpcTransportFactory,
	RestTransportFactory,
} from '@a2a-js/sdk/client';
import {
	ClientFactory as LegacyFactory,
	DefaultAgentCardResolver as LegacyResolver,
	JsonRpcTransportFactory as LegacyRpcFactory,
} from 'a2a03/client';
import { asJson, type Part } from '../../adapters/a2a/wire.ts';

/** A task, as far as the clients of all versions show it. */
export interface SeenTask {
	id: string;
	contextId: string;
	/** Without its prefix, in lower case: `input_required`. */
	state: string;
	/** Data and texts of its artifacts. */
	artifacts: unknown[];
	/** Texts of the messages. */
	history: number;
	/** Parts of the message of its status. */
	said: unknown[];
}

export type SeenEvent = { task: SeenTask } | { state: string } | { artifact: unknown[] };

export interface Sent {
	taskId?: string;
	contextId?: string;
	historyLength?: number;
	returnImmediately?: boolean;
	push?: { url: string; token?: string; authentication?: { scheme: string; credentials: string } };
}

/** A client of one version and binding. */
export interface Driver {
	send(part: Part, more?: Sent): Promise<SeenTask>;
	stream(part: Part, more?: Sent): AsyncGenerator<SeenEvent>;
	get(id: string, historyLength?: number): Promise<SeenTask>;
	cancel(id: string): Promise<SeenTask>;
	subscribe(id: string): AsyncGenerator<SeenEvent>;
	setPush(taskId: string, config: NonNullable<Sent['push']> & { id: string }): Promise<object>;
	getPush(taskId: string, id: string): Promise<object>;
	listPushes(taskId: string): Promise<object[]>;
	deletePush(taskId: string, id: string): Promise<void>;
	/** The names of the skills of the card, as the client sees it once it is logged in. */
	skills(): Promise<string[]>;
}

/** A fetch that goes to one replica after the other, with a credential. */
export function alternating(urls: readonly string[], headers: Record<string, string>): typeof fetch {
	let turn = 0;
	return async (input, init) => {
		const request = new Request(input, init);
		const { pathname, search } = new URL(request.url);
		for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
		return fetch(new Request(urls[turn++ % urls.length] + pathname + search, request));
	};
}

// biome-ignore lint/suspicious/noExplicitAny: the SDKs' own types differ
type Any = any;

export async function modernClient(url: string, fetchImpl: typeof fetch, binding: 'JSONRPC' | 'HTTP+JSON'): Promise<Client> {
	const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
		transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
		cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
		preferredTransports: [binding],
	});
	return new ClientFactory(options).createFromUrl(`${url}/`);
}

export async function modernDriver(url: string, fetchImpl: typeof fetch, binding: 'JSONRPC' | 'HTTP+JSON'): Promise<Driver> {
	const client = await modernClient(url, fetchImpl, binding);
	return {
		send: async (part, more) => taskOf((await client.sendMessage(modernParams(part, more))) as Task),
		async *stream(part, more) {
			for await (const event of client.sendMessageStream(modernParams(part, more))) yield eventOf(event);
		},
		get: async (id, historyLength) => taskOf(await client.getTask({ tenant: '', id, historyLength })),
		cancel: async (id) => taskOf(await client.cancelTask({ tenant: '', id, metadata: undefined })),
		async *subscribe(id) {
			for await (const event of client.resubscribeTask({ tenant: '', id })) yield eventOf(event);
		},
		setPush: (taskId, config) => client.createTaskPushNotificationConfig(modernPush(config, taskId)),
		getPush: (taskId, id) => client.getTaskPushNotificationConfig({ tenant: '', taskId, id }),
		listPushes: async (taskId) => (await client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' })).configs,
		deletePush: (taskId, id) => client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id }),
		skills: async () => (await client.getAgentCard()).skills.map(({ id }) => id),
	};
}

const modernPush = ({ id = '', url, token = '', authentication }: NonNullable<Sent['push']> & { id?: string }, taskId = '') => ({
	...{ tenant: '', id, taskId, url, token, authentication },
});

function modernParams(part: Part, { taskId = '', contextId = '', historyLength, returnImmediately = false, push }: Sent = {}) {
	const { text, data, mediaType = '' } = part;
	const content = text === undefined ? { $case: 'data' as const, value: data } : { $case: 'text' as const, value: text };
	return {
		...{ tenant: '', metadata: undefined },
		message: {
			...{ messageId: randomUUID(), taskId, contextId, role: Role.ROLE_USER, metadata: undefined, extensions: [], referenceTaskIds: [] },
			parts: [{ content, mediaType, filename: '', metadata: undefined }],
		},
		configuration: {
			...{ acceptedOutputModes: [], historyLength, returnImmediately },
			taskPushNotificationConfig: push && modernPush(push),
		},
	};
}

const partOf = ({ content }: Any): unknown => content?.value;

const taskOf = ({ id, contextId, status, artifacts, history }: Task): SeenTask => ({
	...{ id, contextId, history: history.length },
	state: stateName(taskStateToJSON(status?.state ?? 0)),
	artifacts: artifacts.flatMap(({ parts }) => parts.map(partOf)),
	said: status?.message?.parts.map(partOf) ?? [],
});

const stateName = (state: string): string => state.replace('TASK_STATE_', '').toLowerCase().replace('-', '_');

function eventOf({ payload }: StreamResponse): SeenEvent {
	if (payload?.$case === 'task') return { task: taskOf(payload.value) };
	if (payload?.$case === 'statusUpdate') return { state: stateName(taskStateToJSON(payload.value.status?.state ?? 0)) };
	if (payload?.$case === 'artifactUpdate') return { artifact: payload.value.artifact?.parts.map(partOf) ?? [] };
	throw new Error(`unexpected event ${JSON.stringify(payload)}`);
}

// ── 0.3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function legacyDriver(url: string, fetchImpl: typeof fetch): Promise<Driver> {
	const cardResolver = new LegacyResolver({ fetchImpl });
	const client = await new LegacyFactory({ transports: [new LegacyRpcFactory({ fetchImpl })], cardResolver }).createFromUrl(`${url}/`);
	return {
		send: async (part, more) => legacyTaskOf(await client.sendMessage(legacyParams(part, more))),
		async *stream(part, more) {
			for await (const event of client.sendMessageStream(legacyParams(part, more))) yield legacyEventOf(event);
		},
		get: async (id, historyLength) => legacyTaskOf(await client.getTask({ id, ...(historyLength !== undefined && { historyLength }) })),
		cancel: async (id) => legacyTaskOf(await client.cancelTask({ id })),
		async *subscribe(id) {
			for await (const event of client.resubscribeTask({ id })) yield legacyEventOf(event);
		},
		async setPush(taskId, config) {
			const { pushNotificationConfig } = await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: legacyPush(config) });
			return pushNotificationConfig;
		},
		getPush: async (id, pushNotificationConfigId) =>
			// The client's type leaves the second id out.
			(await client.getTaskPushNotificationConfig({ id, pushNotificationConfigId } as Any)).pushNotificationConfig,
		listPushes: async (id) =>
			(await client.listTaskPushNotificationConfig({ id })).map(({ pushNotificationConfig }) => pushNotificationConfig),
		deletePush: (id, pushNotificationConfigId) => client.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId }),
		skills: async () => (await client.getAgentCard()).skills.map(({ id }) => id),
	};
}

const legacyPush = ({ authentication, ...rest }: NonNullable<Sent['push']> & { id?: string }): Any => ({
	...rest,
	...(authentication && { authentication: { schemes: [authentication.scheme], credentials: authentication.credentials } }),
});

const legacyParams = ({ text, data }: Part, { taskId, contextId, historyLength, returnImmediately = false, push }: Sent = {}): Any => ({
	message: {
		...{ kind: 'message', messageId: randomUUID(), role: 'user' },
		...(taskId !== undefined && { taskId }),
		...(contextId !== undefined && { contextId }),
		parts: [text === undefined ? { kind: 'data', data } : { kind: 'text', text }],
	},
	configuration: {
		...asJson({ blocking: !returnImmediately }),
		...(historyLength !== undefined && { historyLength }),
		...(push && { pushNotificationConfig: legacyPush(push) }),
	},
});

const legacyPartOf = ({ kind, text, data, file }: Any): unknown => (kind === 'text' ? text : kind === 'data' ? data : file);

const legacyTaskOf = ({ id, contextId, status, artifacts = [], history = [] }: Any): SeenTask => ({
	...{ id, contextId, history: history.length },
	state: stateName(status.state),
	artifacts: artifacts.flatMap(({ parts }: Any) => parts.map(legacyPartOf)),
	said: status.message?.parts.map(legacyPartOf) ?? [],
});

function legacyEventOf(event: Any): SeenEvent {
	if (event.kind === 'task') return { task: legacyTaskOf(event) };
	if (event.kind === 'status-update') return { state: stateName(event.status.state) };
	return { artifact: event.artifact.parts.map(legacyPartOf) };
}
