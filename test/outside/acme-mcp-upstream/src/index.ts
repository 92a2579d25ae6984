// Runs a tool by calling one of another MCP server, over Streamable HTTP. Each run is a session of its own.

import {
	type Call,
	type ContentBlock,
	eventsOf,
	excerptOf,
	failedResult,
	GatewayError,
	httpUrl,
	isObject,
	type Json,
	type JsonObject,
	type OutboundRequest,
	type StreamResponse,
	secretsAdded,
	type ToolExecutor,
	type ToolResult,
	withoutSecrets,
} from 'gatehouse';
import Joi from 'joi';

export interface Config {
	url: string;
	tool: string;
	token?: string;
	timeoutMs: number;
}

const PROTOCOL = '2025-06-18';
const MAX_BYTES = 10 * 1024 * 1024;
const BLOCKS = ['text', 'image', 'audio', 'resource', 'resource_link'];
const CLIENT = { protocolVersion: PROTOCOL, capabilities: {}, clientInfo: { name: 'acme-mcp-upstream', version: '0.1.0' } };

export default {
	kind: 'executor',
	api: 1,
	name: 'acme_mcp_upstream',
	creatable: true,
	summary: 'Calls a tool of another MCP server.',
	spec: 'MCP 2025-06-18',
	config: Joi.object<Config>({
		url: httpUrl.required().meta({ destination: true }).description('The address of the server.'),
		tool: Joi.string().max(200).required().description('The name of the tool there.'),
		token: Joi.string().meta({ secret: true }).description('Sent as a Bearer token.'),
		timeoutMs: Joi.number().integer().min(100).max(100_000).default(60_000).description('The time after which the call is ended.'),
	}),
	check: ({ url }, context) => context.checkUrl(url, '/executionConfig/url'),
	async execute(args, config, call) {
		const over = AbortSignal.any([call.signal, AbortSignal.timeout(config.timeoutMs)]);
		const session = new Session(config, call, over);
		try {
			return await session.run(args);
		} catch (error) {
			call.signal.throwIfAborted();
			if (over.aborted) throw new GatewayError('upstream_timeout', `The call took longer than ${config.timeoutMs} ms.`);
			throw error;
		}
	},
} satisfies ToolExecutor<Config>;

/** An answer that is no success: it ends the run with what it says. */
class Refused extends Error {
	readonly result: ToolResult;

	constructor(result: ToolResult) {
		super('The server refused a request.');
		this.result = result;
	}
}

class Session {
	readonly #config: Config;
	readonly #call: Call;
	readonly #over: AbortSignal;
	readonly #secrets: Set<string>;
	#id: string | null = null;

	constructor(config: Config, call: Call, over: AbortSignal) {
		this.#config = config;
		this.#call = call;
		this.#over = over;
		this.#secrets = new Set(config.token === undefined ? [] : [config.token]);
	}

	async run(args: JsonObject): Promise<ToolResult> {
		try {
			await this.#ask('initialize', CLIENT, true);
			await this.#notify('notifications/initialized');
			const meta = { progressToken: 'run' };
			return this.#resultOf(await this.#ask('tools/call', { name: this.#config.tool, arguments: args, _meta: meta }, false));
		} catch (error) {
			if (error instanceof Refused) return error.result;
			throw error;
		} finally {
			await this.#leave();
		}
	}

	/** Sends a request and returns its result. Nothing of a call is repeated, but the beginning of a session is. */
	async #ask(method: string, params: JsonObject, repeatable: boolean): Promise<JsonObject> {
		const response = await this.#send({ jsonrpc: '2.0', id: 1, method, params }, repeatable);
		this.#id ??= response.headers['mcp-session-id'] ?? null;
		for await (const message of messagesOf(response)) {
			if (message['method'] === 'notifications/progress') this.#progress(message['params']);
			if (message['id'] !== 1 || 'method' in message) continue;
			if (isObject(message['result'])) return message['result'];
			const { message: said } = isObject(message['error']) ? message['error'] : {};
			throw new Refused(this.#failure(`The server refused ${method}: ${String(said)}`));
		}
		throw new GatewayError('upstream_failed', 'The server ended its answer without a result.');
	}

