// Migrations of a database.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administer, type Endpoint, testDatabase } from '../test/helpers/postgres.ts';
import { sampled } from '../test/helpers/sampled.ts';
import { addGateway, addTenant } from '../test/helpers/samples.ts';
import { silent } from '../test/helpers/silent.ts';
import { migrateDatabase, openStore } from './index.ts';
import { type Migration, NAMES } from './migrate.ts';
import { foundation } from './migrations/0001-foundation.ts';
import { identity } from './migrations/0002-identity.ts';
import { audit } from './migrations/0003-audit.ts';
import { contract } from './migrations/0004-contract.ts';
import { records } from './migrations/0005-records.ts';
import { imports } from './migrations/0006-imports.ts';
import { upstreamTokens } from './migrations/0007-upstream-tokens.ts';
import { importJobs } from './migrations/0008-import-jobs.ts';
import { code } from './migrations/0009-code.ts';
import { creators } from './migrations/0010-creators.ts';
import { credentialSchemes } from './migrations/0011-credential-schemes.ts';
import { argumentLayers } from './migrations/0012-argument-layers.ts';
import { passThrough } from './migrations/0013-pass-through.ts';
import { configVersions } from './migrations/0014-config-versions.ts';
import { runs } from './migrations/0015-runs.ts';
import { recordQueries } from './migrations/0016-record-queries.ts';
import { importRuns } from './migrations/0017-import-runs.ts';
import { runDeadlines } from './migrations/0018-run-deadlines.ts';
import { importLeases } from './migrations/0019-import-leases.ts';
import { skills } from './migrations/0020-skills.ts';
import { results } from './migrations/0021-results.ts';
import { llmProviders } from './migrations/0022-llm-providers.ts';
import { modelUse } from './migrations/0023-model-use.ts';
import { agents } from './migrations/0024-agents.ts';
import { exposure } from './migrations/0025-exposure.ts';
import { requestLog } from './migrations/0026-request-log.ts';
import { agentVersions } from './migrations/0027-agent-versions.ts';
import { followedAgents } from './migrations/0028-followed-agents.ts';
import { auditChain } from './migrations/0029-audit-chain.ts';
import { payloads } from './migrations/0030-payloads.ts';
import { alerts } from './migrations/0031-alerts.ts';
import { printed } from './migrations/0032-printed.ts';
import { lookups } from './migrations/0033-lookups.ts';
import { sources } from './migrations/0034-sources.ts';
import { MIGRATIONS } from './migrations/index.ts';
import { ENGINE_MIGRATION } from './runs/engine.ts';

/** One row in every table that the first migration creates. */
const FOUNDATION_ROWS = `
INSERT INTO organizations (id, name, slug) VALUES ('00000000-0000-4000-8000-000000000001', 'Acme', 'acme');
INSERT INTO users (id, email, password_hash, first_name, last_name)
VALUES ('00000000-0000-4000-8000-000000000002', 'Ada@example.com', 'hash', 'Ada', 'Lovelace');
INSERT INTO memberships (organization_id, user_id, role) SELECT o.id, u.id, 'owner' FROM organizations o, users u;
INSERT INTO apis (organization_id, name, type, base_url) SELECT id, 'Pets', 'openapi', 'https://pets.example' FROM organizations;
INSERT INTO api_credentials (organization_id, api_id, type, origin, secret)
SELECT organization_id, id, 'bearer_token', 'https://pets.example', 'sealed' FROM apis;
INSERT INTO api_schemas (organization_id, api_id, format, servers, size_bytes, sha256, report)
SELECT organization_id, id, 'openapi 3.1.0', '[]', 2, '00', '{}' FROM apis;
INSERT INTO operations (organization_id, api_id, key, name, description, method, path, tags, deprecated, parameters, definition, outcome, reasons)
SELECT organization_id, id, 'GET /pets', 'pets', 'All pets.', 'GET', '/pets', '{}', false, '{}', '{}', 'converted', '[]' FROM apis;
INSERT INTO tools (organization_id, api_id, operation_id, type, executor, imported_name, imported_description, parameters, annotations, execution_config)
SELECT organization_id, api_id, id, 'api', 'http', 'pets', 'All pets.', '{}', '{}', '{"a": "\\u0000"}' FROM operations;
INSERT INTO gateways (organization_id, name, type, endpoint, configuration) SELECT id, 'Main', 'mcp', '/main', '{}' FROM organizations;
INSERT INTO gateway_tools (organization_id, gateway_id, tool_id, name)
SELECT t.organization_id, g.id, t.id, 'pets' FROM tools t, gateways g;
INSERT INTO gateway_auth (organization_id, gateway_id, type, is_required, configuration, validation_rules)
SELECT organization_id, id, 'none', true, '{}', '{}' FROM gateways;
INSERT INTO gateway_keys (organization_id, gateway_id, name, prefix, hash, scopes)
SELECT organization_id, id, 'ci', 'svc_gw_ab', 'hash', '{tools:read}' FROM gateways;
INSERT INTO gateway_key_uses (organization_id, key_id, last_used_at) SELECT organization_id, id, now() FROM gateway_keys;
INSERT INTO records (organization_id, gateway_id, plugin, key, value, tags) SELECT organization_id, id, 'p', 'k', '{}', '{}' FROM gateways;
INSERT INTO tool_runs (organization_id, tool_id, subject, status, duration_ms, started_at)
SELECT organization_id, id, 'anonymous', 'success', 1, now() FROM tools;
`;

