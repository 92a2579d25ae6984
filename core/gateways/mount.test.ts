// Tests of a gateway prepared from its rows: its plugins with their configuration, its routes, and its tools.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import Joi from 'joi';
import { startCore, type TestCore } from '../../test/helpers/core.ts';
import { addApi, addGateway, addTenant, addTool, type Tenant } from '../../test/helpers/samples.ts';
import { asGatewayError, type GatewayError } from '../contract/errors.ts';
import type { AuthMethod, GatewayRoute, ToolExecutor, TransportAdapter } from '../contract/kinds.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { Registry } from '../registry/registry.ts';
import type { GatewaySnapshot } from '../store/store.ts';
import { authLocation, checkRoutes, findRoute, gatewayLocation, type MountedGateway, mountGateway, unmatched } from './mount.ts';

const CONFIG = Joi.object({ token: Joi.string().meta({ secret: true }), size: Joi.number().default(7) });
const handler = async () => ({ status: 200 });
const route = (method: GatewayRoute['method'], path: string): GatewayRoute => ({ method, path, handler });

const transport = (name: string, ...routes: GatewayRoute[]): TransportAdapter => ({
	...{ kind: 'transport', name, summary: 'Of a test.', config: CONFIG, routes },
});
const method = (name: string, ...routes: GatewayRoute[]): AuthMethod => ({
	...{ kind: 'auth', name, summary: 'Of a test.', config: CONFIG, routes, authenticate: async () => null },
});

let core: TestCore;
let tenant: Tenant;
before(async () => {
	const plugins = [transport('wire', route('POST', '/'), route('GET', '/files/{name}'), route('PUT', '/files/{name}'))];
	const http: ToolExecutor = { kind: 'executor', name: 'http', summary: 'One.', config: CONFIG, execute: async () => ({ content: [] }) };
	core = await startCore({ plugins: [...plugins, http, method('door', route('GET', '/login')), method('gate', route('GET', '/gate'))] });
});
after(() => core[Symbol.asyncDispose]());

/** Prepares a gateway of a new tenant; `more` adds rows before it is read. */
async function snapshotOf(type: string, more: (gatewayId: string) => Promise<unknown> = async () => null): Promise<GatewaySnapshot> {
	tenant = await addTenant(core.store);
	const { id } = await addGateway(core.store, tenant.organizationId, '/main', { type });
	await more(id);
	return (await core.store.gateways.snapshot(tenant.slug, '/main')) ?? assert.fail();
}

const mount = (snapshot: GatewaySnapshot): MountedGateway =>
	mountGateway(snapshot, 'https://gatehouse.example/acme/main', { ...core, invoker: core.services.invoker });

function refusalOf(work: () => unknown): GatewayError {
	try {
		work();
	} catch (thrown) {
		return asGatewayError(thrown) ?? assert.fail(thrown as Error);
	}
	return assert.fail('it was mounted');
}

/** Adds a method. @param config sealed for its own row, or for another one, so that it cannot be opened */
async function addMethod(gatewayId: string, type: string, config: JsonObject = {}, isSpoiled = false): Promise<void> {
	const id = randomUUID();
	const place = authLocation(tenant.organizationId, isSpoiled ? randomUUID() : id);
	const configuration = core.registry.seal('auth', type, config, core.secrets, place);
	await core.store.gateways.addAuth(tenant.organizationId, gatewayId, id, { type, isRequired: true, configuration, validationRules: {} });
}

const has = ({ router }: MountedGateway, name: string, path: string): boolean => findRoute(router, name, path) !== null;

test('a transport or a method that is not loaded is not implemented, and named', async () => {
	const snapshot = await snapshotOf('wire', (id) => addMethod(id, 'door'));
	const auth = snapshot.auth.map((row) => ({ ...row, type: 'lost' }));
	const gone = refusalOf(() => mount({ ...snapshot, gateway: { ...snapshot.gateway, type: 'gone' } }));
	const lost = refusalOf(() => mount({ ...snapshot, auth }));
	assert.deepEqual([gone.code, lost.code], ['not_implemented', 'not_implemented']);
	assert.match(lost.message, /"lost"/);
	assert.match(gone.message, /"gone"/);
});

test('secrets are opened and defaults filled in, for the transport and for each method', async () => {
	const snapshot = await snapshotOf('wire', (id) => addMethod(id, 'door', { token: 'secret' }));
	const { gateway } = snapshot;
	const configuration = core.registry.seal(
		'transport',
		'wire',
		{ token: 'own' },
		core.secrets,
		gatewayLocation(gateway.organizationId, gateway.id),
	);
	const mounted = mount({ ...snapshot, gateway: { ...gateway, configuration } });
	assert.deepEqual(mounted.methods[0]?.config, { token: 'secret', size: 7 });
	assert.deepEqual(findRoute(mounted.router, 'POST', '/')?.found.config, { token: 'own', size: 7 });
	assert.equal(mounted.gateway.url, 'https://gatehouse.example/acme/main');
});

test('a transport whose secret cannot be opened does not serve; a method admits nobody and loses its routes, and the others stay', async () => {
	const snapshot = await snapshotOf('wire', async (id) => {
		await addMethod(id, 'door', { token: 'secret' }, true);
		await addMethod(id, 'gate');
	});
	const mounted = mount(snapshot);
	assert.deepEqual(
		mounted.methods.map(({ plugin, shut }) => [plugin.name, shut?.code]),
		[
			['door', 'forbidden'],
			['gate', undefined],
		],
	);
	assert.deepEqual([has(mounted, 'GET', '/login'), has(mounted, 'GET', '/gate'), has(mounted, 'POST', '/')], [false, true, true]);
	assert.doesNotMatch(JSON.stringify(mounted.methods[0]?.config), /v1\./, 'what is sealed goes to no plugin');
	const configuration = core.registry.seal(
		'transport',
		'wire',
		{ token: 'x' },
		core.secrets,
		gatewayLocation(tenant.organizationId, randomUUID()),
	);
	const { code, message } = refusalOf(() => mount({ ...snapshot, gateway: { ...snapshot.gateway, configuration } }));
	assert.deepEqual([code, /token.*the gateway/.test(message)], ['secret_unreadable', true]);
});

