// Tests of creating, listing and revoking access keys over REST.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { hashKey, PERMISSIONS } from '../../../core/features.ts';
import { readDocument } from '../../../test/helpers/document.ts';
import { assertWhitelisted, readPages } from '../../../test/helpers/lists.ts';
import { addMember } from '../../../test/helpers/members.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	sharedService,
} from '../../../test/helpers/service.ts';

let service: SharedService;
let owner: Account;
let stranger: Account;
let gateway: { id: string };

before(async () => {
	service = await sharedService();
	[owner, stranger] = await Promise.all([registerAccount(service.url), registerAccount(service.url)]);
	gateway = await publishGateway(owner);
});
after(() => service.stop());

const create = (body: object, by = owner): Promise<Answer> => by.post('/access-keys', { name: 'k', ...body });
const list = async (by = owner, query = '') => must(await by.get(`/access-keys${query}`), 200).body.data;
const profile = async (key: string): Promise<number> =>
	(await send(`${service.url}/auth/profile`, 'GET', { headers: { authorization: `Bearer ${key}` } })).status;

test('a key of the account is shown once, and has all permissions of its owner (5.1 rule 4)', async () => {
	const { key, ...shown } = must(await create({ name: 'laptop' }), 201).body.data;
	assert.match(key, /^ak_live_[\w-]{43}$/);
	assert.deepEqual(shown, {
		id: shown.id,
		name: 'laptop',
		prefix: key.slice(0, 12),
		scope: { type: 'account' },
		permissions: null,
		lastUsedAt: null,
		revokedAt: null,
		createdAt: shown.createdAt,
	});
	const listed = await list();
	assert.deepEqual(
		listed.accessKeys.find(({ id }: { id: string }) => id === shown.id),
		shown,
	);
	assert.ok(!JSON.stringify(listed).includes(key));
	assert.equal(await profile(key), 200);
});

test('only the key’s SHA-256 is stored', async () => {
	const { key, id } = must(await create({}), 201).body.data;
	const { host, port, username: user, password, name: database } = service.config.database ?? assert.fail('no database');
	const client = new pg.Client({ host, port, user, password, database });
	await client.connect();
	const { rows } = await client.query('SELECT hash, to_jsonb(access_keys)::text AS text FROM access_keys WHERE id = $1', [id]);
	await client.end();
	assert.deepEqual(rows[0].hash, hashKey(key));
	assert.ok(!rows[0].text.includes(key.slice(12)));
});

test('a key for one gateway is for reading and running its tools, unless it names permissions', async () => {
	const scope = { type: 'gateway', id: gateway.id };
	const plain = must(await create({ scope }), 201).body.data;
	assert.deepEqual([plain.scope, plain.permissions], [scope, ['tools:read', 'tools:execute']]);
	const named = must(await create({ scope, permissions: ['gateway:read'] }), 201).body.data;
	assert.deepEqual(named.permissions, ['gateway:read']);
});

test('a key is made for a gateway of any of one’s organizations', async () => {
	const member = await addMember(owner, 'viewer');
	const scope = { type: 'gateway', id: gateway.id.toUpperCase() };
	assert.deepEqual(must(await create({ scope }, member), 201).body.data.scope, { type: 'gateway', id: gateway.id });
});

test('a missing or foreign gateway is not found, and neither is any agent', async () => {
	const foreign = await create({ scope: { type: 'gateway', id: gateway.id } }, stranger);
	const missing = await create({ scope: { type: 'gateway', id: randomUUID() } }, stranger);
	assert.deepEqual([foreign.status, foreign.body.message], [404, 'Gateway not found.']);
	assert.deepEqual([missing.status, missing.body.message], [404, 'Gateway not found.']);
	for (const id of ['x', '%00', '../..', '1'.repeat(100)]) assert.equal((await create({ scope: { type: 'gateway', id } })).status, 404, id);
	const agent = await create({ scope: { type: 'agent', id: randomUUID() } });
	assert.deepEqual([agent.status, agent.body.message], [404, 'Agent not found.']);
});

test('permissions that the owner does not have are accepted; an unknown one is a 400 that lists them', async () => {
	assert.equal((await create({ permissions: [...PERMISSIONS] })).status, 201);
	const refused = must(await create({ permissions: ['tools:read', 'tools:fly'] }), 400);
	assert.match(refused.body.details[0].path, /permissions/);
	for (const permission of PERMISSIONS) assert.ok(refused.body.message.includes(permission), permission);
});

const BAD: [field: string, body: object][] = [
	['name', { name: '' }],
	['name', { name: '   ' }],
	['name', { name: 'x'.repeat(201) }],
	['name', { name: { like: '%' } }],
	['scope', { scope: 'account' }],
	['scope', { scope: null }],
	['type', { scope: {} }],
	['type', { scope: { type: 'organization', id: 'x' } }],
	['type', { scope: { type: ['gateway'], id: 'x' } }],
	['id', { scope: { type: 'gateway' } }],
	['id', { scope: { type: 'agent' } }],
	['id', { scope: { type: 'gateway', id: '' } }],
	['id', { scope: { type: 'gateway', id: 7 } }],
	['id', { scope: { type: 'gateway', id: 'x'.repeat(101) } }],
	['id', { scope: { type: 'gateway', id: ['x'] } }],
	['id', { scope: { type: 'account', id: 'x' } }],
	['organizationId', { scope: { type: 'account', organizationId: 'x' } }],
	['permissions', { permissions: [] }],
	['permissions', { permissions: null }],
	['permissions', { permissions: 'tools:read' }],
	['permissions', { permissions: ['tools:read', 'tools:read'] }],
	['permissions', { permissions: [null] }],
	['expiresAt', { expiresAt: '2100-01-01T00:00:00Z' }],
	['userId', { userId: randomUUID() }],
	['key', { key: 'ak_live_mine' }],
];

