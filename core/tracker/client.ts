// The official client of the tracker's protocol, sending through our guard. Only `tracker.ts` loads this file, and only with a DSN.

import { createStackParser, createTransport, Scope } from '@sentry/core';
import { ServerRuntimeClient } from '@sentry/core/server';
import { VERSION } from '../config/version.ts';
import type { Log } from '../contract/nouns.ts';
import type { OutboundRequest, OutboundResponse } from '../contract/outbound.ts';
import { eventOf } from './events.ts';
import type { Fault } from './faults.ts';

const TIMEOUT_MS = 5000;
const MAX_ANSWER_BYTES = 64 * 1024;
/** The number of events that wait for the tracker; more are dropped. */
export const MAX_WAITING = 32;

export interface TrackerClient {
	capture(fault: Fault, held: number): void;
	/** Sends what waits, for as long as the time allows. */
	close(timeoutMs: number): Promise<void>;
}

interface Parts {
	dsn: string;
	request(options: OutboundRequest): Promise<OutboundResponse>;
	log: Log;
}

export function createClient({ dsn, request, log }: Parts): TrackerClient {
	let isTold = false;
	const send = async (url: string, headers: Record<string, string>, body: string | Uint8Array) => {
		const sent = {
			method: 'POST',
			url,
			headers,
			body: Buffer.from(body),
			timeoutMs: TIMEOUT_MS,
			maxBytes: MAX_ANSWER_BYTES,
			maxRedirects: 0,
		};
		const answer = await request(sent).catch((error: unknown) => {
			if (!isTold) log.warn({ reason: (error as { code?: string }).code ?? 'unknown' }, 'the error tracker cannot be reached');
			isTold = true;
			throw error;
		});
		isTold = false;
		const limits = answer.headers['x-sentry-rate-limits'] ?? null;
		return { statusCode: answer.status, headers: { 'x-sentry-rate-limits': limits, 'retry-after': answer.headers['retry-after'] ?? null } };
	};
	const client = new ServerRuntimeClient({
		...{ dsn, release: `gatehouse@${VERSION}`, platform: 'node', traceLifecycle: 'static' },
		...{ integrations: [], stackParser: createStackParser(), sendClientReports: false },
		transport: ({ url, headers = {}, recordDroppedEvent }) =>
			createTransport({ bufferSize: MAX_WAITING, recordDroppedEvent }, ({ body }) =>
				send(url, { ...headers, 'content-type': 'application/x-sentry-envelope' }, body),
			),
	});
	return {
		capture: (fault, held) => void client.captureEvent(eventOf(fault, held), {}, new Scope()),
		close: async (timeoutMs) => void (await client.close(timeoutMs)),
	};
}
