// The audit log: written by the database itself, in the transaction of the change, under the name of its actor.

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { AuditFilter } from '../core/store/store.ts';
import { actor, furnish, sorted, told } from '../test/helpers/audit.ts';
import { administer } from '../test/helpers/postgres.ts';
import { addGateway, addMember, addTenant, addTool, batchOf, draft, newTool, operation, schema } from '../test/helpers/samples.ts';
import { silent } from '../test/helpers/silent.ts';
import { type TestStore, testStore } from '../test/helpers/store.ts';
import { connect } from './connection.ts';
import { openStore } from './index.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const PAGE = { limit: 100 };
const KEY = { name: 'ci', prefix: 'ak_live_ab', permissions: null };
const API_KEY = { name: 'ci', prefix: 'svc_gw_ab', scopes: ['tools:read' as const], expiresAt: null };
const AUTH = {
	type: 'jwt',
	isRequired: true,
	configuration: { secret: 'sealed' },
	validationRules: { allowedIpRanges: ['192.0.2.0/24'] },
};

test('a registration is logged in the new organization, under the new user', async () => {
	const who = actor();
	const user = { id: who.userId, email: 'ada@example.com', passwordHash: 'hash', firstName: 'Ada', lastName: 'Lovelace' };
	const { organization } = await store.as(who).accounts.register(user, { name: 'Acme', slugs: ['acme'] });
	const { items } = await store.audit.list(organization.id, PAGE);
	assert.deepEqual(sorted(items.map(told)), [
		['create', 'member', who.userId, 'ada@example.com', { role: { to: 'owner' } }],
		[
			'create',
			'organization',
			organization.id,
			'Acme',
			{ name: { to: 'Acme' }, slug: { to: 'acme' }, codeMayFetch: { to: false }, toolExposure: { to: 'full' } },
		],
	]);
	for (const row of items) assert.deepEqual(row.actor, who);
});

test('a key for the whole account is logged in every organization of its owner, and in no other', async () => {
	const [first, second, other] = [await addTenant(store), await addTenant(store), await addTenant(store)];
	const userId = await addMember(store, first, 'member');
	const sent = { role: 'viewer' as const, invitedBy: second.userId, expiresAt: new Date(Date.now() + 60_000), hash: randomBytes(32) };
	await store.organizations.invite(second.organizationId, { ...sent, email: 'x@example.com' });
	await store.organizations.accept(sent.hash, userId);
	const key = await store.accessKeys.create(userId, { ...KEY, reach: { type: 'account' }, hash: randomBytes(32) });
	await store.accessKeys.revoke(userId, key?.id ?? assert.fail());
	const [inFirst, inSecond, inOther] = await Promise.all(
		[first, second, other].map(async ({ organizationId }) => {
			const { items } = await store.audit.list(organizationId, PAGE, { resourceType: 'access_key' });
			return items.map(({ action }) => action);
		}),
	);
	assert.deepEqual([inFirst, inSecond, inOther], [['update', 'create'], ['update', 'create'], []]);
});

test('no secret is in the log, whatever was made, changed and removed', async () => {
	const { owner, userId, organizationId, api } = await furnish(store);
	const canary = 'c4n4ry';
	const hash = (): Buffer => Buffer.from(canary + randomUUID());
	const sealed = (n: number) => ({ token: `${canary}${n}`, nested: { key: `${canary}${n}` } });
	for (const n of [1, 2])
		await owner.apis.putCredential(organizationId, { apiId: api, type: 't', origin: 'https://x', secret: canary + n });
	const tool = randomUUID();
	const document = { type: 'object', default: canary };
	await owner.tools.create(organizationId, tool, newTool({ code: canary, executionConfig: sealed(1), outputSchema: document }));
	await owner.tools.update(organizationId, tool, { code: `${canary}2`, parameters: document, executionConfig: sealed(2) });
	const gateway = randomUUID();
	const made = { name: 'x', type: 'mcp', endpoint: '/x', description: null, configuration: sealed(1) };
	await owner.gateways.create(organizationId, gateway, made);
	await owner.gateways.update(organizationId, gateway, { configuration: sealed(2) });
	await owner.gateways.addAuth(organizationId, gateway, randomUUID(), { ...AUTH, configuration: sealed(1) });
	const key = await owner.gateways.addKey(organizationId, gateway, { ...API_KEY, hash: hash() });
	await owner.gateways.revokeKey(organizationId, gateway, key?.id ?? assert.fail());
	const reach = { type: 'gateway' as const, id: gateway, organizationId };
	await owner.accessKeys.create(userId, { ...KEY, reach, hash: hash() });
	const sent = { email: 'bob@example.com', role: 'viewer' as const, invitedBy: userId, expiresAt: new Date() };
	await owner.organizations.invite(organizationId, { ...sent, hash: hash() });
	await owner.gateways.remove(organizationId, gateway, false);
	await owner.tools.remove(organizationId, tool, false);
	await owner.apis.remove(organizationId, api, false);
	const rows = await administer(store.database, 'SELECT row_to_json(a)::text AS row FROM audit_log a');
	assert.ok(rows.length > 15);
	const leak = new RegExp(`${canary}|${Buffer.from(canary).toString('hex')}|prefix|_ab`);
	for (const { row } of rows) assert.doesNotMatch(String(row), leak);
});

