// Sends one request whose answer is read while it arrives. It is repeated like any other until its answer is handed out; its place in the
// lane is held, and the breaker told, when its body has ended.

import { GatewayError } from '../contract/errors.ts';
import type { StreamRequest } from '../contract/outbound.ts';
import type { Ending } from '../egress/arrivals.ts';
import type { Egress } from '../egress/egress.ts';
import { Left, type OpenStream, type StreamBody } from '../egress/streaming.ts';
import type { Leave } from '../lanes/lane.ts';
import type { Breakers } from './breakers.ts';
import { PASSING, repeatedly, type Try } from './retries.ts';
import { FAILED, outcomeOf, reasonOf, type SendingParts } from './sending.ts';

/** Outside of executors, requests have neither a breaker nor a lane. */
export type StreamingParts = Omit<SendingParts, 'breakers'> & { breakers: Breakers | null };

type OnRedirect = Parameters<Egress['stream']>[1];

/** The time for the rest of an answer after which the request may be repeated; one that takes longer, or is long, is not repeated. */
const REST_MS = 1_000;

/** @throws upstream_failed, upstream_timeout, egress_refused, rate_limited, or the signal's reason */
export function stream(parts: StreamingParts, options: StreamRequest, onRedirect?: OnRedirect): Promise<OpenStream> {
	const target = URL.parse(options.url);
	return repeatedly(options, (again, around) => streamOnce(parts, again, { ...around, target, onRedirect }), {
		signal: options.signal ?? parts.signal,
		isOver: ({ body }) => body.hasArrived,
		onRetry: (after, waitMs) =>
			parts.log.debug({ host: target?.host, waitMs: Math.round(waitMs), ...reasonOf(after) }, 'a streamed request is retried'),
	});
}

interface Streaming extends Try {
	/** Null when the URL is invalid, which the guard refuses. */
	target: URL | null;
	onRedirect: OnRedirect;
}

async function streamOnce(parts: StreamingParts, options: StreamRequest, around: Streaming): Promise<OpenStream> {
	const { lane, breakers, organizationId } = parts;
	const { target, patience } = around;
	// Checked before the wait in the lane, and again after it.
	if (target) breakers?.assertClosed(organizationId, target);
	const open = (leave: Leave): Promise<OpenStream> => openWatched(parts, options, { ...around, leave });
	const own = options.signal ?? parts.signal;
	const answer = lane ? await lane.open(patience ? AbortSignal.any([own, patience]) : own, open) : await open(() => undefined);
	// With its end, its place in the lane is free for the next attempt.
	if (PASSING.has(answer.status)) await answer.body.arrives(REST_MS);
	return answer;
}

/** Reports the outcome to the breaker of the origin when the body has ended, and gives back the place in the lane. */
async function openWatched(
	{ egress, breakers, organizationId, signal }: StreamingParts,
	options: StreamRequest,
	{ target, begun, onRedirect, leave }: Streaming & { leave: Leave },
): Promise<OpenStream> {
	const settle = target ? breakers?.enter(organizationId, target) : undefined;
	try {
		begun();
		const answer = await egress.of(organizationId).stream(options, onRedirect);
		const isFailed = FAILED.has(answer.status);
		// A probe that is answered lets the others through, however long its body is.
		if (!isFailed && target && breakers?.isOpen(organizationId, target)) settle?.('answered');
		void answer.body.ended.then((ending) => {
			leave();
			settle?.(isFailed ? 'failed' : outcomeOfBody(ending, signal));
		});
		return answer;
	} catch (error) {
		settle?.(outcomeOf(error, signal));
		throw error;
	}
}

/** Judges the end of a body whose beginning was an answer. */
function outcomeOfBody(ending: Ending, signal: AbortSignal): ReturnType<typeof outcomeOf> {
	return ending === 'whole' || ending instanceof Left ? 'answered' : outcomeOf(ending, signal);
}

/** The streamed answers of one run that still hold a connection. */
export class OpenStreams {
	readonly #bodies = new Set<StreamBody>();

	add(body: StreamBody): void {
		this.#bodies.add(body);
		void body.ended.then(() => this.#bodies.delete(body));
	}

	/** Closes their connections; who still reads gets an error. */
	end(): void {
		for (const body of this.#bodies)
			body.stop(new GatewayError('upstream_failed', 'The run has ended, and with it the answer of the upstream.'));
	}
}
