// Tests of calls over all gateways of an organization, by a transport at a fixed address: the tools and their names, each tool's own
// gateway, the reach of callers, and the changes that are seen.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Joi from 'joi';
import { type CoreOptions, startCore, type TestCore } from '../../test/helpers/core.ts';
import { failure } from '../../test/helpers/egress.ts';
import { addGateway, addMember, addTenant, addTool, type Tenant } from '../../test/helpers/samples.ts';
import type { Admission } from '../contract/admission.ts';
import { GatewayError } from '../contract/errors.ts';
import type { AuthMethod, ToolExecutor, TransportAdapter } from '../contract/kinds.ts';
import type { Incoming, Json, JsonObject } from '../contract/nouns.ts';
import type { Role } from '../contract/permissions.ts';
import type { Reach } from '../identity/reach.ts';
import { ACCESS_KEY_PREFIX, GATEWAY_KEY_PREFIX, hashKey, mintKey } from '../secrets/tokens.ts';
import type { KeyReach, ValidationRules } from '../store/store.ts';
import type { PluginCall } from '../tools/call.ts';
import type { MergedScope } from './merged.ts';
import { authLocation } from './mount.ts';

const config = Joi.object({});

const wire: TransportAdapter = {
	...{ kind: 'transport', name: 'wire', summary: 'Lists and calls.' },
	config: Joi.object({ greeting: Joi.string().default('hello') }),
	routes: [
		{
			...{ method: 'POST', path: '/', body: 'json', maxBytes: 200 },
			async handler({ body }, { greeting }: JsonObject, call) {
				const { name } = body as { name?: string };
				const before = await call.kv.get('last');
				await call.kv.put('last', name ?? 'list', 60_000);
				const at = { gateway: call.gateway?.id ?? null, before, greeting: greeting ?? null };
				const skills = (await call.skills()).map((skill) => skill.name);
				if (name === undefined) return { status: 200, body: { ...at, skills, tools: (await call.tools()).map((tool) => tool.name) } };
				// The executor answers with JSON.
				return { status: 200, body: { ...at, result: (await call.invoke({ name }, {})).structured as JsonObject } };
			},
		},
		{
			...{ method: 'GET', path: '/card', public: true, lists: true },
			handler: async (_request, _config, call) => ({
				status: 200,
				body: { tools: (await call.published()).map(({ name }) => name), admission: call.admission() as unknown as Json },
			}),
		},
		{
			...{ method: 'GET', path: '/silent', public: true },
			handler: async (_request, _config, call) => ({ status: 200, body: { tools: (await call.published()).length } }),
		},
	],
};
const odd: ToolExecutor = {
	...{ kind: 'executor', name: 'odd', summary: 'Tells its gateway.', config },
	execute: async (_args, _config, call) => ({
		content: [],
		structured: { gateway: call.gateway?.id ?? null, tool: call.tool?.name ?? null },
	}),
};
const secretConfig = Joi.object({ key: Joi.string().meta({ secret: true }) });
const lock: AuthMethod = { ...{ kind: 'auth', name: 'lock', summary: 'Has a key.' }, config: secretConfig, authenticate: async () => null };
const door: AuthMethod = { kind: 'auth', name: 'door', summary: 'Admits.', config, authenticate: async () => null };

/** Identifies access keys and logins, and keys of the gateway that a header names. */
const register: CoreOptions['register'] = ({ runtime, members }) => {
	async function identify({ headers }: Incoming): Promise<Reach | null> {
		const secret = headers['x-secret'];
		const organizationId = headers['x-organization'] ?? '';
		if (secret === undefined) return null;
		if (secret.startsWith(GATEWAY_KEY_PREFIX)) return runtime.keyReach(organizationId, headers['x-gateway'] ?? '', secret);
		const holder = await members.holder(secret);
		if (!holder) throw new GatewayError('unauthorized', 'The key is not good.');
		return runtime.reachIn(holder, organizationId);
	}
	runtime.serveAt({ path: '/mcp', transport: 'wire', identify });
	runtime.serveAt({
		path: '/a2a/v1',
		transport: 'wire',
		config: { greeting: 'hi' },
		identify,
		challenge: () => 'Bearer realm="x"',
		admission,
	});
};

