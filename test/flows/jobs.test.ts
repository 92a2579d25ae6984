// Tests jobs of plugins over two replicas: a call made anew with the rights of now, attempts, progress, cancelling, and what rows tell.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { addMember } from '../helpers/members.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { httpUpstream, type Upstream } from '../helpers/upstream.ts';

const CANARY = 'canary-of-a-job';
const logs: string[] = [];

let packages: InstalledPackages;
let one: TestService;
let other: TestService;
let owner: Account;
let gateway: Desk;

interface Desk {
	id: string;
	/** At the first replica. */
	url: string;
	headers: Record<string, string>;
}

async function serve(replica: string, replicaOf?: TestService): Promise<TestService> {
	const file = join(process.cwd(), `${replica}.json`);
	writeFileSync(file, JSON.stringify({ 'transport:jobs_desk': { replica } }));
	const env = { GATEWAY_PLUGINS: packages.names.join(','), GATEWAY_PLUGINS_CONFIG: file };
	return startTestService({ env, ...(replicaOf && { replicaOf }), onLog: (line) => logs.push(line) });
}

async function deskOf(account: Account, configuration: object = {}, toolIds: string[] = []): Promise<Desk> {
	const { id, url, key } = await publishGateway(account, { type: 'jobs_desk', configuration, toolIds });
	return { id, url: one.url + new URL(url).pathname, headers: { 'x-api-key': key } };
}

before(async () => {
	packages = installPackages('jobs-plugin');
	one = await serve('one');
	other = await serve('other', one);
	owner = await registerAccount(one.url);
	gateway = await deskOf(owner, { label: 'first' });
});
after(async () => {
	await other.stop();
	await one.stop();
	packages[Symbol.dispose]();
});

/** The same place at the other replica. */
const elsewhere = (desk: Desk): Desk => ({ ...desk, url: desk.url.replace(one.url, other.url) });

const begin = async (name: string, data: unknown, { desk = gateway, options = {} as object } = {}): Promise<string> =>
	must(await send(`${desk.url}/jobs/${name}`, 'POST', { body: { data, options }, headers: desk.headers }), 202).body.id;
