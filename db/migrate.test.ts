// Bringing a database up to date.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administer, silent, testDatabase } from '../test/helpers/postgres.ts';
import { migrateDatabase, openStore } from './index.ts';

test('an empty database is migrated once, and a second run has nothing to do', async () => {
	await using empty = await testDatabase({ empty: true });
	const options = { database: empty.database, dataDir: '', log: silent };
	assert.deepEqual(await migrateDatabase(options), ['0001-foundation']);
	assert.deepEqual(await migrateDatabase(options), []);
});

test('two replicas that start at once on an empty database both come up', async () => {
	await using empty = await testDatabase({ empty: true });
	const options = { database: empty.database, dataDir: '', log: silent, migrate: true };
	const stores = await Promise.all([openStore(options), openStore(options), openStore(options)]);
	await Promise.all(stores.map((store) => store.ping()));
	await Promise.all(stores.map((store) => store.close()));
	assert.deepEqual(await administer(empty.database, 'SELECT name FROM migrations'), [{ name: '0001-foundation' }]);
});

test('a migration that fails leaves nothing behind', async () => {
	await using empty = await testDatabase({ empty: true });
	await administer(empty.database, 'CREATE TABLE gateways (taken text)');
	await assert.rejects(migrateDatabase({ database: empty.database, dataDir: '', log: silent }));
	const tables = await administer(empty.database, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`);
	assert.deepEqual(tables, [{ tablename: 'gateways' }]);
});

test('a store that may not migrate names what the database lacks', async () => {
	await using empty = await testDatabase({ empty: true });
	const opening = openStore({ database: empty.database, dataDir: '', log: silent, migrate: false });
	await assert.rejects(opening, /The database lacks the migrations 0001-foundation: run "npm run migrate"/);
});

test('every foreign key carries the organization, but for those that point at organizations and users', async () => {
	await using migrated = await testDatabase();
	const keys = await administer(
		migrated.database,
		`SELECT conrelid::regclass::text AS "table", pg_get_constraintdef(oid) AS definition FROM pg_constraint
		WHERE contype = 'f' AND confrelid NOT IN ('organizations'::regclass, 'users'::regclass)`,
	);
	assert.ok(keys.length >= 10);
	for (const { table, definition } of keys)
		assert.match(String(definition), /^FOREIGN KEY \(organization_id, .+\) REFERENCES \w+\(organization_id, /, String(table));
});