test('a failed change leaves no entry, and neither does one without effect', async () => {
	const { owner, organizationId, gateway, tool, api } = await furnish(store);
	const other = await addTenant(store);
	const same = { name: 'Main', configuration: {}, status: 'active' };
	const before = await store.audit.list(organizationId, PAGE);
	await assert.rejects(addGateway({ ...store, ...owner }, organizationId, '/MAIN'), { code: 'conflict' });
	await assert.rejects(owner.gateways.assign(organizationId, gateway, [tool, randomUUID()]), { code: 'not_found' });
	const writer = (await owner.apis.beginImport(organizationId, api)) ?? assert.fail();
	await writer.operations(batchOf(operation('a')));
	await writer.abort();
	await owner.gateways.update(organizationId, gateway, same);
	await owner.tools.update(organizationId, tool, { name: 'getPet' });
	await owner.organizations.update(other.organizationId, { name: 'Other' });
	assert.deepEqual(await store.audit.list(organizationId, PAGE), before);
	assert.equal((await store.gateways.get(organizationId, gateway))?.version, 2);
});

test('an entry and its change share one transaction: both exist or neither does', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	const { organizationId, who } = await furnish(store);
	const database = connect(store.database, 1);
	try {
		const rename = database.as(who).write(async (transaction) => {
			await database.ordinary.query(`UPDATE gateways SET name = 'x'`, { transaction });
			const [seen] = await database.ordinary.query(`SELECT count(*)::int AS n FROM audit_log WHERE resource_name = 'x'`, { transaction });
			assert.deepEqual(seen, [{ n: 1 }]);
			throw new Error('changed my mind');
		});
		await assert.rejects(rename, /changed my mind/);
		const { items } = await store.audit.list(organizationId, PAGE, { resourceType: 'gateway' });
		assert.deepEqual(
			items.map(({ action }) => action),
			['create'],
		);
	} finally {
		await database.close();
	}
});

test('the next user of a connection does not inherit the actor', async () => {
	await using first = await testStore();
	const store = await openStore({ database: first.database, dataDir: '', migrate: false, log: silent, poolSize: 1 });
	const { organizationId, api } = await furnish(first);
	try {
		for (const acting of [store.as(actor()), store]) await acting.apis.update(organizationId, api, { name: randomUUID() });
		// The bulk pool reuses the same connection, too.
		const tools = [await addTool(first, organizationId), await addTool(first, organizationId)];
		for (const acting of [store.as(actor()), store]) await acting.tools.remove(organizationId, tools.pop()?.id ?? '', false);
		const failing = store.as(actor()).apis.update(organizationId, api, { status: 'sleeping' });
		await assert.rejects(failing, { code: 'validation_failed' });
		await store.apis.update(organizationId, api, { name: 'last' });
		const { items } = await first.audit.list(organizationId, { limit: 7 });
		const named = items.filter(({ action }) => action !== 'create').map(({ action, actor }) => [action, actor !== null]);
		assert.deepEqual(named, [
			['update', false],
			['delete', false],
			['delete', true],
			['update', false],
			['update', true],
		]);
	} finally {
		await store.close();
	}
});

