// One client for each protocol, all alike: each lists and calls tools in its own wire's form, and tells the substance of the answers.

import { randomUUID } from 'node:crypto';
import { Role, type Task, TaskState } from '@a2a-js/sdk';
import {
	type Client as A2aClient,
	ClientFactory,
	ClientFactoryOptions,
	DefaultAgentCardResolver,
	JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { utcpClient } from './utcp.ts';

/**
 * The substance of an answer: a result; a call that gave none, and why, with the status of HTTP where calls have one; a tool that is not there;
 * a credential that is not good, or lacks a scope; a limit that is reached.
 */
export type Seen =
	| { is: 'result'; data: unknown }
	| { is: 'failed'; said: string; status?: number }
	| { is: 'unknown' | 'denied' | 'forbidden' | 'limited' };

export interface Caller {
	list(): Promise<string[] | Seen>;
	call(tool: string, args?: object): Promise<Seen>;
	/** Begins a call, and ends it as the protocol's clients do when the first promise resolves; it stays until the second one does. */
	leave(tool: string, when: Promise<unknown>, over: Promise<unknown>): Promise<unknown>;
}

export interface Transport {
	/** The name of the plugin that its gateways have. */
	type: string;
	/** The address: that of the gateway, or one over all of an organization. */
	at?(serviceUrl: string): string;
	caller(url: string, key: string): Caller;
}

const OF_STATUS: Readonly<Record<number, 'unknown' | 'denied' | 'forbidden' | 'limited'>> = {
	401: 'denied',
	403: 'forbidden',
	404: 'unknown',
	429: 'limited',
};
const headersOf = (key: string): Record<string, string> => ({ 'x-api-key': key });

/** Notes the last status that tells of the credential or a limit, for clients that hide it. */
function watchedFetch(key: string): { fetch: typeof fetch; refused(thrown: unknown): Seen } {
	let status = 0;
	const watched: typeof fetch = async (input, init) => {
		const request = new Request(input, init);
		request.headers.set('x-api-key', key);
		const answer = await fetch(request);
		if (answer.status >= 400) status = answer.status;
		return answer;
	};
	return {
		fetch: watched,
		refused(thrown) {
			const is = [401, 403, 429].includes(status) ? OF_STATUS[status] : undefined;
			if (!is) throw thrown;
			return { is };
		},
	};
}

// ── MCP ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

function mcp(url: string, key: string): Caller {
	const at = watchedFetch(key);
	const connected = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
		const client = new Client({ name: 'parity', version: '1' });
		try {
			// The SDK's own transport does not match its interface under exactOptionalPropertyTypes.
			await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: at.fetch }) as never);
			return await work(client);
		} finally {
			await client.close();
		}
	};
	return {
		list: () => connected(async (client) => (await client.listTools()).tools.map(({ name }) => name)).catch(at.refused),
		call: (name, args = {}) =>
			connected(async (client): Promise<Seen> => {
				const result = await client.callTool({ name, arguments: { ...args } });
				const said = (result.content as { text?: string }[]).map(({ text = '' }) => text).join('\n');
				return result.isError ? { is: 'failed', said } : { is: 'result', data: result.structuredContent ?? said };
			}).catch((thrown: { code?: number; message: string }) => {
				if (thrown.code === -32602) return { is: 'unknown' };
				// The error of a request that a client cannot answer, since it cannot ask its user.
				return thrown.code === -32603 ? { is: 'failed', said: thrown.message } : at.refused(thrown);
			}),
		leave: (name, when, over) =>
			connected(async (client) => {
				const leaving = new AbortController();
				when.then(() => leaving.abort());
				await client.callTool({ name, arguments: {} }, undefined, { signal: leaving.signal }).catch((thrown) => thrown);
				await over;
			}),
	};
}

// ── protocols whose tools have addresses of their own ────────────────────────────────────────────────────────────────

interface Answered {
	status: number;
	body: unknown;
}

function seenOf({ status, body }: Answered, dataOf: (body: unknown) => unknown): Seen {
	if (status === 200) return { is: 'result', data: dataOf(body) };
	const is = OF_STATUS[status];
	return is ? { is } : { is: 'failed', said: JSON.stringify(body), status };
}

async function request(url: string, key: string, init: RequestInit = {}): Promise<Answered> {
	const answer = await fetch(url, { ...init, headers: { ...headersOf(key), 'content-type': 'application/json' } });
	const text = await answer.text();
	return { status: answer.status, body: answer.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text };
}