const IDENTITY_ROWS = `
INSERT INTO sessions (id, user_id, address) SELECT gen_random_uuid(), id, '192.0.2.1' FROM users;
INSERT INTO password_resets (hash, user_id, expires_at) SELECT 'hash', id, now() FROM users;
INSERT INTO invitations (organization_id, email, role, hash, invited_by, expires_at)
SELECT organization_id, 'bob@example.com', 'viewer', 'hash', user_id, now() FROM memberships;
INSERT INTO access_keys (user_id, name, prefix, hash) SELECT id, 'ci', 'ak_live_ab', 'hash' FROM users;
INSERT INTO access_key_uses (user_id, key_id, last_used_at) SELECT user_id, id, now() FROM access_keys;
`;

const AUDIT_ROWS = `
INSERT INTO audit_log (organization_id, action, resource_type, resource_id, changes)
SELECT id, 'update', 'organization', id, '{"name": {"from": "A", "to": "Acme"}}' FROM organizations;
`;

const CONTRACT_ROWS = `
INSERT INTO idempotency_keys (user_id, organization_id, key, operation, fingerprint, attempt)
SELECT user_id, organization_id, 'k', 'POST /tools', 'hash', gen_random_uuid() FROM memberships;
`;

const TOKEN_ROWS = `
INSERT INTO upstream_tokens (organization_id, api_id, type, revision, sealed, expires_at)
SELECT organization_id, api_id, type, 1, 'sealed', now() FROM api_credentials;
`;

const JOB_ROWS = `
INSERT INTO import_jobs (organization_id, api_id, actor, body_bytes, status, finished_at)
SELECT organization_id, id, '{}', 1, 'succeeded', now() FROM apis;
INSERT INTO import_bodies (organization_id, job_id, part, bytes) SELECT organization_id, id, 0, 'x' FROM import_jobs;
`;

const RUN_ROWS = `
INSERT INTO runs (id, organization_id, account_id, kind, status, trigger, definition, input)
SELECT '00000000-0000-4000-8000-00000000000e', id, id, 'kind', 'queued', 'manual', '{}', '{}' FROM organizations;
INSERT INTO run_steps (organization_id, run_id, key, attempt, status, once, started_at)
SELECT organization_id, id, 'step', 1, 'started', false, now() FROM runs;
INSERT INTO run_signals (organization_id, run_id, name, payload) SELECT organization_id, id, 'signal', '{}' FROM runs;
INSERT INTO run_schedules (organization_id, key, kind, cron, time_zone, missed, overlap, definition, input)
SELECT id, 'key', 'kind', '* * * * *', 'UTC', 'skip', 'skip', '{}', '{}' FROM organizations;
`;

const METRIC_ROWS = `
INSERT INTO request_log (organization_id, kind, outcome, duration_ms, started_at) SELECT id, 'gateway', 'success', 1, now() FROM organizations;
INSERT INTO metrics (organization_id, resolution, kind, dimension, bucket, value, calls, failed, lost, duration_ms, upstream_ms, waiting_ms,
	bytes_in, bytes_out, input_tokens, output_tokens, cached_tokens, cost, unpriced, histogram)
SELECT id, 'day', 'gateway', '', now(), '', 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, '{1}' FROM organizations;
INSERT INTO request_batches (id) VALUES (gen_random_uuid());
`;