const admission = ({ publicUrl }: Incoming): Admission[] => [
	{ method: 'access', required: false, scheme: { type: 'http', scheme: 'bearer', description: `Keys of ${publicUrl}` } },
];

let core: TestCore;
before(async () => {
	core = await startCore({ plugins: [wire, odd, door, lock], register });
});
after(() => core[Symbol.asyncDispose]());
beforeEach(() => {
	core.runs.length = 0;
	core.lines.length = 0;
});

const settled = () => core.store.changes.fresh(0);

async function openGateway(tenant: Tenant, endpoint: string, rules: ValidationRules = {}): Promise<string> {
	const { id } = await addGateway(core.store, tenant.organizationId, endpoint, { type: 'wire' });
	const method = { type: 'door', isRequired: false, configuration: {}, validationRules: rules };
	await core.store.gateways.addAuth(tenant.organizationId, id, randomUUID(), method);
	return id;
}

/** Adds tools of these names to a gateway. @returns their ids */
async function fill({ organizationId }: Tenant, gatewayId: string, ...names: string[]): Promise<string[]> {
	const ids: string[] = [];
	for (const name of names) ids.push((await addTool(core.store, organizationId, { name, executor: 'odd', executionConfig: {} })).id);
	await core.store.gateways.assign(organizationId, gatewayId, ids);
	await settled();
	return ids;
}

interface Published extends Tenant {
	/** Two gateways. */
	one: string;
	two: string;
	secret: string;
}

/** Makes an organization with two gateways, the tools `a` and `b` in one, `B` and `c` in the other, and an access key of its owner. */
async function publish(): Promise<Published> {
	const tenant = await addTenant(core.store);
	const one = await openGateway(tenant, '/one');
	const two = await openGateway(tenant, '/two');
	await fill(tenant, one, 'a', 'b');
	await fill(tenant, two, 'B', 'c');
	return { ...tenant, one, two, secret: (await addKey(tenant.userId)).secret };
}

async function addKey(userId: string, reach: KeyReach = { type: 'account' }): Promise<{ id: string; secret: string }> {
	const secret = mintKey(ACCESS_KEY_PREFIX);
	const key = { name: 'k', prefix: secret.slice(0, 12), reach, permissions: null, hash: hashKey(secret) };
	return { id: (await core.store.accessKeys.create(userId, key))?.id ?? assert.fail(), secret };
}

