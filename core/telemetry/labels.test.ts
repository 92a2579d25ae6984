import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Labels, OTHER } from './labels.ts';

test('the first values of a label keep their names, and later ones are counted together', () => {
	const labels = new Labels({ tool: { total: 3, perOrganization: 2 } });
	assert.deepEqual(
		['a', 'b', 'c', 'a'].map((name) => labels.of('tool', 'one', name)),
		['a', 'b', OTHER, 'a'],
	);
	assert.deepEqual(
		['a', 'b', 'a'].map((name) => labels.of('tool', 'two', name)),
		['a', OTHER, 'a'],
		'one organization does not use up what another may have, but all together are bounded',
	);
	assert.equal(labels.of('tool', 'three', 'a'), OTHER);
});

test('an organization that makes new names for ever makes no more series', () => {
	const labels = new Labels();
	const seen = new Set(Array.from({ length: 10_000 }, (_, at) => labels.of('gateway', 'one', `g${at}`)));
	assert.equal(seen.size, 21);
	const organizations = new Set(Array.from({ length: 10_000 }, (_, at) => labels.of('organization', `o${at}`, `o${at}`)));
	assert.equal(organizations.size, 201);
});

test('a value is cut', () => {
	assert.equal(new Labels().of('model', 'one', 'm'.repeat(1000)).length, 128);
});
