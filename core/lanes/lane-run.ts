// One run of a tool whose API has a lane: each of its requests passes through the lane, and the run leaves nothing in it when it ends.

import type { OutboundRequest, OutboundResponse } from '../contract/outbound.ts';
import { REQUEST_TIMEOUT_MS } from '../egress/exchange.ts';
import type { LaneApi, Leave } from './lane.ts';
import type { Lanes } from './lanes.ts';

export interface LaneRunParts {
	lanes: Lanes;
	api: LaneApi;
	/** Aborted when the run is cancelled or its time is over. */
	signal: AbortSignal;
	/** The longest time that the run may take. */
	deadlineMs: number;
}

export class LaneRun {
	readonly #parts: LaneRunParts;
	/** The places of answers that are still being read. */
	readonly #open = new Set<Leave>();
	#waitedMs = 0;

	constructor(parts: LaneRunParts) {
		this.#parts = parts;
	}

	/** The time that the run's requests have waited for their turns together. */
	get waitedMs(): number {
		return this.#waitedMs;
	}

	/** Holds a place from just before the request is sent until its answer is complete. @throws rate_limited, and what `send` does */
	request(options: OutboundRequest, send: () => Promise<OutboundResponse>): Promise<OutboundResponse> {
		return this.#hold(this.#enter(options.timeoutMs ?? REQUEST_TIMEOUT_MS, options.signal), send);
	}

	/** Holds a place from just before `work` begins until it ends. @throws rate_limited, and what `work` does */
	turn<T>(work: () => Promise<T>): Promise<T> {
		return this.#hold(this.#enter(this.#parts.deadlineMs, null), work);
	}

	/** Holds a place until the body is read, cancelled or broken off, at the latest until the run ends. @throws rate_limited, and what `send` does */
	fetch(signal: AbortSignal | null | undefined, send: () => Promise<Response>): Promise<Response> {
		return this.open(signal, async (leave) => watched(await send(), leave));
	}

	/** Holds a place until `send` fails or its `leave` is called, at the latest until the run ends. @throws rate_limited, and what `send` does */
	async open<T>(signal: AbortSignal | null | undefined, send: (leave: Leave) => Promise<T>): Promise<T> {
		const given = await this.#enter(this.#parts.deadlineMs, signal);
		const leave = (): void => {
			this.#open.delete(leave);
			given();
		};
		this.#open.add(leave);
		try {
			return await send(leave);
		} catch (error) {
			leave();
			throw error;
		}
	}

	end(): void {
		for (const leave of this.#open) leave();
	}

	async #hold<T>(entering: Promise<Leave>, work: () => Promise<T>): Promise<T> {
		const leave = await entering;
		try {
			return await work();
		} finally {
			leave();
		}
	}

	async #enter(timeoutMs: number, own: AbortSignal | null | undefined): Promise<Leave> {
		const { lanes, api, signal, deadlineMs } = this.#parts;
		const either = own && own !== signal ? AbortSignal.any([signal, own]) : signal;
		const startedMs = performance.now();
		try {
			return await lanes.enter(api, { signal: either, holdMs: Math.min(timeoutMs, deadlineMs) });
		} finally {
			this.#waitedMs += performance.now() - startedMs;
		}
	}
}

/** Returns the same answer, which calls `onEnd` when its body has been read, cancelled or broken off. */
function watched(response: Response, onEnd: () => void): Response {
	if (response.body === null) {
		onEnd();
		return response;
	}
	const reader = response.body.getReader();
	const source = {
		async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
			try {
				const { done, value } = await reader.read();
				if (!done) {
					controller.enqueue(value);
					return;
				}
				onEnd();
				controller.close();
			} catch (error) {
				onEnd();
				throw error;
			}
		},
		cancel(reason: unknown): Promise<void> {
			onEnd();
			return reader.cancel(reason);
		},
	};
	// Nothing is read before the reader asks for it.
	const body = new ReadableStream(source, { highWaterMark: 0 });
	const { status, statusText, headers, url } = response;
	return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url });
}
