// A client that sends back `••••` means the stored secret: it is put back where it was, and to nowhere else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import { Registry } from './registry.ts';

const secrets = createSecrets('ab'.repeat(32));
const PLACE = { organizationId: 'o', table: 'tools', row: 'r' };
const H = '••••';

const secret = Joi.string().meta({ secret: true });
const url = Joi.string().meta({ destination: true });
const target = Joi.object({ url, token: secret, label: Joi.string() });

const registry = new Registry();
registry.add({
	...{ kind: 'executor', name: 'acme', summary: 'One.', execute: async () => ({ content: [] }) },
	config: Joi.object({
		url,
		where: Joi.object({ database: url, mail: url }),
		token: secret,
		pin: Joi.number().meta({ secret: true }),
		whole: Joi.object().unknown().meta({ secret: true }),
		keys: Joi.array().items(secret),
		list: Joi.array().items(target),
		map: Joi.object().pattern(/./, target),
		headers: Joi.object()
			.pattern(/./, Joi.string())
			.meta({ secretMembers: (name: string) => name.startsWith('X-') }),
		hook: Joi.string().meta({ secret: true, destination: true }),
	}),
});

function restore(stored: JsonObject, given: JsonObject): JsonObject {
	const row = registry.seal('executor', 'acme', stored, secrets, PLACE);
	return registry.restore('executor', 'acme', given, {
		stored: row,
		at: '/executionConfig',
		secrets,
		location: { ...PLACE, of: 'the tool' },
	});
}

const A = { url: 'https://a.example/x', token: 's-a', label: 'a' };
const B = { url: 'https://b.example/x', token: 's-b', label: 'b' };
const hidden = (one: JsonObject): JsonObject => ({ ...one, token: H });
const open = (one: JsonObject): JsonObject => ({ url: one['url'] ?? null, label: one['label'] ?? null });

type Case = [title: string, stored: JsonObject, given: JsonObject, expected: JsonObject | RegExp];

const UNCLEAR = /which stands for the stored value, and it cannot be told of which stored item/;
const NONE = /and none is stored under this name: enter it\.$/;

