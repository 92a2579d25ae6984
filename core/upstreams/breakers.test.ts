// When a breaker opens, for how long, and for which upstream.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Breakers, type Outcome } from './breakers.ts';

const PETS = new URL('https://pets.example/v1');

function setUp() {
	let nowMs = 1_000_000;
	const breakers = new Breakers(() => nowMs);
	const once = (outcome: Outcome, organizationId = 'acme', url = PETS): void => breakers.enter(organizationId, url)(outcome);
	const times = (count: number, outcome: Outcome): void => {
		for (let n = 0; n < count; n++) once(outcome);
	};
	const pass = (ms: number): void => {
		nowMs += ms;
	};
	return { breakers, once, times, pass };
}

const OPEN = { code: 'upstream_failed', message: /^pets\.example has failed 10 times in a row: it is tried again in 5 s\.$/ };

test('ten failures in a row open it, and the refusal names their number and the time of the next attempt', () => {
	const { breakers, once, times } = setUp();
	times(9, 'failed');
	breakers.assertClosed('acme', PETS);
	once('failed');
	assert.throws(() => breakers.enter('acme', PETS), OPEN);
	assert.throws(() => breakers.assertClosed('acme', PETS), OPEN);
});

test('an answer in between resets the count; an outcome unrelated to the upstream does not', () => {
	const { breakers, once, times } = setUp();
	times(9, 'failed');
	once('answered');
	times(9, 'failed');
	once('unknown');
	breakers.assertClosed('acme', PETS);
	once('failed');
	assert.throws(() => breakers.enter('acme', PETS), OPEN);
});

test('it belongs to one organization and one origin: nobody else notices', () => {
	const { breakers, times } = setUp();
	times(10, 'failed');
	breakers.enter('other', PETS)('answered');
	for (const url of ['https://pets.example:8443/v1', 'http://pets.example/v1', 'https://api.pets.example/v1'])
		breakers.enter('acme', new URL(url))('unknown');
	assert.throws(() => breakers.enter('acme', new URL('https://pets.example/v2?other')), OPEN);
});

test('one request probes the upstream; when it succeeds, all requests pass', () => {
	const { breakers, times, pass } = setUp();
	times(10, 'failed');
	pass(4999);
	assert.throws(() => breakers.enter('acme', PETS), /tried again in 1 s/);
	pass(1);
	const settle = breakers.enter('acme', PETS);
	assert.throws(() => breakers.enter('acme', PETS), /is being tried again right now/);
	settle('answered');
	times(9, 'failed');
	breakers.assertClosed('acme', PETS);
});

test('each failed probe doubles the time that it stays open, up to a minute', () => {
	const { breakers, once, times, pass } = setUp();
	times(10, 'failed');
	for (const seconds of [5, 10, 20, 40, 60, 60]) {
		pass(seconds * 1000 - 1);
		assert.throws(() => breakers.enter('acme', PETS), /in 1 s\.$/, String(seconds));
		pass(1);
		once('failed');
	}
	assert.throws(() => breakers.enter('acme', PETS), /has failed 16 times in a row: it is tried again in 60 s/);
});

test('after a probe without a result the next request is the probe', () => {
	const { breakers, once, times, pass } = setUp();
	times(10, 'failed');
	pass(5000);
	once('unknown');
	once('answered');
	breakers.enter('acme', PETS);
});

test('a request that began before it opened does not change it, whenever it ends', () => {
	const { breakers, times, pass } = setUp();
	const [early, late] = [breakers.enter('acme', PETS), breakers.enter('acme', PETS)];
	times(10, 'failed');
	early('answered');
	late('failed');
	assert.throws(() => breakers.enter('acme', PETS), OPEN);
	pass(5000);
	breakers.enter('acme', PETS)('answered');
});

test('it remembers ten thousand failing origins, and no working one', () => {
	const { breakers, once, times } = setUp();
	times(10, 'failed');
	for (let n = 0; n < 10_000; n++) once('answered', `works-${n}`);
	assert.throws(() => breakers.enter('acme', PETS), OPEN);
	for (let n = 0; n < 10_000; n++) once('failed', `fails-${n}`);
	breakers.assertClosed('acme', PETS);
});
