// The audit log's entries, table by table.

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { JsonObject } from '../core/contract/nouns.ts';
import type { AuditRow, Organizations, Repositories } from '../core/store/store.ts';
import { furnish, sorted, type Told, told, type World } from '../test/helpers/audit.ts';
import { spanOf } from '../test/helpers/clock.ts';
import { administer } from '../test/helpers/postgres.ts';
import { addTenant, batchOf, draft, newTool, operation, schema } from '../test/helpers/samples.ts';
import { testStore } from '../test/helpers/store.ts';

const PAGE = { limit: 100 };

/** Returns the entries that `work` adds to the organization's log. */
async function added(store: Repositories, organizationId: string, work: () => Promise<unknown>): Promise<AuditRow[]> {
	const known = new Set((await store.audit.list(organizationId, PAGE)).items.map(({ id }) => id));
	await work();
	const { items } = await store.audit.list(organizationId, PAGE);
	return items.filter(({ id }) => !known.has(id));
}

const invitation = (w: World, email: string): Parameters<Organizations['invite']>[1] => ({
	email,
	role: 'viewer',
	invitedBy: w.userId,
	expiresAt: new Date(Date.now() + 60_000),
	hash: randomBytes(32),
});

const INVITED: JsonObject = { role: { to: 'viewer' }, expiresAt: { to: 'a time' } };
const REVOKED: JsonObject = { revokedAt: { from: null, to: 'a time' } };
const KEY = { name: 'ci', prefix: 'ak_live_ab', permissions: null };
const LIMITS = { maxConcurrent: 2, minTimeMs: 10 };
const API_KEY = { name: 'ci', prefix: 'svc_gw_ab', scopes: ['tools:read' as const], expiresAt: null };
const AUTH = {
	type: 'jwt',
	isRequired: true,
	configuration: { secret: 'sealed' },
	validationRules: { allowedIpRanges: ['192.0.2.0/24'] },
};