test('concurrent changes are each logged under their own actor', async () => {
	const { organizationId } = await addTenant(store);
	const actors = Array.from({ length: 40 }, (_, n) => (n % 4 ? actor({ email: `${n}@example.com`, accessKeyId: randomUUID() }) : null));
	await Promise.all(
		actors.map(async (who, n) => {
			const acting = who ? { ...store, ...store.as(who) } : store;
			const { id } = await addTool(acting, organizationId, { name: `t${n}` });
			if (n % 2) await acting.tools.remove(organizationId, id, false);
		}),
	);
	const { items } = await store.audit.list(organizationId, PAGE, { resourceType: 'tool' });
	assert.equal(items.length, 60);
	for (const row of items) assert.deepEqual(row.actor, actors[Number(row.resourceName?.slice(1))]);
});

test('bulk changes are logged row by row: tools made of an API, and everything that goes with it', async () => {
	const { owner, who, organizationId, api, gateway } = await furnish(store);
	const writer = (await owner.apis.beginImport(organizationId, api)) ?? assert.fail();
	await writer.operations(batchOf(...Array.from({ length: 250 }, (_, n) => operation(`o${n}`))));
	await writer.commit(schema);
	const drafts: Parameters<typeof owner.tools.generate>[2] = [];
	for (let cursor: string | null | undefined; cursor !== null; ) {
		const { items, nextCursor } = await owner.apis.operations(organizationId, api, { limit: 100, ...(cursor && { cursor }) });
		drafts.push(...items.map((item) => ({ operationId: item.id, tool: draft(item) })));
		cursor = nextCursor;
	}
	await owner.tools.generate(organizationId, api, drafts);
	const { items: tools } = await owner.tools.list(organizationId, PAGE, { apiId: api });
	const ids = tools.map(({ id }) => id);
	await owner.gateways.assign(organizationId, gateway, ids);
	await owner.apis.remove(organizationId, api, false);
	const counted = await administer(
		store.database,
		`SELECT action, resource_type AS type, count(*)::int AS n, count(DISTINCT resource_id)::int AS ids FROM audit_log
		WHERE actor_id = '${who.userId}' GROUP BY 1, 2 ORDER BY 2, 1`,
	);
	assert.deepEqual(counted, [
		{ action: 'delete', type: 'api', n: 1, ids: 1 },
		{ action: 'create', type: 'gateway_tool', n: 100, ids: 100 },
		{ action: 'delete', type: 'gateway_tool', n: 100, ids: 100 },
		{ action: 'create', type: 'schema', n: 1, ids: 1 },
		{ action: 'delete', type: 'schema', n: 1, ids: 1 },
		{ action: 'create', type: 'tool', n: 250, ids: 250 },
		{ action: 'delete', type: 'tool', n: 250, ids: 250 },
	]);
});

test('removing an organization removes its log, but removing a user keeps their entries', async () => {
	const [mine, other] = [await furnish(store), await furnish(store)];
	await store.accessKeys.create(mine.userId, { ...KEY, reach: { type: 'account' }, hash: randomBytes(32) });
	await other.owner.gateways.update(other.organizationId, other.gateway, { name: 'x' });
	await administer(store.database, `DELETE FROM organizations WHERE id = '${mine.organizationId}'`);
	assert.deepEqual((await store.audit.list(mine.organizationId, PAGE)).items, []);
	await administer(store.database, `DELETE FROM users WHERE id = '${other.userId}'`);
	const [left, changed] = (await store.audit.list(other.organizationId, PAGE)).items;
	assert.deepEqual(left && told(left), ['delete', 'member', other.userId, null, { role: { from: 'owner' } }]);
	assert.deepEqual(changed?.actor, other.who);
});

/** Written as JSON, each of these is something that `jsonb` refuses, or looks like it. */
const HARD = ['a\0b', '\0\0', 'a\ud800b', '\udc00', '\\u0000', '\\\\\0', '😀', '"\0"', '\\'];

