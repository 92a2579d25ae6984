// A family of language models whose servers stream lines of JSON, in the manner of Ollama's `POST /api/chat`.

import {
	type ChatChunk,
	type ChatEnd,
	type ChatMessage,
	type ChatRequest,
	excerptOf,
	GatewayError,
	httpUrl,
	isObject,
	type Json,
	type JsonObject,
	type LlmProvider,
	linesOf,
	type OutboundResponse,
	type StreamResponse,
} from 'gatehouse';
import Joi from 'joi';

export interface Config {
	url: string;
	key?: string;
	prices: Record<string, { input: number; output: number }>;
}

const REASONS = ['stop', 'length', 'tool_calls', 'content_filter'] as const;
const price = Joi.number().min(0).required();

export default {
	kind: 'provider',
	api: 1,
	name: 'acme_model',
	summary: 'Models that stream lines of JSON.',
	config: Joi.object<Config>({
		url: httpUrl.required().meta({ destination: true }).description('The origin of the server.'),
		key: Joi.string().meta({ secret: true }).description('Sent as a Bearer token.'),
		prices: Joi.object()
			.pattern(Joi.string().max(100), Joi.object({ input: price, output: price }))
			.default({})
			.description('Millionths of a US dollar for a million tokens, by model.'),
	}),
	check: ({ url }, context) => context.checkUrl(url, '/options/url'),
	async *chat(request, config, context) {
		const body = JSON.stringify(bodyOf(request));
		const response = await context.stream({
			method: 'POST',
			url: `${config.url.replace(/\/$/, '')}/chat`,
			headers: headersOf(config),
			body,
		});
		await refuse(response);
		yield* chunksOf(response);
	},
	async models(config, context) {
		const response = await context.request({ method: 'GET', url: `${config.url.replace(/\/$/, '')}/models`, headers: headersOf(config) });
		if (response.status >= 400) throw refusal(response);
		const { models } = parsed(response.body.toString('utf8'));
		if (!Array.isArray(models)) throw new GatewayError('upstream_failed', 'The provider sent no list of models.');
		return models.map((name) => ({ id: String(name) }));
	},
	prices: (model, { prices }) => (Object.hasOwn(prices, model) ? (prices[model] ?? null) : null),
} satisfies LlmProvider<Config>;

const headersOf = ({ key }: Config) => ({
	'content-type': 'application/json',
	...(key !== undefined && { authorization: `Bearer ${key}` }),
});

function bodyOf({ messages, tools, maxTokens, topP, toolChoice, parallelToolCalls, output, extra, ...request }: ChatRequest): JsonObject {
	const body = {
		...{ ...request, messages: messages.map(messageOf), stream: true },
		...(tools && { tools }),
		...(toolChoice && { tool_choice: toolChoice }),
		...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
		...(output && { format: output.schema }),
		...(maxTokens !== undefined && { max_tokens: maxTokens }),
		...(topP !== undefined && { top_p: topP }),
		...extra,
	};
	// The members of a request are JSON, but for their readonly lists.
	return body as unknown as JsonObject;
}

function messageOf(message: ChatMessage): object {
	if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
	if (message.role === 'assistant') return { role: 'assistant', content: message.content ?? '', tool_calls: message.toolCalls ?? [] };
	return message;
}

async function* chunksOf(response: StreamResponse): AsyncGenerator<ChatChunk> {
	for await (const text of linesOf(response.body)) {
		if (text === '') continue;
		const line = parsed(text);
		if (typeof line['text'] === 'string') yield { type: 'text', text: line['text'] };
		if (typeof line['thinking'] === 'string') yield { type: 'reasoning', text: line['thinking'] };
		if (isObject(line['call'])) yield pieceOf(line['call']);
		if (line['done'] !== true) continue;
		yield endOf(line);
		return;
	}
	throw new GatewayError('upstream_failed', 'The answer of the model breaks off.');
}

function pieceOf({ index, id, name, arguments: text = '' }: JsonObject): ChatChunk {
	const isFirst = typeof id === 'string' && typeof name === 'string';
	return { type: 'tool_call', index: Number(index), ...(isFirst && { id, name }), text: String(text) };
}

function endOf({ reason, model, usage }: JsonObject): ChatEnd {
	const known = REASONS.find((one) => one === reason);
	if (known === undefined || typeof model !== 'string')
		throw new GatewayError('upstream_failed', 'The provider sent an end without a reason or a model.');
	return { type: 'end', reason: known, model, usage: isObject(usage) ? usageOf(usage) : null };
}

const usageOf = ({ input, output, cached }: JsonObject) => ({
	...{ inputTokens: countOf(input), outputTokens: countOf(output), cachedTokens: countOf(cached) },
	// Core knows the price of a model by `prices`.
	costMicroUsd: null,
});

const countOf = (value: Json | undefined): number => (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0);

/** Frees the connection of a refusal, and says what the caller can do. */
async function refuse(response: StreamResponse): Promise<void> {
	if (response.status < 400) return;
	for await (const _part of response.body) break;
	throw refusal(response);
}

function refusal({ status, headers }: Pick<OutboundResponse, 'status' | 'headers'>): GatewayError {
	const after = headers['retry-after'];
	if (status === 429)
		return new GatewayError('rate_limited', 'The provider asks to wait.', after === undefined ? {} : { headers: { 'retry-after': after } });
	if (status === 400 || status === 422) return new GatewayError('validation_failed', `The provider refused the request (${status}).`);
	return new GatewayError(
		'upstream_failed',
		status === 401 || status === 403 ? 'The provider refused the key.' : `The provider answered ${status}.`,
	);
}

function parsed(text: string): JsonObject {
	try {
		const value = JSON.parse(text) as Json;
		if (isObject(value)) return value;
	} catch {
		// It is told below.
	}
	throw new GatewayError('upstream_failed', `The provider sent what is no JSON object: ${excerptOf(text.slice(0, 100))}`);
}
