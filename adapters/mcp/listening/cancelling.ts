// Cancellation in the legacy era: `notifications/cancelled`, a POST of its own, ends the call of the same caller in the same session, on whichever
// replica it runs. In 2026-07-28 a client cancels by closing its stream.

import { type Call, Feed, type Incoming, type JsonObject, type Reply, type ServerEvent } from '../../../core/index.ts';
import { sessionIn } from '../clients.ts';
import type { RequestMessage } from '../messages.ts';

/** Returns the session of a request; null without one of ours: such a client's requests cannot be told from those of others. */
export const sessionOf = sessionIn;

/** The methods that may take long: tools run, and both may wait for an answer of the user. */
const LASTING: ReadonlySet<string> = new Set(['tools/call', 'prompts/get']);

const nameOf = (session: string, id: unknown): string => JSON.stringify(['request', session, id]);

/**
 * Runs a legacy call, which goes on when its client leaves, and ends when the client cancels it by the id of its request; without a session
 * nobody can. @returns null when it was cancelled: "receivers […] SHOULD not send a response" (2025-11-25, "Cancellation")
 */
export function unlessCancelled<T>(
	call: Call,
	{ method, id }: RequestMessage,
	headers: Incoming['headers'],
	work: (call: Call) => Promise<T>,
): Promise<T | null> {
	const session = LASTING.has(method) ? sessionOf(headers) : null;
	return session === null ? work(call.with({ detached: true })) : unlessEnded(nameOf(session, id), call, work);
}

async function unlessEnded<T>(name: string, call: Call, work: (call: Call) => Promise<T>): Promise<T | null> {
	const { signal, finish } = call.named.begin(name);
	const { promise: cancelled, resolve } = Promise.withResolvers<null>();
	const onCancel = (): void => resolve(null);
	signal.addEventListener('abort', onCancel, { once: true });
	try {
		if (signal.aborted) return null;
		return await Promise.race([work(call.with({ detached: true, signal })), cancelled]);
	} finally {
		signal.removeEventListener('abort', onCancel);
		finish();
	}
}

/** Takes a notification; one that names no request of this caller and session ends nothing, and the client is told no more. */
export function takeCancellation(method: string, { requestId }: JsonObject, headers: Incoming['headers'], call: Call): void {
	if (method !== 'notifications/cancelled') return;
	const session = sessionOf(headers);
	if (session === null || (typeof requestId !== 'string' && typeof requestId !== 'number')) return;
	call.named.end(nameOf(session, requestId));
}

/** Answers a request that was cancelled: a stream that ends without a response, or no content where the client takes no streams. */
export function noResponse(takesEvents: boolean): Reply {
	const accepted: Reply = { status: 202 };
	if (!takesEvents) return accepted;
	const nothing = new Feed<ServerEvent>(0);
	nothing.end();
	return { status: 200, body: nothing, stream: { finite: true, whenFull: async () => accepted } };
}
