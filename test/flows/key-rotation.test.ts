// Tests that ENCRYPTION_KEY can be replaced: what the former key sealed opens meanwhile, the command seals it anew, may be ended at any time, and
// afterwards nobody needs the former key.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { createSecrets } from '../../core/secrets/envelopes.ts';
import { renewSecrets } from '../../db/index.ts';
import { connectApi, get } from '../helpers/connected.ts';
import { type Recorder, recorder } from '../helpers/executor.ts';
import { ask, guardedGateway, hs256 } from '../helpers/gateway-auth.ts';
import { CLIENT, grantServer } from '../helpers/grants.ts';
import { start as startRecords } from '../helpers/plugin-records.ts';
import { administer, type Endpoint } from '../helpers/postgres.ts';
import { start } from '../helpers/processes.ts';
import {
	type Account,
	databaseVariables,
	must,
	registerAccount,
	SECRETS,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { silent } from '../helpers/silent.ts';
import { openReplica } from '../helpers/store.ts';
import { httpUpstream } from '../helpers/upstream.ts';

const [FORMER, PRESENT] = [SECRETS.ENCRYPTION_KEY, 'ef'.repeat(32)];
const MOVING = { ENCRYPTION_KEY: PRESENT, ENCRYPTION_KEY_FORMER: FORMER };
const SIGNING = 's'.repeat(40);
const former = createSecrets(FORMER).keyId;
/** Rows that end by themselves, whose former key is kept until then. */
const PASSING = new Set(['runs', 'run_steps', 'run_signals']);

let service: TestService;
let account: Account;
let database: Endpoint;
let upstream: Recorder;
let owner: { toolId: string; gatewayUrl: string; providerId: string; organizationId: string };

const ended = new AsyncDisposableStack();
/** The context that helpers end their servers with, which ends with the file. */
const t = { after: (work: () => unknown) => void ended.defer(async () => void (await work())) } as unknown as TestContext;

before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	database = service.config.database ?? assert.fail();
	upstream = await recorder(t);
	owner = await furnish();
});
after(async () => {
	await ended.disposeAsync();
	await service?.stop();
});

/** Makes a secret in each place that keeps one for long. */
async function furnish() {
	const api = await connectApi(account, upstream.origin, { paths: { '/a': get('a') } });
	await api.store('api_key', { key: 'canary-key', name: 'X-Pet-Key', in: 'header' });
	const granted = await connectApi(account, upstream.origin, { paths: { '/b': get('b') } });
	await granted.store('oauth2', { ...CLIENT, tokenUrl: (await grantServer(t)).tokenUrl });
	assert.equal(must(await granted.run('b'), 200).body.data.status, 'success');
	const document = JSON.stringify({ openapi: '3.1.0', info: { title: 'Read', version: '1' }, paths: { '/c': get('c') } });
	const { origin } = await httpUpstream(t, (_, response) => response.end(document));
	const { id: readId } = must(await account.post('/apis', { name: 'Read', type: 'openapi', baseUrl: origin }), 201).body.data;
	must(await account.post(`/apis/${readId}/import-schema`, { schemaUrl: `${origin}/?token=canary` }), 200);
	const tool = {
		name: 'own',
		type: 'http',
		executionConfig: { method: 'GET', url: `${upstream.origin}/own`, headers: { 'X-Token': 'canary-tool' } },
	};
	must(
		await account.post(`/organizations/${account.organization.id}/tools`, {
			...tool,
			description: 'Own.',
			parameters: { type: 'object', properties: {} },
		}),
		201,
	);
	const { url: gatewayUrl, id: gatewayId } = await guardedGateway(
		account,
		[{ type: 'jwt', configuration: { secret: SIGNING } }],
		[api.toolIds['a'] ?? ''],
	);
	const provider = { name: 'm', provider: 'openai', apiKey: 'canary-model', baseUrl: upstream.origin };
	const { id: providerId } = must(await account.post('/llm-providers', provider), 201).body.data;
	must(await account.post('/alerts', { name: 'rule', kind: 'credential', url: `${upstream.origin}/alert` }), 201);
	const nodes = ['input', 'output'].map((type) => ({ id: type, type, data: {} }));
	const pipeline = { nodes, edges: [{ id: 'e', source: 'input', target: 'output' }] };
	const { id: agentId } = must(await account.post('/agents', { name: 'Echo', pipeline }), 201).body.data;
	must(await account.post(`/agents/${agentId}/webhooks`, { name: 'h', scheme: 'standard' }), 201);
	must(await account.post(`/agents/${agentId}/schedule`, { cron: '0 0 1 1 *', input: { name: 'canary' } }), 200);
	const organizationId = account.organization.id;
	await using store = await openReplica({ database, waits: undefined });
	const records = startRecords(t, store).of({ organizationId, gatewayId, plugin: 'transport:a2a' });
	await records.put('k/1~', { secret: { token: ['canary'] }, plain: 'v1.11111111.is.none' }, { sealed: ['/secret/token', '/plain'] });
	return { toolId: api.toolIds['a'] ?? '', gatewayUrl, providerId, organizationId };
}

