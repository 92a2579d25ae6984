// Tests JavaScript tools over the public interfaces: saving, checks, runs, publication, and the permissions of an organization.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { UNITS } from '../../plugins/executors/javascript/pool.ts';
import { until } from '../helpers/clock.ts';
import { mcpClient } from '../helpers/mcp-client.ts';
import { addMember } from '../helpers/members.ts';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

/** The number of runs that one account may have under way while nobody else has any. */
const SHARE = UNITS / 4;

let service: TestService;
let replica: TestService;
let account: Account;

before(async () => {
	service = await startTestService();
	replica = await startTestService({ replicaOf: service });
	account = await registerAccount(service.url);
});
after(async () => {
	await replica.stop();
	await service.stop();
});

const save = (code: unknown, executionConfig: object = {}, of = account): Promise<Answer> =>
	of.post(`/organizations/${of.organization.id}/tools`, { name: 'code', type: 'javascript', parameters: ADDITION, code, executionConfig });
const ADDITION = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number', default: 10 } } };

async function toolOf(code: string, executionConfig: object = {}, of = account): Promise<string> {
	return must(await save(code, executionConfig, of), 201).body.data.id;
}

async function execute(id: string, parameters: object = {}, of = account) {
	return must(await of.post(`/organizations/${of.organization.id}/tools/${id}/execute`, { parameters }), 200).body.data;
}

const allow = (codeMayFetch: boolean, of = account): Promise<Answer> =>
	of.patch(`/organizations/${of.organization.id}`, { settings: { codeMayFetch } });

test('a tool is saved with its code, runs with defaults filled in, and is changed', async () => {
	const made = must(await save('return parameters.a + parameters.b;', { timeoutMs: 20_000 }), 201).body.data;
	assert.deepEqual(
		[made.type, made.code, made.executionConfig],
		['javascript', 'return parameters.a + parameters.b;', { timeoutMs: 20_000 }],
	);
	const run = await execute(made.id, { a: 1 });
	assert.deepEqual([run.result, run.status, 'logs' in run], [11, 'success', false]);
	must(await account.patch(`/tools/${made.id}`, { code: 'return parameters.a * parameters.b;' }), 200);
	assert.equal((await execute(made.id, { a: 2 })).result, 20);
});

test('code that does not compile is a 400 with line and column, when it is made and when it is changed', async () => {
	const code = 'const pet = parameters.pet;\nreturn pet +* 2;';
	const refused = must(await save(code), 400).body;
	assert.equal(refused.details[0].path, '/code');
	assert.match(refused.details[0].message, /^Line 2, column \d+: .*return pet \+\* 2;$/);
	const id = await toolOf('return 1');
	assert.equal(must(await account.patch(`/tools/${id}`, { code }), 400).body.details[0].path, '/code');
	assert.equal((await execute(id)).result, 1, 'it is as it was');
});

