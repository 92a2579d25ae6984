// Tests of the hints about what a call does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hintsOf, isAdding } from './hints.ts';

test('hints that a tool lacks are the cautious ones, and those of a reading tool agree with each other', () => {
	const cautious = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
	assert.deepEqual(hintsOf({ title: 'A title is none' }), cautious);
	assert.deepEqual(hintsOf({ destructiveHint: false, openWorldHint: false }), {
		...cautious,
		destructiveHint: false,
		openWorldHint: false,
	});
	const reading = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true };
	assert.deepEqual(hintsOf({ readOnlyHint: true, destructiveHint: true }), reading);
});

test('a name is believed only when it says that something is added or read, and nothing else', () => {
	for (const name of ['createPet', 'CreatePET', 'pets/create', 'HTTPQuery', 'Add a pet to the store']) assert.ok(isAdding(name), name);
	for (const name of ['', 'pets', 'postPets', 'deletePet', 'createOrReplacePet', 'set_status', 'PETCreated'])
		assert.ok(!isAdding(name), name);
	assert.ok(!isAdding('createJob', '/accounts/{id}/purge'));
});
