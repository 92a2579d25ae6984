// The faults of an auth method's management routes that the registry refuses, and the secret fields of configs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import type { AuthMethod, ManagementRoute } from '../contract/kinds.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import { Registry } from './registry.ts';

const ROUTE: ManagementRoute = {
	method: 'GET',
	path: '/tokens',
	id: 'listTokens',
	summary: 'Lists tokens.',
	list: 'tokens',
	answer: Joi.object({}),
	handler: async () => ({ items: [], nextCursor: null }),
};
const { list: _list, ...ONE } = { ...ROUTE, path: '/tokens/{tokenId}', id: 'removeToken', method: 'DELETE' as const };

const method = (name: string, management: unknown): unknown =>
	({ kind: 'auth', name, summary: 'One.', config: Joi.object({}), authenticate: async () => null, management }) satisfies Omit<
		AuthMethod,
		'management'
	> & { management: unknown };

test('an auth method with routes of the management API is taken', () => {
	const registry = new Registry();
	registry.add(method('a', [ROUTE, ONE, { ...ONE, method: 'GET', id: 'getToken' }]));
	assert.deepEqual(
		registry.get('auth', 'a')?.management?.map(({ id }) => id),
		['listTokens', 'removeToken', 'getToken'],
	);
});

const BAD: [id: string, route: unknown, message: RegExp][] = [
	['is none', null, /management\[1\] must be of type object/],
	['has another method', { ...ROUTE, method: 'PATCH' }, /\.method must be one of GET, POST, PUT, DELETE/],
	['has no id', { ...ROUTE, id: undefined }, /\.id is missing/],
	['has an id of several words', { ...ROUTE, id: 'list tokens' }, /\.id must match/],
	['has no summary', { ...ROUTE, summary: '' }, /\.summary must be a sentence/],
	['has no handler', { ...ROUTE, handler: null }, /\.handler must be of type function/],
	['has an answer that is no schema', { ...ROUTE, answer: {} }, /\.answer must be a schema of Joi 18/],
	['lists under a name that is taken', { ...ROUTE, list: 'nextCursor' }, /\.list must be another word/],
	['lists while it removes', { ...ONE, id: 'dropTokens', path: '/tokens', list: 'tokens' }, /\.list is for GET alone/],
	[
		'takes a secret in its query',
		{ ...ROUTE, query: Joi.object({ token: Joi.string().meta({ secret: true }) }) },
		/management\[1\]\.query must not take a secret/,
	],
	[
		'takes one deep in its query',
		{ ...ROUTE, query: Joi.object({ any: Joi.array().items(Joi.object({ a: Joi.any() }).meta({ secretMembers: () => true })) }) },
		/management\[1\]\.query must not take a secret/,
	],
	[
		'is idempotent and answers with a secret',
		{
			...ROUTE,
			method: 'POST',
			list: undefined,
			query: undefined,
			idempotent: true,
			answer: Joi.object({ key: Joi.string().meta({ secret: true }) }),
		},
		/management\[1\] must not be idempotent with a secret in its answer/,
	],
	['has a member that routes do not have', { ...ROUTE, need: 'self' }, /management\[1\]\.need is no member of management\[1\]/],
	...['tokens', '/', '/{tokenId}', '/tokens/', '/tokens//x', '/tokens/{a*}', '/tokens/{a}b', '/Tokens', '/tokens?x=1'].map(
		(path): [string, unknown, RegExp] => [`has the path ${path}`, { ...ROUTE, path }, /\.path must match/],
	),
	...['/tokens/{id}', '/tokens/{orgId}', '/tokens/{a}/{a}'].map((path): [string, unknown, RegExp] => [
		`has the path ${path}`,
		{ ...ROUTE, path },
		/\.path must not repeat a parameter/,
	]),
];

for (const [id, route, message] of BAD)
	test(`a route of the management API that ${id} stops the start with a sentence naming the plugin and the place`, () => {
		assert.throws(
			() => new Registry().add(method('a', [ONE, route])),
			(error: Error) => /^auth:a: management\[1\]/.test(error.message) && message.test(error.message),
		);
	});

test('management routes that are not an array stop the start', () => {
	assert.throws(() => new Registry().add(method('a', {})), /^Error: auth:a: management must be an array\.$/);
});

test('a schema of another version of Joi is refused as the answer of a route', () => {
	// A copy of Joi marks its schemas like this.
	const foreign = { [Symbol.for('@hapi/joi/schema')]: { version: '17.0.0' }, type: 'object' };
	assert.throws(() => new Registry().add(method('a', [{ ...ROUTE, answer: foreign }])), /answer must be a schema of Joi 18/);
});