/** Returns the tables with texts that a key sealed. */
async function tablesSealedBy(keyId: string): Promise<string[]> {
	const columns = await administer(
		database,
		`SELECT table_name AS name, string_agg(format('%I::text ~ %L', column_name, 'v[12][.]${keyId}[.]'), ' OR ') AS test
			FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
			WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND data_type IN ('text', 'json', 'jsonb', 'ARRAY') GROUP BY 1 ORDER BY 1`,
	);
	const found: string[] = [];
	for (const { name, test } of columns)
		if ((await administer(database, `SELECT 1 FROM ${name} WHERE ${test} LIMIT 1`)).length > 0) found.push(String(name));
	return found.filter((name) => !PASSING.has(name));
}

/** Calls the API's tool with its stored credential, and the gateway with a token that its stored secret signed. */
async function assertWorks(url: string): Promise<void> {
	const path = `${url}/organizations/${owner.organizationId}/tools/${owner.toolId}/execute`;
	if (upstream.count() > 0) upstream.take();
	const run = must(await send(path, 'POST', { body: {}, headers: { authorization: `Bearer ${account.token}` } }), 200);
	assert.equal(run.body.data.status, 'success', JSON.stringify(run.body));
	assert.equal(upstream.take().headers['x-pet-key'], 'canary-key');
	const token = hs256({ sub: 'ada', exp: Math.floor(Date.now() / 1000) + 600 }, SIGNING);
	const gateway = owner.gatewayUrl.replace(service.url, url);
	assert.equal((await ask(gateway, { authorization: `Bearer ${token}` })).status, 200);
}

const rotate = (env: Record<string, string>) => start({ ...databaseVariables(database), ...required(), ...env }, ['rotate-key']);
const required = (): Record<string, string> => {
	const { host = '', port = 0 } = service.config.redis ?? {};
	return { JWT_SECRET: SECRETS.JWT_SECRET, REDIS_HOST: host, REDIS_PORT: String(port) };
};

const LASTING = [
	...[
		'agent_schedules',
		'agent_webhooks',
		'alert_rules',
		'api_credentials',
		'api_sources',
		'gateway_auth',
		'installation',
		'llm_providers',
	],
	...['records', 'tools', 'upstream_tokens'],
];

