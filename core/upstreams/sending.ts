// One request to an upstream, from the organization's side: left alone where the upstream keeps failing, in turn where calls are
// limited, and again where that does no harm.

import type { OutboundRequest, OutboundResponse } from '../contract/context.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import type { Egress } from '../egress/egress.ts';
import { NoAnswer } from '../egress/errors.ts';
import type { LaneRun } from '../lanes/lane-run.ts';
import type { Breakers, Outcome } from './breakers.ts';
import { type Ended, repeatedly, type Try } from './retries.ts';

export interface SendingParts {
	egress: Egress;
	breakers: Breakers;
	log: Log;
	organizationId: string;
	/** Where the calls of an API are limited. */
	lane: LaneRun | null;
	/** Of whoever waits for the answer. */
	signal: AbortSignal;
}

type OnRedirect = NonNullable<Parameters<Egress['request']>[1]>;

/** From the upstream's side: it could not be asked, or could not answer. What it answers on purpose, 500 included, is no failure of it. */
const FAILED: ReadonlySet<number> = new Set([502, 503, 504]);

/** @throws upstream_failed, upstream_timeout, egress_refused, rate_limited, or the signal's reason */
export function send(parts: SendingParts, options: OutboundRequest, onRedirect?: OnRedirect): Promise<OutboundResponse> {
	const target = URL.parse(options.url);
	return repeatedly(options, (again, around) => sendOnce(parts, again, { ...around, target, onRedirect }), {
		signal: options.signal ?? parts.signal,
		onRetry: (after, waitMs) =>
			parts.log.debug({ host: target?.host, waitMs: Math.round(waitMs), ...reasonOf(after) }, 'a request is sent again'),
	});
}

interface Sending extends Try {
	/** Null: no URL, which the guard refuses. */
	target: URL | null;
	onRedirect: OnRedirect | undefined;
}

async function sendOnce(parts: SendingParts, options: OutboundRequest, around: Sending): Promise<OutboundResponse> {
	const { egress, lane, breakers, organizationId } = parts;
	const { target, begun, patience, onRedirect } = around;
	// Before it waits for its turn, and again when that has come.
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

/** Told to the breaker of its origin, by its status or because there is none. */
export function watchedAnswer<T extends { status: number }>(
	parts: SendingParts,
	target: URL | null,
	request: () => Promise<T>,
): Promise<T> {
	return watched(parts, target, async (failed) => {
		const answer = await request();
		if (FAILED.has(answer.status)) failed();
		return answer;
	});
}

/** The same for what has no status that is known here: `work` says when the upstream `failed`. A target that is no URL is the guard's to refuse. */
export async function watched<T>(
	{ breakers, organizationId, signal }: SendingParts,
	target: URL | null,
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

/** The deadline of a run is a silent upstream's doing; who leaves before says nothing of it. */
function outcomeOf(error: unknown, signal: AbortSignal): Outcome {
	if (error instanceof NoAnswer) return 'failed';
	if (signal.aborted) return asGatewayError(signal.reason)?.code === 'upstream_timeout' ? 'failed' : 'unknown';
	// It answered, with something that we do not take.
	return error instanceof GatewayError && error.code === 'upstream_failed' ? 'answered' : 'unknown';
}

const reasonOf = (after: Ended): object =>
	'answer' in after ? { status: after.answer.status } : { error: after.error instanceof Error ? after.error.message : 'failed' };
