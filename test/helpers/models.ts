// A server with the chat completions of OpenAI that behaves in one way, for the contract of providers.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { CALLS, KEY, type ModelBehaviour, USAGE } from '../../testing/provider.ts';
import { turns } from './clock.ts';
import { httpUpstream, type Upstream } from './upstream.ts';

/** The behaviours that are one answer without a stream. */
const ANSWERS: Partial<Record<ModelBehaviour, [status: number, headers: Record<string, string>]>> = {
	refuse: [400, {}],
	key: [401, {}],
	busy: [429, { 'retry-after': '7' }],
	fail: [500, {}],
};

/** Writes the events of an answer in the form of a wire; `open` lets it begin, `more` is one piece. */
export interface Wire {
	key: string;
	eventsOf(behaviour: ModelBehaviour, request: { messages: { content: unknown }[] }): string[];
	more: string;
	end: string;
}

export async function modelServer(
	t: TestContext,
	behaviour: ModelBehaviour,
	wire: Wire = CHAT_COMPLETIONS,
): Promise<Upstream & { requests(): number }> {
	let count = 0;
	const upstream = await httpUpstream(t, async (request, response) => {
		count += 1;
		if (request.url?.startsWith('/models')) return void json(response, { object: 'list', data: [{ id: 'small', object: 'model' }] });
		// The caller may have left by then.
		const body = await textOf(request).catch(() => null);
		if (body !== null) await behave(behaviour, { body, request, response, wire });
	});
	return { ...upstream, requests: () => count };
}

const json = (response: ServerResponse, value: unknown, status = 200, headers = {}): ServerResponse =>
	response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));

interface Exchange {
	body: string;
	request: IncomingMessage;
	response: ServerResponse;
	wire: Wire;
}

async function behave(behaviour: ModelBehaviour, { body, request, response, wire }: Exchange): Promise<void> {
	if (behaviour === 'hang') return;
	if (behaviour === 'reset') return void response.socket?.destroy();
	const answer = ANSWERS[behaviour];
	const sent = `${request.headers[wire.key]} is not ${KEY}`;
	if (answer) return void json(response, { error: { message: sent } }, ...answer);
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	for (const event of wire.eventsOf(behaviour, JSON.parse(body))) await writeTorn(response, `data: ${event}\n\n`);
	if (behaviour === 'cut') return void response.end();
	if (behaviour === 'pause') return;
	if (behaviour === 'flood') return flood(response, wire.more);
	if (behaviour === 'break') return void response.write(': soon\n\n', () => response.socket?.destroy());
	response.end(wire.end);
}

/** Sends a text in two pieces, the first of which ends within its first character of several bytes. */
async function writeTorn(response: ServerResponse, text: string): Promise<void> {
	const bytes = Buffer.from(text);
	const at = bytes.findIndex((byte) => byte > 127) + 1;
	for (const piece of [bytes.subarray(0, at), bytes.subarray(at)]) {
		await new Promise((resolve) => response.write(piece, resolve));
		// The pieces are sent one after the other, not as one.
		if (at > 0) await turns(2);
	}
}

const event = (delta: object, finish_reason: string | null = null): string =>
	JSON.stringify({ id: 'c', model: 'small-2026', choices: [{ index: 0, delta, finish_reason }] });

const usage = JSON.stringify({
	...{ id: 'c', model: 'small-2026', choices: [] },
	usage: {
		prompt_tokens: USAGE.inputTokens,
		completion_tokens: USAGE.outputTokens,
		prompt_tokens_details: { cached_tokens: USAGE.cachedTokens },
	},
});

function eventsOf(behaviour: ModelBehaviour, { messages }: { messages: { content: unknown }[] }): string[] {
	if (behaviour === 'nonsense') return ['{"choices": [{"delta": '];
	if (behaviour === 'tools') return [...CALLS.flatMap(toolEvents), event({}, 'tool_calls'), usage];
	if (behaviour !== 'echo') return [event({ role: 'assistant', content: 'a' })];
	const pieces = [...textIn(messages.at(-1)?.content)].map((content) => event({ content }));
	return [event({ role: 'assistant', content: '' }), ...pieces, event({}, 'stop'), usage];
}

/** Returns the text of a message, whose content may be a list of parts. */
export const textIn = (content: unknown): string =>
	typeof content === 'string' ? content : ((content as { text?: string }[] | undefined) ?? []).map(({ text = '' }) => text).join('');

function toolEvents({ id, name, arguments: text }: (typeof CALLS)[number], index: number): string[] {
	const piece = (more: object): string => event({ tool_calls: [{ index, ...more }] });
	const half = Math.ceil(text.length / 2);
	return [
		piece({ id, type: 'function', function: { name, arguments: '' } }),
		piece({ function: { arguments: text.slice(0, half) } }),
		piece({ function: { arguments: text.slice(half) } }),
	];
}

function flood(response: ServerResponse, one: string): void {
	const piece = `data: ${one}\n\n`.repeat(500);
	const more = (): void => {
		while (!response.destroyed && response.write(piece));
	};
	response.on('drain', more);
	more();
}

/** A server that sends much in each piece, where the pieces do not matter. */
export const COARSE: Wire = {
	key: 'authorization',
	eventsOf: (behaviour, request) =>
		behaviour === 'echo'
			? [event({ role: 'assistant', content: textIn(request.messages.at(-1)?.content) }), event({}, 'stop'), usage]
			: eventsOf(behaviour, request),
	more: event({ content: 'more'.repeat(5000) }),
	end: 'data: [DONE]\n\n',
};

const CHAT_COMPLETIONS: Wire = { key: 'authorization', eventsOf, more: event({ content: 'more' }), end: 'data: [DONE]\n\n' };
