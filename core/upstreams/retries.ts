// Decides which requests are retried, when, and how often: only those whose repetition does no harm, and never beyond the time of the call.

import { setTimeout as sleep } from 'node:timers/promises';
import type { OutboundRequest, OutboundResponse } from '../contract/outbound.ts';
import { NoAnswer } from '../egress/errors.ts';
import { REQUEST_TIMEOUT_MS } from '../egress/exchange.ts';

const MAX_TRIES = 3;
/** The longest first wait; the next may be twice as long. */
const WAIT_MS = 200;
/** When an upstream asks for a longer wait, the caller decides. */
const MAX_RETRY_AFTER_MS = 2_000;
/** With less time left, no attempt could succeed. */
const LEAST_MS = 20;

/** The idempotent methods of RFC 9110 §9.2.2, and QUERY, which is a GET with a body. */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'QUERY', 'PUT', 'DELETE', 'TRACE']);

/** Statuses of proxies before the upstream, or of a server that is overloaded. */
export const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The part of an answer that decides. */
type Answer = Pick<OutboundResponse, 'status' | 'headers'>;

/** The result of an attempt. */
export type Ended<A extends Answer = Answer> = { answer: A } | { error: unknown };

export interface Try {
	/** To be called when the wait in the lane is over, and the attempt is sent. */
	begun(): void;
	/** Aborts when the lane would admit the attempt too late. Null for the first attempt. */
	patience: AbortSignal | null;
}

export interface Repeating<A extends Answer> {
	/** The signal of the call. */
	signal: AbortSignal;
	/** Called before each wait. */
	onRetry(after: Ended, waitMs: number): void;
	/** Whether nothing of an answer hinders the next attempt. Default: of none. */
	isOver?(answer: A): boolean;
}

/** @param send one attempt. `timeoutMs` covers all attempts with the waits between them, from the sending of the first */
export async function repeatedly<O extends OutboundRequest, A extends Answer>(
	options: O,
	send: (options: O, around: Try) => Promise<A>,
	{ signal, onRetry, isOver }: Repeating<A>,
): Promise<A> {
	const { timeoutMs = REQUEST_TIMEOUT_MS } = options;
	let startedMs = Number.POSITIVE_INFINITY;
	const leftMs = (): number => timeoutMs - Math.max(0, performance.now() - startedMs);
	const begun = (): void => {
		startedMs = performance.now();
	};
	let ended: Ended<A>;
	try {
		const answer = await send(options, { begun, patience: null });
		// Most answers are final: nothing is made for them.
		if (!PASSING.has(answer.status)) return answer;
		ended = { answer };
	} catch (error) {
		ended = { error };
	}
	for (let tries = 1; tries < MAX_TRIES && !signal.aborted; tries++) {
		const waitMs = waitAfter(ended, options, tries);
		if (waitMs === null || waitMs > leftMs() - LEAST_MS) break;
		if ('answer' in ended && isOver?.(ended.answer) === false) break;
		onRetry(ended, waitMs);
		await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
		const next = await tryAgain({ ...options, timeoutMs: Math.ceil(leftMs()) }, send);
		// The result of the previous attempt is more useful, unless the caller has left.
		if (next === null && !signal.aborted) break;
		ended = next ?? { error: signal.reason };
	}
	if ('error' in ended) throw ended.error;
	return ended.answer;
}

/** Sends again; null when the lane did not admit the attempt: too many wait, or the breaker is open by now. */
async function tryAgain<O extends OutboundRequest & { timeoutMs: number }, A extends Answer>(
	options: O,
	send: (options: O, around: Try) => Promise<A>,
): Promise<Ended<A> | null> {
	let hasBegun = false;
	const begun = (): void => {
		hasBegun = true;
	};
	const ended = await outcomeOf(send, options, { begun, patience: AbortSignal.timeout(options.timeoutMs) });
	return 'answer' in ended || hasBegun ? ended : null;
}

async function outcomeOf<O, A extends Answer>(send: (options: O, around: Try) => Promise<A>, options: O, around: Try): Promise<Ended<A>> {
	try {
		return { answer: await send(options, around) };
	} catch (error) {
		return { error };
	}
}

/**
 * Returns the wait before the next attempt: exponential with full jitter, added to what the upstream asks for. Null: no further attempt.
 */
function waitAfter(ended: Ended, { method, repeatable }: OutboundRequest, tries: number): number | null {
	if ('answer' in ended && !PASSING.has(ended.answer.status)) return null;
	const isRepeatable = repeatable ?? REPEATABLE.has(method.toUpperCase());
	const jitterMs = Math.random() * WAIT_MS * 2 ** (tries - 1);
	if ('error' in ended) {
		const { error } = ended;
		if (!(error instanceof NoAnswer)) return null;
		// A silent upstream has had its time; one that could not be reached has executed nothing.
		return error.isUnsent || (isRepeatable && error.code === 'upstream_failed') ? jitterMs : null;
	}
	const { status, headers } = ended.answer;
	if (!isRepeatable) return null;
	const askedMs = retryAfterMs(headers['retry-after']);
	// A 429 without a time means that there are too many requests, and a retry would be one more.
	if (askedMs === null) return status === 429 ? null : jitterMs;
	return askedMs > MAX_RETRY_AFTER_MS ? null : askedMs + jitterMs / 2;
}

/** Reads `Retry-After` (RFC 9110 §10.2.3); null when it is absent or unreadable. */
export function retryAfterMs(header: string | undefined): number | null {
	if (header === undefined) return null;
	const text = header.trim();
	// Some servers write fractions.
	if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Number(text) * 1000;
	// A date begins with the day's name; `Date.parse` would also accept "-1" and "5s".
	const at = /^[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
	return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}
