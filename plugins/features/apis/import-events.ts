// The progress of an import as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Request, ResponseObject, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, clientSignal, GatewayError, hasEnded, type ImportJobRow, operation } from '../../../core/features.ts';
import { findImport, presentImport } from './imports.ts';

/** Of one replica, and of one organization in it. */
const MAX_STREAMS = 200;
const MAX_OF_ORGANIZATION = 20;
/** Then the client comes back by itself, and is asked again who it is. */
const MAX_STREAM_MS = 15 * 60_000;
const RECONNECT_MS = 2_000;

export function followApiImport(core: Core): ServerRoute {
	const open = new Map<string, number>();
	return operation({
		method: 'GET',
		path: '/apis/{id}/imports/{importId}/events',
		id: 'followApiImport',
		summary: 'Tells of the progress of an import, as server-sent events.',
		description:
			'Each event `progress` has the import as its data, as `GET /apis/{id}/imports/{importId}` shows it, and so has the last one, `done`. ' +
			'Nothing is lost by coming back: each stream begins with how it stands, unless `Last-Event-ID` says that it is known. Who knows the end ' +
			'gets a 204, which tells an `EventSource` to stop.',
		need: 'apis:read',
		bare: true,
		produces: 'text/event-stream',
		answer: Joi.string(),
		alsoAnswers: { 204: 'The import has ended as `Last-Event-ID` says: nothing more will come.' },
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
	/** How many there are, by organization. */
	open: Map<string, number>;
	/** Id of the last event that the client has. */
	known: string | string[] | undefined;
}

function streamOf(request: Request, job: ImportJobRow, { core, open, known }: Streams): ResponseObject {
	const { organizationId } = job;
	const own = open.get(organizationId) ?? 0;
	const all = [...open.values()].reduce((sum, count) => sum + count, 0);
	if (own >= MAX_OF_ORGANIZATION || all >= MAX_STREAMS) throw tooMany();
	open.set(organizationId, own + 1);
	const signal = AbortSignal.any([clientSignal(request), core.stopping, AbortSignal.timeout(MAX_STREAM_MS)]);
	// Pulled by who reads: of a slow reader no more waits here than a few events.
	const stream = Readable.from(events(core.importJobs.follow(job, signal), known), { objectMode: false, highWaterMark: 4096 });
	stream.once('close', () => {
		const left = (open.get(organizationId) ?? 1) - 1;
		if (left > 0) open.set(organizationId, left);
		else open.delete(organizationId);
	});
	// hapi leaves a stream alone that nobody reads: after HEAD, or when the client went before it began.
	request.raw.res.once('close', () => stream.destroy());
	const response = request.generateResponse(stream).type('text/event-stream');
	// Neither compressed nor gathered on its way. At its end the connection goes at once, or one who does not read would keep the service
	// from stopping.
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

/** Of what is shown, so that it is the same on every replica. */
const idOf = (job: ImportJobRow): string =>
	createHash('sha256')
		.update(JSON.stringify(presentImport(job)))
		.digest('base64url')
		.slice(0, 22);

const tooMany = (): GatewayError =>
	new GatewayError('rate_limited', 'Too many streams of imports are open: retry after 10 seconds.', { headers: { 'retry-after': '10' } });
