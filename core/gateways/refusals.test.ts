// Tests of who speaks for a path that is refused, and of what stays core's.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import Joi from 'joi';
import { startCore, type TestCore } from '../../test/helpers/core.ts';
import { addGateway, addTenant } from '../../test/helpers/samples.ts';
import { GatewayError } from '../contract/errors.ts';
import type { AuthMethod, GatewayRoute, TransportAdapter } from '../contract/kinds.ts';
import type { Incoming, Reply } from '../contract/nouns.ts';

const config = Joi.object({});
/** The error that the handlers throw. */
let thrown: unknown;
/** The refusal of the test that runs, if it is not the usual one. */
let wire: ((error: GatewayError, request: Incoming) => Reply | null) | null;
const handler = async () => {
	throw thrown;
};
const open = (path: string): GatewayRoute => ({ method: 'POST', path, public: true, body: 'json', handler });
const says =
	(who: string) =>
	(error: GatewayError, request: Incoming): Reply | null =>
		wire ? wire(error, request) : { status: error.status, body: { who, code: error.code, message: error.message } };

const door = (name: string, more: Partial<AuthMethod> = {}): AuthMethod => ({
	...{ kind: 'auth', name, summary: 'Of a test.', config, routes: [open(`/${name}`)] },
	authenticate: async () => null,
	...more,
});
const transport = (name: string, more: Partial<TransportAdapter> = {}): TransportAdapter => ({
	...{
		kind: 'transport',
		name,
		summary: 'Of a test.',
		config,
		routes: [open('/'), { method: 'GET', path: '/echo', public: true, handler: echo }],
	},
	...more,
});
const echo = async ({ authority, target }: Incoming): Promise<Reply> => ({ status: 200, body: { authority, target } });

let core: TestCore;
let speaking: string;
let silent: string;

before(async () => {
	const plugins = [transport('wire', { fail: says('wire') }), transport('mute'), door('talks', { fail: says('talks') }), door('quiet')];
	core = await startCore({ plugins });
	speaking = await publish('wire');
	silent = await publish('mute');
});
after(() => core[Symbol.asyncDispose]());
beforeEach(() => {
	core.lines.length = 0;
	thrown = new GatewayError('conflict', 'It is taken.');
	wire = null;
});

async function publish(type: string): Promise<string> {
	const { organizationId, slug } = await addTenant(core.store);
	const { id } = await addGateway(core.store, organizationId, '/main', { type });
	for (const name of ['talks', 'quiet']) {
		const row = { type: name, isRequired: true, configuration: {}, validationRules: {} };
		await core.store.gateways.addAuth(organizationId, id, randomUUID(), row);
	}
	await core.store.changes.fresh(0);
	return `/${slug}/main`;
}

const ask = async (url: string, payload = '{}', headers: Record<string, string> = {}) => {
	const answer = await core.server.inject({ method: 'POST', url, payload, headers: { 'content-type': 'application/json', ...headers } });
	return { status: answer.statusCode, headers: answer.headers, body: JSON.parse(answer.payload) };
};
const who = async (...asked: Parameters<typeof ask>): Promise<string> => {
	const { body } = await ask(...asked);
	return body.who ?? (body.success === false ? 'core' : 'nobody');
};

test('the owner of a route speaks for it, and the transport for paths without one', async () => {
	assert.equal(await who(speaking), 'wire');
	assert.equal(await who(`${speaking}/nothing`), 'wire', 'no credential, at a path without a route');
	assert.equal(await who(`${speaking}/.well-known/nothing`), 'wire');
	assert.equal(await who(`${speaking}/talks`), 'talks');
	assert.equal(await who(`${speaking}/quiet`), 'core', 'a method that does not speak is not spoken for');
	assert.equal(await who(`${silent}/talks`), 'talks');
	for (const path of ['', '/nothing', '/quiet']) assert.equal(await who(silent + path), 'core', path);
});

test('a query and a body that cannot be read are refused in the owner’s form', async () => {
	for (const path of ['', '/talks']) {
		const expected = path === '' ? 'wire' : 'talks';
		assert.equal(await who(`${speaking}${path}?a=%zz`), expected);
		assert.equal(await who(speaking + path, '{'), expected);
		assert.equal(await who(speaking + path, '{}', { 'content-type': 'text/plain' }), expected);
		assert.equal(await who(speaking + path, `"${'x'.repeat(2_000_000)}"`), expected);
	}
});

test('what is unforeseen is logged once, and told without its details', async () => {
	thrown = new Error('canary');
	const { status, body } = await ask(speaking);
	assert.deepEqual([status, body.who, body.code], [500, 'wire', 'internal']);
	assert.doesNotMatch(body.message, /canary/);
	assert.equal(core.lines.filter(([, , text]) => text === 'request failed').length, 1);
});

test('a plugin cannot change the error that core answers with', async () => {
	thrown = new GatewayError('unavailable', 'Not now.', { headers: { 'retry-after': '30' }, details: [{ path: '/a', message: 'b' }] });
	wire = (error) => {
		Object.assign(error.headers, { 'retry-after': '0', 'set-cookie': 'a=b' });
		Object.assign(error, { message: 'changed', code: 'conflict' });
		error.details.length = 0;
		return null;
	};
	const { status, headers, body } = await ask(speaking);
	assert.deepEqual([status, headers['retry-after'], headers['set-cookie']], [503, '30', undefined]);
	assert.deepEqual([body.message, body.error, body.details], ['Not now.', 'UNAVAILABLE', [{ path: '/a', message: 'b' }]]);
});

test('the status of a 401 and a 403 stays', async () => {
	wire = () => ({ status: 200, body: { told: true } });
	assert.deepEqual([(await ask(`${speaking}/nothing`)).status, (await ask(`${speaking}/nothing`)).body], [401, { told: true }]);
	thrown = new GatewayError('insufficient_scope', 'Not yours.', { headers: { 'www-authenticate': 'Bearer' } });
	const { status, headers } = await ask(speaking);
	assert.deepEqual([status, headers['www-authenticate']], [403, 'Bearer']);
	thrown = new GatewayError('rate_limited', 'Too many.');
	assert.deepEqual((await ask(speaking)).body, {
		...{ success: false, error: 'RATE_LIMITED', statusCode: 429 },
		message: 'Too many. Retry after 1 seconds.',
	});
});

test('authority and target are told as signatures cover them', async () => {
	for (const [host, authority] of [
		['Gatehouse.Example:443', 'gatehouse.example'],
		['gatehouse.example:8443', 'gatehouse.example:8443'],
		['[::1]:443', '[::1]'],
		['gatehouse.example:80', 'gatehouse.example:80'],
	] as const) {
		const url = `${speaking.replace('/main', '/%6Dain')}/echo?a=%20b&c`;
		const { payload } = await core.server.inject({ method: 'GET', url, headers: { host } });
		assert.deepEqual(JSON.parse(payload), { authority, target: url });
	}
});
