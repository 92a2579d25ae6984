// What code may have its host hold, if it has got hold of the host by itself: never more than can be counted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Desk } from './desk.ts';
import { type GuestRequest, LIMITS } from './messages.ts';

const LONG = JSON.stringify('x'.repeat(100_000));

test('requests beyond those that a run may make are refused at once, and wait nowhere', () => {
	const heard: [string, GuestRequest][] = [];
	const desk = new Desk({ request: (id, request) => heard.push([id, request]) });
	const answers = Array.from({ length: 10_000 }, (_none, n) => desk.serve('request', [String(n), '{"url":"http://x"}']));
	assert.equal(heard.length, LIMITS.requests);
	assert.equal(answers.filter((answer) => answer === undefined).length, LIMITS.requests);
	assert.equal(answers.at(-1), '"A run may make 20 requests."');
	assert.equal(desk.next(), null);
});

test('a request whose body is too long is refused at once', () => {
	const desk = new Desk({ request: () => assert.fail('it was sent') });
	const body = 'x'.repeat(LIMITS.requestBytes + 1);
	assert.equal(desk.serve('request', ['"1"', JSON.stringify({ url: 'http://x', body })]), '"A body may have 1 MB."');
	assert.equal(desk.next(), null);
});

test('an id that is none of ours is kept nowhere', (t) => {
	const ids: string[] = [];
	const desk = new Desk({ request: (id) => ids.push(id) });
	t.after(() => desk.close());
	desk.serve('request', [LONG, '{"url":"http://x"}']);
	desk.serve('request', ['"12"', '{"url":"http://x"}']);
	assert.deepEqual(ids, ['', '12']);
	for (let n = 0; n < 1000; n++) desk.serve('timer', [JSON.stringify(`${n}${'x'.repeat(1000)}`), '60000']);
	assert.equal(desk.serve('timer', ['"1"', '60000']), undefined, 'long ids are one, so there is room');
});