const ALERT_ROWS = `
INSERT INTO alert_rules (organization_id, name, kind, window_minutes, min_calls, url, secret)
SELECT id, 'rule', 'credential', 5, 1, 'sealed', 'sealed' FROM organizations;
INSERT INTO alert_incidents (organization_id, rule_id, subject, is_open) SELECT organization_id, id, 's', true FROM alert_rules;
INSERT INTO alert_looks (name, looked_at) VALUES ('rules', now());
INSERT INTO api_watches (organization_id, api_id, looked_at) SELECT organization_id, id, now() FROM apis;
`;

const SOURCE_ROWS = `
INSERT INTO api_sources (organization_id, api_id, schema_id, repetition) SELECT organization_id, api_id, id, 'sealed' FROM api_schemas;
`;

/** Every migration in order, with rows for the tables that it creates. */
const RELEASES: [migration: Migration, rows: string][] = [
	[foundation, FOUNDATION_ROWS],
	[identity, IDENTITY_ROWS],
	[audit, AUDIT_ROWS],
	[contract, CONTRACT_ROWS],
	[records, ''],
	[imports, ''],
	[upstreamTokens, TOKEN_ROWS],
	[importJobs, JOB_ROWS],
	[code, ''],
	[creators, ''],
	[credentialSchemes, ''],
	[argumentLayers, ''],
	[passThrough, ''],
	[configVersions, ''],
	[runs, RUN_ROWS],
	[recordQueries, ''],
	[importRuns, ''],
	[runDeadlines, ''],
	[importLeases, ''],
	[skills, ''],
	[results, ''],
	[llmProviders, ''],
	[modelUse, ''],
	[agents, ''],
	[exposure, ''],
	[requestLog, METRIC_ROWS],
	[agentVersions, ''],
	[followedAgents, ''],
	[auditChain, ''],
	[payloads, ''],
	[alerts, ALERT_ROWS],
	[printed, ''],
	[lookups, ''],
	[sources, SOURCE_ROWS],
];
const ALL = [...RELEASES.map(([{ name }]) => name), ENGINE_MIGRATION];
const upTo = (count: number) => ({
	migrations: RELEASES.slice(0, count).map(([migration]) => migration),
	rows: RELEASES.slice(0, count)
		.map(([, rows]) => rows)
		.join(''),
	left: ALL.slice(count),
});

test('an empty database is migrated once, and a second run has nothing to do', async () => {
	await using empty = await testDatabase({ empty: true });
	const options = { database: empty.database, dataDir: '', log: silent };
	assert.deepEqual(await migrateDatabase(options), ALL);
	assert.deepEqual(await migrateDatabase(options), []);
});

test('two replicas that start at once on an empty database both come up', async () => {
	await using empty = await testDatabase({ empty: true });
	const options = { database: empty.database, dataDir: '', log: silent, migrate: true };
	const stores = await Promise.all([openStore(options), openStore(options), openStore(options)]);
	await Promise.all(stores.map((store) => store.ping()));
	await Promise.all(stores.map((store) => store.close()));
	const ran = await administer(empty.database, 'SELECT name FROM migrations ORDER BY name');
	assert.deepEqual(
		ran.map(({ name }) => name),
		ALL,
	);
});

