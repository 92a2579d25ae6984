// Tests the end of a turn: its order, its context, and that one fault leaves the rest.

import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { atTurnEnd, doEach } from './turn-end.ts';

test('work is done in its order after all that the turn does, and what it adds is done at the next end', async () => {
	const done: string[] = [];
	atTurnEnd(() => {
		done.push('first');
		atTurnEnd(() => done.push('later'));
	});
	atTurnEnd(() => done.push('second'));
	await Promise.resolve();
	process.nextTick(() => done.push('turn'));
	await turn();
	assert.deepEqual(done, ['turn', 'first', 'second']);
	await turn();
	assert.deepEqual(done.slice(3), ['later']);
});

test('it has the context of no request', async () => {
	const context = new AsyncLocalStorage<string>();
	const { promise, resolve } = Promise.withResolvers<unknown>();
	context.run('a request', () => atTurnEnd(() => resolve(context.getStore())));
	assert.equal(await promise, undefined);
});

test('work that throws does not keep the rest from being done', () => {
	const done: unknown[] = [];
	const fault = new Error('a fault');
	const fail = (): void => {
		throw fault;
	};
	doEach([fail, () => done.push('next')], (error) => done.push(error));
	assert.deepEqual(done, [fault, 'next']);
});
