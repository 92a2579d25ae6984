// Tests of the order in which a gateway checks a request, the caching of gateways, and plugins that fail.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import type { ServerInjectResponse } from '@hapi/hapi';
import Joi from 'joi';
import { LOOSE, startCore, type TestCore, wide } from '../../test/helpers/core.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addGateway, addTenant, type Tenant } from '../../test/helpers/samples.ts';
import type { Call } from '../contract/context.ts';
import { GatewayError } from '../contract/errors.ts';
import type { AuthMethod, GatewayRoute, TransportAdapter } from '../contract/kinds.ts';
import type { Incoming, Reply } from '../contract/nouns.ts';

/** The steps that were taken, in order. */
let steps: string[];
/** The behaviour of the transport's routes in the test that runs. */
let reply: (incoming: Incoming, call: Call) => Promise<Reply>;
let core: TestCore;

const GOOD = { 'x-key': 'good' };
const config = Joi.object({});
const handler: GatewayRoute['handler'] = async (incoming, _config, call) => {
	steps.push('handle');
	return reply(incoming, call);
};
const said = async ({ body }: Incoming): Promise<Reply> => ({ status: 200, body: { body: body as never } });

const method: AuthMethod = {
	...{ kind: 'auth', name: 'door', summary: 'Takes the key that is good.', config },
	async authenticate({ headers }) {
		steps.push('authenticate');
		if (headers['x-key'] === undefined) return null;
		if (headers['x-key'] === 'broken') throw new Error('canary');
		if (!headers['x-key'].startsWith('good')) throw new GatewayError('unauthorized', 'The key is not good.');
		return { method: 'door', subject: `key:${headers['x-key']}`, scopes: [] };
	},
};
const json = { method: 'POST', body: 'json', handler } as const;
const transport: TransportAdapter = {
	...{ kind: 'transport', name: 'wire', summary: 'Says what the test says.', config },
	routes: [
		{ ...json, path: '/' },
		{ ...json, path: '/small', maxBytes: 10 },
		{ ...json, path: '/form', body: 'form' },
		{ ...json, path: '/raw', body: 'raw' },
		{ method: 'GET', path: '/open', public: true, handler },
		{ method: 'GET', path: '/items/{id}', handler },
		{ method: 'GET', path: '/.well-known/wire', public: true, atOrganization: true, handler },
		{ method: 'GET', path: '/.well-known/other', public: true, handler },
	],
};

before(async () => {
	core = await startCore({ plugins: [transport, method], limits: { ...LOOSE, gateways: wide } });
});
after(() => core[Symbol.asyncDispose]());
beforeEach(() => {
	steps = [];
	reply = said;
	core.lines.length = 0;
});

interface Published extends Tenant {
	id: string;
	at: string;
}

async function publish(of: TestCore = core): Promise<Published> {
	const tenant = await addTenant(of.store);
	const { id } = await addGateway(of.store, tenant.organizationId, '/main', { type: 'wire' });
	const door = { type: 'door', isRequired: true, configuration: {}, validationRules: {} };
	await of.store.gateways.addAuth(tenant.organizationId, id, randomUUID(), door);
	await of.store.changes.fresh(0);
	return { ...tenant, id, at: `/${tenant.slug}/main` };
}

