// Dates and times in the formats of JSON Schema, and as XML Schema writes them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../core/index.ts';
import { createNames } from './names.ts';
import { writeText } from './text.ts';

const MOMENTS: [type: string, given: string, sent: string][] = [
	['xs:dateTime', '2026-01-31T12:00:00Z', '2026-01-31T12:00:00Z'],
	['xs:dateTime', '2026-01-31t12:00:00.5z', '2026-01-31T12:00:00.5Z'],
	['xs:dateTime', '2026-01-31 12:00:00+01:30', '2026-01-31T12:00:00+01:30'],
	['xs:dateTime', '2026-01-31T12:00:00-0500', '2026-01-31T12:00:00-05:00'],
	['xs:dateTime', '2026-01-31T12:00:00+01', '2026-01-31T12:00:00+01:00'],
	['xs:dateTime', '2026-01-31T12:00:00', '2026-01-31T12:00:00'],
	['xs:dateTime', '-0044-03-15T24:00:00', '-0044-03-15T24:00:00'],
	['xs:time', '12:00:00z', '12:00:00Z'],
	['xs:time', '12:00:00.25+0100', '12:00:00.25+01:00'],
	['xs:time', '12:00:00', '12:00:00'],
	['xs:date', '2026-01-31+01:00', '2026-01-31+01:00'],
	['xs:date', '2026-01-31', '2026-01-31'],
	['xs:gYear', '2026', '2026'],
	['xs:string', '12:00:00z', '12:00:00z'],
	['xs:dateTime', 'x'.repeat(50_000), 'x'.repeat(50_000)],
];

const written = (type: string, value: Json): string => {
	const steps = writeText(type, value, '/a', { names: createNames() });
	for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
};

test('a date or time is sent as XML Schema writes it, and any other text unchanged', () => {
	for (const [type, given, sent] of MOMENTS) assert.equal(written(type, given), sent, `${type} ${given.slice(0, 40)}`);
	assert.equal(written('xs:dateTime*', ['2026-01-31 12:00:00z', '2026-01-31T12:00:00']), '2026-01-31T12:00:00Z 2026-01-31T12:00:00');
});
