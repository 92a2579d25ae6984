// Chat completions of an agent (specification 4.4), for every client of OpenAI's API.

import type { Request, ResponseObject, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AgentRow,
	answerEvents,
	asGatewayError,
	type Core,
	clientSignal,
	GatewayError,
	notFound,
	operation,
	type ServerEvent,
	shape,
	type TurnEvent,
} from '../../../../core/features.ts';
import { findAgent } from '../find.ts';
import { Chunks, completionOf, endOf, type Head, usageOf } from './answers.ts';
import { type Begun, begin } from './begin.ts';
import { ERROR_BODY, openAiError } from './errors.ts';
import { CHAT, type ChatBody, COMPLETION, MODEL } from './fields.ts';

/** The time in which a run may still fail with a status of its own, before a stream begins. */
const FIRST_MS = 5_000;
const SECOND_MS = 1_000;
const PATH = '/agents/{id}/v1';
const ERRORS = ['conflict', 'rate_limited'] as const;

export const chatRoutes = (core: Core): ServerRoute[] => [complete(core), listModels(core), getModel(core), noResponses(core)];

const complete = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: `${PATH}/chat/completions`,
		id: 'completeChatWithAgent',
		summary: 'Answers a conversation, in the form of OpenAI’s chat completions.',
		description:
			'Any client of OpenAI’s API talks to the agent when its base URL is `…/agents/{id}/v1`. The text of the last message of the user is `input.message`, the ' +
			'texts of all messages are `input.messages`; a required text of the agent’s input schema is the message, too. With `stream`, the answer is `text/event-stream`: chunks as ' +
			'`data`, the last one `[DONE]`. A call of a tool that the request brings ends the turn; the run goes on when its result comes back as a message with the role `tool`, and as that request says: its system message, limits, tools and tool choice hold from there on. ' +
			'`x-execution-id` names the execution. When the client leaves, it is cancelled, unless the agent’s `onDisconnect` is `continue`.',
		need: 'agents:execute',
		body: CHAT,
		bare: true,
		answer: COMPLETION,
		errors: ERRORS,
		errorBody: ERROR_BODY,
		slow: true,
		handler: async (request) => {
			const agent = await findAgent(request, core);
			// Before the start, so that no leaving is missed.
			const signal = clientSignal(request);
			const begun = await begin(request, core, agent, signal);
			// The body has passed CHAT.
			const asked = request.payload as ChatBody;
			const head: Head = {
				...{ executionId: begun.place.id, model: asked.model, revision: begun.revision },
				created: Math.floor(Date.now() / SECOND_MS),
			};
			const turn: Turn = { request, core, agent, begun, asked, head, signal };
			return asked.stream ? streamed(turn) : whole(turn);
		},
	});

interface Turn {
	request: Request;
	core: Core;
	agent: AgentRow;
	begun: Begun;
	asked: ChatBody;
	head: Head;
	signal: AbortSignal;
}

/** Yields the events of a turn; a client that leaves ends the run. */
async function* events({ core, agent, begun, signal }: Turn, until: AbortSignal): AsyncGenerator<TurnEvent, void> {
	let hasEnded = false;
	try {
		for await (const event of core.agents.chats.turn(begun, until)) {
			hasEnded ||= event.type !== 'text';
			yield event;
		}
	} finally {
		begun.heard[Symbol.dispose]();
		// A service that stops gives the run back; nobody has left.
		const hasLeft = signal.aborted && !hasEnded && !core.stopping.aborted;
		if (hasLeft && agent.settings.onDisconnect !== 'continue') await core.agents.cancel(begun.place);
	}
}

async function whole(turn: Turn): Promise<ResponseObject> {
	for await (const event of events(turn, turn.signal))
		if (event.type !== 'text') {
			const answer = turn.request.generateResponse(completionOf(turn.head, event, turn.agent.id));
			return answer.header('x-execution-id', turn.head.executionId);
		}
	throw new GatewayError('unavailable', 'The service is stopping.');
}

