// A provider that reads its answers as README.md shows it: by `context.stream` and `eventsOf`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import {
	type ChatChunk,
	type ChatRequest,
	eventsOf,
	GatewayError,
	type JsonObject,
	type LlmProvider,
	linesOf,
	type ProviderContext,
	type ServerSentEvent,
	type StreamResponse,
} from '../core/index.ts';
import { allOf } from '../test/helpers/egress.ts';
import { loopbackCall } from '../test/helpers/executor.ts';
import { modelServer } from '../test/helpers/models.ts';
import { httpUpstream } from '../test/helpers/upstream.ts';
import { KEY, providerContract } from '../testing/provider.ts';

interface Connection {
	baseUrl: string;
	apiKey: string;
}

/** The part of an event of chat completions that is read here. */
interface Piece {
	model?: string;
	usage?: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details: { cached_tokens: number } } | null;
	choices: {
		delta: { content?: string; tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[] };
		finish_reason: string | null;
	}[];
}

const provider: LlmProvider<Connection> = {
	kind: 'provider',
	api: 1,
	name: 'streamed',
	summary: 'Speaks chat completions.',
	config: Joi.object({
		baseUrl: Joi.string().uri().required().meta({ destination: true }).description('The address before /chat/completions.'),
		apiKey: Joi.string().required().meta({ secret: true }).description('Sent as a Bearer token.'),
	}),
	async *chat(request, config, context) {
		const { body } = await ask(request, config, context);
		let end: Extract<ChatChunk, { type: 'end' }> | null = null;
		for await (const event of eventsOf(body)) {
			if (event.data === '[DONE]') break;
			const { model, usage, choices } = pieceOf(event);
			for (const { delta, finish_reason: reason } of choices) {
				if (delta.content) yield { type: 'text', text: delta.content };
				for (const { index, id, function: called } of delta.tool_calls ?? [])
					yield { type: 'tool_call', index, text: called.arguments, ...(id && { id }), ...(called.name && { name: called.name }) };
				if (reason === 'stop' || reason === 'tool_calls') end = { type: 'end', reason, model: model ?? request.model, usage: null };
			}
			if (end && usage) end.usage = usageOf(usage);
		}
		if (end === null) throw new GatewayError('upstream_failed', 'The provider’s answer breaks off.');
		yield end;
	},
};

async function ask({ model, messages }: ChatRequest, { baseUrl, apiKey }: Connection, context: ProviderContext): Promise<StreamResponse> {
	const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
	const body = JSON.stringify({ model, messages, stream: true });
	const answer = await context.stream({ method: 'POST', url: `${baseUrl}/chat/completions`, headers, body });
	if (answer.status === 200) return answer;
	// Leaving the body closes its connection.
	for await (const _ of answer.body) break;
	const after = answer.headers['retry-after'];
	if (answer.status === 429)
		throw new GatewayError('rate_limited', 'The provider asks to wait.', { headers: after ? { 'retry-after': after } : {} });
	throw new GatewayError(answer.status === 400 ? 'validation_failed' : 'upstream_failed', `The provider answered ${answer.status}.`);
}

function pieceOf({ data }: ServerSentEvent): Piece {
	try {
		return JSON.parse(data) as Piece;
	} catch {
		throw new GatewayError('upstream_failed', 'The provider sent what is no JSON.');
	}
}

const usageOf = ({ prompt_tokens, completion_tokens, prompt_tokens_details }: NonNullable<Piece['usage']>) => ({
	inputTokens: prompt_tokens,
	outputTokens: completion_tokens,
	cachedTokens: prompt_tokens_details.cached_tokens,
	costMicroUsd: null,
});

providerContract(provider as LlmProvider, {
	start: modelServer,
	config: (origin): JsonObject => ({ baseUrl: origin, apiKey: KEY }),
	bad: [
		{ config: { apiKey: 'x' }, says: /"baseUrl" is required/ },
		{ config: { baseUrl: 'https://api.example.com' }, says: /"apiKey" is required/ },
	],
	priced: null,
});

test('newline-delimited JSON is read line by line', async (t) => {
	const { origin } = await httpUpstream(t, (_request, response) => response.end('{"done":false}\n{"done":true}'));
	const { body } = await loopbackCall(t).stream({ method: 'GET', url: origin });
	assert.deepEqual(
		(await allOf(linesOf(body))).map((line) => JSON.parse(line)),
		[{ done: false }, { done: true }],
	);
});