const CASES: Case[] = [
	['a field', { token: 's' }, { token: H }, { token: 's' }],
	['a number', { pin: 7 }, { pin: H }, { pin: 7 }],
	['a whole object', { whole: { a: ['x'] } }, { whole: H }, { whole: { a: ['x'] } }],
	['a part of a whole object', { whole: { a: 'x' } }, { whole: { a: H } }, /"whole" holds •••• in one of its parts: enter it whole/],
	['what is not stored', {}, { token: H }, NONE],
	['what is stored elsewhere', { keys: ['s'] }, { token: H }, NONE],
	['a new value', { token: 's' }, { token: 'new' }, { token: 'new' }],
	// Lists
	['all items', { keys: ['a', 'b'] }, { keys: [H, H] }, { keys: ['a', 'b'] }],
	['one item of as many', { keys: ['a', 'b', 'c'] }, { keys: [H, 'new', H] }, { keys: ['a', 'new', 'c'] }],
	['all items and a new one', { keys: ['a', 'b'] }, { keys: [H, H, 'new'] }, { keys: ['a', 'b', 'new'] }],
	['all items after a new one', { keys: ['a', 'b'] }, { keys: ['new', H, H] }, { keys: ['new', 'a', 'b'] }],
	['some items of many', { keys: ['a', 'b', 'c'] }, { keys: [H, H] }, UNCLEAR],
	['more items than there are', { keys: ['a', 'b'] }, { keys: [H, H, H] }, UNCLEAR],
	['items that are told apart', { list: [A, B] }, { list: [hidden(B), hidden(A)] }, { list: [B, A] }],
	['the one item that is left', { list: [A, B] }, { list: [hidden(B)] }, { list: [B] }],
	['an item among new ones', { list: [B] }, { list: [A, hidden(B)] }, { list: [A, B] }],
	['an item that was changed', { list: [A, B] }, { list: [hidden(A), { ...hidden(B), label: 'c' }] }, UNCLEAR],
	['an item that goes elsewhere', { list: [A, B] }, { list: [{ ...hidden(A), url: B.url }, B] }, UNCLEAR],
	['an item with another’s secret', { list: [A, B] }, { list: [A, { ...open(B), token: H }] }, { list: [A, B] }],
	[
		'equal items in their order',
		{ list: [A, { ...A, token: 's-2' }] },
		{ list: [hidden(A), hidden(A)] },
		{ list: [A, { ...A, token: 's-2' }] },
	],
	['one of equal items', { list: [A, { ...A, token: 's-2' }] }, { list: [hidden(A)] }, UNCLEAR],
	['an item where there was no list', { list: { a: 1 } as Json }, { list: [hidden(A)] }, NONE],
	// Destinations
	[
		'the same origin',
		{ url: 'https://a.example/x', token: 's' },
		{ url: 'https://a.example/y', token: H },
		{ url: 'https://a.example/y', token: 's' },
	],
	[
		'another origin',
		{ url: 'https://a.example/x', token: 's' },
		{ url: 'https://b.example/x', token: H },
		/that was entered for https:\/\/a\.example: enter/,
	],
	['no destination any more', { url: 'https://a.example', token: 's' }, { token: H }, /that was entered for https:\/\/a\.example: enter/],
	[
		'a destination where there was none',
		{ token: 's' },
		{ url: 'https://a.example', token: H },
		/that was entered for another destination: enter/,
	],
	[
		'another host of a scheme of its own',
		{ url: 'postgres://a/x', token: 's' },
		{ url: 'postgres://b/x', token: H },
		/entered for postgres:\/\/a: enter/,
	],
	[
		'another host without a scheme',
		{ url: 'a:5432', token: 's' },
		{ url: 'b:5432', token: H },
		/that was entered for another destination: enter/,
	],
	[
		'another origin further in',
		{ where: { database: 'https://a.example' }, token: 's' },
		{ where: { database: 'https://b.example' }, token: H },
		/entered for https:\/\/a\.example/,
	],
	[
		'destinations that change places',
		{ where: { database: 'https://a.example', mail: 'https://b.example' }, token: 's' },
		{ where: { database: 'https://b.example', mail: 'https://a.example' }, token: H },
		/entered for/,
	],
	[
		'another origin of a header',
		{ url: 'https://a.example', headers: { 'X-A': 's' } },
		{ url: 'https://b.example', headers: { 'X-A': H } },
		/entered for https:\/\/a\.example/,
	],
	['a new target of the whole', { token: 's', list: [A] }, { token: H, list: [A, B] }, /that was entered for/],
	['one target fewer of the whole', { token: 's', list: [A, B] }, { token: H, list: [A] }, { token: 's', list: [A] }],
	['targets of the whole in another order', { token: 's', list: [A, B] }, { token: H, list: [B, A] }, { token: 's', list: [B, A] }],
	[
		'another target of a header',
		{ headers: { 'X-A': 's' }, map: { a: A } },
		{ headers: { 'X-A': H }, map: { a: B } },
		/entered for https:\/\/a\.example/,
	],
	[
		'a member',
		{ map: { a: A, b: B } },
		{ map: { a: hidden(A), b: { ...B, url: 'https://c.example' } } },
		{ map: { a: A, b: { ...B, url: 'https://c.example' } } },
	],
	['a member that goes elsewhere', { map: { a: A } }, { map: { a: { ...hidden(A), url: B.url } } }, /entered for https:\/\/a\.example/],
	['a member that goes nowhere', { map: { a: A } }, { map: { a: { token: H } } }, /entered for https:\/\/a\.example/],
	['a member under another name', { map: { a: A } }, { map: { b: hidden(A) } }, NONE],
	['a secret destination', { hook: 'https://a.example/s', token: 's' }, { hook: H, token: H }, { hook: 'https://a.example/s', token: 's' }],
	[
		'beside another secret destination',
		{ hook: 'https://a.example/s', token: 's' },
		{ hook: 'https://b.example/s', token: H },
		/entered for another destination/,
	],
];

for (const [title, stored, given, expected] of CASES)
	test(`•••• is put back or refused: ${title}`, () => {
		if (!(expected instanceof RegExp)) {
			assert.deepEqual(restore(stored, given), expected);
			return;
		}
		assert.throws(
			() => restore(stored, given),
			(error: { code?: string; message: string; details: { path: string }[] }) =>
				error.code === 'validation_failed' &&
				expected.test(error.message) &&
				error.details[0]?.path.startsWith('/executionConfig/') === true,
		);
	});

test('what a client was shown of lists and maps can be sent back', () => {
	const stored = { url: A.url, headers: { 'X-A': 's', b: 'b' }, keys: ['a', 'b'], list: [A, B, A], map: { a: A, b: B } };
	const row = registry.seal('executor', 'acme', stored, secrets, PLACE);
	assert.deepEqual(restore(stored, registry.redact('executor', 'acme', row)), stored);
});

test('the fault of an item names its place', () => {
	assert.throws(
		() => restore({ list: [A] }, { list: [B, hidden(B)] }),
		(error: { details: object[] }) => (error.details[0] as { path: string }).path === '/executionConfig/list/1/token',
	);
});