test('code is required, and its limits are bounded', async () => {
	assert.equal(must(await save(undefined), 400).body.details[0].path, '/code');
	for (const config of [{ timeoutMs: 60_000 }, { memoryMb: 1000 }, { shell: true }])
		assert.match(must(await save('return 1', config), 400).body.details[0].path, /^\/executionConfig\//);
});

test('a run that fails shows the line of the user, one that takes too long says so, and the service goes on', async () => {
	const failed = await execute(await toolOf('const a = 1;\nreturn parameters.pet.name;'));
	assert.deepEqual([failed.status, failed.result, failed.error.code], ['failed', null, 'TOOL_ERROR']);
	assert.match(failed.error.message, /line 2, column \d+: return parameters\.pet\.name;/);
	const late = await execute(await toolOf('for (;;) {}', { timeoutMs: 300 }));
	assert.match(late.error.message, /took longer than 300 ms/);
	assert.equal((await execute(await toolOf('return 1'))).result, 1);
});

test('what code prints is in the answer of the management API and in the record of the run, and no client of a gateway sees it', async (t) => {
	const code = 'console.log("looking for", parameters.a); console.error("half\\ud800 and \\0 nothing"); return { found: parameters.a };';
	const id = await toolOf(code);
	const { logs } = await execute(id, { a: 7 });
	assert.deepEqual(logs, ['log: looking for 7', 'error: half and  nothing']);
	const gateway = await publishGateway(account, { toolIds: [id] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	const result = await client.callTool({ name: 'code', arguments: { a: 8 } });
	assert.deepEqual([result.structuredContent, result.isError ?? false], [{ found: 8 }, false]);
	assert.doesNotMatch(JSON.stringify(result), /looking/);
	assert.deepEqual(await logsOf(id, 2), [logs, ['log: looking for 8', 'error: half and  nothing']]);
});

async function logsOf(toolId: string, count: number): Promise<unknown[]> {
	for (;;) {
		const rows = await administer(
			service.config.database ?? assert.fail(),
			`SELECT logs FROM request_log WHERE kind = 'tool' AND tool_id = '${toolId}' ORDER BY started_at`,
		);
		if (rows.length >= count) return rows.map(({ logs }) => logs);
		await delay(50);
	}
}

test('requests are not there until an owner or admin allows them; that is in the audit log, and holds on every replica within a second', async (t) => {
	const owner = await registerAccount(service.url);
	const [member, admin] = [await addMember(owner, 'member'), await addMember(owner, 'admin')];
	const upstream = await httpUpstream(t, (_request, response) => response.end('hello'));
	const id = await toolOf(`return (await fetch("${upstream.origin}/")).text()`, {}, owner);
	const path = `/organizations/${owner.organization.id}`;
	assert.deepEqual(must(await owner.get(path), 200).body.data.settings, { codeMayFetch: false, toolExposure: 'full' });
	assert.match((await execute(id, {}, owner)).error.message, /^ReferenceError: 'fetch' is not defined.*settings\.codeMayFetch/s);
	assert.equal(upstream.connections(), 0);

	const change = { settings: { codeMayFetch: true } };
	must(await member.patch(path, change, { 'x-organization-id': owner.organization.id }), 403);
	must(await account.patch(path, change), 404);
	const changed = must(await admin.patch(path, change), 200).body.data;
	assert.deepEqual([changed.settings, changed.name], [{ codeMayFetch: true, toolExposure: 'full' }, owner.organization.name]);
	await delay(1100);
	assert.equal((await execute(id, {}, owner)).result, 'hello');
	assert.equal((await execute(id, {}, { ...owner, post: elsewhere(owner) })).result, 'hello', 'on the other replica');
	const entries = must(await owner.get('/audit-log?resourceType=organization&action=update'), 200).body.data.entries;
	assert.deepEqual(entries[0].changes, { codeMayFetch: { from: false, to: true } });
	assert.equal(entries[0].actor.email, admin.email);

	must(await allow(false, owner), 200);
	await delay(1100);
	assert.match((await execute(id, {}, owner)).error.message, /'fetch' is not defined/);
});

/** Sends requests of the same account to the other replica. */
const elsewhere =
	({ token }: Account): Account['post'] =>
	async (path, body) => {
		const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
		const response = await fetch(replica.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
		return { status: response.status, headers: response.headers, body: await response.json() };
	};

const BAD_SETTINGS: [what: string, body: object, path: string][] = [
	['no settings', { settings: {} }, '/settings'],
	['a text', { settings: { codeMayFetch: 'yes' } }, '/settings/codeMayFetch'],
	['another setting', { settings: { codeMayRun: true } }, '/settings/codeMayRun'],
	['null', { settings: null }, '/settings'],
];
for (const [what, body, path] of BAD_SETTINGS)
	test(`settings are not changed by ${what}`, async () => {
		assert.equal(must(await account.patch(`/organizations/${account.organization.id}`, body), 400).body.details[0].path, path);
	});

test('the guard and the quota hold for what code sends', async (t) => {
	const owner = await registerAccount(service.url);
	must(await allow(true, owner), 200);
	await delay(1100);
	const refused = await execute(await toolOf('return (await fetch("http://169.254.169.254/")).status', {}, owner), {}, owner);
	assert.match(refused.error.message, /^TypeError: .*169\.254\.169\.254/);
	const upstream = await httpUpstream(t, (_request, response) => response.end('x'));
	const flood = `for (let i = 0; i < 100; i++) await fetch("${upstream.origin}/"); return "all"`;
	const { error } = await execute(await toolOf(flood, {}, owner), {}, owner);
	assert.match(error.message, /^TypeError: A run may make 20 requests\./);
});

test('a client that leaves takes its run along', async (t) => {
	const owner = await registerAccount(service.url);
	must(await allow(true, owner), 200);
	const [arrived, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	const upstream = await httpUpstream(t, (_request, response) => {
		arrived.resolve();
		response.on('close', closed.resolve);
	});
	await delay(1100);
	const id = await toolOf(`await fetch("${upstream.origin}/"); return 1`, { timeoutMs: 30_000 }, owner);
	const client = new AbortController();
	const headers = { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' };
	const url = `${service.url}/organizations/${owner.organization.id}/tools/${id}/execute`;
	const asking = fetch(url, { method: 'POST', headers, body: '{}', signal: client.signal }).catch(() => 'left');
	await arrived.promise;
	client.abort();
	assert.equal(await asking, 'left');
	await closed.promise;
});

/**
 * Creates an account with two organizations that let code fetch. Settings take effect at once in an organization that has never run code.
 */
async function withTwoOrganizations(): Promise<Account[]> {
	const first = await registerAccount(service.url);
	const { id, name, slug } = must(await first.post('/organizations', { name: 'Second' }), 201).body.data;
	const own = [first, { ...first, organization: { id, name, slug } }];
	for (const one of own) must(await allow(true, one), 200);
	return own;
}

/** Calls to tools that sleep, of which only a few may begin at a time. */
interface Sleepers extends AsyncDisposable {
	/** The number of those that ended by themselves. */
	ended(): number;
}

function callAll(tools: readonly { own: Account; id: string }[]): Sleepers {
	const gone = new AbortController();
	let ended = 0;
	const asking = tools.map(async ({ own, id }) => {
		const url = `${service.url}/organizations/${own.organization.id}/tools/${id}/execute`;
		const headers = { authorization: `Bearer ${own.token}`, 'content-type': 'application/json' };
		await fetch(url, { method: 'POST', headers, body: '{}', signal: gone.signal }).then(
			() => ended++,
			() => undefined,
		);
	});
	return {
		ended: () => ended,
		async [Symbol.asyncDispose]() {
			gone.abort();
			await Promise.all(asking);
		},
	};
}

test('what waits in two organizations of one account is bounded together, and other accounts wait for none of it', async (t) => {
	const [owners, other] = [await withTwoOrganizations(), await registerAccount(service.url)];
	let begun = 0;
	const upstream = await httpUpstream(t, (_request, response) => {
		begun++;
		response.end('x');
	});
	const code = `await fetch("${upstream.origin}/"); await new Promise((ok) => setTimeout(ok, 29000)); return "slept"`;
	const tools = await Promise.all(
		owners.flatMap((own) => Array.from({ length: 12 }, () => toolOf(code, { timeoutMs: 30_000 }, own).then((id) => ({ own, id })))),
	);
	const quick = await toolOf('return "served"', {}, other);
	// On a machine so busy that the first ones end before the last of the share begins, the threads are there for the next round.
	for (let round = 1; round <= 5; round++) {
		begun = 0;
		await using sleepers = callAll(tools);
		await until(() => begun >= SHARE || sleepers.ended() > 0, 'all that the account may have begun, or one has ended');
		const served = await execute(quick, {}, other);
		if (sleepers.ended() > 0 && round < 5) continue;
		assert.equal(served.result, 'served');
		assert.deepEqual([begun, sleepers.ended()], [SHARE, 0], 'all that the account may have still sleep, and no more have begun');
		return;
	}
});

test('code that takes too long to compile is a fault of /code, and nobody else waits until it is found', async () => {
	const [owners, other] = [await withTwoOrganizations(), await registerAccount(service.url)];
	const slow = `class A {${Array.from({ length: 40_000 }, (_, n) => `#${n.toString(36).replace(/^\d/, '_$&')};`).join('')}}`;
	let refused = 0;
	const saving = [...owners, owners[0] ?? assert.fail()].map(async (own) => {
		const { status, body } = await save(slow, {}, own);
		assert.equal(status, 400);
		assert.deepEqual(body.details, [{ path: '/code', message: 'The code takes too much to compile: make it shorter or less nested.' }]);
		refused++;
	});
	must(await save('return 1', {}, other), 201);
	assert.ok(refused < saving.length, 'another account did not wait for all of them');
	await Promise.all(saving);
});

test('GET /plugins shows the executor with its config', async () => {
	const { plugins } = must(await account.get('/plugins'), 200).body.data;
	const own = plugins.find(({ kind, name }: { kind: string; name: string }) => kind === 'executor' && name === 'javascript');
	assert.deepEqual([own.creatable, Object.keys(own.config.properties).sort()], [true, ['code', 'memoryMb', 'timeoutMs']]);
});
