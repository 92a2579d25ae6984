// Real clients of MCP, each behind one interface, so that every case is told to all of them in the same way.

import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp';
import { Client as DualClient, StreamableHTTPClientTransport as DualTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

const INFO = { name: 'gatehouse-test', version: '1.0.0' };
const FORMS = { capabilities: { elicitation: {} } };
const MODERN = '2026-07-28';

export interface Target {
	url: string;
	key: string;
}

export interface CallOptions {
	signal?: AbortSignal;
	timeoutMs?: number;
	onProgress?: (done: number) => void;
}

export interface Called {
	/** Null: the client does not tell. */
	isError: boolean | null;
	content: { type: string; text?: string }[];
	structured: unknown;
}

/** A connected client. Absent verbs are ones that the client does not have. */
export interface Connected {
	list(): Promise<string[]>;
	/** @throws whatever the client throws */
	call(name: string, args?: object, options?: CallOptions): Promise<Called>;
	ping?(): Promise<unknown>;
	/** Calls back when the server says that the tools have changed. */
	onToolsChanged?(heard: () => void): Promise<void>;
	/** Returns the text of a prompt. */
	prompt?(name: string, args: Record<string, string>): Promise<string>;
	/** Returns the text of a resource. */
	resource?(uri: string): Promise<string>;
	close(): Promise<void>;
}

/** The answer of every client’s user to every question. */
export const CONSENT = { action: 'accept', content: { run: true } } as const;

export interface Driver {
	name: string;
	/** The verbs and options of calls that the client does not have: cases that need one are not run. */
	lacks?: readonly ('ping' | 'progress' | 'list changed' | 'cancel' | 'timeout' | 'structured' | 'prompt' | 'resource' | 'elicitation')[];
	connect(target: Target): Promise<Connected>;
}

const headersOf = ({ key }: Target): Record<string, string> => ({ authorization: `Bearer ${key}` });

// The clients' own types of results differ, and all of them are a CallToolResult.
// biome-ignore lint/suspicious/noExplicitAny: see above
export const shown = ({ isError = false, content = [], structuredContent }: any): Called => ({
	isError,
	content,
	structured: structuredContent,
});

/** Joins the texts of a prompt or of a resource. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export const textIn = ({ messages = [], contents = [] }: any): string =>
	// biome-ignore lint/suspicious/noExplicitAny: see above
	[...messages.map(({ content }: any) => content.text), ...contents.map(({ text }: any) => text)].join('\n');

/** A client of the SDK's first version, whatever carries its messages. */
export async function overSdk(transport: Transport): Promise<Connected> {
	const client = new Client(INFO, FORMS);
	client.setRequestHandler(ElicitRequestSchema, async () => ({ ...CONSENT }));
	await client.connect(transport);
	return {
		list: async () => (await client.listTools()).tools.map(({ name }) => name),
		async call(name, args = {}, { signal, timeoutMs, onProgress } = {}) {
			const options = {
				...(signal && { signal }),
				...(timeoutMs !== undefined && { timeout: timeoutMs }),
				...(onProgress && { onprogress: ({ progress }: { progress: number }) => onProgress(progress) }),
			};
			return shown(await client.callTool({ name, arguments: { ...args } }, undefined, options));
		},
		ping: () => client.ping(),
		onToolsChanged: async (heard) => client.setNotificationHandler(ToolListChangedNotificationSchema, heard),
		prompt: async (name, args) => textIn(await client.getPrompt({ name, arguments: args })),
		resource: async (uri) => textIn(await client.readResource({ uri })),
		close: () => client.close(),
	};
}

const sdk: Driver = {
	name: '@modelcontextprotocol/sdk 1.32',
	connect: (target) =>
		// The SDK's own types disagree under exactOptionalPropertyTypes: its transport may have no session id.
		overSdk(new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: headersOf(target) } }) as Transport),
};

const dual = (title: string, mode: 'legacy' | 'auto' | { pin: string }): Driver => ({
	name: `@modelcontextprotocol/client 2.4, ${title}`,
	// The era has no such method.
	...(mode !== 'legacy' && { lacks: ['ping'] }),
	async connect(target) {
		const client = new DualClient(INFO, { ...FORMS, versionNegotiation: { mode } });
		client.setRequestHandler('elicitation/create', async () => ({ ...CONSENT }));
		await client.connect(new DualTransport(new URL(target.url), { requestInit: { headers: headersOf(target) } }));
		return {
			list: async () => (await client.listTools()).tools.map(({ name }) => name),
			async call(name, args = {}, { signal, timeoutMs, onProgress } = {}) {
				const options = {
					...(signal && { signal }),
					...(timeoutMs !== undefined && { timeout: timeoutMs }),
					...(onProgress && { onprogress: ({ progress }: { progress: number }) => onProgress(progress) }),
				};
				return shown(await client.callTool({ name, arguments: { ...args } }, options));
			},
			ping: () => client.ping(),
			async onToolsChanged(heard) {
				client.setNotificationHandler('notifications/tools/list_changed', heard);
				if (mode !== 'legacy') await client.listen({ toolsListChanged: true });
			},
			prompt: async (name, args) => textIn(await client.getPrompt({ name, arguments: args })),
			resource: async (uri) => textIn(await client.readResource({ uri })),
			close: () => client.close(),
		};
	},
});

const ai = (title: string, protocolVersionDiscovery: boolean): Driver => ({
	name: `@ai-sdk/mcp 2.0, ${title}`,
	// It sends no `notifications/cancelled`, so that a legacy server never learns that it no longer waits.
	lacks: ['ping', 'progress', 'list changed', ...(protocolVersionDiscovery ? [] : (['cancel', 'timeout'] as const))],
	async connect(target) {
		const transport = { type: 'http', url: target.url, headers: headersOf(target) } as const;
		const client = await createMCPClient({ transport, protocolVersionDiscovery, ...FORMS });
		client.onElicitationRequest(ElicitationRequestSchema, () => ({ ...CONSENT }));
		return {
			list: async () => (await client.listTools()).tools.map(({ name }) => name),
			async call(name, args = {}, { signal, timeoutMs } = {}) {
				const options = { ...(signal && { signal }), ...(timeoutMs !== undefined && { timeout: timeoutMs }) };
				return shown(await client.callTool({ name, arguments: { ...args }, options }));
			},
			prompt: async (name, args) => textIn(await client.getPrompt({ name, arguments: args })),
			resource: async (uri) => textIn(await client.readResource({ uri })),
			close: () => client.close(),
		};
	},
});

/** The clients that run in this process: they cost little. */
export const DRIVERS: readonly Driver[] = [
	sdk,
	dual('legacy', 'legacy'),
	dual('auto', 'auto'),
	dual('pinned', { pin: MODERN }),
	ai('legacy', false),
	ai('auto', true),
];
