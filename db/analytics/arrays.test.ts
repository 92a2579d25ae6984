import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administer, testDatabase } from '../../test/helpers/postgres.ts';
import { type ColumnType, columnText, fromColumns } from './arrays.ts';

test('PostgreSQL reads the values that were written', async () => {
	await using empty = await testDatabase({ empty: true });
	const id = '0b6e7a54-0000-4000-8000-000000000001';
	const texts = ['', 'plain', '"quoted"', 'back\\slash', '{a,b}', 'NULL', null, ' a ', 'line\nbreak\ttab', 'ü😀', "it's", '$1', '\\"'];
	const columns: [ColumnType, (string | number | null | undefined)[], unknown[]][] = [
		['text', [...texts, 'nul\0', '\ud800'], [...texts, 'nul', '\ufffd']],
		['uuid', [id, 'no id', null, id], [id, '00000000-0000-0000-0000-000000000000', null, id]],
		['integer', [1.4, -2, undefined], [1, -2, null]],
		['bigint', [2 ** 40], [2 ** 40]],
		['float', [1.5, 0, 1e21], [1.5, 0, 1e21]],
		['json', ['{"a":"\\"b\\\\"}'], [{ a: '"b\\' }]],
		['text', [], []],
	];
	for (const [type, given, expected] of columns) {
		const literal = columnText(given.length, type, (at) => given[at])?.replaceAll("'", "''") ?? '{}';
		const from = fromColumns([['value', type]], { alias: 'r', first: 1 }).replace('$1', () => `'${literal}'`);
		const found = await administer(empty.database, `SELECT r.value FROM ${from}`);
		const values = found.map(({ value }) => (type === 'bigint' && value !== null ? Number(value) : value));
		assert.deepEqual(values, expected, type);
	}
});

test('a column without a value is left out, and its rows are null', async () => {
	await using empty = await testDatabase({ empty: true });
	assert.equal(
		columnText(2, 'text', () => null),
		null,
	);
	const from = fromColumns(
		[
			['value', 'integer'],
			['none', 'text'],
		],
		{ alias: 'r', first: 1 },
	)
		.replace('$1', "'{1,2}'")
		.replace('$2', 'NULL');
	const found = await administer(empty.database, `SELECT r.value, r.none FROM ${from}`);
	assert.deepEqual(found, [
		{ value: 1, none: null },
		{ value: 2, none: null },
	]);
});
