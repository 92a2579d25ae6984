// The methods that both eras share, and how each error is answered.

import {
	asGatewayError,
	type Call,
	type ErrorMap,
	GatewayError,
	type Incoming,
	isObject,
	type JsonObject,
	type Reply,
	type Tool,
	VERSION,
} from '../../core/index.ts';
import { encodeFailure, encodeResult } from './content.ts';
import { describeTool } from './listing.ts';
import { CODES, ProtocolError, type RequestMessage } from './messages.ts';
import { pageOf } from './pages.ts';
import { SKILLS_EXTENSION } from './resources/skills-extension.ts';
import { iconsOf } from './results/icons.ts';
import { keepingCall } from './results/kept.ts';
import { type OutputSchemas, shownAs } from './results/output-schemas.ts';
import { callAny } from './search/own-calls.ts';
import { describeOwn, type Exposure, exposureOf } from './search/own-tools.ts';
import { traced } from './tracing.ts';
import { writtenPage } from './written-lists.ts';

export interface McpConfig {
	allowedOrigins: string[];
	instructions?: string;
	toolExposure?: Exposure;
	/** Default `loose`: without a configuration. */
	outputSchemas?: OutputSchemas;
}

/** One request on its way through the adapter. */
export interface Exchange {
	message: RequestMessage;
	headers: Incoming['headers'];
	config: McpConfig;
	call: Call;
}

export type Method = (exchange: Exchange) => Promise<JsonObject>;

/** Everything that differs between the revisions that open with `initialize` and those without a handshake. */
export interface Era {
	methods: ReadonlyMap<string, Method>;
	/** Methods that are answered by a stream of notifications. */
	streams: ReadonlyMap<string, (exchange: Exchange) => Promise<Reply>>;
	/** Checks what every request must carry. @throws ProtocolError */
	check(message: RequestMessage, headers: Incoming['headers']): void;
	unknownMethodStatus: 200 | 404;
	/** Adds the members that every result of the era has. */
	seal(result: JsonObject, exchange: Exchange): JsonObject;
	/** Headers that are sent with the result. */
	headersOf(message: RequestMessage): Record<string, string>;
	/** The era's own form of an error, null where it has none. */
	translate(error: GatewayError, message: RequestMessage): ProtocolError | null;
	/** Whether a client that leaves before the answer has cancelled the request. */
	leavingCancels: boolean;
	/** Returns the version of the protocol, which was checked; null before it is agreed on. */
	versionOf(message: RequestMessage, headers: Incoming['headers']): string | null;
	/** The session of a client that answers questions on the stream of its call; null when it does not. */
	askingSession(headers: Incoming['headers']): string | null;
}

/**
 * `http`: core answers, with its status and challenge. `result`: the tool could not do what was asked, which a model can
 * read and correct. A number: a JSON-RPC error.
 */
const OUTCOMES: ErrorMap<'http' | 'result' | number> = {
	validation_failed: 'result',
	precondition_failed: 'result',
	idempotency_key_reused: 'result',
	agent_failed: 'result',
	schema_invalid: 'result',
	egress_refused: 'result',
	no_organization: 'http',
	unauthorized: 'http',
	forbidden: 'http',
	insufficient_scope: 'http',
	not_found: 'result',
	tool_not_found: CODES.invalidParams,
	method_not_allowed: 'http',
	conflict: 'result',
	secret_unreadable: 'result',
	payload_too_large: 'http',
	unsupported_media_type: 'http',
	rate_limited: 'http',
	internal: CODES.internalError,
	not_implemented: CODES.internalError,
	upstream_failed: 'result',
	unavailable: 'http',
	upstream_timeout: 'result',
};

/** Runs the method of a request. @throws ProtocolError; GatewayError where the answer is HTTP's */
export const dispatch = (era: Era, exchange: Exchange): Promise<JsonObject> => traced(era, exchange, () => dispatched(era, exchange));

async function dispatched(era: Era, exchange: Exchange): Promise<JsonObject> {
	const { message } = exchange;
	era.check(message, exchange.headers);
	const method = era.methods.get(message.method);
	if (!method) {
		throw new ProtocolError(CODES.methodNotFound, `There is no method "${message.method.slice(0, 128)}" here.`, {
			status: era.unknownMethodStatus,
		});
	}
	try {
		return era.seal(await method(exchange), exchange);
	} catch (thrown) {
		throw outward(thrown, era, exchange);
	}
}

