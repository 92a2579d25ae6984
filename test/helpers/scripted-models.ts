// A model server that says what a test wants, in pieces, and keeps what it was asked.

import { text as textOf } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { httpUpstream } from './upstream.ts';

/** An answer: pieces of text, or calls of tools, or a refusal. A promise among the pieces holds the answer up. */
export interface Said {
	pieces?: (string | Promise<unknown>)[];
	calls?: { id: string; name: string; args: object }[];
	status?: number;
	/** The seconds after which a refusal lets the caller ask again; default 0. */
	retryAfter?: string;
	reason?: string;
	/** It breaks off after its pieces. */
	cut?: true;
}

export interface AskedModel {
	messages: { role: string; content: unknown; tool_calls?: unknown[]; tool_call_id?: string }[];
	tools?: { function: { name: string } }[];
	[member: string]: unknown;
}

/** @param answer says what is answered to each request; @param gone hears of a caller that left */
export async function scriptedModels(t: Pick<TestContext, 'after'>, answer: (asked: AskedModel, at: number) => Said, gone?: () => void) {
	const asked: AskedModel[] = [];
	const { origin } = await httpUpstream(t as TestContext, async (request, response) => {
		const body = JSON.parse(await textOf(request)) as AskedModel;
		asked.push(body);
		const {
			pieces = [],
			calls = [],
			status = 200,
			reason = calls.length > 0 ? 'tool_calls' : 'stop',
			cut,
			retryAfter = '0',
		} = answer(body, asked.length - 1);
		response.on('close', () => response.writableFinished || gone?.());
		if (status !== 200) {
			response.writeHead(status, { 'content-type': 'application/json', 'retry-after': retryAfter });
			return void response.end(JSON.stringify({ error: { message: 'no' } }));
		}
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		const write = (delta: object, finish_reason: string | null = null): unknown =>
			response.write(`data: ${JSON.stringify({ id: 'c', model: 'small-1', choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
		write({ role: 'assistant', content: '' });
		for (const piece of pieces) typeof piece === 'string' ? write({ content: piece }) : await piece;
		if (cut) return void response.socket?.destroy();
		for (const [index, { id, name, args }] of calls.entries())
			write({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] });
		write({}, reason);
		const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10, prompt_tokens_details: { cached_tokens: 2 } };
		response.write(`data: ${JSON.stringify({ id: 'c', model: 'small-1', choices: [], usage })}\n\n`);
		response.end('data: [DONE]\n\n');
	});
	return { origin, asked };
}
