// Tests of authentication methods at an address over all organizations: the callers that count, what a method may use before it has named
// an organization, and callers of work that outlives its request.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import Joi from 'joi';
import { startCore, type TestCore } from '../../test/helpers/core.ts';
import { failure } from '../../test/helpers/egress.ts';
import { addMember, addTenant, type Tenant } from '../../test/helpers/samples.ts';
import type { Context } from '../contract/context.ts';
import { GatewayError } from '../contract/errors.ts';
import type { AuthMethod, TransportAdapter } from '../contract/kinds.ts';
import type { Caller, JsonObject } from '../contract/nouns.ts';

const config = Joi.object({});

const wire: TransportAdapter = {
	...{ kind: 'transport', api: 1, name: 'wire', summary: 'Tells the caller.', config },
	routes: [
		{
			...{ method: 'GET', path: '/' },
			handler: async (_request, _config, call) => {
				const { subject = null, method = null, scopes = [] } = call.caller ?? {};
				return { status: 200, body: { subject, method, scopes: [...scopes], organizations: call.organizations === null } };
			},
		},
	],
};

/** Admits a member whom headers name, as the test of the moment wants it. */
let admit: (headers: Readonly<Record<string, string | undefined>>, context: Context) => Promise<Caller | null>;
let isLive = true;
const pass: AuthMethod = {
	...{ kind: 'auth', api: 1, name: 'pass', summary: 'Admits by name.', config, universal: true },
	authenticate: ({ headers }, _config, context) => admit(headers, context),
	recheck: async (caller, _config, context) => (isLive ? context.identity.member(caller.userId ?? '') : null),
	challenge: ({ url, name }, _config, fault) => `Bearer realm="${url} ${name}"${fault ? `, error="${fault.error}"` : ''}`,
	routes: [
		{
			...{ method: 'GET', path: '/mine/{organization}', public: true },
			async handler({ params, headers }, _config, call) {
				const there = await call.organizations?.at(params['organization'] ?? '');
				const of = (await call.organizations?.of(headers['x-user'] ?? '')) ?? [];
				const count = there ? await there.records.count('any') : null;
				return { status: 200, body: { count, inside: there?.organizations === null, of: of.map(({ slug }) => slug) } };
			},
		},
		{
			method: 'GET',
			path: '/early',
			public: true,
			handler: async (_request, _config, call) => ({ status: 200, body: { n: await call.records.count('any') } }),
		},
	],
};
const plain: AuthMethod = { kind: 'auth', api: 1, name: 'plain', summary: 'Of gateways.', config, authenticate: async () => null };

let core: TestCore;
let tenant: Tenant;
before(async () => {
	core = await startCore({
		plugins: [wire, pass, plain],
		register: ({ runtime }) =>
			runtime.serveAt({ path: '/mcp', title: 'All', transport: 'wire', identify: async () => null, methods: [{ name: 'pass' }] }),
	});
	tenant = await addTenant(core.store);
});
after(() => core[Symbol.asyncDispose]());
beforeEach(() => {
	admit = async ({ 'x-organization': organization, 'x-user': user = '' }, context) => {
		if (organization === undefined) return null;
		const there = await context.organizations?.at(organization);
		const member = await there?.identity.member(user);
		if (!member) throw new GatewayError('unauthorized', 'Nobody.');
		return { ...member, credential: 'pass:1' };
	};
	core.lines.length = 0;
});

async function get(path: string, headers: Record<string, string> = {}) {
	const { statusCode: status, payload, headers: sent } = await core.server.inject({ method: 'GET', url: path, headers });
	return { status, body: JSON.parse(payload), challenge: sent['www-authenticate'] };
}
const as = ({ organizationId, userId }: Pick<Tenant, 'organizationId' | 'userId'>) => ({
	'x-organization': organizationId,
	'x-user': userId,
});