/** Each case changes something in the organization and returns the entries expected in the log. */
const CASES: Record<string, (w: World) => Promise<Told[]>> = {
	'a new name of the organization': async ({ owner, organizationId, tenant }) => {
		await owner.organizations.update(organizationId, { name: 'Acme' });
		return [['update', 'organization', organizationId, 'Acme', { name: { from: tenant.slug, to: 'Acme' } }]];
	},
	'an invitation': async (w) => {
		const { id } = await w.owner.organizations.invite(w.organizationId, invitation(w, 'bob@example.com'));
		return [['create', 'invitation', id, 'bob@example.com', { email: { to: 'bob@example.com' }, ...INVITED }]];
	},
	'an invitation, revoked': async (w) => {
		const { id } = await w.store.organizations.invite(w.organizationId, invitation(w, 'eve@example.com'));
		const [made] = (await w.store.audit.list(w.organizationId, PAGE)).items.map(told);
		await w.owner.organizations.revokeInvitation(w.organizationId, id);
		return [made ?? assert.fail(), ['update', 'invitation', id, 'eve@example.com', REVOKED]];
	},
	'a member who joins, gets another role and is removed': async (w) => {
		const bob = await addTenant(w.store);
		const email = `${bob.slug}@example.com`;
		const sent = invitation(w, email);
		const { id } = await w.owner.organizations.invite(w.organizationId, sent);
		await w.owner.organizations.accept(sent.hash, bob.userId);
		const change = { by: w.userId, permit: () => {} };
		await w.owner.organizations.changeMember(w.organizationId, bob.userId, { ...change, role: 'admin' });
		await w.owner.organizations.changeMember(w.organizationId, bob.userId, { ...change, role: null });
		return [
			['create', 'invitation', id, email, { email: { to: email }, ...INVITED }],
			['update', 'invitation', id, email, { acceptedAt: { from: null, to: 'a time' } }],
			['create', 'member', bob.userId, email, { role: { to: 'viewer' } }],
			['update', 'member', bob.userId, email, { role: { from: 'viewer', to: 'admin' } }],
			['delete', 'member', bob.userId, email, { role: { from: 'admin' } }],
		];
	},
	'an access key of a gateway, revoked': async ({ owner, userId, organizationId, gateway }) => {
		const reach = { type: 'gateway' as const, id: gateway, organizationId };
		const key = await owner.accessKeys.create(userId, { ...KEY, reach, permissions: ['tools:read'], hash: randomBytes(32) });
		const id = key?.id ?? assert.fail();
		await owner.accessKeys.revoke(userId, id);
		const changes = { name: { to: 'ci' }, gatewayId: { to: gateway }, permissions: { to: ['tools:read'] } };
		return [
			['create', 'access_key', id, 'ci', changes],
			['update', 'access_key', id, 'ci', REVOKED],
		];
	},
	'an access key of the whole account': async ({ owner, userId }) => {
		const key = await owner.accessKeys.create(userId, { ...KEY, reach: { type: 'account' }, hash: randomBytes(32) });
		return [['create', 'access_key', key?.id ?? assert.fail(), 'ci', { name: { to: 'ci' } }]];
	},
	'an API, changed and removed': async ({ owner, organizationId }) => {
		const made = { name: 'Pets', type: 'openapi', baseUrl: 'https://a.example', description: null };
		const { id } = await owner.apis.create(organizationId, made);
		await owner.apis.update(organizationId, id, {
			baseUrl: 'https://b.example',
			description: 'All pets.',
			outbound: LIMITS,
			strictOutput: true,
		});
		await owner.apis.remove(organizationId, id, false);
		const [name, type, status] = ['Pets', 'openapi', 'active'];
		const from = { from: 'https://a.example', to: 'https://b.example' };
		const [outbound, strictOutput] = [
			{ from: null, to: LIMITS },
			{ from: false, to: true },
		];
		const changed = { baseUrl: from, description: { from: null, to: 'All pets.' }, outbound, strictOutput };
		return [
			[
				'create',
				'api',
				id,
				name,
				{ name: { to: name }, type: { to: type }, status: { to: status }, baseUrl: { to: made.baseUrl }, strictOutput: { to: false } },
			],
			['update', 'api', id, name, { ...changed }],
			[
				'delete',
				'api',
				id,
				name,
				{
					name: { from: name },
					type: { from: type },
					status: { from: status },
					baseUrl: { from: 'https://b.example' },
					description: { from: 'All pets.' },
					outbound: { from: LIMITS },
					strictOutput: { from: true },
				},
			],
		];
	},
	'a credential, replaced, and dropped with its origin': async ({ owner, organizationId, api }) => {
		const credential = { apiId: api, type: 'bearer_token', origin: 'https://pets.example', secret: 'sealed' };
		await owner.apis.putCredential(organizationId, credential);
		await owner.apis.putCredential(organizationId, { ...credential, secret: 'sealed again' });
		await owner.apis.update(organizationId, api, { baseUrl: 'https://other.example' });
		const [type, origin] = ['bearer_token', 'https://pets.example'];
		return [
			['create', 'credential', api, type, { type: { to: type }, origin: { to: origin } }],
			['update', 'credential', api, type, { secret: { changed: true } }],
			['delete', 'credential', api, type, { type: { from: type }, origin: { from: origin } }],
			['update', 'api', api, 'Pets', { baseUrl: { from: 'https://pets.example/v1', to: 'https://other.example' } }],
		];
	},
	'credentials of one type, of which one is for a scheme': async ({ owner, organizationId, api }) => {
		const credential = { apiId: api, type: 'api_key', origin: 'https://pets.example', secret: 'sealed' };
		await owner.apis.putCredential(organizationId, { ...credential, scheme: 'petKey' });
		await owner.apis.putCredential(organizationId, credential);
		await owner.apis.putCredential(organizationId, { ...credential, scheme: 'petKey', secret: 'sealed again' });
		await owner.apis.dropCredential(organizationId, { ...credential, scheme: 'petKey' });
		const [type, origin, scheme] = ['api_key', 'https://pets.example', 'petKey'];
		return [
			['create', 'credential', api, 'api_key petKey', { type: { to: type }, scheme: { to: scheme }, origin: { to: origin } }],
			['create', 'credential', api, type, { type: { to: type }, origin: { to: origin } }],
			['update', 'credential', api, 'api_key petKey', { secret: { changed: true } }],
			['delete', 'credential', api, 'api_key petKey', { type: { from: type }, scheme: { from: scheme }, origin: { from: origin } }],
		];
	},
	'an imported schema, and its operation’s tool': async ({ owner, organizationId, api }) => {
		const writer = (await owner.apis.beginImport(organizationId, api)) ?? assert.fail();
		await writer.operations(batchOf(operation('a')));
		const imported = await writer.commit({ ...schema, sourceUrl: 'https://pets.example/openapi.json?token=t' });
		const [{ id: operationId } = assert.fail()] = (await owner.apis.operations(organizationId, api, PAGE)).items;
		const tool = draft({ name: 'a', description: 'Does a.', parameters: {} });
		await owner.tools.generate(organizationId, api, [{ operationId, tool }]);
		await owner.tools.generate(organizationId, api, [{ operationId, tool: { ...tool, description: 'Does it.' } }]);
		const [{ id } = assert.fail()] = (await owner.tools.list(organizationId, PAGE, { apiId: api })).items;
		const again = (await owner.apis.beginImport(organizationId, api)) ?? assert.fail();
		const emptied = await again.commit(schema);
		const shown = { apiId: { to: api }, format: { to: schema.format }, title: { to: 'Pets' }, version: { to: '1.0.0' } };
		const sourceUrl = { to: 'https://pets.example/openapi.json' };
		const toolShown = { name: { to: 'a' }, description: { to: 'Does a.' }, type: { to: 'api' }, status: { to: 'active' } };
		return [
			['create', 'schema', imported.schema.id, 'Pets', { ...shown, sha256: { to: '00' }, sourceUrl }],
			['create', 'tool', id, 'a', { ...toolShown, apiId: { to: api } }],
			['update', 'tool', id, 'a', { description: { from: 'Does a.', to: 'Does it.' } }],
			['update', 'tool', id, 'a', { status: { from: 'active', to: 'removed' } }],
			['create', 'schema', emptied.schema.id, 'Pets', { ...shown, sha256: { to: '00' } }],
		];
	},
	'a tool, changed in every field, removed': async ({ owner, organizationId }) => {
		const id = randomUUID();
		await owner.tools.create(organizationId, id, newTool());
		const executionConfig = { method: 'GET', url: 'https://pets.example/all', headers: {} };
		const change = { name: 'pets', description: 'x'.repeat(600), parameters: {}, code: '1', status: 'inactive', executionConfig };
		await owner.tools.update(organizationId, id, change);
		await owner.tools.remove(organizationId, id, false);
		const [first, last] = ['Reads a pet.', 'x'.repeat(500)];
		const fields = {
			name: { from: 'getPet', to: 'pets' },
			description: { from: first, to: last },
			status: { from: 'active', to: 'inactive' },
			parameters: { changed: true },
			code: { changed: true },
			executionConfig: { keys: ['headers', 'url'] },
		};
		const [created, gone] = [
			{ type: { to: 'http' }, status: { to: 'active' } },
			{ type: { from: 'http' }, status: { from: 'inactive' } },
		];
		return [
			['create', 'tool', id, 'getPet', { ...created, name: { to: 'getPet' }, description: { to: first } }],
			['update', 'tool', id, 'pets', fields],
			['delete', 'tool', id, 'pets', { ...gone, name: { from: 'pets' }, description: { from: last } }],
		];
	},
	'a gateway, changed': async ({ owner, organizationId }) => {
		const id = randomUUID();
		const made = { name: 'Second', type: 'mcp', endpoint: '/second', description: null, configuration: { b: 1, c: { d: 1 }, e: 1 } };
		await owner.gateways.create(organizationId, id, made);
		const [icon, maxResultBytes] = ['https://a.example/i.png', 100_000];
		const payloadLog = { arguments: true, results: false, redactPaths: ['/a'], redactPatterns: [], maxBytes: 4096 };
		const change = { endpoint: '/2', status: 'inactive', icon, maxResultBytes, payloadLog, configuration: { a: null, b: 1, c: { d: 2 } } };
		await owner.gateways.update(organizationId, id, change);
		const shown = { name: { to: 'Second' }, type: { to: 'mcp' }, endpoint: { to: '/second' }, status: { to: 'active' } };
		const configuration = { keys: ['a', 'c', 'e'] };
		const results = {
			icon: { from: null, to: icon },
			maxResultBytes: { from: null, to: maxResultBytes },
			payloadLog: { from: null, to: payloadLog },
		};
		const fields = { endpoint: { from: '/second', to: '/2' }, status: { from: 'active', to: 'inactive' }, configuration, ...results };
		return [
			['create', 'gateway', id, 'Second', shown],
			['update', 'gateway', id, 'Second', fields],
		];
	},
	'a tool in a gateway, limited, renamed and taken out': async ({ owner, organizationId, gateway, tool }) => {
		const [{ id } = assert.fail()] = await owner.gateways.assign(organizationId, gateway, [tool]);
		await owner.gateways.updateAssignment(organizationId, gateway, id, { rateLimit: 7, maxResultBytes: 4096, confirm: 'always' });
		await owner.gateways.updateAssignment(organizationId, gateway, id, { name: 'pet', description: 'A pet.' });
		await owner.gateways.unassign(organizationId, gateway, id);
		const [to, from] = [gateway, tool];
		const none = { from: null };
		const settings = { rateLimit: { ...none, to: 7 }, maxResultBytes: { ...none, to: 4096 }, confirm: { ...none, to: 'always' } };
		const gone = {
			gatewayId: { from: to },
			toolId: { from },
			name: { from: 'pet' },
			rateLimit: { from: 7 },
			maxResultBytes: { from: 4096 },
			confirm: { from: 'always' },
			description: { from: 'A pet.' },
		};
		return [
			['create', 'gateway_tool', id, 'getPet', { gatewayId: { to }, toolId: { to: tool }, name: { to: 'getPet' } }],
			['update', 'gateway_tool', id, 'getPet', { ...settings }],
			['update', 'gateway_tool', id, 'pet', { name: { from: 'getPet', to: 'pet' }, description: { from: null, to: 'A pet.' } }],
			['delete', 'gateway_tool', id, 'pet', gone],
		];
	},
	'an auth method, removed': async ({ owner, organizationId, gateway }) => {
		const id = randomUUID();
		await owner.gateways.addAuth(organizationId, gateway, id, AUTH);
		await owner.gateways.removeAuth(organizationId, gateway, id);
		const fields = { gatewayId: gateway, type: 'jwt', isRequired: true, validationRules: AUTH.validationRules };
		const each = (end: string) => Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, { [end]: value }]));
		return [
			['create', 'auth_method', id, 'jwt', each('to')],
			['delete', 'auth_method', id, 'jwt', each('from')],
		];
	},
	'an alert rule, changed and removed': async ({ owner, organizationId }) => {
		const id = randomUUID();
		const rule = { name: 'r', kind: 'latency' as const, toolId: null, apiId: null, bound: 10, windowMinutes: 5, minCalls: 1 };
		await owner.alerts.create(organizationId, id, { ...rule, url: 'sealed url', secret: 'sealed secret' }, 10);
		await owner.alerts.update(organizationId, id, { bound: 20, url: 'another' });
		await owner.alerts.remove(organizationId, id);
		const { toolId: _tool, apiId: _api, ...shown } = { ...rule, status: 'active' };
		const each = (end: string, values: object) =>
			Object.fromEntries(Object.entries(values).map(([field, value]) => [field, { [end]: value }]));
		return [
			['create', 'alert_rule', id, 'r', each('to', shown)],
			['update', 'alert_rule', id, 'r', { bound: { from: 10, to: 20 }, url: { changed: true } }],
			['delete', 'alert_rule', id, 'r', each('from', { ...shown, bound: 20 })],
		];
	},
	'a gateway’s key, revoked': async ({ owner, organizationId, gateway }) => {
		const key = await owner.gateways.addKey(organizationId, gateway, { ...API_KEY, hash: randomBytes(32) });
		const id = key?.id ?? assert.fail();
		await owner.gateways.revokeKey(organizationId, gateway, id);
		const made = { gatewayId: { to: gateway }, name: { to: 'ci' }, scopes: { to: ['tools:read'] } };
		return [
			['create', 'api_key', id, 'ci', made],
			['update', 'api_key', id, 'ci', REVOKED],
		];
	},
};

