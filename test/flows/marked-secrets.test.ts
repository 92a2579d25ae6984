// Tests a package whose plugins of each kind mark a secret in every place of their configs: each plugin is given them, and neither an
// answer nor the audit log, the documents, the log or the database shows one.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Json, JsonObject } from '../../core/contract/nouns.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { administer, type Endpoint } from '../helpers/postgres.ts';
import { type Account, type Answer, must, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';

let packages: InstalledPackages;
let service: TestService;
let account: Account;
let database: Endpoint;
const lines: string[] = [];
/** Every answer of the management API and of gateways. */
const answers: string[] = [];
/** The bodies of imports as the database keeps them, while they wait. */
const bodies: string[] = [];

before(async () => {
	packages = installPackages('secrets-plugin');
	const env = { GATEWAY_PLUGINS: packages.names.join(','), LOG_LEVEL: 'debug' };
	service = await startTestService({ env, onLog: (line) => lines.push(line) });
	account = await registerAccount(service.url);
	database = service.config.database ?? assert.fail();
	// The body of an import is removed when it ends, so what was stored is kept aside.
	await administer(database, 'CREATE TABLE kept_bodies (body bytea)');
	await administer(
		database,
		`CREATE FUNCTION keep_body() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO kept_bodies VALUES (NEW.bytes); RETURN NEW; END $$`,
	);
	await administer(database, 'CREATE TRIGGER keep_body AFTER INSERT ON import_bodies FOR EACH ROW EXECUTE FUNCTION keep_body()');
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
});

/** A config with a secret in each place; all of them begin alike. */
const configOf = (kind: string): JsonObject => {
	const secret = (place: string): string => `canary-${kind}-${place}`;
	return {
		...{ field: secret('field'), listed: 'canary-valid', number: 7_310_055_501 },
		object: { user: secret('user'), password: secret('password'), port: 7_310_055_502 },
		array: [secret('array')],
		nested: { deep: { secret: secret('nested') } },
		items: [secret('item-0'), secret('item-1')],
		ordered: ['open', secret('ordered'), secret('more')],
		records: [
			{ name: 'one', secret: secret('record-one') },
			{ name: 'two', secret: secret('record-two') },
		],
		map: { a: secret('map') },
		maps: { a: { secret: secret('maps'), open: 'open' } },
		named: { secret: { any: secret('named') }, secretToo: 7_310_055_503, open: 'open' },
		either: { type: 'basic', value: secret('either') },
		...{ kind: 'secret', value: secret('when'), former: secret('former') },
		tree: { secret: secret('tree'), children: [{ secret: secret('child') }] },
	};
};

const H = '••••';
/** The config as a client is shown it. */
const SHOWN: JsonObject = {
	nested: { deep: {} },
	items: [H, H],
	ordered: ['open', H, H],
	records: [
		{ name: 'one', secret: H },
		{ name: 'two', secret: H },
	],
	map: { a: H },
	maps: { a: { secret: H, open: 'open' } },
	named: { secret: H, secretToo: H, open: 'open' },
	either: { type: 'basic' },
	kind: 'secret',
	tree: { children: [{ secret: H }] },
};

/** The config as the plugin is given it. */
const givenOf = (config: JsonObject): JsonObject => {
	const { former = null, ...rest } = config;
	return { ...rest, to: former };
};

const sorted = (value: Json): Json => {
	if (Array.isArray(value)) return value.map(sorted);
	if (value === null || typeof value !== 'object') return value;
	return Object.fromEntries(
		Object.keys(value)
			.toSorted()
			.map((key) => [key, sorted(value[key] ?? null)]),
	);
};
const digest = (config: JsonObject): string =>
	createHash('sha256')
		.update(JSON.stringify(sorted(givenOf(config))))
		.digest('hex');

const seen = (answer: Answer): Answer => {
	answers.push(JSON.stringify([answer.body, Object.fromEntries(answer.headers)]));
	return answer;
};
const get = async (path: string): Promise<Json> => must(seen(await account.get(path)), 200).body.data ?? null;

let toolId: string;
let gateway: { id: string; url: string };
const AUTH = configOf('auth');
const TRANSPORT = configOf('transport');
const TOOL = configOf('tool');
const url = (): string => `${service.url}/health`;

test('a tool is given its secrets, and shows them neither when it is made nor later', async () => {
	const body = { name: 'canary', type: 'canary_executor', executionConfig: { ...TOOL, url: url() } };
	const tools = `/organizations/${account.organization.id}/tools`;
	const created = must(seen(await account.post(tools, body, { 'idempotency-key': 'one' })), 201).body.data;
	toolId = created.id;
	assert.deepEqual(created.executionConfig, { ...SHOWN, url: url() });
	assert.equal(seen(await account.post(tools, body, { 'idempotency-key': 'one' })).body.data.id, toolId);
	assert.deepEqual(((await get(`/tools/${toolId}`)) as JsonObject)['executionConfig'], { ...SHOWN, url: url() });
	const ran = must(seen(await account.post(`${tools}/${toolId}/execute`, { parameters: {} })), 200).body.data;
	assert.equal(ran.result, digest(TOOL));
	const dry = must(seen(await account.post(`${tools}/${toolId}/execute?dryRun=true`, { parameters: {} })), 200).body.data.request;
	assert.equal(dry.headers['x-field'], H);
	const sent = JSON.parse(dry.body);
	assert.deepEqual(
		[sent.number, sent.items, sent.object, sent.either],
		[H, [H, H], { user: H, password: H, port: H }, { type: 'basic', value: H }],
	);
	seen(await account.post(`${tools}/${toolId}/execute`, { parameters: { fail: true } }));
});

test('a client sends back what it was shown, and enters the rest again; elsewhere nothing is put back', async () => {
	const { items, ordered, records, map, maps, named } = SHOWN;
	const kept = { ...TOOL, items, ordered, records, map, maps, named, url: url() } as JsonObject;
	const changed = must(seen(await account.patch(`/tools/${toolId}`, { executionConfig: kept })), 200).body.data;
	assert.deepEqual(changed.executionConfig, { ...SHOWN, url: url() });
	const path = `/organizations/${account.organization.id}/tools/${toolId}/execute`;
	assert.match(JSON.stringify(must(seen(await account.post(path, { parameters: {} })), 200).body), new RegExp(digest(TOOL)));
	const moved = { ...kept, url: 'http://127.0.0.2:9/' };
	assert.match(must(seen(await account.patch(`/tools/${toolId}`, { executionConfig: moved })), 400).body.message, /was entered for http:/);
	// A fault of a secret names its field and repeats nothing of it.
	const wrong = {
		...TOOL,
		url: url(),
		items: ['x-canary-wrong'],
		number: 'canary-no-number',
		records: [{ name: 'a', secret: 731 }],
		listed: 'canary-other',
	};
	const told = must(seen(await account.patch(`/tools/${toolId}`, { executionConfig: wrong })), 400).body.details;
	assert.deepEqual(
		told.map((one: { path: string }) => one.path),
		['/executionConfig/listed', '/executionConfig/number', '/executionConfig/items/0', '/executionConfig/records/0/secret'],
	);
});

test('a gateway’s transport and method are given theirs', async () => {
	const body = { name: 'Canary', type: 'canary_transport', endpoint: '/canary', configuration: TRANSPORT };
	const created = must(seen(await account.post('/gateways', body)), 201).body.data;
	gateway = { id: created.id, url: created.url };
	assert.deepEqual(created.configuration, SHOWN);
	const { items, ordered, records, map, maps, named } = SHOWN;
	const back = { configuration: { ...TRANSPORT, items, ordered, records, map, maps, named } };
	assert.deepEqual(must(seen(await account.patch(`/gateways/${gateway.id}`, back)), 200).body.data.configuration, SHOWN);
	must(seen(await account.post(`/gateways/${gateway.id}/tools`, { toolId })), 201);
	const method = { type: 'canary_auth', configuration: AUTH };
	assert.deepEqual(must(seen(await account.post(`/gateways/${gateway.id}/auth`, method)), 201).body.data.configuration, SHOWN);
	const masked = { type: 'canary_auth', configuration: { ...AUTH, field: H } };
	const refused = must(seen(await account.post(`/gateways/${gateway.id}/auth`, masked)), 400).body.message;
	assert.match(refused, /^"field" is ••••, which stands for the stored value, and none is stored under this name/);
	const headers = { 'x-digest': digest(AUTH) };
	const answer = must(seen(await send(gateway.url, 'GET', { headers })), 200);
	assert.match(JSON.stringify(answer.body), new RegExp(digest(TRANSPORT)));
	assert.match(
		JSON.stringify(must(seen(await send(`${gateway.url}/canary`, 'POST', { headers, body: {} })), 200).body),
		new RegExp(digest(TOOL)),
	);
	must(seen(await send(gateway.url, 'GET', { headers: { 'x-digest': 'canary-wrong' } })), 401);
});

test('an importer is given its options', async () => {
	const api = must(seen(await account.post('/apis', { name: 'a', type: 'canary_importer', baseUrl: service.url })), 201).body.data.id;
	const options = configOf('importer');
	const imported = must(
		seen(await account.post(`/apis/${api}/import-schema`, { schemaContent: 'canary', options, generateTools: true })),
		200,
	);
	assert.match(JSON.stringify(await get(`/apis/${api}/operations`)), new RegExp(digest(options)), JSON.stringify(imported.body));
	seen(await account.post(`/apis/${api}/import-schema`, { schemaContent: 'canary', options: { ...options, number: 'canary-no-number' } }));
	await get(`/apis/${api}/imports`);
	const kept = await administer(database, 'SELECT body FROM kept_bodies');
	bodies.push(...kept.map(({ body }) => (body as Buffer).toString('latin1')));
	assert.ok(bodies.length >= 2);
});

test('no answer, entry of the audit log or document holds one', async () => {
	const org = `/organizations/${account.organization.id}`;
	const paths = [`${org}/tools`, '/gateways', `/gateways/${gateway.id}`, `/gateways/${gateway.id}/auth`, '/audit-log', '/apis'];
	for (const path of paths) await get(path);
	const plugins = (await get('/plugins')) as { plugins: { name: string; config: JsonObject }[] };
	const document = must(seen(await send(`${service.url}/openapi.json`, 'GET')), 200).body;
	const named = plugins.plugins.filter(({ name }) => name.startsWith('canary'));
	assert.equal(named.length, 4);
	const components = Object.entries(document.components.schemas).filter(([name]) => name.includes('canary'));
	for (const schema of [...named.map(({ config }) => config), ...components.map(([, one]) => one)]) {
		// Each place of the schema: three whole values, those of fields, lists, maps, alternatives, conditions and links.
		assert.equal(JSON.stringify(schema).match(/"writeOnly":true/g)?.length, 17, JSON.stringify(schema));
	}
	assert.equal(components.length, 4);
	assertNone('an answer', answers);
});

test('no line of the log holds one', () => {
	assert.ok(lines.length > 20);
	assertNone('the log', lines);
});

test('no row of the database holds one', async () => {
	const tables = await administer(database, "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'");
	assert.ok(tables.length > 10);
	for (const { name } of tables) {
		const rows = await administer(database, `SELECT to_jsonb(t)::text AS row FROM "${String(name)}" t`);
		const texts = rows.map(({ row }) => String(row));
		// Bytes are shown as hexadecimal digits.
		const bytes = texts.flatMap((text) =>
			[...text.matchAll(/\\\\x([0-9a-f]+)/g)].map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1')),
		);
		assertNone(`the table ${String(name)}`, [...texts, ...bytes]);
	}
	assertNone('the body of an import', bodies);
});

function assertNone(where: string, texts: readonly string[]): void {
	// The names of the plugins begin like the secrets, which go on with a hyphen.
	for (const text of texts) assert.doesNotMatch(text, /canary-|73100555/, where);
}
