// Streams the progress of an import as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Request, ResponseObject, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, clientSignal, GatewayError, hasEnded, type ImportJobRow, operation } from '../../../core/features.ts';
import { findImport, presentImport } from './imports.ts';

/** The most streams of one replica, and of one organization in it. */
const MAX_STREAMS = 200;
const MAX_OF_ORGANIZATION = 20;
/** The longest stream. After it the client reconnects by itself and is authenticated again. */
const MAX_STREAM_MS = 15 * 60_000;
const RECONNECT_MS = 2_000;

export function followApiImport(core: Core): ServerRoute {
	const open = new Map<string, number>();
	return operation({
		method: 'GET',
		path: '/apis/{id}/imports/{importId}/events',
		id: 'followApiImport',
		summary: 'Streams the progress of an import as server-sent events.',
		description:
			'The data of each event `progress`, and of the last one, `done`, is the import as `GET /apis/{id}/imports/{importId}` shows it. ' +
			'Reconnecting loses nothing: each stream begins with the current state, unless `Last-Event-ID` names it. A client that has received the end ' +
			'receives a 204, which makes an `EventSource` stop.',
		need: 'apis:read',
		bare: true,
		produces: 'text/event-stream',
		answer: Joi.string(),
		alsoAnswers: { 204: 'The import has ended with the event that `Last-Event-ID` names; no more will follow.' },
		errors: ['rate_limited'],
		slow: true,
		handler: async (request) => {
			const job = await findImport(request, core);
			const known = request.raw.req.headers['last-event-id'];
			// "a client can be told to stop reconnecting using the HTTP 204 No Content response code"
			if (hasEnded(job) && idOf(job) === known) return request.generateResponse(null).code(204);
			return streamOf(request, job, { core, open, known });
		},
	});
}

interface Streams {
	core: Core;
	/** The number of open streams by organization. */
	open: Map<string, number>;
	/** The id of the last event that the client received. */
	known: string | string[] | undefined;
}

function streamOf(request: Request, job: ImportJobRow, { core, open, known }: Streams): ResponseObject {
	const { organizationId } = job;
	const own = open.get(organizationId) ?? 0;
	const all = [...open.values()].reduce((sum, count) => sum + count, 0);
	if (own >= MAX_OF_ORGANIZATION || all >= MAX_STREAMS) throw tooMany();
	open.set(organizationId, own + 1);
	const signal = AbortSignal.any([clientSignal(request), core.stopping, AbortSignal.timeout(MAX_STREAM_MS)]);
	// The stream is pulled by its reader, so only a few events are buffered for a slow one.
	const stream = Readable.from(events(core.importJobs.follow(job, signal), known), { objectMode: false, highWaterMark: 4096 });
	stream.once('close', () => {
		const left = (open.get(organizationId) ?? 1) - 1;
		if (left > 0) open.set(organizationId, left);
		else open.delete(organizationId);
	});
	// hapi does not destroy a stream that nobody reads: after HEAD, or when the client left before it began.
	request.raw.res.once('close', () => stream.destroy());
	const response = request.generateResponse(stream).type('text/event-stream');
	// Events are neither compressed nor buffered. The connection is closed at the end, so that a client that does not read cannot keep the
	// service from stopping.
	return response
		.header('connection', 'close')
		.header('cache-control', 'no-store, no-transform')
		.header('content-encoding', 'identity')
		.header('x-accel-buffering', 'no');
}

async function* events(jobs: AsyncGenerator<ImportJobRow | null, void>, known: Streams['known']): AsyncGenerator<string, void> {
	yield `retry: ${RECONNECT_MS}\n\n`;
	for await (const job of jobs) yield job && idOf(job) !== known ? eventOf(job) : ': still there\n\n';
}

const eventOf = (job: ImportJobRow): string =>
	`id: ${idOf(job)}\nevent: ${hasEnded(job) ? 'done' : 'progress'}\ndata: ${JSON.stringify(presentImport(job))}\n\n`;

/** Derives the event's id from what is shown, so that it is the same on every replica. */
const idOf = (job: ImportJobRow): string =>
	createHash('sha256')
		.update(JSON.stringify(presentImport(job)))
		.digest('base64url')
		.slice(0, 22);

const tooMany = (): GatewayError =>
	new GatewayError('rate_limited', 'Too many import streams are open: retry after 10 seconds.', { headers: { 'retry-after': '10' } });
