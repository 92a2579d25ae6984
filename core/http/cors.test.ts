// The headers by which browsers let pages call, of a server without routes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Request } from '@hapi/hapi';
import { createCors } from './cors.ts';
import { reservedSegments } from './reserved.ts';

const FRONTEND = 'https://console.example';
const parts = { config: { frontendUrl: FRONTEND }, reserved: reservedSegments() };
const PLUGINS = [
	{ cors: { send: ['X-Acme-Version', 'x-acme-session'], read: ['X-Acme-Session'] } },
	{ cors: { send: ['x-acme-session', 'Accept'] } },
	{},
];

/** The part of a request that counts here. */
const from = (path: string, headers: Record<string, string>): Request => ({ path, raw: { req: { headers } } }) as unknown as Request;

const listed = (value: string | undefined): string[] => (value ?? '').split(', ');

test('a page at any gateway may send and read what a loaded plugin declares, each name once, and nothing else of plugins', () => {
	const cors = createCors({ ...parts, plugins: PLUGINS });
	const plain = createCors(parts);
	const at = (path: string) => from(path, { origin: 'https://any.example' });
	const more = (kind: 'access-control-allow-headers' | 'access-control-expose-headers', path: string): string[] => {
		const headersOf = (one: typeof cors) => ({ ...one.headers(at(path)), ...one.preflight(at(path)) })[kind];
		return listed(headersOf(cors)).filter((name) => !listed(headersOf(plain)).includes(name));
	};
	for (const path of ['/acme/main', '/nobody/nothing/deep']) {
		assert.deepEqual(more('access-control-allow-headers', path), ['x-acme-version', 'x-acme-session']);
		assert.deepEqual(more('access-control-expose-headers', path), ['x-acme-session']);
	}
	for (const name of ['access-control-allow-headers', 'access-control-expose-headers'] as const)
		assert.deepEqual(more(name, '/apis/1'), []);
});

test('declared headers do not widen the management API, and gateways never get credentials', () => {
	const cors = createCors({ ...parts, plugins: PLUGINS });
	const own = from('/apis/1', { origin: FRONTEND });
	assert.doesNotMatch(JSON.stringify([cors.headers(own), cors.preflight(own)]), /acme/);
	assert.equal(cors.headers(own)['access-control-allow-credentials'], 'true');
	for (const name of ['if-match', 'if-none-match', 'idempotency-key'])
		assert.ok(listed(cors.preflight(own)['access-control-allow-headers']).includes(name), name);
	for (const name of ['etag', 'content-disposition', 'idempotency-replayed'])
		assert.ok(listed(cors.headers(own)['access-control-expose-headers']).includes(name), name);
	const foreign = from('/apis/1', { origin: 'https://any.example' });
	assert.deepEqual([cors.headers(foreign), cors.preflight(foreign)], [{ vary: 'origin' }, {}]);
	const { 'access-control-allow-origin': origin, ...others } = cors.headers(from('/acme/main', { origin: FRONTEND }));
	assert.equal(origin, '*');
	assert.deepEqual(Object.keys(others), ['access-control-expose-headers']);
	assert.deepEqual(cors.headers(from('/acme/main', {})), {});
});

test('a gateway allows the headers that a page asks for, since a key may have any; of a list that is none, its own', () => {
	const cors = createCors({ ...parts, plugins: PLUGINS });
	const asked = (names: string) =>
		cors.preflight(from('/acme/main', { origin: 'https://any.example', 'access-control-request-headers': names }))[
			'access-control-allow-headers'
		];
	assert.equal(asked('x-my-key, content-type'), 'x-my-key, content-type');
	for (const bad of ['a\r\nset-cookie: x', 'x'.repeat(1001), 'a;b', '']) assert.match(asked(bad) ?? '', /^authorization, .*x-acme-version/);
});
