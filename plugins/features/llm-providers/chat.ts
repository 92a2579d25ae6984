// Chats with a connection: one message, or the next one of a session, answered whole or as it arrives.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	answerEvents,
	asGatewayError,
	body,
	type ChatChunk,
	type ChatEnd,
	type Core,
	clientSignal,
	inDollars,
	type LlmProviderRow,
	operation,
	organizationOf,
	present,
	type ServerEvent,
} from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';
import { SESSION_ID } from './fields.ts';
import { findProvider } from './find.ts';
import { originOf } from './origin.ts';
import { CHAT_ANSWER } from './present.ts';
import { Sessions } from './sessions.ts';

const CHAT = body({
	message: Joi.string().min(1).max(BOUNDS.message).required().description('What to say to the model.'),
	sessionId: SESSION_ID,
	system: Joi.string().min(1).max(BOUNDS.message).description('Instructions, which are sent before the messages and not kept.'),
	model: Joi.string().min(1).max(200).description('Instead of the connection’s own.'),
}).example({ message: 'Name three rivers of Europe.', sessionId: 'rivers-1' });

interface ChatBody {
	message: string;
	sessionId?: string;
	system?: string;
	model?: string;
}

const ERRORS = ['conflict', 'rate_limited', 'upstream_failed', 'upstream_timeout', 'egress_refused'] as const;

export const chatRoutes = (core: Core): ServerRoute[] => [
	operation({
		method: 'POST',
		path: '/llm-providers/{id}/chat',
		id: 'chatWithLlmProvider',
		summary: 'Sends a chat message and answers when the model has.',
		description:
			'With a `sessionId`, the former messages of that session are sent along, and this turn is kept. Sessions belong to the user who chats.',
		need: 'tools:execute',
		body: CHAT,
		answer: CHAT_ANSWER,
		errors: ERRORS,
		idempotent: true,
		slow: true,
		handler: async (request) => {
			const turn = await begin(request, core);
			for await (const chunk of turn.chunks(clientSignal(request))) turn.take(chunk);
			return turn.end();
		},
	}),
	operation({
		method: 'POST',
		path: '/llm-providers/{id}/chat/stream',
		id: 'streamChatWithLlmProvider',
		summary: 'Sends a chat message and streams the answer as server-sent events.',
		description:
			'The data of each event `delta` has the next piece as `text`; the last event is `done`, whose data is what `POST /llm-providers/{id}/chat` answers, ' +
			'or `error` with `error` and `message`. A turn that breaks off is not kept in its session.',
		need: 'tools:execute',
		body: CHAT,
		bare: true,
		produces: 'text/event-stream',
		answer: Joi.string(),
		errors: ERRORS,
		slow: true,
		handler: async (request) => {
			const turn = await begin(request, core);
			return answerEvents(request, core, (signal) => events(turn, signal, core));
		},
	}),
];

async function* events(turn: Turn, signal: AbortSignal, { log }: Core): AsyncGenerator<ServerEvent, void> {
	try {
		for await (const chunk of turn.chunks(signal)) {
			turn.take(chunk);
			if (chunk.type === 'text') yield { event: 'delta', data: { text: chunk.text } };
		}
		yield { event: 'done', data: await turn.end() };
	} catch (thrown) {
		if (signal.aborted) throw thrown;
		const error = asGatewayError(thrown);
		if (!error) log.error({ error: String(thrown) }, 'a streamed chat failed unexpectedly');
		const { code, message } = error ?? { code: 'internal', message: 'The chat failed unexpectedly.' };
		yield { event: 'error', data: { error: code.toUpperCase(), message } };
	}
}

async function begin(request: Request, core: Core): Promise<Turn> {
	const row = await findProvider(request, core);
	// The body has passed CHAT.
	const asked = request.payload as ChatBody;
	const sessions = new Sessions(request, core, row.id);
	const history = asked.sessionId === undefined ? [] : await sessions.messages(asked.sessionId);
	return new Turn({ core, row, asked, sessions, history, organizationId: organizationOf(request).id, origin: originOf(request, core) });
}

interface TurnParts {
	core: Core;
	row: LlmProviderRow;
	asked: ChatBody;
	sessions: Sessions;
	history: Awaited<ReturnType<Sessions['messages']>>;
	organizationId: string;
	origin: ReturnType<typeof originOf>;
}

/** One message and its answer. */
class Turn {
	readonly #parts: TurnParts;
	readonly #startedMs = performance.now();
	#text = '';
	#end: ChatEnd | null = null;

	constructor(parts: TurnParts) {
		this.#parts = parts;
	}

	chunks(signal: AbortSignal): AsyncIterable<ChatChunk> {
		const { core, row, asked, history, organizationId, origin } = this.#parts;
		const system = asked.system === undefined ? [] : [{ role: 'system' as const, content: asked.system }];
		const messages = [...system, ...history, { role: 'user' as const, content: asked.message }];
		const request = { providerId: row.id, messages, ...(asked.model !== undefined && { model: asked.model }) };
		return core.models.of(organizationId, signal, {}, origin).chat(request);
	}

	take(chunk: ChatChunk): void {
		if (chunk.type === 'text') this.#text += chunk.text;
		if (chunk.type === 'end') this.#end = chunk;
	}

	/** Keeps the turn in its session, and returns the answer. */
	async end() {
		const { asked, sessions } = this.#parts;
		const { model = '', reason = 'stop', usage = null } = this.#end ?? {};
		const { sessionId = null, message } = asked;
		if (sessionId !== null) {
			const answer = { role: 'assistant' as const, content: this.#text };
			await sessions.add(sessionId, [{ role: 'user', content: message }, answer]);
		}
		const { costMicroUsd = null, writtenTokens: _written, hourTokens: _hour, ...tokens } = usage ?? {};
		return present(CHAT_ANSWER, {
			...{ message: this.#text, model, finishReason: reason, sessionId },
			usage: usage && tokens,
			cost: costMicroUsd === null ? null : inDollars(costMicroUsd),
			responseTime: Math.round(performance.now() - this.#startedMs),
		});
	}
}