const post = (url: string, key: string, tool: string, args: object = {}, signal: AbortSignal | null = null): Promise<Answered> =>
	request(`${url}/tools/${tool}`, key, { method: 'POST', body: JSON.stringify(args), signal });

/** Their clients have no way to end a call but to go. */
function byLeaving(url: string, key: string): Caller['leave'] {
	return async (tool, when, over) => {
		const leaving = new AbortController();
		when.then(() => leaving.abort());
		await post(url, key, tool, {}, leaving.signal).catch((thrown) => thrown);
		await over;
	};
}

function utcp(url: string, key: string): Caller {
	const auth = { auth_type: 'api_key', api_key: key, var_name: 'X-API-Key', location: 'header' };
	return {
		async list() {
			const { status, body } = await request(url, key);
			if (status !== 200) return seenOf({ status, body }, String);
			return (await utcpClient(url, { API_KEY: key }, auth)).names();
		},
		async call(tool, args = {}) {
			const client = await utcpClient(`${url}/.well-known/utcp`, { API_KEY: key });
			// The client refuses by itself what the manual does not have.
			const isListed = (await client.names()).includes(tool);
			return seenOf(isListed ? await client.call(tool, args) : await post(url, key, tool, args), (body) => body);
		},
		leave: byLeaving(url, key),
	};
}

function skills(url: string, key: string): Caller {
	const dataOf = (body: unknown): unknown => {
		const { structured, content } = body as { structured?: unknown; content: { text: string }[] };
		return structured ?? content.map(({ text }) => text).join('\n');
	};
	return {
		async list() {
			const { status, body } = await request(`${url}/tools`, key);
			return status === 200 ? (body as { tools: { name: string }[] }).tools.map(({ name }) => name) : seenOf({ status, body }, dataOf);
		},
		call: async (tool, args) => seenOf(await post(url, key, tool, args), dataOf),
		leave: byLeaving(url, key),
	};
}

// ── A2A ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

function a2a(url: string, key: string): Caller {
	const at = watchedFetch(key);
	const connect = (): Promise<A2aClient> =>
		new ClientFactory(
			ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
				transports: [new JsonRpcTransportFactory({ fetchImpl: at.fetch })],
				cardResolver: new DefaultAgentCardResolver({ fetchImpl: at.fetch }),
			}),
		).createFromUrl(`${url}/`);
	const send = async (client: A2aClient, tool: string, args: object, returnImmediately = false): Promise<Task> =>
		(await client.sendMessage(messageOf(tool, args, returnImmediately))) as Task;
	return {
		list: async () => {
			const client = await connect();
			return client.getAgentCard().then(({ skills: all }) => all.map(({ id }) => id), at.refused);
		},
		call: async (tool, args = {}) => {
			const client = await connect();
			return send(client, tool, args).then(seenTask, at.refused);
		},
		async leave(tool, when, over) {
			const client = await connect();
			const { id } = await send(client, tool, {}, true);
			await when;
			await client.cancelTask({ tenant: '', id, metadata: undefined });
			await over;
		},
	};
}

function seenTask({ status, artifacts }: Task): Seen {
	const said = JSON.stringify(status?.message?.parts ?? []);
	if (status?.state === TaskState.TASK_STATE_REJECTED) return { is: 'unknown' };
	if (status?.state !== TaskState.TASK_STATE_COMPLETED) return { is: 'failed', said };
	return { is: 'result', data: artifacts[0]?.parts[0]?.content?.value };
}

const messageOf = (tool: string, args: object, returnImmediately: boolean) => ({
	...{ tenant: '', metadata: undefined },
	message: {
		...{
			messageId: randomUUID(),
			taskId: '',
			contextId: '',
			role: Role.ROLE_USER,
			metadata: undefined,
			extensions: [],
			referenceTaskIds: [],
		},
		parts: [
			{
				content: { $case: 'data' as const, value: { skill: tool, arguments: { ...args } } },
				mediaType: '',
				filename: '',
				metadata: undefined,
			},
		],
	},
	configuration: { acceptedOutputModes: [], historyLength: undefined, returnImmediately, taskPushNotificationConfig: undefined },
});

/** All protocols, by the name in the table; those whose plugin is not loaded are left out. */
export const TRANSPORTS: Readonly<Record<string, Transport>> = {
	mcp: { type: 'mcp', caller: mcp },
	utcp: { type: 'utcp', caller: utcp },
	a2a: { type: 'a2a', caller: a2a },
	skills: { type: 'skills', caller: skills },
	'the universal endpoint': { type: 'mcp', at: (serviceUrl) => `${serviceUrl}/mcp`, caller: mcp },
};
