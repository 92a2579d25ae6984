// Questions in the legacy era: sent on the event stream of the call, answered by a POST of their own, to whichever replica. The question
// waits as a record, which the answer changes.

import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
	type Answer,
	type Asker,
	type Call,
	GatewayError,
	type Incoming,
	type Json,
	type JsonObject,
	type Question,
} from '../../core/index.ts';
import type { ResponseMessage } from './messages.ts';
import { elicitation, readAnswer, takesForms } from './questions.ts';

/** A tool has no more time. */
const MAX_WAIT_MS = 120_000;
/** A record outlives its question, so that a late answer is not taken for one that was never asked for. */
const GRACE_MS = 10_000;
/** The time between two looks at the record, which is in this process's memory until it changes. */
const LOOK_MS = 100;
const MAX_ANSWER_CHARS = 64 * 1024;
const QUESTION_ID = /^ask-[\w-]{24}$/;
const ASKING_SESSION = /^[0-9a-f-]{36}\.forms$/;
/** The first revision with elicitation is 2025-06-18. */
const ELICITING = ['2025-11-25', '2025-06-18'];

/**
 * Makes a session's id, which tells whether the client takes forms: nothing is kept between requests, and a client that makes one up gets
 * questions that it cannot answer.
 */
export const newSession = (version: string, capabilities: Json | undefined): string =>
	randomUUID() + (ELICITING.includes(version) && takesForms(capabilities) ? '.forms' : '');

/** Returns the session of a client that takes forms; null when there is none. */
export function askingSession(headers: Incoming['headers']): string | null {
	const session = headers['mcp-session-id']?.trim();
	return session !== undefined && ASKING_SESSION.test(session) ? session : null;
}

export interface Asking {
	call: Call;
	session: string;
	/** Aborts when nobody reads the stream any more. */
	leaving: AbortSignal;
	/** Sends a message on the stream of the call. */
	send(message: JsonObject): void;
}

/** Returns the way to the user on the stream of a call. */
export const askOnStream =
	(asking: Asking): Asker =>
	async (question, signal) => {
		const { call, session, send } = asking;
		const id = `ask-${randomBytes(18).toString('base64url')}`;
		const waitMs = Math.min(question.timeoutMs ?? MAX_WAIT_MS, MAX_WAIT_MS);
		const asked = { subject: call.caller?.subject ?? null, session };
		await call.records.put(id, asked, { ttlMs: waitMs + GRACE_MS, watched: true, tags: [id] });
		try {
			send({ jsonrpc: '2.0', id, ...elicitation(question) });
			return await waitFor(id, question, { ...asking, signal, untilMs: performance.now() + waitMs });
		} catch (thrown) {
			send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason: 'The call no longer waits for it.' } });
			throw thrown;
		} finally {
			// A record that stays expires.
			call.records.drop(id).catch((error: unknown) => call.log.warn({ error: String(error) }, 'a question could not be removed'));
		}
	};

async function waitFor(
	id: string,
	{ timeoutMs }: Question,
	{ call, leaving, signal, untilMs }: Asking & { signal: AbortSignal; untilMs: number },
): Promise<Answer> {
	const ending = AbortSignal.any([signal, leaving]);
	while (performance.now() < untilMs) {
		ending.throwIfAborted();
		const answered = (await call.records.recall(id))?.value.answered;
		if (answered !== undefined) return answerOf(answered);
		await sleep(LOOK_MS, undefined, { signal: ending }).catch(() => ending.throwIfAborted());
	}
	const seconds = Math.ceil((timeoutMs ?? MAX_WAIT_MS) / 1000);
	throw new GatewayError('upstream_timeout', `The user gave no answer within ${seconds} s.`);
}

/** @throws not_implemented when the client could not ask: it is not the user who refused */
function answerOf(answered: Json): Answer {
	const answer = readAnswer(answered);
	if (answer) return answer;
	throw new GatewayError('not_implemented', 'The client could not ask its user, although it declared that it can.', {
		details: [{ path: 'client/elicitation', message: 'is needed by this tool.' }],
	});
}

/**
 * Takes the answer to a question of the same caller in the same session; anything else is nobody's answer. "If the input consists solely of
 * responses or notifications, the server MUST return 202 Accepted" (transports), so the client is told no more.
 */
export async function takeAnswer({ id, result }: ResponseMessage, headers: Incoming['headers'], call: Call): Promise<void> {
	const session = askingSession(headers);
	if (session === null || typeof id !== 'string' || !QUESTION_ID.test(id)) return;
	const asked = await call.records.get(id);
	if (!asked || asked.value.answered !== undefined) return;
	if (asked.value.session !== session || asked.value.subject !== (call.caller?.subject ?? null)) return;
	// The first of several answers counts.
	await call.records.update(id, asked.revision, { ...asked.value, answered: kept(result) });
}

/** Null stands for an error of the client, and for an answer that no question asks for. */
const kept = (result: Json | undefined): Json => (result === undefined || JSON.stringify(result).length > MAX_ANSWER_CHARS ? null : result);
