// Sends one request of an organization to an upstream: not at all while its breaker is open, through the lane when calls are limited, and
// again when a repetition does no harm.

import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import type { OutboundRequest, OutboundResponse } from '../contract/outbound.ts';
import type { Egress } from '../egress/egress.ts';
import { NoAnswer } from '../egress/errors.ts';
import { knownUrl } from '../egress/parsed-urls.ts';
import type { LaneRun } from '../lanes/lane-run.ts';
import type { Breakers, Outcome } from './breakers.ts';
import { type Ended, repeatedly, type Try } from './retries.ts';

export interface SendingParts {
	egress: Egress;
	breakers: Breakers;
	log: Log;
	organizationId: string;
	/** The lane of the API, when its calls are limited. */
	lane: LaneRun | null;
	/** Aborts when the caller of the request has left. */
	signal: AbortSignal;
}

type OnRedirect = NonNullable<Parameters<Egress['request']>[1]>;

/**
 * Statuses that count as failures of the upstream: it could not be reached, or could not answer. Its deliberate answers, 500 included, do
 * not count.
 */
export const FAILED: ReadonlySet<number> = new Set([502, 503, 504]);

/** @throws upstream_failed, upstream_timeout, egress_refused, rate_limited, or the signal's reason */
export function send(parts: SendingParts, options: OutboundRequest, onRedirect?: OnRedirect): Promise<OutboundResponse> {
	const target = knownUrl(options.url);
	return repeatedly(options, (again, around) => sendOnce(parts, again, { ...around, target, onRedirect }), {
		signal: options.signal ?? parts.signal,
		onRetry: (after, waitMs) =>
			parts.log.debug({ host: target?.host, waitMs: Math.round(waitMs), ...reasonOf(after) }, 'a request is retried'),
	});
}

interface Sending extends Try {
	/** Null when the URL is invalid, which the guard refuses. */
	target: Readonly<URL> | null;
	onRedirect: OnRedirect | undefined;
}

/** @throws upstream_failed at once while the breaker is open */
function sendOnce(parts: SendingParts, options: OutboundRequest, around: Sending): Promise<OutboundResponse> {
	const { egress, lane, breakers, organizationId } = parts;
	const { target, begun, patience, onRedirect } = around;
	// Checked before the wait in the lane, and again after it.
	if (target) breakers.assertClosed(organizationId, target);
	const request = (): Promise<OutboundResponse> =>
		watchedAnswer(parts, target, () => {
			begun();
			return egress.of(organizationId).request(options, onRedirect);
		});
	if (!lane) return request();
	const own = options.signal ?? parts.signal;
	return lane.request({ ...options, signal: patience ? AbortSignal.any([own, patience]) : own }, request);
}

/** Reports the outcome to the breaker of the origin, by the status of the answer or its absence. */
export async function watchedAnswer<T extends { status: number }>(
	{ breakers, organizationId, signal }: SendingParts,
	target: Readonly<URL> | null,
	request: () => Promise<T>,
): Promise<T> {
	const settle = target && breakers.enter(organizationId, target);
	try {
		const answer = await request();
		settle?.(FAILED.has(answer.status) ? 'failed' : 'answered');
		return answer;
	} catch (error) {
		settle?.(outcomeOf(error, signal));
		throw error;
	}
}

/** Does the same for protocols without an HTTP status: `work` calls `failed` when the upstream did. The guard refuses an invalid target. */
export async function watched<T>(
	{ breakers, organizationId, signal }: SendingParts,
	target: Readonly<URL> | null,
	work: (failed: () => void) => Promise<T>,
): Promise<T> {
	if (!target) return work(() => undefined);
	const settle = breakers.enter(organizationId, target);
	let hasFailed = false;
	const failed = (): void => {
		hasFailed = true;
	};
	try {
		const result = await work(failed);
		settle(hasFailed ? 'failed' : 'answered');
		return result;
	} catch (error) {
		settle(hasFailed ? 'failed' : outcomeOf(error, signal));
		throw error;
	}
}

/** Judges an error: the deadline of a run is the fault of a silent upstream; a caller who leaves earlier tells nothing about it. */
export function outcomeOf(error: unknown, signal: AbortSignal): Outcome {
	if (error instanceof NoAnswer) return 'failed';
	if (signal.aborted) return asGatewayError(signal.reason)?.code === 'upstream_timeout' ? 'failed' : 'unknown';
	// The upstream answered, with something that is not accepted.
	return error instanceof GatewayError && error.code === 'upstream_failed' ? 'answered' : 'unknown';
}

export const reasonOf = (after: Ended): object =>
	'answer' in after ? { status: after.answer.status } : { error: after.error instanceof Error ? after.error.message : 'failed' };
