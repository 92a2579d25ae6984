// Dates, times and durations: every form that XML Schema allows is accepted, and values that no server could read are not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureSize } from '../../core/arguments/size.ts';
import { assertBounded, compileArguments, type Json, type JsonObject } from '../../core/index.ts';
import { content, documentOf, readOne } from '../../test/helpers/soap.ts';

const element = (type: string, more = ''): string => `<xs:sequence><xs:element name="a" type="${type}" ${more}/></xs:sequence>`;
const parametersOf = async (type: string, more = '', beside = ''): Promise<JsonObject> =>
	(await readOne(documentOf(content(element(type, more)) + beside))).parameters;

const OTHERS = ['abc', '', 'null', '2026', '2026-01', '20260131', '12:00', '31.01.2026', 'P1D'];
const TYPES: [type: string, takes: string[], refuses: string[]][] = [
	[
		'date',
		['2026-01-31', '2024-02-29', '2026-01-31Z', '2026-01-31+14:00', '-0044-03-15', '12026-01-31'],
		[...OTHERS, '2026-13-01', '2026-01-32', '2026-1-1', '2026-01-31T12:00:00', '2026-01-31 ', '2026-01-31z'],
	],
	[
		'dateTime',
		['2026-01-31T12:00:00', '2026-01-31T12:00:00Z', '2026-01-31T12:00:00.123456789-05:00', '-0044-03-15T24:00:00', '12026-01-31T12:00:00'],
		[...OTHERS, '2026-01-31', '2026-01-31 12:00:00', '2026-01-31T12:00Z', '2026-01-31T25:00:00'],
	],
	['time', ['12:00:00', '12:00:00Z', '24:00:00', '23:59:59.999+01:00'], [...OTHERS, '12:60:00', '25:00:00', 'T12:00:00', '12:00:00.']],
	['gYear', ['2026', '-0044', '2026Z', '12026+01:00'], ['abc', '', '26', '2026-01']],
	['gYearMonth', ['2026-01', '2026-12Z'], ['abc', '2026', '2026-13', '2026-01-01']],
	['gMonth', ['--01', '--12Z', '--12--'], ['abc', '01', '--13']],
	['gMonthDay', ['--01-31', '--02-29+01:00'], ['abc', '01-31', '--01-32']],
	['gDay', ['---31', '---01Z'], ['abc', '31', '---32']],
	['duration', ['P1Y', 'P1Y2M3DT4H5M6.7S', '-PT1M', 'PT0S', 'P12D'], ['abc', '', 'P', '-P', 'PT', '1D', 'P1W', 'P1.S', 'P1DT']],
];

for (const [type, takes, refuses] of TYPES)
	test(`xs:${type} accepts its values with and without a time zone, and nothing else`, async () => {
		const check = compileArguments(await parametersOf(`xs:${type}`));
		for (const a of takes) assert.deepEqual(check({ a }), [], a);
		for (const a of refuses) assert.notDeepEqual(check({ a }), [], a);
		for (const a of [2026, null, true, {}]) assert.notDeepEqual(check({ a: a as Json }), [], String(a));
		const nillable = compileArguments(await parametersOf(`xs:${type}`, 'nillable="true"'));
		for (const a of [null, ...takes]) assert.deepEqual(nillable({ a }), [], String(a));
		assert.notDeepEqual(nillable({ a: 'abc' }), []);
	});

test('the schema shows the format, and a fault names it first', async () => {
	for (const [type, format] of [
		['date', 'date'],
		['dateTime', 'date-time'],
		['time', 'time'],
	] as const) {
		const parameters = await parametersOf(`xs:${type}`);
		const { anyOf } = Object(parameters['properties'])['a'];
		assert.equal(anyOf[0].format, format);
		assert.equal(compileArguments(parameters)({ a: 'abc' })[0]?.message, `must match format "${format}", got string "abc".`);
	}
});

test('a restricted type keeps its rules: patterns of every step, and listed values', async () => {
	const restricted = (base: string, facets: string, name = 'T'): string =>
		`<xs:simpleType name="${name}"><xs:restriction base="${base}">${facets}</xs:restriction></xs:simpleType>`;
	const accepts = async (beside: string, type = 't:T'): Promise<(a: Json) => boolean> => {
		const check = compileArguments(await parametersOf(type, 'nillable="true"', beside));
		return (a) => check({ a }).length === 0;
	};
	const years = await accepts(restricted('xs:date', '<xs:pattern value="20.*"/>'));
	assert.deepEqual(['2026-01-31', '2026-01-31Z', null, '1999-01-31', '20abc'].map(years), [true, true, true, false, false]);
	const steps = restricted('xs:duration', '<xs:pattern value="P.*"/>') + restricted('t:T', '<xs:pattern value=".*D"/>', 'U');
	const days = await accepts(steps + restricted('t:U', '<xs:pattern value=".1."/>', 'V'), 't:V');
	assert.deepEqual(['P1D', null, '-P1D', 'P1Y', 'P2D', 'xP1D'].map(days), [true, true, false, false, false, false]);
	const listed = await accepts(restricted('xs:date', '<xs:enumeration value="2026-01-31"/>'));
	assert.deepEqual(['2026-01-31', null, '2026-02-01'].map(listed), [true, true, false]);
	const either = await accepts('<xs:simpleType name="T"><xs:union memberTypes="xs:date xs:gYear"/></xs:simpleType>');
	assert.deepEqual(['2026-01-31', '2026', null, 'abc'].map(either), [true, true, true, false]);
});

test('a type of only dates and times costs a little more, and not more with each', async () => {
	const names = ['date', 'dateTime', 'time', 'gYear', 'gYearMonth', 'gMonth', 'gMonthDay', 'gDay', 'duration'];
	const all = Array.from({ length: 20 }, (_, index) =>
		names.map((name) => `<xs:element name="${name}${index}" type="xs:${name}"/>`),
	).flat();
	const { parameters } = await readOne(documentOf(content(`<xs:sequence>${all.join('')}</xs:sequence>`)));
	const { states, keywords } = measureSize(parameters, '');
	assert.ok(states < 1_000 && keywords < 1_500, `${states} states, ${keywords} keywords`);
	assertBounded(parameters, '');
});