test('a migration that fails leaves nothing behind', async () => {
	await using empty = await testDatabase({ empty: true });
	await administer(empty.database, 'CREATE TABLE gateways (taken text)');
	await assert.rejects(migrateDatabase({ database: empty.database, dataDir: '', log: silent }));
	const tables = await administer(empty.database, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`);
	assert.deepEqual(tables, [{ tablename: 'gateways' }]);
});

test('each migration is named like its file, by which a start knows whether one is missing', () => {
	assert.deepEqual(
		MIGRATIONS.map(({ name }) => name),
		NAMES,
	);
});

test('a store that may not migrate names the missing migrations', async () => {
	await using empty = await testDatabase({ empty: true });
	const opening = openStore({ database: empty.database, dataDir: '', log: silent, migrate: false });
	await assert.rejects(opening, new RegExp(`The database lacks the migrations ${ALL.join(', ')}: run "npm run migrate"`));
});

/** Migrates a database as an older release left it. */
async function leave(database: Endpoint, migrations: Migration[], rows: string): Promise<void> {
	const done = migrations.map(({ name }) => `INSERT INTO migrations (name) VALUES ('${name}');`);
	const table = 'CREATE TABLE migrations (name text PRIMARY KEY, ran_at timestamptz NOT NULL DEFAULT now());';
	await administer(database, [table, ...migrations.flatMap(({ statements }) => statements), ...done, rows].join(';\n'));
}

/** Columns that a later migration drops. */
const DROPPED = ['import_jobs.lease', 'import_jobs.leased_until'];

/** Lists the columns of each table that are still there today. */
async function columns(database: Endpoint, tables: string[]): Promise<Record<string, unknown>> {
	const rows = await administer(
		database,
		`SELECT table_name AS "table", string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) AS columns
		FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name || '.' || column_name NOT IN (${DROPPED.map((name) => `'${name}'`).join(', ')}) GROUP BY 1`,
	);
	return Object.fromEntries(rows.filter(({ table }) => tables.includes(String(table))).map((row) => [row['table'], row['columns']]));
}

async function contents(database: Endpoint, of: Record<string, unknown>): Promise<unknown[]> {
	const all = Object.entries(of).map(
		([table, names]) => `SELECT '${table}' AS "table", row_to_json(r)::text AS row FROM (SELECT ${names} FROM ${table}) r`,
	);
	return administer(database, `${all.join(' UNION ALL ')} ORDER BY 1, 2`);
}

/** Each release in the sweep; here some, and always the last ones. */
const LEFT = ALL.slice(0, -1).map((last, index) => ({ last, index }));
const MIGRATED = [...sampled(LEFT.slice(0, -2), 5), ...LEFT.slice(-2)];

for (const { index, last } of MIGRATED)
	test(`a database migrated up to ${last} is upgraded with all its rows and all triggers`, async () => {
		const { migrations, rows, left } = upTo(index + 1);
		await using former = await testDatabase({ empty: true });
		await leave(former.database, migrations, rows);
		const tables = [...rows.matchAll(/^INSERT INTO (\w+)/gm)].map(([, table]) => table ?? '');
		const of = await columns(former.database, tables);
		const before = await contents(former.database, of);
		assert.ok(before.length >= tables.length);
		const options = { database: former.database, dataDir: '', log: silent };
		assert.deepEqual(await migrateDatabase(options), left);
		assert.deepEqual(await contents(former.database, of), before);

		const store = await openStore({ ...options, migrate: true });
		try {
			const ada = (await store.accounts.byEmail('ada@example.com')) ?? assert.fail();
			const [{ organization, role } = assert.fail()] = await store.accounts.memberships(ada.id);
			assert.equal(role, 'owner');
			const api = (await store.apis.list(organization.id, { limit: 1 })).items[0]?.id ?? assert.fail();
			assert.equal((await store.apis.schemas(organization.id, api, { limit: 1 })).items[0]?.changes, null);
			assert.equal((await store.apis.credentials(organization.id, api))[0]?.place, null);
			const known = (await store.audit.list(organization.id, { limit: 100 })).items.length;
			await store.apis.update(organization.id, api, { outbound: { maxConcurrent: 1 } });
			await store.apis.remove(organization.id, api, false);
			const log = (await store.audit.list(organization.id, { limit: 100 })).items;
			const told = log.slice(0, log.length - known).map(({ action, resourceType }) => `${action} ${resourceType}`);
			const removed = ['delete api', 'delete credential', 'delete gateway_tool', 'delete schema', 'delete tool'];
			assert.deepEqual(told.sort(), [...removed, 'update api']);
			const [limited] = log.filter(({ action }) => action === 'update');
			assert.deepEqual(limited?.changes, { outbound: { from: null, to: { maxConcurrent: 1 } } });
			await addGateway(store, (await addTenant(store)).organizationId);

			const gatewayId = (await store.gateways.list(organization.id, { limit: 1 })).items[0]?.id ?? assert.fail();
			const scope = { plugin: 'p', gatewayId };
			assert.equal((await store.records.look(organization.id, scope, 'k'))?.topic, null);
			await store.records.put(organization.id, scope, 'k', {}, { watched: true, audited: { type: 't', name: 'n' } });
			assert.ok((await store.records.look(organization.id, scope, 'k'))?.topic);
		} finally {
			await store.close();
		}
	});

test('a migration that was skipped when later ones ran is run after them', async () => {
	await using former = await testDatabase({ empty: true });
	const others = RELEASES.filter(([{ name }]) => name !== credentialSchemes.name);
	const rows = others.map(([, some]) => some).join('');
	await leave(
		former.database,
		others.map(([migration]) => migration),
		rows,
	);
	assert.deepEqual(await migrateDatabase({ database: former.database, dataDir: '', log: silent }), [
		credentialSchemes.name,
		ENGINE_MIGRATION,
	]);
	const kept = await administer(former.database, 'SELECT scheme FROM api_credentials UNION ALL SELECT scheme FROM upstream_tokens');
	assert.deepEqual(kept, [{ scheme: '' }, { scheme: '' }]);
});

/** Two users; organizations with a creator in the log, with a second owner, without owners, and without members. */
const CREATED_BEFORE = `
INSERT INTO users (id, email, password_hash, first_name, last_name) VALUES
('00000000-0000-4000-8000-00000000000a', 'ada@example.com', 'hash', 'Ada', 'Lovelace'),
('00000000-0000-4000-8000-00000000000b', 'bob@example.com', 'hash', 'Bob', 'Babbage');
SELECT set_config('gatehouse.actor', '{"userId": "00000000-0000-4000-8000-00000000000c", "email": "gone@example.com"}', false);
INSERT INTO organizations (name, slug) VALUES ('told', 'told');
SELECT set_config('gatehouse.actor', '', false);
INSERT INTO organizations (name, slug) VALUES ('owned', 'owned'), ('ownerless', 'ownerless'), ('empty', 'empty');
INSERT INTO memberships (organization_id, user_id, role) SELECT id, '00000000-0000-4000-8000-00000000000a', 'viewer'
FROM organizations WHERE slug IN ('told', 'owned', 'ownerless');
INSERT INTO memberships (organization_id, user_id, role) SELECT id, '00000000-0000-4000-8000-00000000000b',
CASE slug WHEN 'ownerless' THEN 'admin' ELSE 'owner' END FROM organizations WHERE slug <> 'empty';
`;

test('an older organization’s creator is the one in the log, else its first owner, else its first member', async () => {
	await using former = await testDatabase({ empty: true });
	await leave(former.database, upTo(ALL.indexOf(creators.name)).migrations, CREATED_BEFORE);
	const news = 'SELECT (SELECT count(*) FROM changes) + (SELECT count(*) FROM audit_log) AS n, max(updated_at) AS at FROM organizations';
	const before = await administer(former.database, news);
	await migrateDatabase({ database: former.database, dataDir: '', log: silent });
	const created = await administer(former.database, 'SELECT slug, right(created_by::text, 1) AS by FROM organizations ORDER BY seq');
	assert.deepEqual(
		created.map(({ slug, by }) => [slug, by]),
		[
			['told', 'c'],
			['owned', 'b'],
			['ownerless', 'a'],
			['empty', null],
		],
	);
	assert.deepEqual(await administer(former.database, news), before, 'that is no change of theirs');
	await administer(former.database, `UPDATE organizations SET name = 'Other' WHERE slug = 'owned'`);
	assert.notDeepEqual(await administer(former.database, news), before, 'a change is told as before');
});

/** Imports of the release before runs: queued, held by its lease, held with its schema written, and ended. */
const IMPORTED_BEFORE = `
INSERT INTO apis (id, organization_id, name, type, base_url)
SELECT ('00000000-0000-4000-8000-0000000000a' || n)::uuid, o.id, 'Pets ' || n, 'openapi', 'https://pets.example'
FROM organizations o, generate_series(1, 4) AS n;
INSERT INTO import_jobs (id, organization_id, api_id, actor, body_bytes, status, phase, operations, attempts, schema_id, lease, leased_until, finished_at)
SELECT ('00000000-0000-4000-8000-0000000000b' || n)::uuid, a.organization_id, a.id, '{"userId": "u"}', 2,
	(ARRAY['queued', 'running', 'running', 'succeeded'])[n], (ARRAY[NULL, 'parsing', 'tools', 'tools'])[n], n - 1, 1,
	CASE WHEN n > 2 THEN gen_random_uuid() END,
	CASE WHEN n IN (2, 3) THEN '00000000-0000-4000-8000-0000000000ff'::uuid END,
	CASE WHEN n IN (2, 3) THEN now() + interval '1 hour' END, CASE WHEN n = 4 THEN now() END
FROM apis a, generate_series(1, 4) AS n WHERE a.name = 'Pets ' || n;
INSERT INTO import_bodies (organization_id, job_id, part, bytes) SELECT organization_id, id, 0, '{}' FROM import_jobs WHERE finished_at IS NULL;
`;

test('imports that were under way in the former release are begun anew as runs, and who held them by a lease writes nothing', async () => {
	await using former = await testDatabase({ empty: true });
	const { migrations, rows } = upTo(RELEASES.findIndex(([{ name }]) => name === importRuns.name));
	await leave(former.database, migrations, rows + IMPORTED_BEFORE);
	await migrateDatabase({ database: former.database, dataDir: '', log: silent });
	const jobs = `SELECT right(j.id::text, 1) AS n, j.status, j.phase, j.operations, j.attempts, r.status AS run FROM import_jobs j
		LEFT JOIN runs r ON r.id = j.id AND r.organization_id = j.organization_id AND r.kind = 'import' WHERE j.id::text LIKE '00000000-%b_' ORDER BY j.id`;
	const queued = { status: 'queued', run: 'queued' };
	assert.deepEqual(await administer(former.database, jobs), [
		{ n: '1', ...queued, phase: null, operations: 0, attempts: 1 },
		{ n: '2', ...queued, phase: null, operations: 0, attempts: 0 },
		{ n: '3', ...queued, phase: 'tools', operations: 2, attempts: 0 },
		{ n: '4', status: 'succeeded', run: null, phase: 'tools', operations: 3, attempts: 1 },
	]);
	const late = `UPDATE import_jobs SET status = 'succeeded', lease = NULL WHERE lease = '00000000-0000-4000-8000-0000000000ff' RETURNING id`;
	assert.deepEqual(await administer(former.database, late), []);
	await using store = await openStore({ database: former.database, dataDir: '', log: silent, migrate: false }).then((opened) => ({
		...opened,
		[Symbol.asyncDispose]: () => opened.close(),
	}));
	const kind = { kind: 'import', perAccount: 4, perAccountUnfinished: null, maxLosses: 5 };
	await store.runQueue.open([kind.kind]);
	assert.deepEqual((await store.runQueue.look([kind.kind])).kinds, [{ kind: 'import', due: 0, running: 0, parked: 3 }]);
	await store.runQueue.admit(kind);
	const claimed = await store.runQueue.claim(kind, 10);
	assert.equal(claimed.runs.length, 3);
	for (const { hold } of claimed.runs) assert.deepEqual(await store.importQueue.body(hold), Buffer.from('{}'));
});

test('a replica of the former release takes no import: one with a lease is refused as busy, one without becomes a run', async () => {
	await using migrated = await testDatabase();
	const { database } = migrated;
	await administer(
		database,
		`INSERT INTO organizations (id, name, slug) VALUES ('00000000-0000-4000-8000-000000000001', 'Acme', 'acme')`,
		`INSERT INTO apis (organization_id, name, type, base_url) SELECT id, 'Pets', 'openapi', 'https://pets.example' FROM organizations`,
	);
	// The statements of that release, shortened.
	const add = (lease: string, status: string) =>
		administer(
			database,
			`INSERT INTO import_jobs (organization_id, api_id, actor, body_bytes, lease, leased_until, status)
			SELECT organization_id, id, '{}', 1, ${lease}, ${lease === 'NULL' ? 'NULL' : 'now()'}, '${status}' FROM apis RETURNING id`,
		);
	// Clients of that release get a 503 for this state, with Retry-After.
	await assert.rejects(add('gen_random_uuid()', 'running'), { code: '55P03' });
	const [job] = await add('NULL', 'queued');
	assert.deepEqual(await administer(database, 'SELECT id, kind, status, job_id FROM runs'), [
		{ id: job?.['id'], kind: 'import', status: 'queued', job_id: null },
	]);
	const claim = `UPDATE import_jobs SET status = 'running', lease = gen_random_uuid(), leased_until = now() WHERE finished_at IS NULL`;
	await assert.rejects(administer(database, claim), { code: '55P03' });
});

/** Executions of the release before their states were kept: more than are filled at a time. */
const EXECUTED_BEFORE = `
INSERT INTO agents (organization_id, name, description, pipeline, settings) SELECT id, 'a', '', '{}', '{}' FROM organizations;
INSERT INTO runs (id, organization_id, account_id, kind, status, trigger, definition, input, error, finished_at)
SELECT gen_random_uuid(), o.id, o.id, 'past', s.status, CASE n % 2 WHEN 0 THEN 'manual' ELSE 'webhook' END, 'null', 'null',
	CASE WHEN s.status IN ('failed', 'cancelled') THEN '{}'::json END, CASE WHEN s.status <> 'waiting' THEN now() END
FROM organizations o, generate_series(0, 12003) n, unnest(ARRAY['succeeded', 'failed', 'cancelled', 'waiting']) WITH ORDINALITY s (status, at)
WHERE n / 2 % 4 = s.at - 1;
INSERT INTO agent_executions (organization_id, agent_id, run_id, revision) SELECT a.organization_id, a.id, r.id, 1 FROM agents a, runs r WHERE r.kind = 'past';
`;

test('executions of the former release get their state some thousand at a time, and a fill that was interrupted goes on', async () => {
	await using former = await testDatabase({ empty: true });
	const { migrations, rows } = upTo(RELEASES.findIndex(([{ name }]) => name === lookups.name));
	await leave(former.database, migrations, rows + EXECUTED_BEFORE);
	const options = { database: former.database, dataDir: '', log: silent };
	await migrateDatabase(options);
	const states = `SELECT trigger, state, count(*)::int FROM agent_executions GROUP BY 1, 2 ORDER BY 1, 2`;
	const filled = await administer(former.database, states);
	assert.deepEqual(
		filled.map(({ trigger, state, count }) => [trigger, state, count]),
		['manual', 'webhook'].flatMap((trigger) => [
			[trigger, 'failed', 3001],
			[trigger, 'running', 1500],
			[trigger, 'success', 1501],
		]),
	);
	const turns = await administer(former.database, 'SELECT count(*)::int FROM agent_executions GROUP BY xmin::text ORDER BY 1');
	assert.deepEqual(turns, [{ count: 2004 }, { count: 5000 }, { count: 5000 }], 'each in a transaction of its own');
	await administer(
		former.database,
		`DELETE FROM migrations WHERE name = '${lookups.name}'`,
		`UPDATE agent_executions SET trigger = NULL, state = NULL WHERE seq % 2 = 0`,
	);
	await assert.rejects(openStore({ ...options, migrate: false }), new RegExp(`lacks the migrations ${lookups.name}:`));
	assert.deepEqual(await migrateDatabase(options), [lookups.name]);
	assert.deepEqual(await administer(former.database, states), filled);
	assert.deepEqual(await migrateDatabase(options), []);
});

// The last column of a key is the one that tells rows of an organization apart. An index of some rows serves only where it has all with a value.
const UNINDEXED = `
SELECT c.conrelid::regclass || '.' || a.attname AS "column" FROM pg_constraint c
JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[cardinality(c.conkey)]
WHERE c.contype = 'f' AND c.connamespace = 'public'::regnamespace AND NOT EXISTS (
	SELECT FROM pg_index i, generate_series(1, i.indnkeyatts) AS n
	WHERE i.indrelid = c.conrelid AND i.indisvalid AND i.indkey[n - 1] = a.attnum
		AND (i.indkey::int2[])[0:n - 1] <@ c.conkey
		AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = '(' || quote_ident(a.attname) || ' IS NOT NULL)')
) ORDER BY 1`;

test('every foreign key has an index that a removal of the row it refers to finds its rows by', async () => {
	await using migrated = await testDatabase();
	assert.deepEqual(await administer(migrated.database, UNINDEXED), []);
	await administer(migrated.database, 'DROP INDEX access_keys_gateway, run_schedules_of_agent');
	assert.deepEqual(
		(await administer(migrated.database, UNINDEXED)).map(({ column }) => column),
		['access_keys.gateway_id', 'run_schedules.agent_id'],
	);
});

test('every foreign key includes the organization, except those to organizations, users, and a user’s own rows', async () => {
	await using migrated = await testDatabase();
	const keys = await administer(
		migrated.database,
		`SELECT conrelid::regclass::text AS "table", pg_get_constraintdef(oid) AS definition FROM pg_constraint
		WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND confrelid NOT IN ('organizations'::regclass, 'users'::regclass)`,
	);
	assert.ok(keys.length >= 10);
	const carries = /^FOREIGN KEY \(organization_id, .+\) REFERENCES \w+\(organization_id, /;
	const isUsersOwn = /^FOREIGN KEY \(user_id, .+\) REFERENCES access_keys\(user_id, /;
	for (const { table, definition } of keys)
		assert.ok(carries.test(String(definition)) || isUsersOwn.test(String(definition)), `${table}: ${definition}`);
});