test('two routes of the management API with the same id or the same path stop the start, within one plugin and across two', () => {
	const pairs = [
		[ROUTE, { ...ONE, id: ROUTE.id }, /there are two of listTokens/],
		[ONE, { ...ONE, id: 'forgetToken', path: '/tokens/{name}' }, /there are two of DELETE \/tokens\/\{\}/],
	] as const;
	for (const [first, second, message] of pairs) {
		assert.throws(() => new Registry().add(method('a', [first, second])), message);
		const registry = new Registry();
		registry.add(method('a', [first]));
		assert.throws(() => registry.add(method('b', [second])), message);
	}
});

test('the secret fields of a config are found when the plugin is added, not for each row', () => {
	let described = 0;
	const schema = Joi.object({ url: Joi.string(), auth: Joi.object({ token: Joi.string().meta({ secret: true }) }) });
	const describe = schema.describe.bind(schema);
	const counted = Object.assign(schema, {
		describe: () => {
			described++;
			return describe();
		},
	});
	const registry = new Registry();
	registry.add({ ...(method('a', []) as object), config: counted });
	const secrets = createSecrets('ab'.repeat(32));
	const place = { organizationId: 'o', table: 'gateway_auth', row: 'r' } as const;
	const afterAdding = described;
	const row = registry.seal('auth', 'a', { url: 'u', auth: { token: 's3cret' } }, secrets, place);
	for (let count = 0; count < 100; count++) {
		assert.deepEqual(registry.redact('auth', 'a', row), { url: 'u', auth: {} });
		assert.deepEqual(registry.open('auth', 'a', row, secrets, { ...place, of: 'the method' }), { url: 'u', auth: { token: 's3cret' } });
		assert.deepEqual(registry.mask('auth', 'a', row, { mask: '•', at: '' }), { url: 'u', auth: { token: '•' } });
		assert.equal(registry.describe(), registry.describe());
	}
	assert.equal(described, afterAdding);
});

test('members of maps are secret by their names, also below lists and other maps, and an object is copied only where it changes', () => {
	const headers = Joi.object().pattern(/./, Joi.string());
	const byName = headers.meta({ secretMembers: (name: string) => name === 'token' });
	const schema = Joi.object({
		list: Joi.array().items(Joi.object({ parts: Joi.object().pattern(/./, Joi.object({ headers: byName })) })),
		headers,
	});
	const registry = new Registry();
	registry.add({ ...(method('a', []) as object), config: schema });
	const other = { headers: { token: 'seen' } };
	const config = { list: [{ parts: { one: { headers: { token: 's3cret', team: 'pets' } } } }, { parts: {} }], ...other };
	const shown = registry.redact('auth', 'a', config);
	assert.deepEqual(shown, { list: [{ parts: { one: { headers: { token: '••••', team: 'pets' } } } }, { parts: {} }], ...other });
	assert.equal(config.list[0]?.parts.one?.headers.token, 's3cret');
	assert.equal(shown['headers'], config.headers);
	for (const value of [{ list: null }, { list: [null] }, { headers: null }])
		assert.equal(registry.redact('auth', 'a', value as never), value);
	const odd = {
		list: [{ parts: [{ headers: { token: 7 } }] }, { parts: { one: 'x', two: { headers: { token: 7 } } } }],
		headers: { token: 7 },
	};
	const hidden = { list: [{ parts: '••••' }, { parts: { one: '••••', two: { headers: { token: '••••' } } } }], headers: { token: 7 } };
	assert.deepEqual(registry.redact('auth', 'a', odd), hidden, 'a value of another type than the schema’s is hidden with what it may hold');
});

const CARD = { method: 'GET', path: '/.well-known/card.json', public: true, atOrganization: true, handler: async () => ({ status: 200 }) };
const transport = (route: object): unknown => ({
	kind: 'transport',
	api: 1,
	name: 'a',
	summary: 'One.',
	config: Joi.object({}),
	routes: [route],
});

test('a route that is at the organization, too, is a public GET of one path below /.well-known/', () => {
	new Registry().add(transport(CARD));
	for (const wrong of [
		{ path: '/card.json' },
		{ path: '/.well-known/{file}' },
		{ method: 'POST' },
		{ public: false },
		{ public: undefined },
	])
		assert.throws(
			() => new Registry().add(transport({ ...CARD, ...wrong })),
			/^Error: transport:a: routes\[0\] must be a public GET of a path below \/\.well-known\/, without parameters, to have atOrganization\.$/,
			JSON.stringify(wrong),
		);
	assert.throws(
		() => new Registry().add(transport({ ...CARD, atOrganization: 'yes' })),
		/routes\[0\]\.atOrganization must be true or false/,
	);
	new Registry().add(transport({ ...CARD, path: '/card.json', atOrganization: false }));
});