function outward(thrown: unknown, era: Era, { message, call }: Exchange): unknown {
	if (thrown instanceof ProtocolError) return thrown;
	const error = asGatewayError(thrown);
	if (!error || error.code === 'internal') {
		call.log.error({ method: message.method, error: thrown instanceof Error ? thrown.stack : String(thrown) }, 'an MCP request failed');
		return new ProtocolError(CODES.internalError, thrown instanceof GatewayError ? thrown.message : 'Something went wrong on our side.');
	}
	const outcome = OUTCOMES[error.code];
	return era.translate(error, message) ?? (typeof outcome === 'number' ? new ProtocolError(outcome, error.message) : error);
}

/** The JSON-RPC form of an error that HTTP can no longer carry, since its stream has begun. */
export function asProtocolError(thrown: unknown): ProtocolError {
	if (thrown instanceof ProtocolError) return thrown;
	return new ProtocolError(CODES.internalError, asGatewayError(thrown)?.message ?? 'Something went wrong on our side.');
}

/** Lists tools in the gateway's own order, which changes only when its tools do. */
export const listTools: Method = async ({ message, config, call }) => {
	const tools = await call.tools();
	const exposure = exposureOf({ message, config });
	if (exposure !== 'full') return { tools: describeOwn(exposure, tools) };
	const { items: page, start, more } = pageOf(tools, message.params.cursor, ({ id }) => id);
	const { outputSchemas = 'loose' } = config;
	const describe = (tool: Tool): Promise<JsonObject> => describeTool(tool, call, outputSchemas);
	return { tools: await writtenPage(tools, { start, page, kind: outputSchemas, describe }), ...more };
};

export interface ToolRequest {
	name: string;
	args: JsonObject;
}

/** @throws ProtocolError */
export function readToolRequest({ name, arguments: given }: JsonObject): ToolRequest {
	const args = given ?? {};
	if (typeof name !== 'string') throw new ProtocolError(CODES.invalidParams, 'params.name must be a string, the name of a tool.');
	if (!isObject(args)) throw new ProtocolError(CODES.invalidParams, 'params.arguments must be an object.');
	return { name, args };
}

export const callTool: Method = async (exchange) => {
	readToolRequest(exchange.message.params);
	try {
		return await callAny(exchange, callOrganizations);
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (error && OUTCOMES[error.code] === 'result') return encodeFailure(error);
		throw thrown;
	}
};

/** Runs a tool of the organization. */
const callOrganizations: Method = async ({ message, headers, config, call }) => {
	const { name, args } = readToolRequest(message.params);
	const { outputSchemas = 'loose' } = config;
	const tool = await seenTool(call, name);
	const result = await keepingCall(call, headers, outputSchemas === 'strict').invoke({ name }, args);
	return encodeResult(result, tool && shownAs(tool, outputSchemas));
};

/** Finds the tool as this caller may have listed it; null for callers without `tools:read`, who were shown no schema. */
export async function seenTool(call: Call, name: string): Promise<Tool | null> {
	if (!call.caller?.scopes.includes('tools:read')) return null;
	const tools = await call.tools();
	const known = byName.get(tools) ?? new Map(tools.map((tool) => [tool.name, tool]));
	byName.set(tools, known);
	return known.get(name) ?? null;
}

/** Lists of tools stay the same objects until something in their gateway changes. */
const byName = new WeakMap<readonly Tool[], ReadonlyMap<string, Tool>>();

/** The `Implementation` object of both eras. */
export function describeServer({ gateway }: Call): JsonObject {
	if (!gateway) return { name: 'gatehouse', version: VERSION };
	const { icon } = gateway;
	const name = `${gateway.organizationSlug}${gateway.endpoint}`;
	return { name, title: gateway.name, version: VERSION, ...(icon != null && { icons: iconsOf(icon) }) };
}

/**
 * Capabilities, with `listChanged` for what `listening/lists.ts` tells of. They do not depend on the skills that the gateway has at the
 * moment: a client asks once, and lists may be empty.
 */
export const describeAbilities = ({ config }: Pick<Exchange, 'config'>) => ({
	capabilities: {
		...{ tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true, subscribe: true }, completions: {} },
		extensions: { [SKILLS_EXTENSION]: { directoryRead: true } },
	} as JsonObject,
	...(config.instructions !== undefined && { instructions: config.instructions }),
});
