// Tests of the hash chain of the audit log: linked after the commit, by several replicas, and broken in every way.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type AuditHead, type AuditProof, linkHash } from '../../core/store/audit-chain.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { silent } from '../../test/helpers/silent.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';
import { openStore, verifyAudit } from '../index.ts';
import type { Verifying } from './verify.ts';

const PAGE = { limit: 100, sort: 'createdAt' };

async function world(t: TestContext): Promise<{ store: TestStore; organizationId: string; rename: (name: string) => Promise<unknown> }> {
	const store = await testStore();
	t.after(() => store[Symbol.asyncDispose]());
	const { organizationId } = await addTenant(store);
	return { store, organizationId, rename: (name) => store.organizations.update(organizationId, { name }) };
}

async function proofs({ database }: TestStore, asked: Verifying = {}): Promise<AuditProof[]> {
	const found: AuditProof[] = [];
	await verifyAudit({ database, dataDir: '/nowhere', log: silent }, asked, (proof) => found.push(proof));
	return found;
}

async function proof(store: TestStore, organizationId: string, expected?: AuditHead): Promise<AuditProof> {
	const [found] = await proofs(store, { organizationId, ...(expected && { expected }) });
	return found ?? assert.fail('no organization');
}

test('entries are linked in their order, each once, and the log shows their links', async (t) => {
	const { store, organizationId, rename } = await world(t);
	for (const name of ['A', 'B', 'C']) await rename(name);
	assert.deepEqual((await store.audit.list(organizationId, PAGE)).items.at(-1)?.link, null);
	const linked = await store.auditChain.extend();
	assert.equal(await store.auditChain.extend(), 0);
	const { items } = await store.audit.list(organizationId, PAGE);
	assert.equal(linked, items.length);
	let before: AuditHead | null = null;
	for (const [at, entry] of items.entries()) {
		const expected: AuditHead = { position: at + 1, hash: linkHash(before?.hash ?? null, organizationId, at + 1, entry) };
		assert.deepEqual(entry.link, expected);
		before = expected;
	}
	assert.deepEqual(await store.auditChain.head(organizationId), before);
	await rename('D');
	const { slug } = (await proofs(store))[0] ?? assert.fail();
	assert.deepEqual(await proofs(store), [{ organizationId, slug, links: linked, head: before, unchained: 1, broken: null }]);
});

test('replicas that link at once make one chain for each organization', async (t) => {
	const { store, organizationId } = await world(t);
	const other = await openStore({ database: store.database, dataDir: '/nowhere', migrate: false, log: silent });
	t.after(() => other.close());
	const second = (await addTenant(store)).organizationId;
	for (let round = 0; round < 5; round++) {
		const changes = [organizationId, second].map((id) => store.organizations.update(id, { name: `Round ${round}` }));
		await Promise.all([...changes, store.auditChain.extend(), other.auditChain.extend()]);
	}
	await store.auditChain.extend();
	const found = await proofs(store);
	assert.deepEqual(
		found.map(({ broken, unchained }) => [broken, unchained]),
		[
			[null, 0],
			[null, 0],
		],
	);
	assert.ok(found.every(({ links }) => links >= 5));
});

test('a change that is committed late is linked after those that it did not see', async (t) => {
	const { store, organizationId, rename } = await world(t);
	await store.auditChain.extend();
	const first = (await proof(store, organizationId)).links;
	await rename('Late');
	// Its note is taken away, so that it seems to be in a transaction that is still open.
	await administer(store.database, 'CREATE TABLE held AS SELECT * FROM audit_unchained', 'DELETE FROM audit_unchained');
	await rename('Early');
	await store.auditChain.extend();
	await administer(store.database, 'INSERT INTO audit_unchained SELECT * FROM held');
	await store.auditChain.extend();
	const { items } = await store.audit.list(organizationId, PAGE);
	assert.deepEqual(
		items.slice(-2).map(({ link }) => link?.position),
		[first + 2, first + 1],
	);
	assert.equal((await proof(store, organizationId)).broken, null);
});

const BREAKS: Record<string, { statement: string; says: RegExp; isLinked?: boolean }> = {
	'a changed entry': {
		statement: `UPDATE audit_log SET resource_name = 'Eve' WHERE id = $id`,
		says: /^link 2: its entry \S+, or the link itself, was changed$/,
	},
	'a changed link': {
		statement: `UPDATE audit_chain SET hash = sha256('x') WHERE entry_id = $id`,
		says: /^link 2: its entry \S+, or the link itself, was changed$/,
	},
	'a removed entry': { statement: 'DELETE FROM audit_log WHERE id = $id', says: /^link 2: its entry \S+ was removed$/ },
	'an entry removed with its link': {
		statement: 'DELETE FROM audit_chain WHERE entry_id = $id; DELETE FROM audit_log WHERE id = $id',
		says: /^link 2: it is gone$/,
	},
	'an entry put in behind the triggers': {
		statement: `SET session_replication_role = replica; INSERT INTO audit_log (organization_id, action, resource_type, resource_id, changes)
			SELECT organization_id, action, resource_type, resource_id, changes FROM audit_log WHERE id = $id`,
		says: /^the entry \S+ was put in without a link$/,
	},
};

for (const [what, { statement, says }] of Object.entries(BREAKS))
	test(`${what} is found, and named`, async (t) => {
		const { store, organizationId, rename } = await world(t);
		for (const name of ['A', 'B', 'C']) await rename(name);
		await store.auditChain.extend();
		const second = (await store.audit.list(organizationId, PAGE)).items[1] ?? assert.fail();
		assert.equal((await proof(store, organizationId)).broken, null);
		await administer(store.database, statement.replaceAll('$id', `'${second.id}'`));
		const { broken, links } = await proof(store, organizationId);
		assert.match(broken ?? '', says);
		assert.equal(links, says.source.includes('link 2') ? 1 : 5);
	});

test('an entry that was removed before it was linked is found', async (t) => {
	const { store, organizationId } = await world(t);
	await administer(store.database, 'DELETE FROM audit_log');
	assert.match((await proof(store, organizationId)).broken ?? '', /^the entry \S+ was removed before it was linked$/);
});

test('a chain that was cut off, or made anew, is found by a link that was noted down', async (t) => {
	const { store, organizationId, rename } = await world(t);
	await rename('A');
	await store.auditChain.extend();
	const head = (await store.auditChain.head(organizationId)) ?? assert.fail();
	await rename('B');
	await store.auditChain.extend();
	assert.equal((await proof(store, organizationId, head)).broken, null);
	await administer(
		store.database,
		`UPDATE audit_log SET resource_name = 'Eve'`,
		'DELETE FROM audit_chain',
		'INSERT INTO audit_unchained SELECT id, seq, organization_id FROM audit_log',
	);
	await store.auditChain.extend();
	assert.equal((await proof(store, organizationId)).broken, null);
	const { broken, links } = await proof(store, organizationId, head);
	assert.deepEqual([broken, links], [`link ${head.position}: it is not the one that is expected`, head.position - 1]);
});

test('a chain goes with its organization', async (t) => {
	const { store, organizationId } = await world(t);
	await store.auditChain.extend();
	await administer(store.database, `DELETE FROM organizations WHERE id = '${organizationId}'`);
	assert.deepEqual(await administer(store.database, 'SELECT FROM audit_chain UNION ALL SELECT FROM audit_unchained'), []);
	assert.deepEqual(await proofs(store), []);
});