describe('a caller', () => {
	test('is a member of the organization that the method names, under its own name', async () => {
		const { status, body } = await get('/mcp', as(tenant));
		assert.deepEqual([status, body.subject, body.method, body.organizations], [200, `user:${tenant.userId}`, 'pass', true]);
	});

	test('who is no member, of no organization that there is, or without a credential is a 401 with the challenge', async () => {
		const other = await addTenant(core.store);
		const realm = 'Bearer realm="https://gatehouse.example/mcp All"';
		for (const headers of [
			as({ ...tenant, userId: other.userId }),
			{ ...as(tenant), 'x-organization': tenant.userId },
			{ ...as(tenant), 'x-organization': 'x' },
		])
			assert.deepEqual(
				[(await get('/mcp', headers)).status, (await get('/mcp', headers)).challenge],
				[401, `${realm}, error="invalid_token"`],
			);
		assert.equal((await get('/mcp')).challenge, realm);
	});

	test('whom no identity gave in this request does not count, whatever the method claims', async () => {
		const other = await addTenant(core.store);
		const claims: ((member: Caller) => Caller)[] = [
			(member) => ({ ...member, organizationId: other.organizationId }),
			({ organizationId: _none, ...member }) => member,
			(member) => ({ ...member, subject: `user:${other.userId}`, userId: other.userId }),
			({ scopes, organizationId = '' }) => ({ method: 'pass', subject: 'me', scopes, organizationId }),
		];
		for (const [at, claim] of claims.entries()) {
			admit = async (_headers, context) => {
				const there = await context.organizations?.at(tenant.organizationId);
				return claim((await there?.identity.member(tenant.userId)) ?? assert.fail());
			};
			assert.ok((await get('/mcp')).status >= 401, `claim ${at}`);
		}
	});

	test('who lost their membership is refused at once', async () => {
		const userId = await addMember(core.store, tenant, 'member');
		assert.equal((await get('/mcp', as({ ...tenant, userId }))).status, 200);
		await core.store.organizations.changeMember(tenant.organizationId, userId, { role: null, by: tenant.userId, permit: () => undefined });
		await core.store.changes.fresh(0);
		assert.equal((await get('/mcp', as({ ...tenant, userId }))).status, 401);
	});

	test('of work that outlives the request is checked again by the method', async () => {
		const member = (await core.members.byId(tenant.userId, { organizationId: tenant.organizationId, id: '' })) ?? assert.fail();
		const reach = {
			organizationId: tenant.organizationId,
			caller: { ...member, method: 'pass', credential: 'pass:1' },
			gateways: 'all' as const,
		};
		const begin = () => core.runtime.callOf({ ...reach, plugin: 'transport:wire', signal: new AbortController().signal, path: '/mcp' });
		assert.equal((await begin()).caller?.subject, `user:${tenant.userId}`);
		isLive = false;
		await failure(begin(), 'forbidden');
		isLive = true;
	});
});

describe('a route of a method', () => {
	test('has the records of an organization that it names, and lists those of a user', async () => {
		const { organizationId, userId } = tenant;
		const { body } = await get(`/mcp/mine/${organizationId}`, { 'x-user': userId });
		const { slug } = (await core.store.organizations.get(organizationId)) ?? assert.fail();
		assert.deepEqual(body, { count: 0, inside: true, of: [slug] });
		assert.equal((await get(`/mcp/mine/${userId}`)).body.count, null);
	});

	test('has none before it names one: that is a fault of the plugin', async () => {
		assert.equal((await get('/mcp/early')).status, 500);
		assert.match(JSON.stringify(core.lines), /before one was named/);
	});

	test('is reached by the inserted form of a discovery path, and what is not there is a 404 for anybody', async () => {
		for (const path of ['/.well-known/unknown/mcp', '/mcp/.well-known/unknown']) assert.equal((await get(path)).status, 404);
		assert.equal((await get('/mcp/unknown')).status, 401);
	});
});

test('a method that is not universal, or whose config is wrong, stops the start', async () => {
	const wrong: [name: string, its: JsonObject, fault: RegExp][] = [
		['plain', {}, /"plain" is not loaded, or is not universal/],
		['none_such', {}, /is not universal/],
		['pass', { a: 1 }, /config of auth:pass: "a" is not allowed/],
	];
	await using one = await startCore({
		plugins: [wire, pass, plain],
		register({ runtime }) {
			for (const [name, its, fault] of wrong) {
				const address = { path: '/mcp', transport: 'wire', identify: async () => null, methods: [{ name, config: its }] };
				assert.throws(() => runtime.serveAt(address), fault);
			}
		},
	});
	assert.equal((await one.server.inject('/mcp')).statusCode, 404);
});
