// Arguments and results of the runs of one request, where its gateway had them kept.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, notFound, operation, organizationOf, shape, text, timestamp, uuid } from '../../../core/features.ts';
import { namesOf } from './names.ts';

/** The most runs of one request that are shown. */
const MOST = 100;

const RUN = shape({
	startedAt: timestamp,
	toolId: uuid.allow(null),
	tool: text.allow(null).description('The present name of the tool; null when it is gone.'),
	outcome: text,
	arguments: text
		.allow(null)
		.description('JSON, redacted, and with `…` at its end where it was cut. Null where it was not kept.')
		.example('{"city":"Bern","apiKey":"[redacted]"}'),
	result: text.allow(null).description('Likewise: the data of the result, or its content.').example('{"forecast":"rain"}'),
}).meta({ schema: 'LoggedPayloads' });

export const payloadRoute = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/analytics/requests/{requestId}/payloads',
		id: 'getLoggedPayloads',
		summary: 'Shows the arguments and results of the tools that a request ran.',
		description:
			`At most ${MOST} runs, the newest first. They are kept for gateways whose \`payloadLog\` says so, from then on, and for each process up to 64 MiB a day ` +
			'of the organization. Seen about a second after the call. A 404 where no tool ran for the request.',
		need: 'gateway:write',
		answer: shape({ runs: Joi.array().items(RUN) }),
		handler: async (request) => {
			const { id } = organizationOf(request);
			const filter = { requestId: String(request.params['requestId']), kind: 'tool', payloads: true } as const;
			const { items } = await core.store.analytics.requests(id, filter, { limit: MOST });
			if (items.length === 0) throw notFound('Request');
			const names = await namesOf(
				items.map(({ toolId }) => toolId),
				id,
				core,
			);
			return { runs: items.map((row) => ({ ...shown(row), tool: names(row.toolId) })) };
		},
	});

type Line = Awaited<ReturnType<Core['store']['analytics']['requests']>>['items'][number];

const shown = ({ startedAt, toolId, outcome, arguments: args, result }: Line) => ({ startedAt, toolId, outcome, arguments: args, result });
