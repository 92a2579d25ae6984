// MCP over Streamable HTTP, without state: legacy revisions (through `initialize`) and 2026-07-28, decided per request.

import Joi from 'joi';
import { type Call, GatewayError, type Incoming, mediaTypeOf, type Reply, type TransportAdapter } from '../../core/index.ts';
import { introduce } from './clients.ts';
import { asProtocolError, dispatch, type Era, type Exchange, type McpConfig } from './dispatch.ts';
import { askOnStream, takeAnswer } from './elicitation.ts';
import { checkVersionHeader, LEGACY_VERSIONS, legacy } from './legacy.ts';
import { noResponse, takeCancellation, unlessCancelled } from './listening/cancelling.ts';
import { listenByGet } from './listening/get.ts';
import {
	errorMessage,
	errorReply,
	type Message,
	metaOf,
	ProtocolError,
	type RequestMessage,
	readMessage,
	resultMessage,
} from './messages.ts';
import { isModern, MODERN_VERSION, modern } from './modern.ts';
import { fail, isForeignPage } from './refusals.ts';
import { OUTPUT_SCHEMAS } from './results/output-schemas.ts';
import { EXPOSURES } from './search/own-tools.ts';
import { estimateTokens } from './search/tokens.ts';
import { answerWithProgress } from './stream.ts';
import { bodyOf } from './written-lists.ts';

const origin = (value: string, helpers: Joi.CustomHelpers): unknown =>
	URL.canParse(value) && new URL(value).origin === value ? value : helpers.error('string.uri');

export default {
	kind: 'transport',
	api: 1,
	name: 'mcp',
	summary: 'The gateway’s tools over the Model Context Protocol (Streamable HTTP).',
	spec: 'https://modelcontextprotocol.io/specification/2026-07-28, and 2024-11-05 to 2025-11-25',
	config: Joi.object<McpConfig>({
		allowedOrigins: Joi.array()
			.items(Joi.string().custom(origin))
			.max(100)
			.default([])
			.description('Origins of web pages that may call the gateway, such as https://app.example.com; others are refused.'),
		instructions: Joi.string().max(20_000).description('How to use these tools, for the model: clients read it when they connect.'),
		toolExposure: Joi.string()
			.valid(...EXPOSURES)
			.default('full')
			.description(
				'What clients list: all tools (`full`), or two that stand for them: `search_tools` with `execute_tool` (`search`) or `run_code` (`code`).',
			),
		outputSchemas: Joi.string()
			.valid(...OUTPUT_SCHEMAS)
			.default('loose')
			.description(
				'The output schemas that clients are shown: none (`off`), their names and descriptions (`loose`), or the real ones, where a call whose answer breaks its schema fails (`strict`).',
			),
	}),
	tokens: (tools, { outputSchemas }) => estimateTokens(tools, outputSchemas),
	routes: [
		{ method: 'POST', path: '/', handler: serve },
		{ method: 'GET', path: '/', handler: listenOn },
	],
	fail,
	judgesOrigin: true,
	cors: { send: ['mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'mcp-name'], read: ['mcp-session-id'] },
} satisfies TransportAdapter<McpConfig>;

function serve(request: Incoming, config: McpConfig, call: Call): Promise<Reply> {
	refuseForeignPage(request, config);
	const message = tryRead(request);
	introduce(call, request, message);
	if (message instanceof ProtocolError) return Promise.resolve(errorReply(message.id, message));
	return message.kind === 'request' ? answer(message, { request, config, call }) : take(message, request, call);
}

/** "If the input consists solely of responses or notifications, the server MUST return 202 Accepted with no body" (transports). */
async function take(message: Exclude<Message, RequestMessage>, { headers }: Incoming, call: Call): Promise<Reply> {
	if (message.kind === 'response') await takeAnswer(message, headers, call);
	else takeCancellation(message.method, message.params, headers, call);
	return { status: 202 };
}

async function listenOn(request: Incoming, config: McpConfig, call: Call): Promise<Reply> {
	refuseForeignPage(request, config);
	introduce(call, request);
	return listenByGet(request, config, call);
}

/** "Servers MUST validate the Origin header […] If the Origin header is present and invalid, servers MUST respond with 403" (transports). */
function refuseForeignPage(request: Incoming, config: McpConfig): void {
	if (!isForeignPage(request, config)) return;
	throw new GatewayError(
		'forbidden',
		'This gateway does not take requests of pages of this Origin; its allowedOrigins name those it takes.',
	);
}

function tryRead({ headers, body }: Incoming): Message | ProtocolError {
	const type = mediaTypeOf(headers['content-type']);
	if (type !== 'application/json') throw new GatewayError('unsupported_media_type', 'Content-Type must be application/json.');
	try {
		return readMessage(body);
	} catch (thrown) {
		if (thrown instanceof ProtocolError) return thrown;
		throw thrown;
	}
}

async function answer(
	message: RequestMessage,
	{ request, config, call }: { request: Incoming; config: McpConfig; call: Call },
): Promise<Reply> {
	const exchange: Exchange = { message, headers: request.headers, config, call };
	try {
		const era = eraOf(message, request);
		return await run(era, exchange);
	} catch (thrown) {
		if (thrown instanceof ProtocolError) return errorReply(message.id, thrown);
		throw thrown;
	}
}

function eraOf({ method, params }: RequestMessage, { headers }: Incoming): Era {
	if (isModern(params, headers)) return modern;
	// The header belongs to requests after the handshake.
	if (method !== 'initialize') checkVersionHeader(headers, [MODERN_VERSION, ...LEGACY_VERSIONS]);
	return legacy;
}

async function run(era: Era, exchange: Exchange): Promise<Reply> {
	const { message, headers } = exchange;
	const stream = era.streams.get(message.method);
	if (stream) {
		era.check(message, headers);
		return stream(exchange);
	}
	const answered = (its: Call) => dispatch(era, { ...exchange, call: its });
	const given = metaOf(message.params).progressToken;
	const token = message.method === 'tools/call' && isProgressToken(given) ? given : null;
	const session = ASKING.has(message.method) ? era.askingSession(headers) : null;
	if ((token === null && session === null) || !takesEvents(headers)) {
		const result = await attempt(era, exchange, answered);
		if (!result) return noResponse(takesEvents(headers));
		const { body, headers: its } = bodyOf(resultMessage(message.id, result));
		return { status: 200, headers: its ? { ...era.headersOf(message), ...its } : era.headersOf(message), body };
	}
	const leaving = exchange.call.signal;
	const complete = async (its: Call) => resultMessage(message.id, await answered(its));
	return answerWithProgress(exchange.call, {
		token,
		run: (reporting, stream) =>
			attempt(era, { ...exchange, call: reporting }, (its) =>
				complete(session === null ? its : its.with({ ask: askOnStream({ call: its, session, leaving, ...stream }) })),
			),
		fail: (thrown) => errorMessage(message.id, asProtocolError(thrown)),
	});
}

/** The methods that may ask the client's user. */
const ASKING: ReadonlySet<string> = new Set(['tools/call', 'prompts/get']);

/** Runs a call until it ends or is cancelled, as the era says. @returns null when it was cancelled and must not be answered */
const attempt = <T>(era: Era, { call, message, headers }: Exchange, work: (call: Call) => Promise<T>): Promise<T | null> =>
	era.leavingCancels ? work(call) : unlessCancelled(call, message, headers, work);

const isProgressToken = (token: unknown): token is string | number => typeof token === 'string' || typeof token === 'number';

const takesEvents = ({ accept = '' }: Incoming['headers']): boolean => /text\/(event-stream|\*)|\*\/\*/i.test(accept);
