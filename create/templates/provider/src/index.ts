// A family of language models whose servers answer with lines of JSON: `{"text":"…"}`, `{"call":{"id":"…","name":"…","arguments":"…"}}`, and
// `{"done":true}` at the end.

import { type ChatToolCall, GatewayError, httpUrl, type LlmProvider, linesOf, type StreamResponse } from 'gatehouse';
import Joi from 'joi';

export interface Config {
	url: string;
	key?: string;
}

interface Line {
	text?: string;
	call?: ChatToolCall;
	done?: boolean;
	inputTokens?: number;
	outputTokens?: number;
	cachedTokens?: number;
}

export default {
	kind: 'provider',
	api: 1,
	name: 'my_plugin',
	summary: 'Models that answer with lines of JSON.',
	config: Joi.object<Config>({
		url: httpUrl.required().meta({ destination: true }).description('The address that takes a chat.'),
		key: Joi.string().meta({ secret: true }).description('Sent as a Bearer token.'),
	}),
	check: ({ url }, context) => context.checkUrl(url, '/options/url'),
	async *chat({ model, messages, tools = [], maxTokens = null }, { url, key }, context) {
		const response = await context.stream({
			method: 'POST',
			url,
			headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
			body: JSON.stringify({ model, messages, tools, maxTokens }),
		});
		await refuse(response);
		let calls = 0;
		for await (const text of linesOf(response.body)) {
			const line = parsed(text);
			if (line.text !== undefined) yield { type: 'text', text: line.text };
			if (line.call) yield { type: 'tool_call', index: calls++, id: line.call.id, name: line.call.name, text: line.call.arguments };
			if (line.done !== true) continue;
			const { inputTokens = 0, outputTokens = 0, cachedTokens = 0 } = line;
			// A cost that is unknown is null, never 0.
			const usage = { inputTokens, outputTokens, cachedTokens, costMicroUsd: null };
			yield { type: 'end', reason: calls > 0 ? 'tool_calls' : 'stop', model, usage };
			return;
		}
		throw new GatewayError('upstream_failed', 'The answer of the model breaks off.');
	},
} satisfies LlmProvider<Config>;

/** Leaves the body of a refusal, which frees its connection, and says what the caller can do. */
async function refuse({ status, headers, body }: StreamResponse): Promise<void> {
	if (status < 400) return;
	for await (const _part of body) break;
	const after = headers['retry-after'];
	if (status === 429)
		throw new GatewayError('rate_limited', 'The provider asks to wait.', after === undefined ? {} : { headers: { 'retry-after': after } });
	if (status === 400 || status === 422) throw new GatewayError('validation_failed', `The provider refused the request (${status}).`);
	throw new GatewayError('upstream_failed', status === 401 ? 'The provider refused the key.' : `The provider answered ${status}.`);
}

function parsed(text: string): Line {
	try {
		return JSON.parse(text) as Line;
	} catch {
		throw new GatewayError('upstream_failed', 'The provider sent a line that is no JSON.');
	}
}
