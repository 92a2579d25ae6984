import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnsOf, pick } from './columns.ts';

const COLUMNS = columnsOf({ id: 0, seq: 0, hash: 0, name: 0 }, 'seq', 'hash');

test('a row has the columns of its table except those that stay in the database', () => {
	assert.deepEqual(COLUMNS, ['id', 'name']);
	assert.deepEqual(pick({ id: 1, seq: 2, hash: 'x', name: 'a', more: true }, COLUMNS), { id: 1, name: 'a' });
});

test('a column that an instance reads by a getter is picked like any other', () => {
	class Instance {
		id = 1;
		get name(): string {
			return 'read';
		}
	}
	assert.deepEqual(pick(new Instance(), COLUMNS), { id: 1, name: 'read' });
});

test('a row without one of the columns does not compile', () => {
	// @ts-expect-error: `name` is missing
	assert.equal(pick({ id: 1 }, COLUMNS).id, 1);
});