test('bad input is a 400 that names the field, and makes no key', async () => {
	const { accessKeys: before } = await list();
	for (const [field, body] of BAD) {
		const answer = await create(body);
		assert.equal(answer.status, 400, JSON.stringify(body));
		assert.match(JSON.stringify(answer.body.details), new RegExp(field), JSON.stringify(body));
	}
	assert.equal((await owner.post('/access-keys', {})).status, 400);
	assert.equal((await owner.post('/access-keys', '{')).status, 400);
	assert.equal((await list()).accessKeys.length, before.length);
});

test('a revoked key opens nothing; it is listed as revoked, and cannot be revoked again', async () => {
	const { key, id } = must(await create({}), 201).body.data;
	assert.equal(await profile(key), 200);
	const answer = must(await owner.del(`/access-keys/${id}`), 200);
	assert.equal(answer.body.data.id, id);
	assert.ok(answer.body.data.revokedAt);
	assert.ok(!JSON.stringify(answer.body).includes(key));
	assert.equal(await profile(key), 401);
	const row = (await list()).accessKeys.find((one: { id: string }) => one.id === id);
	assert.equal(row.revokedAt, answer.body.data.revokedAt);
	assert.equal((await owner.del(`/access-keys/${id}`)).status, 404);
});

test('of parallel revocations of a key, one succeeds', async () => {
	const { id } = must(await create({}), 201).body.data;
	const statuses = (await Promise.all(Array.from({ length: 10 }, () => owner.del(`/access-keys/${id}`)))).map(({ status }) => status);
	assert.deepEqual(statuses.sort(), [200, ...Array(9).fill(404)]);
});

test('another user’s keys are not found, not even by a member of the same organization', async () => {
	const { key, id } = must(await create({}), 201).body.data;
	const colleague = await addMember(owner, 'admin');
	for (const other of [stranger, colleague]) {
		assert.equal((await other.del(`/access-keys/${id}`)).status, 404);
		assert.deepEqual((await list(other)).accessKeys, []);
	}
	for (const wrong of [randomUUID(), 'x', '%2e%2e', `${id}x`]) assert.equal((await owner.del(`/access-keys/${wrong}`)).status, 404, wrong);
	assert.equal(await profile(key), 200);
});

test('the list comes in pages, in order of creation', async () => {
	const user = await registerAccount(service.url);
	for (const name of ['a', 'b', 'c']) must(await create({ name }, user), 201);
	const names: string[] = [];
	let cursor = '';
	do {
		const page = await list(user, `?limit=2${cursor}`);
		names.push(...page.accessKeys.map(({ name }: { name: string }) => name));
		cursor = page.nextCursor === null ? '' : `&cursor=${encodeURIComponent(page.nextCursor)}`;
	} while (cursor !== '');
	assert.deepEqual(names, ['a', 'b', 'c']);
	for (const query of ['?limit=0', '?limit=101', '?cursor=x', '?cursor=a&cursor=b', '?userId=x']) {
		assert.equal((await user.get(`/access-keys${query}`)).status, 400, query);
	}
});

test('removing a gateway removes the keys for it', async () => {
	const { id } = await publishGateway(owner);
	const { key, id: keyId } = must(await create({ scope: { type: 'gateway', id }, permissions: ['gateway:read'] }), 201).body.data;
	const read = () => send(`${service.url}/gateways/${id}`, 'GET', { headers: { authorization: `Bearer ${key}` } });
	assert.equal((await read()).status, 200);
	must(await owner.del(`/gateways/${id}`), 200);
	assert.equal((await read()).status, 401);
	assert.ok(!(await list()).accessKeys.some((one: { id: string }) => one.id === keyId));
});

test('keys are listed in either order of creation, page by page while others are created', async () => {
	const account = await registerAccount(service.url);
	for (const name of ['a', 'b', 'c', 'd']) must(await create({ name }, account), 201);
	const keys = { path: '/access-keys', key: 'accessKeys' };
	const names = async (sort: string, between?: () => Promise<unknown>) =>
		(await readPages(account, keys, { limit: '2', sort }, between)).map(({ name }) => name);
	assert.deepEqual(await names('createdAt'), ['a', 'b', 'c', 'd']);
	assert.deepEqual(await names('-createdAt', () => create({ name: 'late' }, account)), ['d', 'c', 'b', 'a']);
	assert.deepEqual(await names('createdAt'), ['a', 'b', 'c', 'd', 'late']);
});

test('an unknown query parameter of the list of keys is a 400 that names it', async () => {
	await assertWhitelisted(owner, '/access-keys', { limit: '5', sort: '-createdAt' });
	assert.equal((await owner.get('/access-keys?sort=name')).status, 400);
});

test('a repeated request creates another access key: an answer with a secret is never stored', async () => {
	const headers = { 'idempotency-key': randomUUID() };
	const make = async () => must(await owner.post('/access-keys', { name: 'k' }, headers), 201).body.data.key;
	assert.notEqual(await make(), await make());
});

test('answers about keys are what the document says', async () => {
	const judge = await readDocument(service.url);
	for (const body of [{}, { scope: { type: 'gateway', id: gateway.id } }, { permissions: ['tools:read'] }, { scope: {} }]) {
		const made = await create(body);
		assert.equal(judge.fault('POST /access-keys', made), null);
		if (made.status !== 201) continue;
		assert.equal(judge.fault('GET /access-keys', await owner.get('/access-keys')), null);
		for (let twice = 0; twice < 2; twice++)
			assert.equal(judge.fault('DELETE /access-keys/{keyId}', await owner.del(`/access-keys/${made.body.data.id}`)), null);
	}
});