test('a service opens what a former key sealed, seals with the present one, and may be a replica of one that does so the other way round', async () => {
	assert.deepEqual(await tablesSealedBy(former), LASTING);
	const before = await startTestService({ replicaOf: service, env: { ENCRYPTION_KEY_FORMER: PRESENT } });
	const after = await startTestService({ replicaOf: service, env: MOVING });
	try {
		await assertWorks(after.url);
		const api = {
			...account,
			post: (path: string, body: unknown) =>
				send(after.url + path, 'POST', { body, headers: { authorization: `Bearer ${account.token}` } }),
		};
		const made = must(await api.post('/alerts', { name: 'new', kind: 'credential', url: `${upstream.origin}/new` }), 201).body.data;
		const [row] = await administer(database, `SELECT secret FROM alert_rules WHERE id = '${made.id}'`);
		assert.equal(String(row?.['secret']).split('.')[1], createSecrets(PRESENT).keyId);
		await assertWorks(before.url);
	} finally {
		await before.stop();
		await after.stop();
	}
});

test('the command ends at any time, a start without the former key is refused until all is done, and the next run goes on', async () => {
	const secrets = createSecrets(PRESENT, undefined, [FORMER]);
	let seen = 0;
	const ended = renewSecrets({ database, dataDir: '', log: silent }, secrets.keyId, () => {
		if (++seen === 3) throw new Error('ended');
		return { anew: null, done: () => undefined };
	});
	await assert.rejects(ended, /ended/);
	await assert.rejects(startTestService({ replicaOf: service, env: { ENCRYPTION_KEY: PRESENT } }), /ENCRYPTION_KEY is not the key/);
	await using wrong = rotate({ ENCRYPTION_KEY: 'aa'.repeat(32) });
	assert.equal(await wrong.ended, 1);
	assert.match(wrong.output(), /api_credentials: 0 sealed anew, 2 that no key opens/);
	assert.deepEqual(await tablesSealedBy(former), LASTING);
	// A value that changes between being read and being replaced is not replaced; so it is with the first that this trigger sees.
	await administer(
		database,
		'CREATE SEQUENCE tries',
		"CREATE FUNCTION skip_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('tries') = 1 THEN RETURN NULL; END IF; RETURN NEW; END $$",
		'CREATE TRIGGER skip_once BEFORE UPDATE ON agent_webhooks FOR EACH ROW EXECUTE FUNCTION skip_once()',
	);
	await using whole = rotate(MOVING);
	assert.equal(await whole.ended, 0, whole.output());
	for (const table of LASTING.filter((each) => each !== 'upstream_tokens'))
		assert.match(whole.output(), new RegExp(`^${table}: [1-9]\\d* sealed anew$`, 'm'));
	assert.doesNotMatch(whole.output(), /canary|ef{8}|ab{8}/);
	assert.deepEqual(await tablesSealedBy(former), []);
	assert.equal((await administer(database, 'SELECT last_value AS tries FROM tries'))[0]?.['tries'], '2');
	await using again = rotate(MOVING);
	assert.equal(await again.ended, 0);
	assert.match(again.output(), /^Nothing is left that another key sealed\.$/m);
});

test('afterwards a service works without the former key, and a value that is no envelope of ours is as it was', async () => {
	const replica = await startTestService({ replicaOf: service, env: { ENCRYPTION_KEY: PRESENT } });
	try {
		await assertWorks(replica.url);
	} finally {
		await replica.stop();
	}
	await using store = await openReplica({ database, waits: undefined });
	const [row] = await administer(database, "SELECT gateway_id FROM records WHERE plugin = 'transport:a2a'");
	const place = { organizationId: owner.organizationId, gatewayId: String(row?.['gateway_id']), plugin: 'transport:a2a' };
	const found = await startRecords(t, store, 'ef').of(place).get('k/1~');
	assert.deepEqual(found?.value, { secret: { token: ['canary'] }, plain: 'v1.11111111.is.none' });
});

test('a key that is none is refused at the start by its name', async () => {
	await using started = start({ ...databaseVariables(database), ...required(), ENCRYPTION_KEY: PRESENT, ENCRYPTION_KEY_FORMER: 'short' });
	assert.equal(await started.ended, 1);
	assert.match(started.output(), /ENCRYPTION_KEY_FORMER must be keys of 64 hexadecimal characters separated by commas/);
});
