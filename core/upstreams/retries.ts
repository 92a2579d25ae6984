// Which requests are sent again, when, and how often: only what does no harm twice, never beyond the time that the call has.

import { setTimeout as sleep } from 'node:timers/promises';
import type { OutboundRequest, OutboundResponse } from '../contract/context.ts';
import { REQUEST_TIMEOUT_MS } from '../egress/egress.ts';
import { NoAnswer } from '../egress/errors.ts';

const MAX_TRIES = 3;
/** The longest first wait; the next may be twice as long. */
const WAIT_MS = 200;
/** An upstream that asks for more patience is left to the caller. */
const MAX_RETRY_AFTER_MS = 2_000;
/** With less than this left, no try could succeed. */
const LEAST_MS = 20;

/** RFC 9110 §9.2.2, and QUERY, which is a GET with a body. */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'QUERY', 'PUT', 'DELETE', 'TRACE']);

/** From proxies before it, or from a server that has no time now. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** What a try came to. */
export type Ended = { answer: OutboundResponse } | { error: unknown };

export interface Try {
	/** To be called when waiting for its turn is over, and it is sent. */
	begun(): void;
	/** Aborted when a turn would come too late. Nothing waits for the first try's. */
	patience: AbortSignal | null;
}

export interface Repeating {
	/** Of the call. */
	signal: AbortSignal;
	/** Before each wait. */
	onRetry(after: Ended, waitMs: number): void;
}

/** @param send one try. `timeoutMs` is for all of them with the waits in between, from when the first is sent */
export async function repeatedly(
	options: OutboundRequest,
	send: (options: OutboundRequest, around: Try) => Promise<OutboundResponse>,
	{ signal, onRetry }: Repeating,
): Promise<OutboundResponse> {
	const { timeoutMs = REQUEST_TIMEOUT_MS } = options;
	let startedMs = Number.POSITIVE_INFINITY;
	const leftMs = (): number => timeoutMs - Math.max(0, performance.now() - startedMs);
	const first = () =>
		send(options, {
			begun: () => {
				startedMs = performance.now();
			},
			patience: null,
		});
	let ended = await outcomeOf(first);
	for (let tries = 1; tries < MAX_TRIES && !signal.aborted; tries++) {
		const waitMs = waitAfter(ended, options, tries);
		if (waitMs === null || waitMs > leftMs() - LEAST_MS) break;
		onRetry(ended, waitMs);
		await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
		const next = await tryAgain({ ...options, timeoutMs: Math.ceil(leftMs()) }, send);
		// What the try before found out is the better answer, unless the caller has left.
		if (next === null && !signal.aborted) break;
		ended = next ?? { error: signal.reason };
	}
	if ('error' in ended) throw ended.error;
	return ended.answer;
}

/** Null when it did not get its turn: too many wait, or the upstream is left alone by now. */
async function tryAgain(
	options: OutboundRequest & { timeoutMs: number },
	send: (options: OutboundRequest, around: Try) => Promise<OutboundResponse>,
): Promise<Ended | null> {
	let hasBegun = false;
	const begun = (): void => {
		hasBegun = true;
	};
	const ended = await outcomeOf(() => send(options, { begun, patience: AbortSignal.timeout(options.timeoutMs) }));
	return 'answer' in ended || hasBegun ? ended : null;
}

async function outcomeOf(send: () => Promise<OutboundResponse>): Promise<Ended> {
	try {
		return { answer: await send() };
	} catch (error) {
		return { error };
	}
}

/** Exponential with full jitter, after what the upstream asks for. Null: it is not sent again. */
function waitAfter(ended: Ended, { method, repeatable }: OutboundRequest, tries: number): number | null {
	const isRepeatable = repeatable ?? REPEATABLE.has(method.toUpperCase());
	const jitterMs = Math.random() * WAIT_MS * 2 ** (tries - 1);
	if ('error' in ended) {
		const { error } = ended;
		if (!(error instanceof NoAnswer)) return null;
		// A silent upstream has had its time; one that could not be reached has done nothing with it.
		return error.isUnsent || (isRepeatable && error.code === 'upstream_failed') ? jitterMs : null;
	}
	const { status, headers } = ended.answer;
	if (!isRepeatable || !PASSING.has(status)) return null;
	const askedMs = retryAfterMs(headers['retry-after']);
	// Without a time, 429 is about how much is asked, and asking again is more of it.
	if (askedMs === null) return status === 429 ? null : jitterMs;
	return askedMs > MAX_RETRY_AFTER_MS ? null : askedMs + jitterMs / 2;
}

/** RFC 9110 §10.2.3. Null when there is none that can be read. */
function retryAfterMs(header: string | undefined): number | null {
	if (header === undefined) return null;
	const text = header.trim();
	// Some servers write fractions.
	if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Number(text) * 1000;
	// A date begins with the day's name; of "-1" or "5s" `Date.parse` makes some date, too.
	const at = /^[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
	return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}