const look = async (id: string, desk = gateway) => must(await send(`${desk.url}/jobs/${id}`, 'GET', { headers: desk.headers }), 200).body;
// biome-ignore lint/suspicious/noExplicitAny: jobs are what is looked into
async function ended(id: string, desk = gateway): Promise<any> {
	let job = await look(id, desk);
	await until(
		async () => {
			job = await look(id, desk);
			return job.finishedAt !== null;
		},
		() => `the job ends: ${JSON.stringify(job)}`,
	);
	return job;
}
const go = (key: string, desk = gateway) => send(`${desk.url}/keys/${key}`, 'POST', { headers: desk.headers });
const toolUpstream = (t: Parameters<typeof httpUpstream>[0]): Promise<Upstream> =>
	httpUpstream(t, (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"answer":42}'));

test('a job gets a call made anew: the gateway, its config and tools, and the caller who began it', async (t) => {
	const upstream = await toolUpstream(t);
	const tool = await createHttpTool(owner, { name: 'answer', url: `${upstream.origin}/` });
	const desk = await deskOf(owner, { label: 'with a tool' }, [tool]);
	const id = await begin('echo', { tools: true, tool: 'answer' }, { desk });
	const { status, output, progress, name, error } = await ended(id, elsewhere(desk));
	assert.deepEqual([status, name, error, progress], ['succeeded', 'echo', null, { seen: 'half' }]);
	assert.deepEqual([output.id, output.attempt, output.config, output.tools], [id, 1, { label: 'with a tool' }, ['answer']]);
	assert.match(output.subject, /^key:/);
	assert.deepEqual(output.scopes, ['tools:read', 'tools:execute']);
	assert.deepEqual(output.called.structured, { answer: 42 });
});

test('a job that runs is followed on the other replica, and goes on there when its process stops', async () => {
	const third = await serve('third', one);
	const key = randomUUID();
	const ids: string[] = [];
	// biome-ignore lint/suspicious/noExplicitAny: jobs are what is looked into
	let jobs: any[] = [];
	// Which replica takes a job is up to their clocks, so there are more of them until the third has one: each has twenty places.
	do {
		assert.ok(ids.length < 60, `the third takes one: ${JSON.stringify(jobs)}`);
		ids.push(...(await Promise.all(Array.from({ length: 3 }, () => begin('held', { key })))));
		await until(async () => {
			jobs = await Promise.all(ids.map((id) => look(id)));
			return jobs.every(({ progress }) => progress !== null);
		}, 'all are under way');
	} while (!jobs.some(({ progress }) => progress.replica === 'third'));
	const told = ids.map((id) => send(`${elsewhere(gateway).url}/jobs/${id}/told`, 'GET', { headers: gateway.headers }));
	await third.stop();
	await go(key);
	const ends = await Promise.all(ids.map((id) => ended(id)));
	assert.ok(ends.every(({ status, output }) => status === 'succeeded' && output.replica !== 'third'));
	// A process that stops costs no attempt.
	assert.ok(ends.every(({ output }) => output.attempt === 1));
	for (const [index, { body }] of (await Promise.all(told)).entries())
		assert.deepEqual(body.told.at(-1), { attempt: 1, replica: ends[index].output.replica });
});

test('a job is cancelled from the other replica', async () => {
	const id = await begin('held', { key: 'never' });
	await until(async () => (await look(id)).progress !== null, 'it is under way');
	const place = `${elsewhere(gateway).url}/jobs/${id}`;
	assert.deepEqual((await send(place, 'DELETE', { headers: gateway.headers })).body, { was: true });
	const { status, error } = await look(id);
	assert.deepEqual([status, error.code], ['cancelled', 'cancelled']);
	assert.deepEqual((await send(place, 'DELETE', { headers: gateway.headers })).body, { was: false });
});

test('an attempt that failed is repeated later, up to the number of attempts; what was wrong in itself is not', async () => {
	assert.deepEqual((await ended(await begin('failing', { times: 1, code: 'upstream_failed' }))).output, { attempt: 2 });
	const stray = await ended(await begin('failing', { times: 1 }, { options: { attempts: 1 } }));
	assert.deepEqual(
		[stray.status, stray.error],
		['failed', { code: 'internal', message: 'The job failed unexpectedly; the log of the service has the reason.' }],
	);
	const wrong = await ended(await begin('failing', { times: 3, code: 'validation_failed' }));
	assert.deepEqual([wrong.error.code, wrong.error.message], ['validation_failed', 'It failed as validation_failed.']);
	assert.equal((await ended(await begin('slow', null))).error.code, 'timed_out');
	const [counted] = await administer(
		database(),
		`SELECT count(*)::int AS attempts FROM run_steps WHERE run_id = '${wrong.id}' AND key LIKE 'attempt%'`,
	);
	assert.equal(counted?.['attempts'], 1);
});

test('jobs under one key are one; one may wait for its time', async () => {
	const options = { key: 'once', runAt: new Date(Date.now() + 600_000).toISOString() };
	const id = await begin('echo', { first: true }, { options });
	assert.equal(await begin('echo', { second: true }, { options }), id);
	await until(async () => (await look(id)).status === 'waiting', 'it waits for its time');
	assert.notEqual(await begin('echo', {}, { options: { key: 'other' } }), id);
	const elsewhereId = await begin('echo', {}, { desk: await deskOf(owner), options });
	assert.notEqual(elsewhereId, id);
});

test('what a client sends wrong is told with its place', async () => {
	const refused = async (data: unknown, options: object, path: string): Promise<void> => {
		const { status, body } = await send(`${gateway.url}/jobs/echo`, 'POST', { body: { data, options }, headers: gateway.headers });
		assert.deepEqual([status, body.details?.[0]?.path], [400, path], JSON.stringify(body));
	};
	await refused('x'.repeat(70_000), {}, '/data');
	await refused({}, { attempts: 6 }, '/attempts');
	await refused({}, { attempts: 1.5 }, '/attempts');
	await refused({}, { deadlineMs: 31 * 24 * 3_600_000 }, '/deadlineMs');
	await refused({}, { deadlineMs: 0 }, '/deadlineMs');
	await refused({}, { runAt: '2999-01-01T00:00:00Z' }, '/runAt');
	const unknown = await send(`${gateway.url}/jobs/nothing`, 'POST', { body: { data: {} }, headers: gateway.headers });
	assert.equal(unknown.status, 500, 'the plugin is at fault');
});

test('a job of another gateway, organization or plugin does not exist', async () => {
	const id = await begin('echo', {});
	await ended(id);
	const stranger = await registerAccount(one.url);
	for (const desk of [await deskOf(owner), await deskOf(stranger)]) {
		assert.equal((await send(`${desk.url}/jobs/${id}`, 'GET', { headers: desk.headers })).status, 404);
		assert.equal((await send(`${desk.url}/jobs/${id}/told`, 'GET', { headers: desk.headers })).status, 404);
		assert.equal((await send(`${desk.url}/webhooks/${id}`, 'GET', { headers: desk.headers })).status, 404);
		assert.deepEqual((await send(`${desk.url}/jobs/${id}`, 'DELETE', { headers: desk.headers })).body, { was: false });
	}
	assert.equal((await send(`${gateway.url}/jobs/nonsense`, 'GET', { headers: gateway.headers })).status, 404);
});

const idOf = async (account: Account): Promise<string> => must(await account.get('/auth/profile'), 200).body.data.id;

const database = () => one.config.database ?? assert.fail('no database');

/** Begins a job that waits until it is let go. */
async function held(desk: Desk): Promise<{ id: string; release(): Promise<void> }> {
	const id = await begin('echo', { tools: true }, { desk, options: { runAt: new Date(Date.now() + 600_000).toISOString() } });
	await until(async () => (await rowOf(id)).status === 'waiting', 'it waits');
	return { id, release: () => wake(id) };
}

/** Lets a waiting job's time come. */
async function wake(id: string): Promise<void> {
	await administer(
		database(),
		`UPDATE run_steps SET until = now() WHERE run_id = '${id}' AND key = 'due'`,
		`UPDATE runs SET due_at = now() WHERE id = '${id}'`,
		`UPDATE engine.job_common SET start_after = now() WHERE data ->> 'runId' = '${id}'`,
	);
}

const rowOf = async (id: string): Promise<{ status: string; code: string | null }> => {
	const [row] = await administer(database(), `SELECT status, error ->> 'code' AS code FROM runs WHERE id = '${id}'`);
	return row as { status: string; code: string | null };
};

/** Returns the end of a job whose gateway may be gone. */
async function endOfRow(id: string): Promise<{ status: string; code: string | null }> {
	await until(async () => ['failed', 'succeeded', 'cancelled'].includes((await rowOf(id)).status), 'the job ends');
	return rowOf(id);
}

test('rights that were withdrawn between the beginning and the attempt end the job', async () => {
	/** Each begins a job, then withdraws what its caller had. */
	const ways: Record<string, (account: Account) => Promise<{ desk: Desk; withdraw(): Promise<unknown> }>> = {
		'a revoked key of the gateway': async (account) => {
			const desk = await deskOf(account);
			const { body } = must(await account.get(`/gateways/${desk.id}/auth/api-keys`), 200);
			return { desk, withdraw: async () => must(await account.del(`/gateways/${desk.id}/auth/api-keys/${body.data.apiKeys[0].id}`), 200) };
		},
		'a login that ended': async (account) => {
			const desk = await deskOf(account);
			return { desk: { ...desk, headers: { authorization: `Bearer ${account.token}` } }, withdraw: () => account.post('/auth/logout') };
		},
		'a member who was removed': async (account) => {
			const desk = await deskOf(account);
			const member = await addMember(account, 'member');
			const headers = { authorization: `Bearer ${member.token}` };
			const withdraw = async () => must(await account.del(`/organizations/${account.organization.id}/members/${await idOf(member)}`), 200);
			return { desk: { ...desk, headers }, withdraw };
		},
		'an inactive gateway': async (account) => {
			const desk = await deskOf(account);
			return { desk, withdraw: async () => must(await account.patch(`/gateways/${desk.id}`, { status: 'inactive' }), 200) };
		},
		'a removed gateway': async (account) => {
			const desk = await deskOf(account);
			return { desk, withdraw: async () => must(await account.del(`/gateways/${desk.id}`), 200) };
		},
		'a removed method': async (account) => {
			const desk = await deskOf(account);
			const { body } = must(await account.get(`/gateways/${desk.id}/auth`), 200);
			return { desk, withdraw: async () => must(await account.del(`/gateways/${desk.id}/auth/${body.data.authMethods[0].id}`), 200) };
		},
	};
	const ends = await Promise.all(
		Object.entries(ways).map(async ([way, prepare]) => {
			const { desk, withdraw } = await prepare(await registerAccount(one.url));
			const job = await held(desk);
			await withdraw();
			await job.release();
			const { status, code } = await endOfRow(job.id);
			return [way, status, code];
		}),
	);
	const code = (way: string): string => (/gateway$/.test(way) && !way.startsWith('a revoked') ? 'not_found' : 'forbidden');
	assert.deepEqual(
		ends,
		Object.keys(ways).map((way) => [way, 'failed', code(way)]),
	);
});

test('a role that was lowered leaves the job what the caller still has', async () => {
	const account = await registerAccount(one.url);
	const desk = await deskOf(account);
	const member = await addMember(account, 'member');
	const job = await held({ ...desk, headers: { authorization: `Bearer ${member.token}` } });
	must(await account.patch(`/organizations/${account.organization.id}/members/${await idOf(member)}`, { role: 'viewer' }), 200);
	await job.release();
	assert.deepEqual((await ended(job.id, desk)).output.scopes, ['tools:read', 'gateway:read']);
});

test('callers of a method that cannot check them again begin no work that lasts', async () => {
	const account = await registerAccount(one.url);
	const created = must(await account.post('/gateways', { name: 'Gateway', type: 'jobs_desk', endpoint: '/by-word' }), 201).body.data;
	must(await account.post(`/gateways/${created.id}/auth`, { type: 'by_word' }), 201);
	const desk = { id: created.id, url: one.url + new URL(created.url).pathname, headers: { 'x-word': 'me' } };
	const { status, error } = await ended(await begin('echo', {}, { desk }), desk);
	assert.deepEqual([status, error.code], ['failed', 'forbidden']);
});

test('nothing of a job is told by its rows or the log', async () => {
	const id = await begin('echo', { secret: CANARY });
	assert.equal((await ended(id)).output.data.secret, CANARY);
	const rows = await administer(
		database(),
		`SELECT (SELECT json_agg(r)::text FROM runs r) || coalesce((SELECT json_agg(s)::text FROM run_steps s), '') || coalesce((SELECT json_agg(j)::text FROM engine.job_common j), '') AS text`,
	);
	const [{ text }] = rows as [{ text: string }];
	assert.ok(text.includes(id), 'the row was read');
	assert.ok(!text.includes(CANARY));
	assert.ok(!logs.some((line) => line.includes(CANARY)));
});

test('addresses are judged by the guard, ports by their protocol', async () => {
	const check = async (body: object) => {
		const answer = await send(`${gateway.url}/checks`, 'POST', { body, headers: gateway.headers });
		return answer.status === 200 ? 'ok' : answer.body.details?.[0]?.path;
	};
	assert.equal(await check({ url: 'http://127.0.0.1:1234/' }), 'ok');
	assert.equal(await check({ url: 'http://169.254.169.254/' }), '/url');
	assert.equal(await check({ url: 'http://127.0.0.1:5432/' }), '/url');
	assert.equal(await check({ host: '127.0.0.1', port: 5432 }), '/host');
	assert.equal(await check({ host: '127.0.0.1', port: 5432, protocol: 'postgresql' }), 'ok');
	assert.equal(await check({ host: '127.0.0.1', port: 6379, protocol: 'postgresql' }), '/host');
	assert.equal(await check({ host: '10.0.0.1', port: 5432, protocol: 'postgresql' }), '/host');
	assert.equal(await check({ host: '169.254.169.254', port: 5432, protocol: 'postgresql' }), '/host');
});
