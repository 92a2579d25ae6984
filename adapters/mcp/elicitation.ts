// Questions in the legacy era: sent on the event stream of the call, answered by a POST of their own, to whichever replica. The question
// waits as a record, which the answer changes.

import { randomBytes, randomUUID } from 'node:crypto';
import {
	type Answer,
	type Asker,
	asGatewayError,
	type Call,
	GatewayError,
	type Incoming,
	type Json,
	type JsonObject,
} from '../../core/index.ts';
import { clientMark, sessionIn } from './clients.ts';
import type { ResponseMessage } from './messages.ts';
import { elicitation, readAnswer, takesForms } from './questions.ts';
import type { MessageStream } from './stream.ts';

/** A tool has no more time. */
const MAX_WAIT_MS = 120_000;
/** A record outlives its question, so that a late answer is not taken for one that was never asked for. */
const GRACE_MS = 10_000;
const MAX_ANSWER_CHARS = 64 * 1024;
const QUESTION_ID = /^ask-[\w-]{24}$/;
/** The first revision with elicitation is 2025-06-18. */
const ELICITING = ['2025-11-25', '2025-06-18'];

/**
 * Makes a session's id, which tells whether the client takes forms, and its name: nothing is kept between requests, and a client that makes one up gets
 * questions that it cannot answer.
 */
export const newSession = (version: string, { capabilities, clientInfo }: JsonObject): string =>
	randomUUID() + (ELICITING.includes(version) && takesForms(capabilities) ? '.forms' : '') + clientMark(clientInfo);

/** Returns the session of a client that takes forms; null when there is none. */
export function askingSession(headers: Incoming['headers']): string | null {
	const session = sessionIn(headers);
	return session?.endsWith('.forms') ? session : null;
}

export interface Asking extends MessageStream {
	call: Call;
	session: string;
	/** Aborts when nobody reads the stream any more. */
	leaving: AbortSignal;
}

/** Returns the way to the user on the stream of a call. */
export const askOnStream =
	({ call, session, leaving, unseen, send }: Asking): Asker =>
	async (question, signal) => {
		const waitMs = Math.min(question.timeoutMs ?? MAX_WAIT_MS, MAX_WAIT_MS);
		const late = new AbortController();
		const ending = AbortSignal.any([signal, leaving, unseen, late.signal]);
		assertAwaited(ending);
		const id = `ask-${randomBytes(18).toString('base64url')}`;
		const asked = { subject: call.caller?.subject ?? null, session };
		await call.records.put(id, asked, { ttlMs: waitMs + GRACE_MS, watched: true });
		const timer = setTimeout(() => late.abort(unanswered(waitMs)), waitMs);
		try {
			if (!send({ jsonrpc: '2.0', id, ...elicitation(question) })) throw unread();
			return await answerTo(id, call, ending);
		} catch (thrown) {
			send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason: 'The call no longer waits for it.' } });
			throw thrown;
		} finally {
			clearTimeout(timer);
			// A record that stays expires.
			call.records.remove(id).catch((error: unknown) => call.log.warn({ error: String(error) }, 'a question could not be removed'));
		}
	};

/** Waits until the record of the question has an answer, which any replica may write. */
async function answerTo(id: string, call: Call, ending: AbortSignal): Promise<Answer> {
	for await (const record of call.records.watch(id, ending)) {
		if (!record) throw new GatewayError('conflict', 'The question was withdrawn before its user answered.');
		if (record.value.answered !== undefined) return answerOf(record.value.answered);
	}
	assertAwaited(ending);
	throw new GatewayError('unavailable', 'The service no longer waits for the answer of the user.');
}

/** @throws the reason of the end; unavailable for one that is no error of ours, such as that the client left */
function assertAwaited(ending: AbortSignal): void {
	if (!ending.aborted) return;
	throw (
		asGatewayError(ending.reason) ?? new GatewayError('unavailable', 'The client left before its user answered.', { cause: ending.reason })
	);
}

const unanswered = (waitMs: number): GatewayError =>
	new GatewayError('upstream_timeout', `The user gave no answer within ${Math.ceil(waitMs / 1000)} s.`);

const unread = (): GatewayError =>
	new GatewayError('unavailable', 'The question could not be sent to the user: the client does not read the stream of its call.');

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