for (const [id, change] of Object.entries(CASES))
	test(`the log records ${id}`, async () => {
		await using store = await testStore();
		const world = await furnish(store);
		let expected: Told[] = [];
		const work = async (): Promise<void> => {
			expected = await change(world);
		};
		const { value: rows, fromMs, toMs } = await spanOf(() => added(store, world.organizationId, work));
		assert.deepEqual(sorted(rows.map(told)), sorted(expected));
		const byOwner = rows.filter((row) => row.actor !== null);
		assert.ok(byOwner.length > 0);
		for (const row of byOwner) assert.deepEqual(row.actor, world.who);
		for (const { at } of rows) assert.ok(at.getTime() >= fromMs - 1_000 && at.getTime() <= toMs + 1_000);
	});

test('every table of an organization is in the log, except those that hold no change of a user', async () => {
	await using store = await testStore();
	const tables = await administer(
		store.database,
		`SELECT DISTINCT c.table_name FROM information_schema.columns c
		WHERE c.table_schema = 'public' AND c.column_name = 'organization_id' AND NOT EXISTS (
			SELECT FROM information_schema.triggers t WHERE t.event_object_table = c.table_name AND t.trigger_name = 'audit_update'
		) ORDER BY 1`,
	);
	// A schedule of runs belongs to a resource that logs its changes.
	const ofRuns = ['run_schedules', 'run_signals', 'run_steps', 'runs'];
	const others = ['audit_log', 'gateway_key_uses', 'idempotency_keys', 'import_bodies', 'operations', 'tool_runs', 'upstream_tokens'];
	// The row of a skill lists its files with their hashes.
	others.push('skill_files');
	// Calls of models are counted, not changed by a user.
	others.push('llm_reservation_holders', 'llm_reservations', 'llm_spending', 'llm_usage');

	// Found by rules, and looked at by the service.
	others.push('alert_incidents', 'api_watches');
	// A part of the schema that each import writes.
	others.push('api_sources');
	// Executions are runs of agents.
	others.push('agent_executions', 'agent_usage');
	// Lines of the log, and their sums, whose tables have parts.
	others.push('metrics', 'request_log');
	// Links of the log itself.
	others.push('audit_chain', 'audit_unchained');
	const silentTables = [...ofRuns, ...others].sort();
	assert.deepEqual(
		tables.map((row) => String(row['table_name'])).filter((name) => !/^(?:metrics|request_log)_/.test(name)),
		silentTables,
	);
});
