// Sums as answers show them: rates, means and percentiles are derived here.

import Joi from 'joi';
import { count, inDollars, percentile, type Sums, shape, text, timestamp } from '../../../core/features.ts';

const milliseconds = Joi.number().min(0).allow(null);

const DURATION = shape({
	mean: milliseconds.description(
		'Milliseconds, as all of these; null without calls. A request that only listens, such as MCP’s GET, counts in no duration.',
	),
	p50: milliseconds.description('Half of the calls took no longer. Percentiles are right to a fifth.'),
	p95: milliseconds,
	p99: milliseconds,
	upstream: milliseconds.description('The mean time for which a call waited for upstreams.'),
	waiting: milliseconds.description('The mean time for which a call waited for its turn in a lane.'),
});

const FIELDS = {
	calls: count,
	failed: count,
	errorRate: Joi.number().min(0).max(1).description('The share of the calls that failed.'),
	lost: count.description('Calls whose records were lost while the database was away; they are counted nowhere else.'),
	duration: DURATION,
	bytesIn: count,
	bytesOut: count,
	inputTokens: count,
	outputTokens: count,
	cachedTokens: count,
	cost: Joi.number().min(0).description('US dollars.'),
	unpriced: count.description('Calls of models whose cost is unknown; they are no part of `cost`.'),
} as const;

export const STATS = shape(FIELDS).meta({ schema: 'CallStatistics' });
/** A point of a series. */
export const POINT = shape({ at: timestamp.description('The beginning of the bucket.'), ...FIELDS }).meta({
	schema: 'CallStatisticsPoint',
});
/** The sums of one value. */
export const VALUE = shape({
	value: text.description(
		'The id of the gateway, tool, agent or LLM provider, the name of the caller, or the client; `*` for all beyond the bound.',
	),
	name: text.allow(null).description('The present name of what the id stands for; null where there is none.'),
	...FIELDS,
}).meta({ schema: 'CallStatisticsValue' });

const NOTHING: Sums = {
	...{ calls: 0, failed: 0, lost: 0, durationMs: 0, upstreamMs: 0, waitingMs: 0, bytesIn: 0, bytesOut: 0 },
	...{ inputTokens: 0, outputTokens: 0, cachedTokens: 0, costMicroUsd: 0, unpriced: 0, histogram: [] },
};

/** Adds sums up. */
export function added(all: readonly Sums[]): Sums {
	const total = { ...NOTHING, histogram: [] as number[] };
	for (const sums of all) {
		for (const name of Object.keys(NOTHING) as (keyof Sums)[]) if (name !== 'histogram') total[name] += sums[name];
		for (const [at, calls] of sums.histogram.entries()) total.histogram[at] = (total.histogram[at] ?? 0) + calls;
	}
	return total;
}

/** Shows sums; without any, zeros. */
export function presentSums(sums: Sums = NOTHING) {
	const { calls, failed, lost, durationMs, upstreamMs, waitingMs, costMicroUsd, histogram, ...rest } = sums;
	const timed = histogram.reduce((sum, count) => sum + count, 0);
	const mean = (total: number, of = calls): number | null => (of === 0 ? null : rounded(total / of));
	const share = (part: number): number | null => {
		const told = percentile(histogram, part);
		return told === null ? null : rounded(told);
	};
	const { bytesIn, bytesOut, inputTokens, outputTokens, cachedTokens, unpriced } = rest;
	return {
		...{ calls, failed, errorRate: calls === 0 ? 0 : failed / calls, lost },
		duration: {
			...{ mean: mean(durationMs, timed), p50: share(0.5), p95: share(0.95), p99: share(0.99) },
			...{ upstream: mean(upstreamMs), waiting: mean(waitingMs) },
		},
		...{ bytesIn, bytesOut, inputTokens, outputTokens, cachedTokens, cost: inDollars(costMicroUsd), unpriced },
	};
}

const rounded = (milliseconds: number): number => Math.round(milliseconds * 100) / 100;
