// Records of the release before: what its rows become, and what its replicas write while both releases run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administer, type Endpoint, testDatabase } from '../../test/helpers/postgres.ts';
import { begin } from '../../test/helpers/records.ts';
import { silent } from '../../test/helpers/silent.ts';
import { testStore } from '../../test/helpers/store.ts';
import { createClient } from '../connection.ts';
import { migrateDatabase, openStore } from '../index.ts';
import { recordQueries } from '../migrations/0016-record-queries.ts';
import { MIGRATIONS } from '../migrations/index.ts';

const ORGANIZATION = '00000000-0000-4000-8000-000000000001';
const GATEWAY = '00000000-0000-4000-8000-000000000002';
const ROWS = `
INSERT INTO organizations (id, name, slug) VALUES ('${ORGANIZATION}', 'Acme', 'acme');
INSERT INTO gateways (id, organization_id, name, type, endpoint, configuration) VALUES ('${GATEWAY}', '${ORGANIZATION}', 'Main', 'mcp', '/main', '{}');
INSERT INTO records (organization_id, gateway_id, plugin, key, value, tags, created_at, taken_at, expires_at) VALUES
('${ORGANIZATION}', '${GATEWAY}', 'p', 'put', '{}', '{t,"with,comma"}', '2026-01-01T00:00:00Z', NULL, NULL),
('${ORGANIZATION}', '${GATEWAY}', 'p', 'taken', '{}', '{t}', '2026-01-01T00:00:01Z', '2026-02-02T00:00:00.123456Z', NULL),
('${ORGANIZATION}', '${GATEWAY}', 'p', 'last', '{}', '{}', '2026-01-03T00:00:00Z', NULL, now() + interval '1 hour'),
('${ORGANIZATION}', '${GATEWAY}', 'p', 'old', '{}', '{t}', '2026-01-01T00:00:00Z', NULL, now() - interval '1 hour');
`;

/** Makes a database as the release before the migration left it. */
async function leave(database: Endpoint): Promise<void> {
	const former = MIGRATIONS.slice(0, MIGRATIONS.indexOf(recordQueries));
	const done = former.map(({ name }) => `INSERT INTO migrations (name) VALUES ('${name}')`);
	const table = 'CREATE TABLE migrations (name text PRIMARY KEY, ran_at timestamptz NOT NULL DEFAULT now())';
	await administer(database, [table, ...former.flatMap(({ statements }) => statements), ...done, ROWS].join(';\n'));
}

test('former records were changed when they were put or taken, keep their tags, and have no sealed fields', async () => {
	await using former = await testDatabase({ empty: true });
	await leave(former.database);
	await migrateDatabase({ database: former.database, dataDir: '', log: silent });
	const store = await openStore({ database: former.database, dataDir: '', log: silent, migrate: false });
	try {
		const scope = { plugin: 'p', gatewayId: GATEWAY };
		const find = async (tags: string[]) => {
			const { items } = await store.records.find(ORGANIZATION, scope, { all: tags }, { limit: 10, sort: '-updatedAt' });
			return items.map(({ key, updatedAt, sealed }) => [key, updatedAt.toISOString(), sealed.length]);
		};
		const taken = ['taken', '2026-02-02T00:00:00.123Z', 0];
		const put = ['put', '2026-01-01T00:00:00.000Z', 0];
		assert.deepEqual(await find(['t']), [taken, put]);
		assert.deepEqual(await find([]), [taken, ['last', '2026-01-03T00:00:00.000Z', 0], put]);
		assert.deepEqual(await find(['t', 'with,comma']), [put]);
		assert.equal(await store.records.prune(), 1);
	} finally {
		await store.close();
	}
});

// The statements of the release before, word for word. They never change.

const PUT = `
INSERT INTO records AS r (organization_id, gateway_id, plugin, key, value, tags, expires_at, watched, audit_type, audit_name)
VALUES ($1, $2, $3, $4, $5::json, ARRAY(SELECT json_array_elements_text($6::json)), now() + $7::float8 * interval '1 millisecond',
	$8, $9, $10)
ON CONFLICT (organization_id, gateway_id, plugin, key) DO UPDATE SET
	value = excluded.value, tags = excluded.tags, expires_at = excluded.expires_at, taken_at = NULL, revision = r.revision + 1,
	watched = excluded.watched, audit_type = excluded.audit_type, audit_name = excluded.audit_name,
	id = CASE WHEN r.expires_at <= now() THEN excluded.id ELSE r.id END,
	created_at = CASE WHEN r.expires_at <= now() THEN excluded.created_at ELSE r.created_at END`;