interface Asked {
	name?: string;
	path?: string;
	headers?: Record<string, string>;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read into answers whose shape is what they test
type Body = any;

async function ask(
	by: { organizationId: string; secret: string },
	{ name, path = '/mcp', headers = {} }: Asked = {},
): Promise<{ status: number; body: Body }> {
	const { statusCode, payload } = await core.server.inject({
		...{ method: 'POST', url: path, payload: JSON.stringify({ name }) },
		headers: { 'content-type': 'application/json', 'x-secret': by.secret, 'x-organization': by.organizationId, ...headers },
	});
	return { status: statusCode, body: payload === '' ? null : JSON.parse(payload) };
}

const toolsOf = async (...asked: Parameters<typeof ask>): Promise<string[]> => (await ask(...asked)).body.tools;

describe('the tools of all gateways', () => {
	test('are on one shelf, oldest gateway first, with unique names that stay, and each tool once', async () => {
		const by = await publish();
		const tools = await toolsOf(by);
		assert.match(tools.join(' '), /^a b B_[0-9a-f]{8} c$/);
		const [, b] = (await core.store.gateways.tools(by.organizationId, by.one, { limit: 10 })).items;
		await core.store.gateways.assign(by.organizationId, by.two, [b?.tool.id ?? assert.fail()]);
		await settled();
		assert.deepEqual(await toolsOf(by), tools);
	});

	test('come with the skills of all gateways, each once', async () => {
		const by = await publish();
		const bounds = { skills: 9, bytes: 999, skillBytes: 99, skillFiles: 9, assigned: 9 };
		const content = { path: 'SKILL.md', mimeType: 'text/markdown', isText: true, content: Buffer.from('x') };
		for (const [name, ...gateways] of [['both', by.two, by.one] as const, ['one', by.one] as const, ['none'] as const]) {
			const edit = { name, description: 'x', frontmatter: {}, arguments: [], put: [content], drop: [] };
			const { id } = await core.store.skills.create(by.organizationId, edit, bounds);
			for (const gateway of gateways) await core.store.skills.assign(by.organizationId, gateway, id, bounds);
		}
		await settled();
		assert.deepEqual((await ask(by)).body.skills, ['both', 'one']);
	});

	test('run as those of their own gateway, and are recorded there', async () => {
		const by = await publish();
		const [, , renamed = ''] = await toolsOf(by);
		for (const [name, gateway] of [
			['a', by.one],
			[renamed, by.two],
			['c', by.two],
		] as const) {
			const { body } = await ask(by, { name });
			assert.deepEqual(body.result, { gateway, tool: name });
			assert.equal(body.gateway, null, 'the call itself has none');
		}
		await nextTurn();
		assert.deepEqual(
			core.runs.map(({ gatewayId, caller }) => [gatewayId, caller]),
			[by.one, by.two, by.two].map((id) => [id, `user:${by.userId}`]),
		);
		assert.equal((await ask(by, { name: 'B' })).status, 404, 'the name that it has in its gateway is another tool’s here');
	});

	test('share the data of the transport in the organization, and with no other one', async () => {
		const [by, other] = [await publish(), await publish()];
		await ask(by, { name: 'a' });
		assert.deepEqual([(await ask(by)).body.before, (await ask(other)).body.before], ['a', null]);
	});

	test('keep the limits of their assignments', async () => {
		const by = await publish();
		const { items } = await core.store.gateways.tools(by.organizationId, by.two, { limit: 10 });
		const limited = items.find(({ tool }) => tool.name === 'c') ?? assert.fail();
		await core.store.gateways.updateAssignment(by.organizationId, by.two, limited.tool.id, { rateLimit: 1 });
		await settled();
		const statuses = [];
		for (const name of ['c', 'c', 'a']) statuses.push((await ask(by, { name })).status);
		assert.deepEqual(statuses, [200, 429, 200]);
		const colleague = { ...by, secret: (await addKey(await addMember(core.store, by, 'member'))).secret };
		assert.equal((await ask(colleague, { name: 'c' })).status, 200, 'each caller has a limit of their own');
	});

	test('are read once, and again after a change of the organization, which is seen at once on this replica', async (t) => {
		const [by, other] = [await publish(), await publish()];
		const { gateways, organizations, accounts } = core.services.store;
		// The runtime holds this store object; the wrapped methods are the real ones, counted.
		const looks = [
			t.mock.method(gateways, 'snapshot'),
			t.mock.method(gateways, 'list'),
			t.mock.method(organizations, 'get'),
			t.mock.method(accounts, 'memberships'),
		];
		const counts = (): number[] => looks.map(({ mock }) => mock.callCount());
		await Promise.all(Array.from({ length: 5 }, () => ask(by)));
		assert.deepEqual(counts(), [2, 1, 1, 1]);
		await fill(other, other.one, 'more');
		await ask(by, { name: 'a' });
		assert.deepEqual(counts(), [2, 1, 1, 1]);
		await fill(by, by.one, 'new');
		assert.ok((await toolsOf(by)).includes('new'));
		await core.store.gateways.update(by.organizationId, by.two, { status: 'inactive' });
		await settled();
		assert.deepEqual(await toolsOf(by), ['a', 'b', 'new']);
		await core.store.gateways.remove(by.organizationId, by.one, false);
		await settled();
		assert.deepEqual(await toolsOf(by), []);
	});

	test('leave out gateways whose rules refuse the request, without methods, and that cannot be prepared', async () => {
		const by = await publish();
		await fill(by, await openGateway(by, '/far', { allowedIpRanges: ['203.0.113.0/24'] }), 'far');
		const marked = await openGateway(by, '/marked', { requiredHeaders: ['x-mark'] });
		await fill(by, marked, 'marked');
		// A further method, without a rule, opens nothing here.
		const method = { type: 'door', isRequired: false, configuration: {}, validationRules: {} };
		await core.store.gateways.addAuth(by.organizationId, marked, randomUUID(), method);
		await fill(by, (await addGateway(core.store, by.organizationId, '/shut', { type: 'wire' })).id, 'shut');
		await fill(by, (await addGateway(core.store, by.organizationId, '/gone', { type: 'unknown' })).id, 'gone');
		assert.deepEqual(
			(await toolsOf(by)).filter((name) => name.length > 1 && !name.startsWith('B')),
			[],
		);
		assert.deepEqual((await toolsOf(by, { headers: { 'x-mark': '1' } })).at(-1), 'marked');
		assert.equal((await ask(by, { name: 'far' })).status, 404);
		assert.equal((await ask(by, { name: 'shut' })).status, 404);
		assert.deepEqual(
			core.lines.filter(([level]) => level === 'warn').map(([, fields]) => fields),
			[{ endpoint: '/gone', error: 'not_implemented' }],
		);
	});

	test('count no method that is shut, and leave out gateways that have no other', async () => {
		const by = await publish();
		const shut = async (gatewayId: string, validationRules: ValidationRules): Promise<void> => {
			const { organizationId } = by;
			// Its secret was sealed for another place.
			const configuration = core.registry.seal('auth', 'lock', { key: 'k' }, core.secrets, authLocation(organizationId, randomUUID()));
			const method = { type: 'lock', isRequired: false, configuration, validationRules };
			await core.store.gateways.addAuth(organizationId, gatewayId, randomUUID(), method);
		};
		const closed = (await addGateway(core.store, by.organizationId, '/closed', { type: 'wire' })).id;
		await shut(closed, {});
		await fill(by, closed, 'closed');
		const ajar = await openGateway(by, '/ajar');
		await shut(ajar, { allowedIpRanges: ['203.0.113.0/24'] });
		await fill(by, ajar, 'ajar');
		const names = await toolsOf(by);
		assert.deepEqual([names.includes('closed'), names.includes('ajar')], [false, true]);
	});
});

describe('the reach', () => {
	test('of a member follows their role, and ends with their membership and their key', async () => {
		const by = await publish();
		const userId = await addMember(core.store, by, 'member');
		const { id, secret } = await addKey(userId);
		const member = { organizationId: by.organizationId, secret };
		const become = async (role: Role | null): Promise<void> => {
			await core.store.organizations.changeMember(by.organizationId, userId, { role, by: by.userId, permit: () => undefined });
			await settled();
		};
		assert.equal((await ask(member, { name: 'a' })).status, 200);
		await become('viewer');
		assert.deepEqual([(await ask(member)).status, (await ask(member, { name: 'a' })).status], [200, 403]);
		await become(null);
		assert.equal((await ask(member)).status, 401);
		assert.equal((await ask(by)).status, 200);
		await core.store.accessKeys.revoke(userId, id);
		await settled();
		assert.equal((await ask(member)).status, 401);
	});

	test('of an access key for one gateway is that gateway', async () => {
		const by = await publish();
		const { secret } = await addKey(by.userId, { type: 'gateway', id: by.two, organizationId: by.organizationId });
		assert.deepEqual(await toolsOf({ ...by, secret }), ['B', 'c']);
	});

	test('of a gateway’s key is that gateway, until the key is revoked', async () => {
		const by = await publish();
		const secret = mintKey(GATEWAY_KEY_PREFIX);
		const key = { name: 'k', prefix: secret.slice(0, 12), scopes: ['tools:read' as const], expiresAt: null, hash: hashKey(secret) };
		const { id } = (await core.store.gateways.addKey(by.organizationId, by.two, key)) ?? assert.fail();
		await settled();
		const at = (gateway: string): Asked => ({ headers: { 'x-gateway': gateway } });
		assert.deepEqual(await toolsOf({ ...by, secret }, at(by.two)), ['B', 'c']);
		assert.equal((await ask({ ...by, secret }, { name: 'c', ...at(by.two) })).status, 403, 'its scopes are kept');
		assert.equal((await ask({ ...by, secret }, at(by.one))).status, 401);
		await core.store.gateways.revokeKey(by.organizationId, by.two, id);
		await settled();
		assert.equal((await ask({ ...by, secret }, at(by.two))).status, 401);
	});

	test('is nothing in another organization', async () => {
		const [by, other] = [await publish(), await publish()];
		assert.equal((await ask({ ...by, organizationId: other.organizationId })).status, 401);
		assert.equal((await ask({ ...by, organizationId: randomUUID() })).status, 401);
	});

	test('is checked again by the call, whatever the feature claims', async () => {
		const [by, other] = [await publish(), await publish()];
		const caller = { method: 'key', subject: `user:${by.userId}`, userId: by.userId, scopes: ['tools:read', 'tools:execute'] as const };
		const { joinedAt } = (await core.store.accounts.memberships(by.userId))[0] ?? assert.fail();
		const member = { ...caller, memberSince: joinedAt };
		// The calls are refused before the request is used.
		const scope = (reach: Reach): MergedScope => ({
			...reach,
			plugin: 'transport:wire',
			...({ request: {} } as Required<Pick<MergedScope, 'request' | 'signal'>>),
			incoming: { address: '127.0.0.1', headers: {} } as Incoming,
		});
		const call = (reach: Reach) => core.runtime.callOf(scope(reach));
		const { organizationId } = by;
		assert.equal((await (await call({ organizationId, caller: member, gateways: [by.two] })).tools()).length, 2);
		await failure(call({ organizationId: other.organizationId, caller: member, gateways: 'all' }), 'forbidden');
		await failure(call({ organizationId, caller: { ...member, memberSince: new Date(0) }, gateways: 'all' }), 'forbidden');
		await failure(
			call({ organizationId, caller: { method: 'x', subject: 'anonymous', scopes: caller.scopes }, gateways: 'all' }),
			'forbidden',
		);
		for (const gateways of ['all', [by.one, by.two], []] as const)
			await failure(call({ organizationId, caller: { method: 'key', subject: 'key:1', keyId: '1', scopes: [] }, gateways }), 'forbidden');
		for (const gateways of [[other.one], [randomUUID()], ['no id']])
			await failure(call({ organizationId, caller: member, gateways }), 'not_found');
		await failure(call({ organizationId, caller: member, gateways: Array.from({ length: 201 }, () => randomUUID()) }), 'validation_failed');
		await failure(call({ organizationId: randomUUID(), caller: member, gateways: 'all' }), 'not_found');
		await core.store.gateways.update(organizationId, by.one, { status: 'inactive' });
		await settled();
		await failure(call({ organizationId, caller: member, gateways: [by.one] }), 'not_found');
		const colleague = { ...member, userId: await addMember(core.store, by, 'viewer') };
		const [, joined] = await core.store.accounts.memberships(colleague.userId);
		const viewer = { ...colleague, memberSince: joined?.joinedAt ?? assert.fail() };
		const { caller: known } = await call({ organizationId, caller: viewer, gateways: 'all' });
		assert.deepEqual(known?.scopes, ['tools:read'], 'a role that was reduced since');
	});
});

describe('a call without a request', () => {
	/** The reach of an access key, as a request with it has. */
	async function reachOf({ organizationId, secret }: { organizationId: string; secret: string }): Promise<Reach> {
		const holder = (await core.members.holder(secret)) ?? assert.fail();
		return core.runtime.reachIn(holder, organizationId) ?? assert.fail();
	}
	const { signal } = new AbortController();
	const plugin = 'transport:wire';
	const toolNames = async (call: PluginCall): Promise<string[]> => (await call.tools()).map(({ name }) => name);

	test('has the tools of all gateways, but those whose rules ask something of a request', async () => {
		const by = await publish();
		await fill(by, await openGateway(by, '/near', { allowedIpRanges: ['0.0.0.0/0', '::/0'] }), 'near');
		await fill(by, await openGateway(by, '/marked', { requiredHeaders: ['x-mark'] }), 'marked');
		const call = await core.runtime.callOf({ ...(await reachOf(by)), plugin, signal });
		assert.match((await toolNames(call)).join(' '), /^a b B_[0-9a-f]{8} c$/);
		assert.deepEqual((await call.invoke({ name: 'c' }, {})).structured, { gateway: by.two, tool: 'c' });
		await core.runtime.callOf({ ...(await reachOf(by)), gateways: [by.two], plugin, signal });
	});

	test('counts in the limits of its tools with the requests of the same caller', async () => {
		const by = await publish();
		const { items } = await core.store.gateways.tools(by.organizationId, by.two, { limit: 10 });
		const limited = items.find(({ tool }) => tool.name === 'c') ?? assert.fail();
		await core.store.gateways.updateAssignment(by.organizationId, by.two, limited.tool.id, { rateLimit: 2 });
		await settled();
		assert.equal((await ask(by, { name: 'c' })).status, 200);
		const call = await core.runtime.callOf({ ...(await reachOf(by)), plugin, signal });
		await call.invoke({ name: 'c' }, {});
		await failure(call.invoke({ name: 'c' }, {}), 'rate_limited');
		await call.invoke({ name: 'a' }, {});
	});

	test('looks the credential up again: a revoked or expired one is none, and the scopes are those before and now', async () => {
		const by = await publish();
		const userId = await addMember(core.store, by, 'member');
		const { id, secret } = await addKey(userId);
		const reach = await reachOf({ ...by, secret });
		const again = (change: Partial<Reach['caller']> = {}) =>
			core.runtime.callOf({ ...reach, caller: { ...reach.caller, ...change }, plugin, signal });
		assert.deepEqual((await again({ scopes: ['tools:read'] })).caller?.scopes, ['tools:read']);
		await failure(again({ expiresAt: new Date(0) }), 'forbidden');
		await failure(again({ credential: 'elsewhere:1' }), 'forbidden');
		const change = { role: 'viewer' as const, by: by.userId, permit: () => undefined };
		await core.store.organizations.changeMember(by.organizationId, userId, change);
		assert.deepEqual((await again()).caller?.scopes, ['tools:read', 'gateway:read']);
		await core.store.accessKeys.revoke(userId, id);
		await failure(again(), 'forbidden');
	});

	test('of a key of a gateway reaches that gateway, until the key is revoked', async () => {
		const by = await publish();
		const secret = mintKey(GATEWAY_KEY_PREFIX);
		const key = { name: 'k', prefix: secret.slice(0, 12), scopes: ['tools:read' as const], expiresAt: null, hash: hashKey(secret) };
		const { id } = (await core.store.gateways.addKey(by.organizationId, by.two, key)) ?? assert.fail();
		await settled();
		const reach = (await core.runtime.keyReach(by.organizationId, by.two, secret)) ?? assert.fail();
		assert.deepEqual(await toolNames(await core.runtime.callOf({ ...reach, plugin, signal })), ['B', 'c']);
		for (const gateways of ['all', [by.one], [by.one, by.two], []] as const)
			await failure(core.runtime.callOf({ ...reach, gateways, plugin, signal }), 'forbidden');
		await core.store.gateways.revokeKey(by.organizationId, by.two, id);
		await failure(core.runtime.callOf({ ...reach, plugin, signal }), 'forbidden');
	});

	test('is made for a job that began in one: of the transport with its config, of an executor at its gateway', async () => {
		const by = await publish();
		const { id, secret } = await addKey(by.userId);
		const { organizationId, caller, gateways } = await reachOf({ ...by, secret });
		const origin = { organizationId, caller, signal, gatewayId: null, plugin, reach: { gateways, path: '/a2a/v1' } };
		const { call, config } = await core.runtime.rebuild(origin);
		assert.deepEqual([config, call.gateway, (await toolNames(call)).length], [{ greeting: 'hi' }, null, 4]);
		await failure(core.runtime.rebuild({ ...origin, reach: { gateways, path: '/utcp' } }), 'not_found');
		await failure(core.runtime.rebuild({ ...origin, plugin: 'transport:other' }), 'not_found');
		await failure(core.runtime.rebuild({ ...origin, caller: null }), 'forbidden');
		const atOne = { ...origin, gatewayId: by.one, plugin: 'executor:odd' };
		const own = await core.runtime.rebuild(atOne);
		assert.deepEqual([own.call.gateway?.id, own.call.caller?.subject, own.config], [by.one, `user:${by.userId}`, null]);
		await failure(own.call.invoke({ name: 'a' }, {}), 'tool_not_found');
		await core.store.accessKeys.revoke(by.userId, id);
		for (const one of [origin, atOne]) await failure(core.runtime.rebuild(one), 'forbidden');
	});
});

describe('a transport at a fixed address', () => {
	test('publishes what its caller sees, and how callers are admitted there', async () => {
		const by = await publish();
		const { secret } = await addKey(by.userId, { type: 'gateway', id: by.two, organizationId: by.organizationId });
		const get = async (url: string, credential: string) => {
			const headers = { 'x-secret': credential, 'x-organization': by.organizationId };
			const { statusCode, payload } = await core.server.inject({ method: 'GET', url, headers });
			return { status: statusCode, body: JSON.parse(payload) };
		};
		assert.deepEqual((await get('/mcp/card', secret)).body, {
			tools: ['B', 'c'],
			admission: [{ method: 'credential', required: true, challenge: 'Bearer' }],
		});
		const scheme = { type: 'http', scheme: 'bearer', description: 'Keys of https://gatehouse.example' };
		const { body } = await get('/a2a/v1/card', by.secret);
		assert.deepEqual([body.tools.length, body.admission], [4, [{ method: 'access', required: false, scheme }]]);
		assert.equal((await get('/mcp/silent', by.secret)).status, 500, 'the route does not declare that it lists');
		const hash = mintKey(ACCESS_KEY_PREFIX);
		const blind = { name: 'k', prefix: hash.slice(0, 12), reach: { type: 'account' as const }, permissions: ['tools:execute' as const] };
		await core.store.accessKeys.create(by.userId, { ...blind, hash: hashKey(hash) });
		assert.equal((await get('/mcp/card', hash)).status, 403, 'a caller who may not read tools');
	});

	test('has its config, and its routes below the address', async () => {
		const by = await publish();
		assert.equal((await ask(by)).body.greeting, 'hello');
		assert.equal((await ask(by, { path: '/a2a/v1' })).body.greeting, 'hi');
		assert.equal((await ask(by, { path: '/mcp/' })).status, 200);
		assert.equal((await ask(by, { path: '/mcp/nothing' })).status, 404);
		assert.equal((await ask(by, { path: '/a2a/v2' })).status, 404);
		const { statusCode, headers } = await core.server.inject({
			method: 'DELETE',
			url: '/mcp',
			headers: { 'x-secret': by.secret, 'x-organization': by.organizationId },
		});
		assert.deepEqual([statusCode, headers['allow']], [405, 'POST']);
	});

	test('challenges who brings no credential or a bad one, before anything is read', async () => {
		for (const [url, challenge] of [
			['/mcp', 'Bearer'],
			['/a2a/v1', 'Bearer realm="x"'],
			['/mcp/card', 'Bearer'],
			['/mcp/nothing', 'Bearer'],
		])
			for (const more of [{}, { 'x-secret': 'ak_live_bad' }]) {
				const large = { method: 'POST' as const, payload: 'x'.repeat(10_000) };
				const { statusCode, headers } = await core.server.inject({ ...large, url: url ?? '', headers: more });
				assert.deepEqual([statusCode, headers['www-authenticate']], [401, challenge], url);
			}
	});

	test('reads bodies within the bound of its route', async () => {
		const by = await publish();
		assert.equal((await ask(by, { name: 'x'.repeat(300) })).status, 413);
		assert.equal((await ask(by, { headers: { 'content-type': 'text/plain' } })).status, 415);
		assert.equal((await ask(by, { path: '/mcp?a=%zz' })).status, 400);
	});

	const identify = async (): Promise<null> => null;
	const wrong: [address: { path: string; transport: string; config?: JsonObject }, fault: RegExp][] = [
		[{ path: '/acme', transport: 'wire' }, /first segment .* must be reserved/],
		[{ path: '/mcp/{x}', transport: 'wire' }, /must be reserved/],
		[{ path: '/mcp', transport: 'unknown' }, /"unknown" is not loaded/],
		[{ path: '/mcp', transport: 'wire', config: { gretting: 'x' } }, /"gretting" is not allowed/],
	];
	for (const [address, fault] of wrong) {
		test(`is refused at start for ${JSON.stringify(address)}`, async () => {
			await assert.rejects(startCore({ plugins: [wire], register: ({ runtime }) => runtime.serveAt({ ...address, identify }) }), fault);
		});
	}

	test('is refused when another one is there, and after the start', async () => {
		const twice: CoreOptions['register'] = ({ runtime }) => {
			for (const path of ['/mcp', '/mcp']) runtime.serveAt({ path, transport: 'wire', identify });
		};
		await assert.rejects(startCore({ plugins: [wire], register: twice }), /another feature/);
		assert.throws(() => core.runtime.serveAt({ path: '/utcp', transport: 'wire', identify }), /not later/);
	});
});
