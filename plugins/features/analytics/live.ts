// GET /analytics/live: what happens now, over the last MONITORING_STATS_WINDOW_SECONDS, once or as server-sent events.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	answerEvents,
	bucketAt,
	type Core,
	count,
	lengthOf,
	operation,
	organizationOf,
	REQUEST_KINDS,
	type RequestKind,
	type ServerEvent,
	shape,
	timestamp,
} from '../../../core/features.ts';
import { added, presentSums, STATS } from './present.ts';

/** The time between two events. Records come a second after their calls. */
const EVERY_MS = 2000;
const RECONNECT_MS = 5000;
/** Buckets of seconds are kept for an hour. */
const MOST_SECONDS = 3600;

const NOW = shape({
	at: timestamp,
	windowSeconds: count.description('The seconds before `at` that are shown.'),
	gateway: STATS,
	tool: STATS,
	agent: STATS,
	model: STATS,
}).meta({ schema: 'LiveStatistics' });

export const liveRoute = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/analytics/live',
		id: 'getLiveAnalytics',
		summary: 'Shows what was called in the last minutes, once or as it changes.',
		description:
			'With `Accept: text/event-stream`, an event `stats` every two seconds, whose data is what the answer has otherwise. The window is set by ' +
			'`MONITORING_STATS_WINDOW_SECONDS`, an hour at most; calls are seen about a second after they end.',
		need: 'analytics:read',
		bare: true,
		answer: shape({ success: Joi.boolean().valid(true), data: NOW }),
		errors: ['rate_limited'],
		slow: true,
		handler: async (request) => {
			const { id } = organizationOf(request);
			if (!String(request.raw.req.headers.accept).includes('text/event-stream'))
				return request.generateResponse({ success: true, data: await now(id, core) });
			return answerEvents(request, core, (signal) => events(id, signal, core));
		},
	});

async function* events(organizationId: string, signal: AbortSignal, core: Core): AsyncGenerator<ServerEvent, void> {
	yield { retry: RECONNECT_MS };
	while (!signal.aborted) {
		yield { event: 'stats', data: await now(organizationId, core) };
		await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
	}
}

async function now(organizationId: string, { store, config }: Core) {
	const at = Date.now();
	const windowSeconds = Math.min(config.monitoringWindowSeconds, MOST_SECONDS);
	const range = {
		resolution: 'live' as const,
		since: new Date(bucketAt('live', at - windowSeconds * 1000)),
		until: new Date(bucketAt('live', at) + lengthOf('live')),
	};
	const of = async (kind: RequestKind) =>
		presentSums(added(await store.analytics.series(organizationId, { ...range, kind }, { dimension: '', value: '' })));
	const [gateway, tool, agent, model] = await Promise.all(REQUEST_KINDS.map(of));
	return { at: new Date(at), windowSeconds, gateway, tool, agent, model };
}