test('two rows of one method are two ways in with one set of routes, which use the first row’s configuration', async () => {
	const { methods, router } = mount(
		await snapshotOf('wire', async (id) => {
			await addMethod(id, 'door', { size: 1 });
			await addMethod(id, 'door', { size: 2 });
		}),
	);
	assert.deepEqual(
		methods.map(({ config }) => config['size']),
		[1, 2],
	);
	assert.deepEqual(
		methods.map(({ realm }) => typeof realm),
		['undefined', 'string'],
	);
	const { config, plugin } = findRoute(router, 'GET', '/login')?.found ?? assert.fail();
	assert.deepEqual([config['size'], plugin], [1, 'auth:door']);
});

test('a configuration that does not fit its transport or a method is our fault, and names the row alone', async () => {
	const snapshot = await snapshotOf('wire', (id) => addMethod(id, 'door'));
	const misfit = { size: 'canary' };
	const unfit = refusalOf(() => mount({ ...snapshot, gateway: { ...snapshot.gateway, configuration: misfit } }));
	const [door] = snapshot.auth;
	const shut = refusalOf(() => mount({ ...snapshot, auth: [{ ...(door ?? assert.fail()), configuration: misfit }] }));
	for (const { code, details, cause } of [unfit, shut]) {
		assert.deepEqual([code, details], ['internal', []]);
		assert.match(
			String(cause),
			/(transport:wire|auth:door) cannot use the config of (gateways|gateway_auth) [0-9a-f-]{36}: \/size \(number\.base\)$/,
		);
	}
	assert.match(unfit.message, /^The configuration of the gateway “Main” no longer fits: its owner has to enter it again\.$/);
	assert.match(shut.message, /the authentication method "door" of this gateway no longer fits/);
});

test('tools are listed in the order of their assignment by their names in the gateway, each with the credentials of its own API', async () => {
	const { organizationId } = tenant;
	const snapshot = await snapshotOf('wire', async (id) => {
		const [plain, ofApi] = [
			await addTool(core.store, tenant.organizationId, { name: 'plain' }),
			await addTool(core.store, tenant.organizationId),
		];
		await core.store.gateways.assign(tenant.organizationId, id, [ofApi.id]);
		await core.store.gateways.assign(tenant.organizationId, id, [plain.id]);
		const gone = await addTool(core.store, tenant.organizationId, { name: 'gone', executor: 'gone' });
		await core.store.gateways.assign(tenant.organizationId, id, [gone.id]);
		await core.store.gateways.updateAssignment(tenant.organizationId, id, plain.id, { name: 'renamed', rateLimit: 5 });
	});
	assert.notEqual(organizationId, tenant.organizationId);
	const api = await addApi(core.store, tenant.organizationId);
	const credential = { apiId: api.id, type: 'api_key', origin: 'https://pets.example', secret: 's' };
	await core.store.apis.putCredential(tenant.organizationId, credential);
	const credentials = await core.store.apis.credentials(tenant.organizationId, api.id);
	const tools = snapshot.tools.map((one, at) => (at === 0 ? { ...one, tool: { ...one.tool, apiId: api.id } } : one));
	const { shelf } = mount({ ...snapshot, apis: [api], credentials, tools });
	assert.deepEqual(
		shelf.list().map(({ name }) => name),
		['getPet', 'renamed'],
	);
	const without = refusalOf(() => shelf.find({ name: 'gone' })?.ready());
	assert.deepEqual([without.code, without.message], ['not_implemented', 'The executor "gone" of this tool is not loaded.']);
	const [first, second] = [shelf.find({ name: 'getPet' }), shelf.find({ name: 'renamed' })];
	assert.deepEqual([first?.api?.id, first?.credentials.length, first?.limit], [api.id, 1, null]);
	assert.deepEqual([second?.api, second?.credentials, second?.limit?.perMinute], [null, [], 5]);
	assert.equal(shelf.find({ id: second?.tool.id ?? '' }), second);
	for (const ref of [{ name: 'plain' }, { name: 'GETPET' }, { id: randomUUID() }]) assert.equal(shelf.find(ref), null);
});

test('a path’s parameters are decoded; a path without a route for the method reports the methods it has, if any', async () => {
	const { router } = mount(await snapshotOf('wire'));
	assert.deepEqual(findRoute(router, 'GET', '/files/a%20b')?.params, { name: 'a b' });
	for (const path of ['/files', '/FILES/a', '/files/a/b', '/nothing']) assert.equal(findRoute(router, 'GET', path), null, path);
	const { code, headers } = unmatched(router, '/files/a');
	assert.deepEqual([code, headers['allow']], ['method_not_allowed', 'GET, PUT']);
	assert.deepEqual([unmatched(router, '/nothing').code, unmatched(router, '/nothing').headers], ['not_found', {}]);
});

test('the start fails when a transport and a method have the same route, and names it', () => {
	const registryOf = (path: string): Registry => {
		const registry = new Registry();
		registry.add(transport('wire', route('GET', '/login')));
		registry.add(method('door', route('GET', path)));
		return registry;
	};
	checkRoutes(registryOf('/other'));
	assert.throws(() => checkRoutes(registryOf('/login')), /^Error: transport:wire .* and auth:door .* both have the route GET \/login, /);
});