test('configurations hold everything that JSON can, and the log names their keys', async () => {
	const { owner, organizationId, gateway } = await furnish(store);
	const before = Object.fromEntries(HARD.map((text, n) => [`k${n}`, text]));
	await owner.gateways.update(organizationId, gateway, { configuration: before });
	await owner.gateways.update(organizationId, gateway, { configuration: { ...before, [`x\0`]: [HARD] } });
	const rules = { requiredHeaders: HARD };
	await owner.gateways.addAuth(organizationId, gateway, randomUUID(), { ...AUTH, validationRules: rules });
	const [method, second, first] = (await store.audit.list(organizationId, PAGE)).items.map(({ changes }) => changes);
	assert.deepEqual(first, { configuration: { keys: HARD.map((_, n) => `k${n}`) } });
	assert.deepEqual(second, { configuration: { keys: ['x\ufffd'] } });
	const readable = HARD.map((text) => text.toWellFormed().replaceAll('\0', '\ufffd'));
	assert.deepEqual(method?.['validationRules'], { to: { requiredHeaders: readable } });
	assert.deepEqual((await store.gateways.auth(organizationId, gateway, PAGE)).items[0]?.validationRules, rules);
});

test('the client’s own description is shortened, and made storable', async () => {
	const { organizationId, api } = await furnish(store);
	const who = actor({ userAgent: `a\0\ud800${'x'.repeat(1_000)}`, requestId: '\0r' });
	await store.as(who).apis.update(organizationId, api, { name: 'x' });
	const [row] = (await store.audit.list(organizationId, PAGE)).items;
	assert.deepEqual(row?.actor, { ...who, userAgent: `a\ufffd${'x'.repeat(253)}`, requestId: 'r' });
});

test('the log is listed from the newest entry on, with its own cursors only', async () => {
	const { owner, organizationId, api } = await furnish(store);
	for (let n = 0; n < 9; n++) await owner.apis.update(organizationId, api, { name: `${n}` });
	const first = await store.audit.list(organizationId, { limit: 5 }, { action: 'update' });
	// An entry written meanwhile does not shift the following pages.
	await owner.apis.update(organizationId, api, { name: 'later' });
	const rest = await store.audit.list(organizationId, { limit: 5, cursor: first.nextCursor ?? assert.fail() }, { action: 'update' });
	const names = [...first.items, ...rest.items].map(({ resourceName }) => resourceName);
	assert.deepEqual([names.join(''), rest.nextCursor], ['876543210', null]);
	const cursor = Buffer.from('tools 1').toString('base64url');
	await assert.rejects(store.audit.list(organizationId, { limit: 1, cursor }), { code: 'validation_failed' });
});

test('filters narrow the list, and an invalid id matches nothing', async () => {
	const { owner, organizationId, gateway, api, userId } = await furnish(store);
	await owner.gateways.update(organizationId, gateway, { name: 'x' });
	await owner.apis.update(organizationId, api, { name: 'x' });
	const { items } = await store.audit.list(organizationId, PAGE);
	const [last, previous] = [items[0]?.at ?? assert.fail(), items[1]?.at ?? assert.fail()];
	const all = items.length;
	const filters: [AuditFilter, number][] = [
		[{}, all],
		[{ resourceType: 'gateway' }, 2],
		[{ resourceType: 'gateway', action: 'update' }, 1],
		[{ resourceId: api }, 2],
		[{ resourceId: api.toUpperCase() }, 2],
		[{ actorId: userId }, 2],
		[{ actorId: userId, resourceId: gateway }, 1],
		[{ since: last }, items.filter(({ at }) => at >= last).length],
		[{ until: last }, items.filter(({ at }) => at < last).length],
		[{ since: previous, until: previous }, 0],
		[{ since: new Date(last.getTime() + 1) }, 0],
		[{ resourceType: 'nothing' }, 0],
		[{ action: 'read' }, 0],
		[{ resourceId: 'x' }, 0],
		[{ actorId: "' OR 1=1 --" }, 0],
	];
	for (const [filter, n] of filters)
		assert.equal((await store.audit.list(organizationId, PAGE, filter)).items.length, n, JSON.stringify(filter));
});

test('another organization’s log is empty', async () => {
	const { owner, organizationId, gateway, tool } = await furnish(store);
	await owner.gateways.assign(organizationId, gateway, [tool]);
	const other = await addTenant(store);
	const { items } = await store.audit.list(other.organizationId, PAGE);
	assert.deepEqual(items.map(({ resourceType }) => resourceType).sort(), ['member', 'organization']);
	for (const filter of [{ resourceId: gateway }, { resourceId: tool }, { resourceType: 'gateway_tool' }])
		assert.deepEqual((await store.audit.list(other.organizationId, PAGE, filter)).items, []);
	for (const bad of ['', 'x', '\0', randomUUID()]) assert.deepEqual((await store.audit.list(bad, PAGE)).items, []);
});
