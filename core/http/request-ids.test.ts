import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRequestId, requestIdOf } from './request-ids.ts';

const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('new ids are UUIDs of version 7, in the order of time', (t) => {
	t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(1970, 0, 1, 0, 0, 1) });
	const [first = '', ...others] = Array.from({ length: 1000 }, newRequestId);
	assert.match(first, /^00000000-03e8-7/);
	assert.equal(new Set(others).add(first).size, 1000);
	t.mock.timers.setTime(Date.parse('2100-01-01T00:00:00.001Z'));
	const later = newRequestId();
	assert.match(later, /^03bb2cc3-d801-7/);
	for (const id of [first, ...others, later]) assert.match(id, VERSION_7);
	assert.ok(others.every((id) => id < later));
});

test('an id that a client sends is kept if it is short and plain', () => {
	assert.equal(requestIdOf({ 'x-request-id': 'a.b:c_d-1' }), 'a.b:c_d-1');
	assert.match(requestIdOf({}), VERSION_7);
	for (const given of ['', 'a b', 'x'.repeat(129), 'aé']) assert.match(requestIdOf({ 'x-request-id': given }), VERSION_7);
});