	async #notify(method: string): Promise<void> {
		const { body } = await this.#send({ jsonrpc: '2.0', method }, true);
		for await (const _part of body) break;
	}

	/** @throws Refused for a status that is no success */
	async #send(message: JsonObject, repeatable: boolean): Promise<StreamResponse> {
		const request = this.#request('POST', JSON.stringify(message));
		const signed = await this.#call.sign(request);
		for (const secret of secretsAdded(request, signed)) this.#secrets.add(secret);
		const response = await this.#call.stream({ ...signed, repeatable, maxBytes: MAX_BYTES });
		if (response.status < 300) return response;
		throw new Refused(failedResult({ ...response, body: await beginningOf(response) }, [...this.#secrets]));
	}

	#request(method: string, body: string | null): OutboundRequest {
		const { url, token } = this.#config;
		const headers = {
			...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': PROTOCOL },
			...(token !== undefined && { authorization: `Bearer ${token}` }),
			...(this.#id !== null && { 'mcp-session-id': this.#id }),
		};
		return { method, url, headers, body, signal: this.#over };
	}

	#progress(params: Json | undefined): void {
		const { progress, total, message } = isObject(params) ? params : {};
		if (typeof progress !== 'number') return;
		this.#call.progress(
			progress,
			typeof total === 'number' ? total : undefined,
			typeof message === 'string' ? excerptOf(message, 500, [...this.#secrets]) : undefined,
		);
	}

	#resultOf(result: JsonObject): ToolResult {
		// No credential that the server says back is handed on.
		const clean = JSON.parse(withoutSecrets(JSON.stringify(result), [...this.#secrets])) as JsonObject;
		const { content = [], structuredContent, isError } = clean;
		if (!Array.isArray(content)) throw new GatewayError('upstream_failed', 'The server’s result has no list of content.');
		const known = content.filter((block) => isObject(block) && BLOCKS.includes(String(block['type']))) as ContentBlock[];
		return {
			content: known.length > 0 ? known : [{ type: 'text', text: '' }],
			...(structuredContent !== undefined && { structured: structuredContent }),
			...(isError === true && { isError: true }),
		};
	}

	#failure(text: string): ToolResult {
		return { isError: true, content: [{ type: 'text', text: excerptOf(text, 2_000, [...this.#secrets]) }] };
	}

	/** Ends the session, if there is one: a server keeps it otherwise. */
	async #leave(): Promise<void> {
		if (this.#id === null || this.#over.aborted) return;
		const signed = await this.#call.sign(this.#request('DELETE', null));
		await this.#call.request({ ...signed, timeoutMs: 5_000 }).catch(() => undefined);
	}
}

/** Yields the messages of an answer, which is one as JSON or several as events. @throws upstream_failed */
async function* messagesOf({ headers, body }: StreamResponse): AsyncGenerator<JsonObject> {
	if (headers['content-type']?.startsWith('text/event-stream')) {
		for await (const { data } of eventsOf(body, { maxChars: MAX_BYTES })) yield parsed(data);
	} else yield parsed(Buffer.concat(await Array.fromAsync(body)).toString('utf8'));
}

function parsed(text: string): JsonObject {
	try {
		const message = JSON.parse(text) as Json;
		if (isObject(message)) return message;
	} catch {
		// It is told below.
	}
	throw new GatewayError('upstream_failed', 'The server’s answer is no JSON-RPC message.');
}

/** The beginning of a refusal; the rest is not read. */
async function beginningOf({ body }: StreamResponse): Promise<Buffer> {
	const parts: Uint8Array[] = [];
	for await (const part of body) {
		parts.push(part);
		if (parts.reduce((sum, { length }) => sum + length, 0) > 16_384) break;
	}
	return Buffer.concat(parts);
}
