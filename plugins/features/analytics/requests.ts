// The request log: listed by filters, and exported as CSV or NDJSON.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type Core,
	count,
	dateTime,
	EXPORT_FORMATS,
	EXPORT_TYPES,
	type ExportFormat,
	exportFormat,
	exportRows,
	filterOf,
	grouped,
	inDollars,
	type LoggedRequest,
	listQuery,
	operation,
	organizationOf,
	page,
	pageOf,
	REQUEST_KINDS,
	type RequestFilter,
	shape,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';
import { namesOf } from './names.ts';
import { payloadRoute } from './payloads.ts';

/** The most lines of an export. */
const EXPORTED = 100_000;

const id = uuid.allow(null);
const amount = Joi.number().min(0).allow(null);

const LINE = {
	startedAt: timestamp,
	kind: Joi.string().valid(...REQUEST_KINDS),
	requestId: text.allow(null).description('The `X-Request-Id` of the answer; null for work that no request waits for.'),
	gatewayId: id,
	toolId: id,
	agentId: id,
	providerId: id,
	model: text.allow(null),
	keyId: id.description('The gateway’s key.'),
	userId: id,
	caller: text.allow(null).description('The name under which the caller is counted.'),
	method: text.allow(null).description('The way by which the caller was admitted.'),
	client: text
		.allow(null)
		.description('The program by which calls are summed: the name in `clientInfo`, or the first product of the user agent.'),
	userAgent: text.allow(null).description('Its first 300 characters.'),
	clientInfo: text
		.allow(null)
		.description('The program that the client says it is, such as MCP’s `clientInfo`: name and version.')
		.example('claude-code/2.1.0'),
	status: count.allow(null).description('The status of HTTP.'),
	outcome: Joi.string().description(
		'`success`, `cancelled`, the code of an error, `tool_error` where the tool said that it failed, or `http_` and a status.',
	),
	duration: amount.description('Milliseconds, as the next two.'),
	upstream: amount.description('The part for which upstreams were waited for; null when it is unknown.'),
	waiting: amount.description('The part for which a turn in a lane was waited for.'),
	bytesIn: amount,
	bytesOut: amount,
	inputTokens: amount,
	outputTokens: amount,
	cachedTokens: amount,
	cost: amount.description('US dollars.'),
};

const name = text.allow(null);
const REQUEST = shape({
	...LINE,
	names: shape({ gateway: name, tool: name, agent: name, provider: name, key: name, user: name }).description(
		'The present names of what the ids stand for; null for what is gone, or is not there.',
	),
}).meta({ schema: 'LoggedRequest' });

const FILTERS = {
	kind: Joi.string().valid(...REQUEST_KINDS),
	gatewayId: uuid,
	toolId: uuid,
	agentId: uuid,
	providerId: uuid,
	keyId: uuid,
	userId: uuid,
	client: Joi.string().max(64),
	outcome: Joi.string().max(64).description('Such as `success` or `upstream_timeout`.'),
	failed: Joi.boolean().description('Only calls that failed, or only those that did not.'),
	requestId: Joi.string().max(128),
	since: dateTime.description('From this time on: a date (midnight UTC) or a time with its zone.').example('2026-03-01T12:00:00Z'),
	until: dateTime.description('Before this time.').example('2026-04-01'),
};

const LIST = listQuery({ filters: FILTERS }).fork('sort', (sort) =>
	sort.valid(Joi.override, '-createdAt').description('The newest first, always.'),
);

const EXPORT = Joi.object({ ...FILTERS, format: exportFormat });

export const requestRoutes = (core: Core): ServerRoute[] => [
	operation({
		method: 'GET',
		path: '/analytics/requests',
		id: 'listLoggedRequests',
		summary: 'Lists the request log, the newest first.',
		description:
			'Credentials are not logged, nor arguments and results unless a gateway’s `payloadLog` has them kept, which `getLoggedPayloads` shows; neither are requests that a limit refused, which are only counted. A page looks at 5,000 lines at most, so under a filter it may have fewer items than ' +
			'`limit`, or none, while `nextCursor` leads on. Lines are seen about a second after their calls.',
		need: 'analytics:read',
		query: LIST,
		answer: page('requests', REQUEST),
		handler: async (request) => {
			const { items, nextCursor } = await core.store.analytics.requests(
				organizationOf(request).id,
				filterOf<RequestFilter>(request),
				pageOf(request),
			);
			const { id: organizationId } = organizationOf(request);
			return { requests: await named(items, organizationId, core), nextCursor };
		},
	}),
	payloadRoute(core),
	operation({
		method: 'GET',
		path: '/analytics/requests/export',
		id: 'exportLoggedRequests',
		summary: `Exports the request log, the newest first, up to ${grouped(EXPORTED)} lines.`,
		description: `${EXPORT_FORMATS} An account may have two exports at once.`,
		need: 'analytics:read',
		query: EXPORT,
		bare: true,
		produces: EXPORT_TYPES,
		answer: Joi.string(),
		slow: true,
		handler: async (request) => {
			const { format, ...filter } = request.query as unknown as RequestFilter & { format: ExportFormat };
			const { id: organizationId } = organizationOf(request);
			const read: Parameters<typeof exportRows<LoggedRequest, Shown>>[1]['read'] = (asked) =>
				core.store.analytics.requests(organizationId, filter, asked);
			const account = await core.accountOf(organizationId);
			return exportRows(request, { name: 'requests', format, account, columns: COLUMNS, most: EXPORTED, read, show: presentRequest });
		},
	}),
];

/** Adds the names of what lines are about. */
async function named(rows: readonly LoggedRequest[], organizationId: string, core: Core) {
	const idsOf = ({ gatewayId, toolId, agentId, providerId, keyId, userId }: LoggedRequest) => ({
		...{ gateway: gatewayId, tool: toolId, agent: agentId, provider: providerId, key: keyId, user: userId },
	});
	const names = await namesOf(
		rows.flatMap((row) => Object.values(idsOf(row))),
		organizationId,
		core,
	);
	return rows.map((row) => ({
		...presentRequest(row),
		names: Object.fromEntries(Object.entries(idsOf(row)).map(([name, id]) => [name, names(id)])),
	}));
}

type Shown = ReturnType<typeof presentRequest>;

function presentRequest({
	organizationId: _organization,
	arguments: _arguments,
	result: _result,
	durationMs,
	upstreamMs,
	waitingMs,
	costMicroUsd,
	...row
}: LoggedRequest) {
	const { startedAt, inputTokens, outputTokens, cachedTokens, bytesIn, bytesOut, ...rest } = row;
	return {
		...{ startedAt, ...rest, duration: durationMs, upstream: upstreamMs, waiting: waitingMs, bytesIn, bytesOut },
		...{ inputTokens, outputTokens, cachedTokens, cost: costMicroUsd === null ? null : inDollars(costMicroUsd) },
	};
}

const COLUMNS = Object.keys(LINE) as (keyof Shown & string)[];