interface Asked {
	method?: string;
	headers?: Record<string, string>;
	payload?: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const ask = (
	url: string,
	{ headers = GOOD, payload = '{}', method: verb = 'POST' }: Asked = {},
	of = core,
): Promise<ServerInjectResponse> =>
	of.server.inject({ method: verb, url, headers: { ...JSON_TYPE, ...headers }, ...(verb !== 'GET' && { payload }) });
const statusOf = async (...asked: Parameters<typeof ask>): Promise<number> => (await ask(...asked)).statusCode;

const LARGE = { payload: `"${'x'.repeat(2_000_000)}"` };

test('callers who are not admitted are refused before the body is read, and do not learn whether the path exists', async () => {
	const { at } = await publish();
	for (const headers of [{}, { 'x-key': 'bad' }]) {
		assert.equal(await statusOf(at, { headers, ...LARGE }), 401);
		assert.equal(await statusOf(`${at}/nothing`, { headers }), 401);
	}
	assert.deepEqual(new Set(steps), new Set(['authenticate']));
	assert.equal(await statusOf(at, LARGE), 413);
	assert.equal(await statusOf(`${at}/nothing`), 404);
	assert.equal((await ask(`${at}/open`)).headers['allow'], 'GET');
});

test('a request is authenticated, then handled', async () => {
	const { at } = await publish();
	assert.equal(await statusOf(at), 200);
	assert.deepEqual(steps, ['authenticate', 'handle']);
});

test('public routes and missing discovery documents require no credential', async () => {
	const { at } = await publish();
	assert.equal(await statusOf(`${at}/open`, { method: 'GET', headers: {} }), 200);
	assert.equal(await statusOf(`${at}/.well-known/anything`, { method: 'GET', headers: {} }), 404);
	assert.equal(await statusOf(`/.well-known/anything${at}`, { method: 'GET', headers: {} }), 404);
	assert.deepEqual(steps, ['handle']);
});

test('a caller over the limit is refused after authentication, and before the body is read', async () => {
	await using strict = await startCore({ plugins: [transport, method], limits: { ...LOOSE, gateways: { max: 1, seconds: 60 } } });
	const { at } = await publish(strict);
	assert.equal(await statusOf(at, {}, strict), 200);
	steps = [];
	assert.equal(await statusOf(at, LARGE, strict), 429);
	assert.deepEqual(steps, ['authenticate']);
	assert.equal(await statusOf(at, { headers: { 'x-key': 'good, too' } }, strict), 200, 'another caller from the same address');
});

test('a body is read in the form that the route declares', async () => {
	const { at } = await publish();
	const body = async (path: string, asked: Asked) => JSON.parse((await ask(at + path, asked)).payload).body;
	assert.deepEqual(await body('', { payload: '{"a":1}' }), { a: 1 });
	assert.equal(await body('', { payload: '' }), null);
	reply = async ({ body: form }) => ({ status: 200, body: { body: (form as URLSearchParams).get('a') } });
	assert.equal(await body('/form', { payload: 'a=1', headers: { ...GOOD, 'content-type': 'application/x-www-form-urlencoded' } }), '1');
	reply = async ({ body: raw }) => ({ status: 200, body: { body: Buffer.isBuffer(raw) } });
	assert.equal(await body('/raw', { payload: 'x', headers: { ...GOOD, 'content-type': 'text/plain' } }), true);
	steps = [];
	assert.equal(await statusOf(at, { headers: { ...GOOD, 'content-type': 'text/plain' } }), 415);
	assert.equal(await statusOf(at, { payload: '{' }), 400);
	assert.equal(steps.includes('handle'), false);
});

test('a plugin that fails unexpectedly causes a 500 without details, and the next request is served', async () => {
	const { at } = await publish();
	const breaking = [
		() => Promise.reject(new Error('canary')),
		() => {
			throw new TypeError('canary');
		},
	];
	for (const broken of breaking) {
		reply = broken;
		const { statusCode, payload } = await ask(at);
		assert.equal(statusCode, 500);
		assert.doesNotMatch(payload, /canary/);
		assert.match(JSON.stringify(core.lines), /canary/);
	}
	reply = said;
	assert.notEqual(await statusOf(at, { headers: { 'x-key': 'broken' } }), 200, 'a method that breaks lets nobody in');
	assert.equal(await statusOf(at), 200);
});

test('a handler’s refusal has the common error body, and its reply is sent unchanged', async () => {
	const { at } = await publish();
	reply = () => Promise.reject(new GatewayError('conflict', 'It is taken.'));
	assert.equal(await statusOf(at), 409);
	reply = async () => ({ status: 202, headers: { 'x-wire': '1', 'content-type': 'application/x-wire' }, body: Buffer.from('bytes') });
	const { statusCode, headers, payload } = await ask(at);
	assert.deepEqual([statusCode, headers['x-wire'], headers['content-type'], payload], [202, '1', 'application/x-wire', 'bytes']);
	reply = async () => ({ status: 200, body: { a: 1 } });
	assert.match(String((await ask(at)).headers['content-type']), /^application\/json/);
	reply = async ({ params, query, path, method: verb, id }) => ({ status: 200, body: { params, q: query.getAll('q'), path, verb, id } });
	const seen = await ask(`${at}/items/a%2Fb/?q=1&q=2`, { method: 'GET', headers: { ...GOOD, 'x-request-id': 'one' } });
	assert.deepEqual(JSON.parse(seen.payload), { params: { id: 'a/b' }, q: ['1', '2'], path: '/items/a%2Fb', verb: 'GET', id: 'one' });
});

test('a client who disconnects aborts the call', async () => {
	const { at } = await publish();
	const { promise: left, resolve } = Promise.withResolvers<boolean>();
	reply = async (_incoming, { signal }) => {
		signal.addEventListener('abort', () => resolve(true));
		leave();
		await left;
		return { status: 200 };
	};
	let leave = (): void => assert.fail('nobody was asked');
	const { door } = core.server.app;
	assert.ok(door);
	const { atGateways } = door;
	door.atGateways = (request) => {
		leave = () => void request.raw.res.emit('close');
		return atGateways(request);
	};
	await ask(at);
	door.atGateways = atGateways;
	assert.equal(await left, true);
});

test('an inactive gateway and an impossible name are not found, and neither is cached', async () => {
	const { at, organizationId, id, slug } = await publish();
	assert.equal(await statusOf(at), 200);
	for (const path of ['/nobody/main', `/${slug}/other`, `/${slug}/MAIN!`, `/${'x'.repeat(60)}/main`])
		assert.equal(await statusOf(path), 404, path);
	await core.store.gateways.update(organizationId, id, { status: 'inactive' });
	await core.store.changes.fresh(0);
	assert.equal(await statusOf(at), 404);
	await core.store.gateways.update(organizationId, id, { status: 'active' });
	await core.store.changes.fresh(0);
	assert.equal(await statusOf(at), 200, 'that it was not there is not remembered');
});

test('a gateway is read once for concurrent requests, and again only after a change of its own organization', async (t) => {
	const [mine, other] = [await publish(), await publish()];
	// The runtime holds this store object; the wrapped method is the real one, counted.
	const { gateways } = core.services.store;
	const looks = t.mock.method(gateways, 'snapshot');
	await Promise.all(Array.from({ length: 10 }, () => ask(mine.at)));
	assert.equal(looks.mock.callCount(), 1);
	await core.store.gateways.update(other.organizationId, other.id, { name: 'x' });
	await core.store.changes.fresh(0);
	await ask(mine.at);
	assert.equal(looks.mock.callCount(), 1);
	await core.store.gateways.update(mine.organizationId, mine.id, { name: 'x' });
	await core.store.changes.fresh(0);
	await ask(mine.at);
	assert.equal(looks.mock.callCount(), 2);
});

test('a failed look-up is not cached', async () => {
	const { at } = await publish();
	const rename = (from: string, to: string) => administer(core.store.database, `ALTER TABLE ${from} RENAME TO ${to}`);
	await rename('gateway_auth', 'away');
	try {
		assert.equal(await statusOf(at), 500);
	} finally {
		await rename('away', 'gateway_auth');
	}
	assert.equal(await statusOf(at), 200);
});

test('a document of an organization is that of its only active gateway of the transport, and else there is one refusal for all', async () => {
	const { slug, organizationId, id } = await publish();
	const at = (name = 'wire', of = slug) => ask(`/${of}/.well-known/${name}`, { method: 'GET', headers: {} });
	reply = async ({ path, base }) => ({ status: 200, body: { path, base } });
	const { path, base } = JSON.parse((await at()).payload);
	assert.deepEqual([path, new URL(base).pathname], ['/.well-known/wire', `/${slug}/main`]);
	assert.equal((await ask(`/@${slug}/.well-known/wire/`, { method: 'GET', headers: {} })).statusCode, 200);
	assert.equal(await statusOf(`/${slug}/.well-known/wire`, { headers: {} }), 405);
	const refusals = [await at('wire', 'nobody'), await at('other'), await at('none'), await at('wire', 'No-Body')];
	const second = await addGateway(core.store, organizationId, '/second', { type: 'wire' });
	await core.store.changes.fresh(0);
	refusals.push(await at());
	await core.store.gateways.update(organizationId, second.id, { status: 'inactive' });
	await core.store.changes.fresh(0);
	assert.equal((await at()).statusCode, 200);
	await core.store.gateways.update(organizationId, id, { status: 'inactive' });
	await core.store.changes.fresh(0);
	refusals.push(await at());
	const told = refusals.map((one) => [one.statusCode, JSON.parse(one.payload).message]);
	assert.deepEqual(new Set(told.map(([status]) => status)), new Set([404]));
	assert.equal(new Set(told.map(([, message]) => message)).size, 1);
	assert.match(String(told[0]?.[1]), /trailing slash/);
});
