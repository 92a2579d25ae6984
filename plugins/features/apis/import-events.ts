// Streams the progress of an import as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

import { createHash } from 'node:crypto';
import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	answerEvents,
	type Core,
	hasEnded,
	type ImportJobRow,
	lastEventIdOf,
	operation,
	type ServerEvent,
} from '../../../core/features.ts';
import { findImport, presentImport } from './imports.ts';

const RECONNECT_MS = 2_000;

export function followApiImport(core: Core): ServerRoute {
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
			const known = lastEventIdOf(request);
			// "a client can be told to stop reconnecting using the HTTP 204 No Content response code"
			if (hasEnded(job) && idOf(job) === known) return request.generateResponse(null).code(204);
			return answerEvents(request, core, (signal) => events(core.importJobs.follow(job, signal), known));
		},
	});
}

async function* events(jobs: AsyncGenerator<ImportJobRow | null, void>, known: string | null): AsyncGenerator<ServerEvent, void> {
	yield { retry: RECONNECT_MS };
	for await (const job of jobs) yield job && idOf(job) !== known ? eventOf(job) : { comment: 'still there' };
}

const eventOf = (job: ImportJobRow): ServerEvent => ({
	id: idOf(job),
	event: hasEnded(job) ? 'done' : 'progress',
	data: presentImport(job),
});

/** Derives the event's id from what is shown, so that it is the same on every replica. */
const idOf = (job: ImportJobRow): string =>
	createHash('sha256')
		.update(JSON.stringify(presentImport(job)))
		.digest('base64url')
		.slice(0, 22);
