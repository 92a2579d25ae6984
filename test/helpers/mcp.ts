// The MCP adapter without a server: its real route and core's real call, on tools that a test brings.

import mcp from '../../adapters/mcp/index.ts';
import type { Gateway, Incoming, JsonObject, Reply, Scope, Tool, ToolResult } from '../../core/contract/nouns.ts';
import type { ServerEvent } from '../../core/contract/server-events.ts';
import { InFlight } from '../../core/http/in-flight.ts';
import { Memo } from '../../core/shared/memo.ts';
import { NamedWorks } from '../../core/shared/named-work.ts';
import { SkillFiles } from '../../core/shared/skill-files.ts';
import type { Store } from '../../core/store/store.ts';
import { PluginCall } from '../../core/tools/call.ts';
import type { CallParts, Services } from '../../core/tools/call-parts.ts';
import { NO_IDENTITY } from '../../core/tools/no-identity.ts';
import javascript from '../../plugins/executors/javascript/index.ts';
import { MemoryRecords } from '../../testing/memory-records.ts';
import { type FakeSkill, sampleSkill, storedSkills } from '../../testing/skills.ts';
import { silent } from './silent.ts';

export type RunTool = (name: string, args: JsonObject, parts: CallParts) => Promise<ToolResult>;

export interface EndpointOptions {
	tools?: Tool[];
	skills?: FakeSkill[];
	run?: RunTool;
	scopes?: Scope[];
	gateway?: Partial<Gateway>;
	/** The gateway's configuration. */
	config?: object;
	/** The origin of the page that sends the request. */
	origin?: Incoming['origin'];
	/** The signal that is aborted when the client disconnects. */
	signal?: AbortSignal;
}

export interface McpAnswer {
	status: number;
	headers: Record<string, string>;
	/** The JSON-RPC message, null without a body or for a stream. */
	// biome-ignore lint/suspicious/noExplicitAny: tests read into messages whose shape is what they test
	message: any;
	body: Reply['body'];
	/** The options of a body of events. */
	stream: Reply['stream'];
}

export type Post = (body: unknown, headers?: Record<string, string>) => Promise<McpAnswer>;

const GATEWAY = {
	id: 'gateway',
	organizationId: 'organization',
	organizationSlug: 'acme',
	organizationName: 'Acme',
	name: 'Acme main',
	type: 'mcp',
	endpoint: '/main',
	description: null,
	status: 'active',
	url: 'https://gatehouse.example/acme/main',
};

export const sampleTool = (change: Partial<Tool> = {}): Tool => ({
	id: `id-${change.name ?? 'greet'}`,
	organizationId: 'organization',
	name: 'greet',
	description: 'Greets.',
	executor: 'test',
	parameters: { type: 'object', properties: { name: { type: 'string' } } },
	outputSchema: null,
	annotations: {},
	apiId: null,
	version: '1',
	...change,
});

/** Makes a function that posts to the adapter. A body that is no string or Buffer is sent as JSON. */
export function mcpEndpoint(options: EndpointOptions = {}): Post {
	const route = mcp.routes[0];
	if (!route) throw new Error('The adapter has no route.');
	const config = mcp.config.validate(options.config ?? {});
	if (config.error) throw config.error;
	return async (body, headers = {}) => {
		const reply = await route.handler(incoming(body, headers, options), config.value, endpointCall(options));
		const { status, headers: sent = {}, body: answer = null, stream } = reply;
		const isMessage = answer !== null && typeof answer === 'object' && 'jsonrpc' in answer;
		const text = (): string => (Buffer.isBuffer(answer) ? answer.toString() : isMessage ? JSON.stringify(answer) : 'null');
		return {
			...{ status, headers: sent, body: answer, stream },
			get message() {
				return JSON.parse(text());
			},
		};
	};
}

function incoming(body: unknown, headers: Record<string, string>, { origin = { value: null, trusted: false } }: EndpointOptions): Incoming {
	const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
	return {
		id: 'request',
		method: 'POST',
		target: '/acme/main',
		authority: 'gatehouse.example',
		path: '/',
		params: {},
		query: new URLSearchParams(),
		headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
		body: Buffer.from(text),
		lastEventId: null,
		address: '127.0.0.1',
		base: 'https://gatehouse.example',
		publicUrl: 'https://gatehouse.example',
		origin,
	};
}

function endpointCall(options: EndpointOptions): PluginCall {
	const skills = (options.skills ?? []).map(sampleSkill);
	const skillFiles = new SkillFiles({ skills: storedSkills(options.skills ?? []) } as unknown as Store);
	const { tools = [sampleTool()], scopes = ['tools:read', 'tools:execute'], signal = new AbortController().signal } = options;
	const run: RunTool = options.run ?? (async (name) => ({ content: [{ type: 'text', text: `ran ${name}` }] }));
	const invoker = {
		run: ({ tool }: { tool: Tool }, args: JsonObject, parts: CallParts) => run(tool.name, args, parts),
		lender: () => ({ plugin: 'executor:javascript', sandbox: javascript.sandbox }),
	};
	// The adapter uses no other services of core.
	const named = new NamedWorks(new MemoryRecords());
	const accountOf = async () => 'account';
	const shares = { named, skillFiles, inFlight: new InFlight(), accountOf };
	const services = { log: silent, memo: new Memo(100), invoker, ...shares } as unknown as Services;
	return new PluginCall(services, {
		plugin: 'transport:mcp',
		organizationId: 'organization',
		gateway: { ...GATEWAY, ...options.gateway },
		caller: { method: 'none', subject: 'anonymous', scopes },
		shelf: {
			list: () => tools,
			skills: () => skills.map(({ skill }) => skill),
			find: (ref) => {
				const tool = tools.find(({ id, name }) => ('name' in ref ? name === ref.name : id === ref.id));
				// The invoker above reads only `tool`.
				return tool ? ({ tool } as ReturnType<NonNullable<CallParts['shelf']>['find']>) : null;
			},
		},
		identity: NO_IDENTITY,
		signal,
		entry: null,
		listener: null,
	});
}

export const request = (method: string, params?: object, id: unknown = 1): object => ({
	jsonrpc: '2.0',
	id,
	method,
	...(params && { params }),
});

/** The capabilities of every gateway. */
export const ABILITIES = {
	...{ tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true, subscribe: true }, completions: {} },
	extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } },
};

export const META = {
	'io.modelcontextprotocol/protocolVersion': '2026-07-28',
	'io.modelcontextprotocol/clientCapabilities': {},
};

/** Makes a request of 2026-07-28 with the headers that belong to it. */
export function modernRequest(method: string, params: Record<string, unknown> = {}): [object, Record<string, string>] {
	const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
	const name = method === 'resources/read' ? params['uri'] : params['name'];
	const named = typeof name === 'string' ? { 'mcp-name': name } : {};
	return [request(method, { _meta: META, ...params }), { ...headers, ...named }];
}

/** Returns the messages of a body of events, in order, when it has ended. */
// biome-ignore lint/suspicious/noExplicitAny: as in McpAnswer
export async function readEvents(body: Reply['body']): Promise<any[]> {
	const messages: unknown[] = [];
	for await (const { data } of body as AsyncIterable<ServerEvent>)
		messages.push(JSON.parse(typeof data === 'string' ? data : JSON.stringify(data)));
	return messages;
}
