// The time that a question is about: whole buckets of the length that suits it.

import type { Request } from '@hapi/hapi';
import Joi from 'joi';
import {
	bucketAt,
	dateTime,
	invalid,
	lengthOf,
	type MetricRange,
	REQUEST_KINDS,
	type RequestKind,
	timestamp,
} from '../../../core/features.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const INTERVALS = ['minute', 'hour', 'day'] as const;
type Interval = (typeof INTERVALS)[number];
/** Buckets of minutes are kept for three days, and one of them must have passed whole. */
const MINUTES_MS = 3 * DAY_MS;
const MOST_DAYS = 1100;
/** The last time whose bucket of a day ends in a year of four digits. */
const LATEST = new Date('9999-12-31T00:00:00Z');
/** The most buckets of a series. */
const MOST_POINTS = 1500;

/** The longest ranges that are answered by minutes and by hours: more precise where there are few buckets of each value to read. */
const SERIES = { minute: 6 * HOUR_MS, hour: 14 * DAY_MS };
const LISTS = { minute: HOUR_MS, hour: 3 * DAY_MS };

export const RANGE = {
	since: dateTime
		.description('From this time on: a date (midnight UTC) or a time with its zone. When absent: a day before `until`.')
		.example('2026-03-01T12:00:00Z'),
	until: dateTime.description('Until this time. When absent: now.').example('2026-04-01'),
};

export const INTERVAL = Joi.string()
	.valid(...INTERVALS)
	.description('The length of the buckets. When absent: what suits the range. Minutes are kept for three days.');

export const kindOf = (usual: RequestKind): Joi.Schema =>
	Joi.string()
		.valid(...REQUEST_KINDS)
		.default(usual)
		.description('The calls that are counted: requests to gateways, runs of tools, runs of agents, or calls of models.');

interface RangeQuery {
	since?: Date;
	until?: Date;
	interval?: Interval;
}

/** Returns the range of a request whose query has passed `RANGE`, without its kind. @throws validation_failed */
export function rangeOf(request: Request, purpose: 'series' | 'list'): Omit<MetricRange, 'kind' | 'resolution'> & { resolution: Interval } {
	// The query has passed RANGE and INTERVAL.
	const { until: end = new Date(), since: begin = new Date(end.getTime() - DAY_MS), interval } = request.query as RangeQuery;
	if (begin >= end) throw invalid('query/since', 'since must be before until.');
	if (end > LATEST) throw invalid('query/until', 'until must be 9999-12-31 at the latest.');
	const lengthMs = end.getTime() - begin.getTime();
	if (lengthMs > MOST_DAYS * DAY_MS) throw invalid('query/since', `The range must not be longer than ${MOST_DAYS} days.`);
	const hasMinutes = begin.getTime() > Date.now() - MINUTES_MS;
	const resolution = interval ?? suitable(lengthMs, purpose === 'series' ? SERIES : LISTS, hasMinutes);
	if (resolution === 'minute' && !hasMinutes) throw invalid('query/interval', 'Minutes are kept for three days: ask for hours or days.');
	const stepMs = lengthOf(resolution);
	if (purpose === 'series' && lengthMs / stepMs > MOST_POINTS)
		throw invalid('query/interval', `The range has more than ${MOST_POINTS} buckets of this length: ask for longer ones.`);
	const since = new Date(bucketAt(resolution, begin.getTime()));
	return { resolution, since, until: new Date(bucketAt(resolution, end.getTime() - 1) + stepMs) };
}

function suitable(lengthMs: number, longest: Record<'minute' | 'hour', number>, hasMinutes: boolean): Interval {
	if (hasMinutes && lengthMs <= longest.minute) return 'minute';
	return lengthMs <= longest.hour ? 'hour' : 'day';
}

/** The range as it was answered: whole buckets. */
export const ANSWERED = {
	since: timestamp,
	until: timestamp.description('The range in whole buckets: it may begin earlier and end later than the one that was asked for.'),
	interval: Joi.string().description('The length of the buckets: `minute`, `hour` or `day`.'),
};

export const answered = ({ since, until, resolution }: Pick<ReturnType<typeof rangeOf>, 'since' | 'until' | 'resolution'>) => ({
	since,
	until,
	interval: resolution,
});
