// A family of language models whose servers answer with lines of JSON: `{"text":"…"}`, and `{"done":true}` at the end.

import { GatewayError, httpUrl, type Json, type LlmProvider, linesOf, type StreamResponse } from 'gatehouse';
import Joi from 'joi';

export interface Config {
	url: string;
	key?: string;
}

interface Line {
	text?: string;
	done?: boolean;
	inputTokens?: number;
	outputTokens?: number;
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
	check: ({ url }, context) => context.checkUrl(url, '/url'),
	async *chat({ model, messages, maxTokens = null }, { url, key }, context) {
		const response = await context.stream({
			method: 'POST',
			url,
			headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
			// Messages are JSON, but for their readonly lists.
			body: JSON.stringify({ model, messages: messages as unknown as Json, maxTokens }),
		});
		await refuse(response);
		for await (const text of linesOf(response.body)) {
			const line = parsed(text);
			if (line.text !== undefined) yield { type: 'text', text: line.text };
			if (line.done !== true) continue;
			const { inputTokens = 0, outputTokens = 0 } = line;
			// A cost that is unknown is null, never 0.
			yield { type: 'end', reason: 'stop', model, usage: { inputTokens, outputTokens, cachedTokens: 0, costMicroUsd: null } };
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
