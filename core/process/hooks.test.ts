// Tests the time of plugins' functions, and that their faults name the plugin and the function.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError, PluginFault } from '../contract/errors.ts';
import { answerOf, answerUnder, assertNothing, HOOK_MS, LEAVE_MS, resultOf } from './hooks.ts';

const HOOK = { plugin: 'executor:acme', hook: 'check' };
const never = (): Promise<never> => new Promise(() => undefined);

test('a function that never settles is a fault that names it, of the code for late answers', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const late = answerOf(HOOK, never);
	t.mock.timers.tick(HOOK_MS);
	const message = 'executor:acme: check gave no answer within 30 s.';
	await assert.rejects(late, { name: 'PluginFault', plugin: 'executor:acme', code: 'upstream_timeout', message });
});

test('what it returns or refuses with is passed on, and any other error is its fault', async () => {
	const refusal = new GatewayError('validation_failed', 'No.');
	const bug = new TypeError('canary');
	const throwing = (error: unknown) => (): never => {
		throw error;
	};
	assert.equal(await answerOf(HOOK, () => 1), 1);
	assert.equal(
		resultOf(HOOK, () => 1),
		1,
	);
	await assert.rejects(answerOf(HOOK, throwing(refusal)), refusal);
	assert.throws(() => resultOf(HOOK, throwing(refusal)), refusal);
	const fault = { name: 'PluginFault', message: 'executor:acme: check failed unexpectedly.', cause: bug };
	await assert.rejects(answerOf(HOOK, throwing(bug)), fault);
	assert.throws(() => resultOf(HOOK, throwing(bug)), fault);
	await assert.rejects(
		answerOf(HOOK, () => Promise.reject('text')),
		{ ...fault, cause: 'text' },
	);
});

test('one that refuses by throwing must not answer', () => {
	assertNothing(HOOK, undefined);
	for (const answer of [false, true, null, []]) assert.throws(() => assertNothing(HOOK, answer), PluginFault);
});

test('one that has to end with its signal has some time to do so, and is then left behind', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const reason = new Error('The client has left.');
	const ending = new AbortController();
	const good = answerUnder(
		HOOK,
		ending.signal,
		() => new Promise((_, reject) => ending.signal.addEventListener('abort', () => reject(reason))),
	);
	const deaf = answerUnder(HOOK, ending.signal, never);
	ending.abort(reason);
	await assert.rejects(good, reason);
	t.mock.timers.tick(LEAVE_MS);
	await assert.rejects(deaf, {
		plugin: 'executor:acme',
		code: 'upstream_timeout',
		message: /check did not end within 5 s after its signal/,
	});
	const begunLate = answerUnder(HOOK, ending.signal, never);
	t.mock.timers.tick(LEAVE_MS);
	await assert.rejects(begunLate, PluginFault);
	await assert.rejects(
		answerUnder(HOOK, new AbortController().signal, () => Promise.reject(new TypeError('canary'))),
		{ message: 'executor:acme: check failed unexpectedly.' },
	);
});
