// Tests the time that handlers have, and what becomes of an answer that comes too late.

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { Call, Context } from '../contract/context.ts';
import type { ManagementRequest, ManagementRoute } from '../contract/kinds.ts';
import type { Gateway, Incoming } from '../contract/nouns.ts';
import { askManagement, discard, handle } from './handling.ts';
import type { MountedRoute } from './mount.ts';

// The handlers of this file read none of them.
const [incoming, call, context] = [{} as Incoming, {} as Call, {} as Context];
const mounted = (handler: MountedRoute['route']['handler']): MountedRoute => ({
	route: { method: 'POST', path: '/slow', handler },
	config: {},
	plugin: 'transport:acme',
});

test('a handler has 130 s until its answer begins: then its call is aborted, and the stream of a late answer is ended', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const leaving = new AbortController();
	const { promise, resolve } = Promise.withResolvers<never>();
	const answer = handle(
		mounted(() => promise),
		{ incoming, call, leaving },
	);
	t.mock.timers.tick(129_999);
	assert.equal(leaving.signal.aborted, false);
	t.mock.timers.tick(1);
	await assert.rejects(answer, { message: 'transport:acme: the handler of POST /slow gave no answer within 130 s.' });
	assert.equal(leaving.signal.aborted, true);
	const body = new Readable({ read: () => undefined });
	resolve({ status: 200, body } as never);
	await promise;
	assert.equal(body.destroyed, true);
});

test('the source of events that comes too late, or has no place, is told that nobody listens', async () => {
	let isTold = false;
	const source = {
		[Symbol.asyncIterator]: () => ({
			next: () => assert.fail('it is asked'),
			return: async () => {
				isTold = true;
				throw new Error('It is heard by nobody.');
			},
		}),
	};
	discard({ status: 200, body: source });
	assert.equal(isTold, true);
});

test('a handler that answers at once, not by a promise, is heard; what it throws is an error', async () => {
	const leaving = new AbortController();
	const answerOf = (handler: () => unknown) => handle(mounted(handler as never), { incoming, call, leaving });
	assert.deepEqual(await answerOf(() => ({ status: 204 })), { status: 204 });
	for (const thrown of ['canary', null, undefined, { message: 'x' }])
		await assert.rejects(
			answerOf(() => Promise.reject(thrown)),
			/^PluginFault: transport:acme: threw something that is no Error/,
		);
	assert.equal(leaving.signal.aborted, false);
});

const REQUEST: ManagementRequest = { gateway: {} as Gateway, params: {}, page: {}, query: {}, body: null, revision: null };
const route = (handler: unknown, list?: string): ManagementRoute =>
	({ method: 'GET', path: '/things', id: 'listThings', summary: 'Lists.', answer: null, handler, ...(list && { list }) }) as never;
const ask = (handler: unknown, list?: string) => askManagement('auth:acme', route(handler, list), REQUEST, context);

test('a management route has 30 s', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const answer = ask(() => new Promise(() => undefined));
	t.mock.timers.tick(30_000);
	await assert.rejects(answer, { message: 'auth:acme: the management route listThings gave no answer within 30 s.' });
});

const WRONG: [title: string, answer: unknown, list: string | undefined, fault: RegExp][] = [
	['nothing', undefined, undefined, /must answer with an object/],
	['a list', [], undefined, /must answer with an object/],
	['a bigint', { a: 1n }, undefined, /must answer with JSON: \/a is a bigint/],
	['no items', {}, 'things', /a list of objects as items/],
	['items that are none', { items: [1], nextCursor: null }, 'things', /a list of objects as items/],
	['no cursor', { items: [] }, 'things', /a string or null as nextCursor/],
	['5 MB', { a: 'x'.repeat(5_000_000) }, undefined, /at most 4194304 characters/],
];
for (const [title, answer, list, fault] of WRONG) {
	test(`a management route that answers with ${title} is at fault`, () =>
		assert.rejects(
			ask(async () => answer, list),
			fault,
		));
}

test('a page of a management route has its list and its cursor, and nothing else', async () => {
	assert.deepEqual(await ask(async () => ({ items: [{ a: 1 }], nextCursor: null, more: 1 }), 'things'), {
		things: [{ a: 1 }],
		nextCursor: null,
	});
	assert.deepEqual(await ask(async () => ({ a: 1 })), { a: 1 });
});
