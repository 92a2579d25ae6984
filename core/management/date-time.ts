// A point in time in a request: a date, or a time with its zone (RFC 3339). Without a zone it would mean another time on each server.

import Joi from 'joi';

const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** RFC 3339 §5.6; seconds may be left out. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;
const EARLIEST = Date.UTC(1970, 0, 1);
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59);

/** A Joi schema whose parsed value is a Date. */
export const dateTime = Joi.string()
	.custom((value: string, helpers) => read(value) ?? helpers.error('dateTime.base'))
	.messages({
		'dateTime.base':
			'{{#label}} must be a date between 1970 and 9999, such as 2026-03-01 (midnight UTC), or a time with its zone, such as 2026-03-01T12:00:00Z or 2026-03-01T12:00:00+01:00 (in a query, %2B for the +)',
	});

/** Parses a date or a time; null when the text is neither. */
function read(value: string): Date | null {
	if (!DATE.test(value) && !TIME.test(value)) return null;
	const at = new Date(value);
	const isThere = at.getTime() >= EARLIEST && at.getTime() <= LATEST && isDay(value.slice(0, 10));
	return isThere ? at : null;
}

/** Tells whether the date exists: Date takes the thirtieth of February for the second of March. */
function isDay(date: string): boolean {
	const midnight = new Date(`${date}T00:00:00Z`);
	return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
}
