// Tests of timestamps in requests.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dateTime } from './date-time.ts';

const GOOD: [given: string, means: string][] = [
	['2026-03-01', '2026-03-01T00:00:00.000Z'],
	['2024-02-29', '2024-02-29T00:00:00.000Z'],
	['2026-03-01T12:00Z', '2026-03-01T12:00:00.000Z'],
	['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.000Z'],
	['2026-03-01T12:00:00.5Z', '2026-03-01T12:00:00.500Z'],
	['2026-03-01T12:00:00.123456789Z', '2026-03-01T12:00:00.123Z'],
	['2026-03-01T12:00:00+01:00', '2026-03-01T11:00:00.000Z'],
	['2026-03-01T00:30:00+14:00', '2026-02-28T10:30:00.000Z'],
	['2026-03-01T12:00:00-08:00', '2026-03-01T20:00:00.000Z'],
	['1970-01-01', '1970-01-01T00:00:00.000Z'],
	['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
];
for (const [given, means] of GOOD) {
	test(`${given} is ${means}, whatever the server’s time zone`, () => {
		for (const convert of [true, false]) {
			const { value, error } = dateTime.validate(given, { convert });
			assert.equal(error, undefined);
			assert.ok((value as unknown) instanceof Date);
			assert.equal(new Date(value).toISOString(), means);
		}
	});
}

const BAD = [
	'2026-03-01T12:00:00',
	'2026-03-01T12:00',
	'2026-03-01 12:00:00Z',
	'2026-03-01T12:00:00 01:00',
	'2026-03-01T12:00:00+0100',
	'2026-03-01T12:00:00+99:99',
	'2026-03-01T25:00:00Z',
	'2026-02-30',
	'2025-02-29T00:00:00Z',
	'2026-13-01',
	'2026-W10',
	'2026-060',
	'2026-03',
	'20260301',
	'1969-12-31',
	'-002023-01-01',
	'+275760-09-13T00:00:00Z',
	'1700000000000',
	'yesterday',
	'',
];
for (const given of BAD) {
	test(`"${given}" is refused, with what was expected`, () => {
		const { error } = dateTime.validate(given);
		assert.match(String(error?.message), given === '' ? /empty/ : /a time with its zone/);
	});
}
