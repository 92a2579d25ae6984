// The calls of an organization: who, how fast, at what cost and with what errors: sums of the request log, and the log itself (specification 8.1).

import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	bucketAt,
	type Core,
	count,
	type Dimension,
	type Feature,
	lengthOf,
	operation,
	organizationOf,
	REQUEST_KINDS,
	type RequestKind,
	shape,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';
import { costRoute } from './costs.ts';
import { ledgerRoute } from './ledger.ts';
import { liveRoute } from './live.ts';
import { type NameOf, namesOf } from './names.ts';
import { added, POINT, presentSums, STATS, VALUE } from './present.ts';
import { ANSWERED, answered, INTERVAL, kindOf, RANGE, rangeOf } from './ranges.ts';
import { requestRoutes } from './requests.ts';

export default {
	kind: 'feature',
	api: 1,
	name: 'analytics',
	summary: 'Analytics: the request log, and what it adds up to.',
	config: Joi.object({}),
	segments: ['analytics'],
	register(server: Server, _config, core) {
		server.route([overview(core), timeseries(core), ...LISTS.map((list) => listRoute(list, core)), errors(core)]);
		server.route([costRoute(core), liveRoute(core), ledgerRoute(core), ...requestRoutes(core)]);
	},
} satisfies Feature;

const overview = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/analytics/overview',
		id: 'getAnalyticsOverview',
		summary: 'Shows what was called in a range of time, by kind of call.',
		description: '`gateway` counts requests to gateways, `tool` runs of tools, `agent` runs of agents, and `model` calls of models.',
		need: 'analytics:read',
		query: Joi.object(RANGE),
		answer: shape({
			...ANSWERED,
			gateway: STATS,
			tool: STATS,
			agent: STATS,
			model: STATS,
		}),
		handler: async (request) => {
			const range = rangeOf(request, 'list');
			const { id } = organizationOf(request);
			const total = async (kind: RequestKind) =>
				presentSums(added(await core.store.analytics.series(id, { ...range, kind }, { dimension: '', value: '' })));
			const [gateway, tool, agent, model] = await Promise.all(REQUEST_KINDS.map(total));
			return { ...answered(range), gateway, tool, agent, model };
		},
	});

/** Sums know an id by its text, which a client may write in capitals. */
const id = uuid.lowercase();

/** The parameters that choose one value of a dimension. */
const ONE = {
	gatewayId: ['gateway', id],
	toolId: ['tool', id],
	agentId: ['agent', id],
	providerId: ['provider', id],
	caller: ['key', Joi.string().max(200).description('The caller as `GET /analytics/keys` names it.').example('user:0b6e…')],
	client: ['client', Joi.string().max(64).description('The client as `GET /analytics/clients` names it.').example('claude-code')],
} as const satisfies Record<string, readonly [Dimension, Joi.Schema]>;

