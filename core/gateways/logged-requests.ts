// The lines of the request log that requests to gateways leave. A line begins when the gateway is known, and is added when the answer has been sent.

import type { Request, Server } from '@hapi/hapi';
import type { Caller, Incoming } from '../contract/nouns.ts';
import type { Recorder } from '../store/recorder.ts';
import type { LineNames, RequestRow } from '../store/store.ts';

declare module '@hapi/hapi' {
	interface PluginsStates {
		/** The line of the request log, and when it began by the clock of this process. */
		line?: { row: RequestRow; startedMs: number };
		/** The request as plugins see it. */
		incoming?: Incoming;
		/** The code of the error that was answered. */
		refusedWith?: string;
	}
}

const CLOSED_BY_CLIENT = 499;

/** Begins the line of a request. @param gatewayId null at an address over several gateways */
export function beginLine(
	request: Request,
	{ organizationId, gatewayId, names = {} }: { organizationId: string; gatewayId: string | null; names?: LineNames },
): void {
	const { headers } = request.raw.req;
	const row: RequestRow = {
		organizationId,
		kind: 'gateway',
		requestId: request.info.id,
		gatewayId,
		toolId: null,
		agentId: null,
		providerId: null,
		model: null,
		keyId: null,
		userId: null,
		caller: null,
		method: null,
		userAgent: headers['user-agent'] ?? null,
		status: null,
		outcome: 'success',
		durationMs: 0,
		upstreamMs: null,
		waitingMs: null,
		bytesIn: lengthOf(headers['content-length']),
		bytesOut: null,
		inputTokens: null,
		outputTokens: null,
		cachedTokens: null,
		costMicroUsd: null,
		startedAt: Date.now(),
		names,
	};
	request.plugins.line = { row, startedMs: performance.now() };
}

/** Names the caller in the line of a request. */
export function nameCaller(request: Request, caller: Caller | null): void {
	const row = request.plugins.line?.row;
	if (!row || !caller) return;
	row.keyId = caller.keyId ?? null;
	row.userId = caller.userId ?? null;
	row.caller = caller.subject;
	row.method = caller.method;
}

/** Adds the lines of the requests that hapi has answered. */
export function logRequests(server: Server, recorder: Pick<Recorder, 'request'>): void {
	server.events.on('response', (request) => {
		const { response } = request;
		// An answer at the door is logged there.
		if (typeof response === 'symbol') return;
		const { headers = {} } = response instanceof Error ? {} : (response ?? {});
		addLine(request, { status: response instanceof Error ? 500 : (response?.statusCode ?? CLOSED_BY_CLIENT), headers }, recorder);
	});
}

/** Adds the line of a request that was answered. */
export function addLine(
	request: Request,
	{ status, headers }: { status: number; headers: Readonly<Record<string, unknown>> },
	recorder: Pick<Recorder, 'request'>,
): void {
	const { line, refusedWith } = request.plugins;
	if (!line) return;
	const { row, startedMs } = line;
	row.clientInfo = request.plugins.incoming?.clientInfo ?? null;
	row.status = status;
	row.durationMs = performance.now() - startedMs;
	row.outcome = status === CLOSED_BY_CLIENT ? 'cancelled' : (refusedWith ?? (status < 400 ? 'success' : `http_${status}`));
	row.bytesOut = lengthOf(headers['content-length']);
	// A client may tell any length of a body that it does not send.
	if (!request.raw.req.complete) row.bytesIn = null;
	// A client that listens does so for as long as it likes.
	if (request.method === 'get' && String(headers['content-type']).startsWith('text/event-stream')) row.isOpenEnded = true;
	if (row.outcome === 'rate_limited') row.isOnlyCounted = true;
	recorder.request(row);
}

/** Returns the length that a header tells; null without one. */
function lengthOf(header: unknown): number | null {
	const length = Number(header ?? Number.NaN);
	return Number.isSafeInteger(length) && length >= 0 ? length : null;
}