const ADD = `${PUT} WHERE r.expires_at <= now() RETURNING seq`;
const COLUMNS = `seq, watched, key, value, tags, revision, created_at AS "createdAt", expires_at AS "expiresAt", taken_at AS "takenAt",
	now() AS "readAt"`;
const LIVE = '(expires_at IS NULL OR expires_at > now())';
const IN_SCOPE = 'organization_id = $1 AND gateway_id = $2 AND plugin = $3';
const ONE = `${IN_SCOPE} AND key = $4 AND ${LIVE}`;
const GET = `SELECT ${COLUMNS} FROM records WHERE ${ONE}`;
const FIND = `
SELECT ${COLUMNS} FROM records WHERE ${IN_SCOPE} AND tags @> ARRAY[$4::text] AND ${LIVE} AND seq < $5 ORDER BY seq DESC LIMIT $6`;
const DROP = `DELETE FROM records WHERE ${IN_SCOPE} AND tags @> ARRAY[$4::text] AND ${LIVE}`;
const TAKE = `UPDATE records SET taken_at = now(), revision = revision + 1 WHERE ${ONE} AND taken_at IS NULL RETURNING ${COLUMNS}`;
const UPDATE = `
UPDATE records SET value = $6::json, revision = revision + 1, expires_at = coalesce(now() + $7::float8 * interval '1 millisecond', expires_at),
	audit_told = audit_told + $8::integer
WHERE ${ONE} AND revision = $5`;
const PRUNE = 'DELETE FROM records WHERE expires_at <= now()';

test('replicas of the release before go on: their statements put, add, find, take, update, drop and prune records of both', async () => {
	await using store = await testStore();
	const { organizationId, scope, put, records } = await begin(store);
	const former = async (sql: string, ...bind: unknown[]) => {
		const client = createClient(store.database);
		await client.connect();
		try {
			return await client.query(sql, [organizationId, scope.gatewayId, scope.plugin, ...bind]);
		} finally {
			await client.end();
		}
	};
	const columns = (n: number, ttlMs: number | null = null) => [JSON.stringify({ n }), '["t"]', ttlMs, true, 'type', 'name'];
	const valueAt = async (key: string) => (await records.get(organizationId, scope, key))?.value;
	await former(PUT, 'a', ...columns(1));
	await put('b', { n: 0 }, { tags: ['t'] });
	await former(PUT, 'b', ...columns(2));
	assert.deepEqual([await valueAt('a'), await valueAt('b')], [{ n: 1 }, { n: 2 }]);
	assert.equal((await former(ADD, 'b', ...columns(3))).rowCount, 0);
	assert.equal((await former(ADD, 'c', ...columns(3, 60_000))).rowCount, 1);
	assert.equal((await former(UPDATE, 'c', 1, '{"n":4}', null, 1)).rowCount, 1);
	assert.equal((await former(UPDATE, 'c', 1, '{"n":5}', null, 1)).rowCount, 0);
	assert.equal((await former(TAKE, 'c')).rowCount, 1);
	assert.equal(await records.take(organizationId, scope, 'c'), null, 'one of both takes it');
	assert.deepEqual((await former(GET, 'c')).rows[0]?.value, { n: 4 });
	const found = await records.find(organizationId, scope, 't', { limit: 10 });
	assert.deepEqual(
		(await former(FIND, 't', '1000', 10)).rows.map(({ key }) => key),
		found.items.map(({ key }) => key),
	);
	await records.put(organizationId, { ...scope, gatewayId: null }, 'a', { n: 9 }, { tags: ['t'] });
	await former(PUT, 'd', ...columns(6, -1_000));
	assert.equal((await former(DROP, 't')).rowCount, 3);
	assert.deepEqual((await records.get(organizationId, { ...scope, gatewayId: null }, 'a'))?.value, { n: 9 }, 'that of the organization');
	assert.equal(
		(await administer(store.database, `WITH pruned AS (${PRUNE} RETURNING 1) SELECT count(*)::int AS n FROM pruned`))[0]?.['n'],
		1,
	);
});