const timeseries = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/analytics/timeseries',
		id: 'getAnalyticsTimeseries',
		summary: 'Shows calls over time. Buckets without calls are there, too.',
		description: `At most one of ${Object.keys(ONE)
			.map((name) => `\`${name}\``)
			.join(', ')} chooses the calls; without one, all of the kind are counted.`,
		need: 'analytics:read',
		query: Joi.object({
			...RANGE,
			interval: INTERVAL,
			kind: kindOf('gateway'),
			...Object.fromEntries(Object.entries(ONE).map(([name, [, schema]]) => [name, schema])),
		}).oxor(...Object.keys(ONE)),
		answer: shape({ ...ANSWERED, points: Joi.array().items(POINT) }),
		handler: async (request) => {
			const range = rangeOf(request, 'series');
			const query = request.query as Record<string, string> & { kind: RequestKind };
			const [name] = Object.keys(ONE).filter((one) => query[one] !== undefined) as (keyof typeof ONE)[];
			const of = name ? { dimension: ONE[name][0], value: query[name] ?? '' } : { dimension: '' as const, value: '' };
			const found = await core.store.analytics.series(organizationOf(request).id, { ...range, kind: query.kind }, of);
			const byTime = new Map(found.map((sums) => [sums.bucket.getTime(), sums]));
			const points = [];
			for (let at = range.since.getTime(); at < range.until.getTime(); at += lengthOf(range.resolution))
				points.push({ at: new Date(bucketAt(range.resolution, at)), ...presentSums(byTime.get(at)) });
			return { ...answered(range), points };
		},
	});

interface List {
	path: string;
	dimension: Dimension;
	kind: RequestKind;
	what: string;
}

const LISTS: readonly List[] = [
	{ path: 'gateways', dimension: 'gateway', kind: 'gateway', what: 'gateways' },
	{ path: 'tools', dimension: 'tool', kind: 'tool', what: 'tools' },
	{ path: 'agents', dimension: 'agent', kind: 'agent', what: 'agents' },
	{ path: 'providers', dimension: 'provider', kind: 'model', what: 'LLM providers' },
	{ path: 'keys', dimension: 'key', kind: 'gateway', what: 'callers (keys, users, and whom gateways’ methods name)' },
	{
		path: 'clients',
		dimension: 'client',
		kind: 'gateway',
		what: 'clients (by the name that they give, or the first product of their user agent)',
	},
];

const limit = Joi.number().integer().min(1).max(50).default(20).description('The greatest number of items.');

const listRoute = ({ path, dimension, kind, what }: List, core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: `/analytics/${path}`,
		id: `listAnalyticsOf${path.replace(/^./, (first) => first.toUpperCase())}`,
		summary: `Lists the ${what} with the most calls.`,
		need: 'analytics:read',
		query: Joi.object({
			...RANGE,
			kind: kindOf(kind),
			by: Joi.string().valid('calls', 'cost').default('calls').description('The order, descending.'),
			limit,
		}),
		answer: shape({ ...ANSWERED, items: Joi.array().items(VALUE) }),
		handler: async (request) => {
			const range = rangeOf(request, 'list');
			const { kind: asked, by, limit: most } = request.query as { kind: RequestKind; by: 'calls' | 'cost'; limit: number };
			const of = { dimension, by, limit: most };
			const found = await core.store.analytics.top(organizationOf(request).id, { ...range, kind: asked }, of);
			const names = await namesIn(request, found, core);
			return { ...answered(range), items: found.map((sums) => ({ value: sums.value, name: names(sums.value), ...presentSums(sums) })) };
		},
	});

const namesIn = (request: Request, found: readonly { value: string }[], core: Core): Promise<NameOf> =>
	namesOf(
		found.map(({ value }) => value),
		organizationOf(request).id,
		core,
	);

const ERROR = shape({
	kind: Joi.string().valid(...REQUEST_KINDS),
	error: Joi.string().description('The code, as `outcome` in the request log.'),
	id: text.allow(null).description('The id of the gateway, tool, agent or LLM provider that failed; null when it is not known.'),
	name: text.allow(null).description('Its present name; null when it is gone.'),
	calls: count,
	last: timestamp.description('The beginning of the last bucket with it.'),
	requestId: text.allow(null).description('The `X-Request-Id` of one such call; null when no request waited for any.'),
}).meta({ schema: 'CallError' });

const errors = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/analytics/errors',
		id: 'listAnalyticsErrors',
		summary: 'Lists the most frequent errors, each with a request to look at.',
		need: 'analytics:read',
		query: Joi.object({
			...RANGE,
			kind: Joi.string()
				.valid(...REQUEST_KINDS)
				.description('When absent: all kinds.'),
			limit,
		}),
		answer: shape({ ...ANSWERED, items: Joi.array().items(ERROR) }),
		handler: async (request) => {
			const range = rangeOf(request, 'list');
			const { kind: asked, limit: most } = request.query as { kind?: RequestKind; limit: number };
			const kinds = asked ? [asked] : REQUEST_KINDS;
			const found = await Promise.all(kinds.map((kind) => errorsOf(request, { ...range, kind }, most, core)));
			return {
				...answered(range),
				items: found
					.flat()
					.toSorted((a, b) => b.calls - a.calls)
					.slice(0, most),
			};
		},
	});

async function errorsOf(request: Request, range: Parameters<Core['store']['analytics']['top']>[1], most: number, core: Core) {
	const found = await core.store.analytics.top(organizationOf(request).id, range, { dimension: 'error', limit: most, by: 'calls' });
	const names = await namesIn(request, found, core);
	return found.map(({ value, calls, last, sample }) => {
		const [error = '', id = ''] = value.split(' ');
		return { kind: range.kind, error, id: id === '' ? null : id, name: names(id), calls, last, requestId: sample };
	});
}