/** Answers with a stream. What fails at once has a status of its own. */
async function streamed(turn: Turn): Promise<ResponseObject> {
	const ending = new AbortController();
	const source = events(turn, AbortSignal.any([turn.signal, ending.signal]));
	const first = source.next();
	const begun = await Promise.race([first, later(FIRST_MS, turn.signal)]);
	const sent = (signal: AbortSignal): AsyncGenerator<ServerEvent, void> => {
		signal.addEventListener('abort', () => ending.abort(signal.reason), { once: true });
		return chunks(turn, first, source);
	};
	try {
		if (begun && !begun.done && begun.value.type !== 'text') endOf(begun.value, turn.head, turn.agent.id);
		return await answerEvents(turn.request, turn.core, sent, {
			mayFinish: true,
			headers: { 'x-execution-id': turn.head.executionId },
		});
	} catch (thrown) {
		ending.abort(thrown);
		// Nobody reads on, so the source would stay where it is, with what it follows.
		source.return().catch(() => undefined);
		throw thrown;
	}
}

async function* chunks(
	{ asked, head, agent, core, signal }: Turn,
	first: Promise<IteratorResult<TurnEvent, void>>,
	source: AsyncGenerator<TurnEvent, void>,
): AsyncGenerator<ServerEvent, void> {
	const written = new Chunks(head, asked.stream_options?.include_usage === true);
	try {
		yield { data: written.first() };
		for (let next = await first; !next.done; next = await source.next()) {
			const event = next.value;
			if (event.type === 'text') {
				yield { data: written.text(event.text) };
				continue;
			}
			const end = endOf(event, head, agent.id);
			if (end.type === 'ended' && end.rest === null) throw another(head);
			for (const chunk of written.last(end, usageOf(event))) yield { data: chunk };
		}
		yield { data: '[DONE]' };
	} catch (thrown) {
		if (signal.aborted) throw thrown;
		const error = asGatewayError(thrown);
		if (!error) core.log.error({ error: String(thrown), executionId: head.executionId }, 'a streamed conversation failed unexpectedly');
		yield { data: { error: openAiError(error ?? new GatewayError('internal', 'The conversation failed unexpectedly.')) } };
	} finally {
		await source.return();
	}
}

const another = ({ executionId }: Head): GatewayError =>
	new GatewayError(
		'validation_failed',
		`The answer was begun anew after a part of it had been sent: the execution ${executionId} has the whole one.`,
		{
			more: { executionId, reason: 'begun_anew' },
		},
	);

function later(ms: number, signal: AbortSignal): Promise<null> {
	return new Promise((resolve) => {
		setTimeout(resolve, ms, null).unref();
		signal.addEventListener('abort', () => resolve(null), { once: true });
	});
}

// ── models ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const modelOf = ({ id, createdAt }: AgentRow) => ({
	...{ id, object: 'model', created: Math.floor(createdAt.getTime() / SECOND_MS) },
	owned_by: 'organization',
});

const listModels = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: `${PATH}/models`,
		id: 'listAgentModels',
		summary: 'Lists the agent as the one model of its OpenAI-compatible API.',
		need: 'agents:read',
		bare: true,
		answer: shape({ object: Joi.string().valid('list'), data: Joi.array().items(MODEL) }),
		errorBody: ERROR_BODY,
		handler: async (request) => ({ object: 'list', data: [modelOf(await findAgent(request, core))] }),
	});

const getModel = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: `${PATH}/models/{model}`,
		id: 'getAgentModel',
		summary: 'Shows the agent as a model; it goes by its id and by its name.',
		need: 'agents:read',
		bare: true,
		answer: MODEL,
		errorBody: ERROR_BODY,
		handler: async (request) => {
			const agent = await findAgent(request, core);
			const asked = String(request.params['model']);
			if (asked !== agent.id && asked !== agent.name) throw notFound('Model');
			return modelOf(agent);
		},
	});

/** A route without a page: it says what clients have to be told, since the AI SDK asks here by default. */
const noResponses = (core: Core): ServerRoute => ({
	method: 'POST',
	path: `${PATH}/responses`,
	options: { plugins: { gatehouse: { need: 'agents:execute', organization: 'context' }, errorBody: ERROR_BODY.of } },
	handler: async (request) => {
		await findAgent(request, core);
		throw new GatewayError(
			'not_found',
			'The agent has no Responses API: use chat completions. In the AI SDK, that is createOpenAI(…).chat(model) or createOpenAICompatible(…); in OpenAI’s client, chat.completions.create.',
		);
	},
});
