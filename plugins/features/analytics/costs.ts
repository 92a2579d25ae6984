// GET /analytics/costs: what calls of models cost, by day and LLM provider.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, count, inDollars, invalid, operation, organizationOf, shape, text } from '../../../core/features.ts';
import { RANGE, rangeOf } from './ranges.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const MOST_DAYS = 100;
/** The connections with the most cost; an organization has few. */
const PROVIDERS = 50;

const dollars = Joi.number().min(0).description('US dollars.');
const FIELDS = {
	calls: count,
	inputTokens: count,
	outputTokens: count,
	cachedTokens: count,
	cost: dollars,
	unpriced: count.description('Calls whose cost is unknown; they are no part of `cost`.'),
};
const DAY = shape({
	date: Joi.string().description('The day (UTC).').example('2026-03-01'),
	providerId: text.description('The LLM provider; `*` for all beyond the bound.'),
	...FIELDS,
}).meta({ schema: 'DailyCost' });

export const costRoute = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/analytics/costs',
		id: 'getAnalyticsCosts',
		summary: 'Shows the costs of models by day and LLM provider.',
		description: `The range has at most ${MOST_DAYS} days, and is shown in whole days. Days without calls are left out.`,
		need: 'analytics:read',
		query: Joi.object(RANGE),
		answer: shape({ days: Joi.array().items(DAY), total: shape(FIELDS) }),
		handler: async (request) => {
			const { since, until } = rangeOf(request, 'list');
			if (until.getTime() - since.getTime() > MOST_DAYS * DAY_MS)
				throw invalid('query/since', `The range must not be longer than ${MOST_DAYS} days.`);
			const days = { since: new Date(midnight(since)), until: new Date(midnight(new Date(until.getTime() - 1)) + DAY_MS) };
			const range = { ...days, resolution: 'day' as const, kind: 'model' as const };
			const found = await core.store.analytics.spread(organizationOf(request).id, range, { dimension: 'provider', limit: PROVIDERS });
			const shown = found.map(({ bucket, value, calls, inputTokens, outputTokens, cachedTokens, costMicroUsd, unpriced }) => ({
				...{ date: bucket.toISOString().slice(0, 10), providerId: value },
				...{ calls, inputTokens, outputTokens, cachedTokens, cost: inDollars(costMicroUsd), unpriced },
			}));
			const sum = (name: keyof typeof FIELDS): number => shown.reduce((total, day) => total + day[name], 0);
			const names = Object.keys(FIELDS) as (keyof typeof FIELDS)[];
			const cost = inDollars(found.reduce((total, { costMicroUsd }) => total + costMicroUsd, 0));
			return { days: shown, total: { ...Object.fromEntries(names.map((name) => [name, sum(name)])), cost } };
		},
	});

const midnight = (at: Date): number => at.getTime() - (at.getTime() % DAY_MS);
