// Questions in the modern era (2026-07-28, basic, "Multi Round-Trip Requests"): the call ends with `input_required`, and the client sends it
// again with the answers and our state, to whichever replica. The state is sealed, so nothing is kept for a client that never returns.

import { createHash, randomBytes } from 'node:crypto';
import { type Answer, type Asker, type Call, GatewayError, isObject, type JsonObject, type Question } from '../../core/index.ts';
import { type Exchange, type Method, readToolRequest } from './dispatch.ts';
import { CODES, ProtocolError } from './messages.ts';
import { elicitation, readAnswer } from './questions.ts';

/** The time in which the client must send the call again. */
const STATE_MS = 600_000;
/** The most rounds and questions of one call, since each round runs the tool again. */
const MOST_ROUNDS = 16;
const TOO_MANY = `The tool asks more than ${MOST_ROUNDS} questions, so the call was given up.`;
const MAX_ANSWERS_CHARS = 192 * 1024;

interface Answered {
	key: string;
	/** The hash of the question. */
	question: string;
	answer: Answer;
}

interface PendingQuestion {
	key: string;
	question: Question;
}

/** The content of `requestState`. */
interface State {
	/** Its own id, by which it is used once. */
	id: string;
	subject: string | null;
	/** The hash of the method, the name of the tool or prompt, and its arguments. */
	request: string;
	answers: Answered[];
	/** The questions that the client was sent: their keys and hashes. */
	asked: Pick<Answered, 'key' | 'question'>[];
	/** The rounds up to now. */
	rounds: number;
}

/** The rounds before this one. */
type Before = Pick<State, 'answers' | 'rounds'>;

const NONE: Before = { answers: [], rounds: 0 };

/** Runs a call of a client that takes forms, with the answers that it brings. @throws ProtocolError for a state that is not good here */
export async function callInRounds(exchange: Exchange, run: Method): Promise<JsonObject> {
	const { call, message } = exchange;
	const { name, args } = readToolRequest(message.params);
	// The run fills in what is missing in the arguments.
	const request = hashOf([message.method, name, args]);
	const round = new Round(message.params.requestState === undefined ? NONE : await openState(exchange, request));
	try {
		const result = await run({ ...exchange, call: call.with({ ask: round.ask }) });
		if (round.asked.length === 0) return result;
	} catch (thrown) {
		// The run ends with an error where it asks.
		if (round.asked.length === 0) throw thrown;
	}
	return inputRequired(round, request, call);
}

/** One run of the tool: its questions get the answers that the client brought. */
class Round {
	readonly before: Before;
	/** The questions without an answer yet, which the client is sent. */
	readonly asked: PendingQuestion[] = [];
	#place = 0;

	constructor(before: Before) {
		this.before = before;
	}

	readonly ask: Asker = async (question) => {
		this.#place += 1;
		const key = question.key ?? `question-${this.#place}`;
		const known = this.before.answers.find((one) => one.key === key && one.question === hashOf(question));
		if (known) return known.answer;
		if (this.before.rounds >= MOST_ROUNDS || this.#place > MOST_ROUNDS) throw new GatewayError('conflict', TOO_MANY);
		this.asked.push({ key, question });
		return 'later';
	};
}

function inputRequired({ before, asked }: Round, request: string, call: Call): JsonObject {
	const state: State = {
		id: randomBytes(18).toString('base64url'),
		subject: call.caller?.subject ?? null,
		request,
		answers: before.answers,
		asked: asked.map(({ key, question }) => ({ key, question: hashOf(question) })),
		rounds: before.rounds + 1,
	};
	const ttlMs = Math.min(STATE_MS, ...asked.map(({ question }) => question.timeoutMs ?? STATE_MS));
	return {
		resultType: 'input_required',
		inputRequests: Object.fromEntries(asked.map(({ key, question }) => [key, elicitation(question)])),
		// Its members are JSON.
		requestState: call.seals.seal(state as unknown as JsonObject, ttlMs),
	};
}

/**
 * Reads the state that comes back, which may be anything: one that fails verification MUST be rejected (basic, patterns, MRTR, server
 * requirements).
 */
async function openState({ message: { params }, call }: Exchange, request: string): Promise<Before> {
	const { requestState, inputResponses } = params;
	// Only `inputRequired` seals such a value.
	const state = (typeof requestState === 'string' ? call.seals.unseal(requestState) : null) as State | null;
	if (!state || state.subject !== (call.caller?.subject ?? null)) throw badState('is none that was given to this caller, or has expired');
	if (state.request !== request) throw badState('belongs to another call: send the same name and arguments again');
	const isFirst = await call.records.add(`used:${state.id}`, {}, { ttlMs: STATE_MS });
	if (!isFirst) throw badState('was used before');
	return { answers: [...state.answers, ...newAnswers(state, isObject(inputResponses) ? inputResponses : {})], rounds: state.rounds };
}

/** Takes the answers to what was asked. What has none is asked again. */
function newAnswers({ answers, asked }: State, responses: JsonObject): Answered[] {
	const given = asked.flatMap(({ key, question }) => {
		const answer = Object.hasOwn(responses, key) ? readAnswer(responses[key]) : null;
		return answer ? [{ key, question, answer }] : [];
	});
	if (JSON.stringify([answers, given]).length > MAX_ANSWERS_CHARS) {
		throw new ProtocolError(CODES.invalidParams, `The answers of one call may have ${MAX_ANSWERS_CHARS} characters together.`);
	}
	return given;
}

const badState = (fault: string): ProtocolError =>
	new ProtocolError(CODES.invalidParams, `params.requestState ${fault}: call the tool again.`);

const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64url');
