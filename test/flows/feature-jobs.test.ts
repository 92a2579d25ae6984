// Tests the jobs of a feature over HTTP, on two replicas: begun on one, shown by the other, and stopped with the credential of whoever began them.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { administer } from '../helpers/postgres.ts';
import { must, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';

const LATER_MS = 600_000;

let packages: InstalledPackages;
let service: TestService;
let other: TestService;
before(async () => {
	packages = installPackages('feature-jobs-plugin');
	const env = { GATEWAY_PLUGINS: packages.names.join(',') };
	service = await startTestService({ env });
	other = await startTestService({ env, replicaOf: service });
});
after(async () => {
	await other?.stop();
	await service?.stop();
	packages[Symbol.dispose]();
});

const database = () => service.config.database ?? assert.fail('no database');
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const later = () => new Date(Date.now() + LATER_MS).toISOString();

const begin = async (secret: string, body: object, at = service): Promise<string> =>
	must(await send(`${at.url}/chores`, 'POST', { body, headers: bearer(secret) }), 202).body.id;
const show = (secret: string, id: string, at = other) => send(`${at.url}/chores/${id}`, 'GET', { headers: bearer(secret) });

async function ended(secret: string, id: string) {
	await until(async () => must(await show(secret, id), 200).body.finishedAt !== null, 'the job ends');
	return (await show(secret, id)).body;
}

/** Lets a waiting job's time come. */
async function release(id: string): Promise<void> {
	const status = async () => (await administer(database(), `SELECT status FROM runs WHERE id = '${id}'`))[0]?.['status'];
	await until(async () => (await status()) === 'waiting', 'it waits');
	await administer(
		database(),
		`UPDATE run_steps SET until = now() WHERE run_id = '${id}' AND key = 'due'`,
		`UPDATE runs SET due_at = now() WHERE id = '${id}'`,
		`UPDATE engine.job_common SET start_after = now() WHERE data ->> 'runId' = '${id}'`,
	);
}

test('a feature’s job begins on one replica, ends with the rights of its caller, and is shown by the other', async () => {
	const account = await registerAccount(service.url);
	const id = await begin(account.token, { data: { n: 1 } });
	const { status, output, progress } = await ended(account.token, id);
	assert.equal(status, 'succeeded');
	assert.deepEqual(progress, { seen: 'half' });
	const { subject, scopes, gateway, data, attempt } = output;
	assert.deepEqual([subject.startsWith('user:'), gateway, data, attempt], [true, null, { n: 1 }, 1]);
	assert.ok(scopes.includes('tools:execute'));
	const alone = await ended(account.token, await begin(account.token, { data: { n: 2 }, anonymous: true }, other));
	assert.deepEqual([alone.status, alone.output.subject], ['succeeded', null]);
});

test('a job is begun once under its key on both replicas, and is nothing to another organization', async () => {
	const [account, stranger] = await Promise.all([registerAccount(service.url), registerAccount(service.url)]);
	const asked = { data: { n: 3 }, key: randomUUID(), runAt: later() };
	const ids = await Promise.all([service, other].map((at) => begin(account.token, asked, at)));
	assert.equal(ids[0], ids[1]);
	const id = ids[0] ?? '';
	must(await show(stranger.token, id), 404);
	const cancel = (secret: string) => send(`${other.url}/chores/${id}`, 'DELETE', { headers: bearer(secret) });
	assert.deepEqual(must(await cancel(stranger.token), 200).body, { was: false });
	assert.deepEqual(must(await cancel(account.token), 200).body, { was: true });
	assert.equal((await ended(account.token, id)).status, 'cancelled');
});

test('a job stops with the access key or the login by which it was begun, though its user is a member still', async () => {
	const account = await registerAccount(service.url);
	const { email, password } = account;
	const logIn = async (): Promise<string> =>
		must(await send(`${service.url}/auth/login`, 'POST', { body: { email, password } }), 200).body.data.token;
	const { id: keyId, key } = must(await account.post('/access-keys', { name: 'ci' }), 201).body.data;
	const second = await logIn();
	const [byKey, byLogin, stays] = await Promise.all(
		[key, second, account.token].map((secret) => begin(secret, { data: { n: 4 }, runAt: later() })),
	);
	must(await account.del(`/access-keys/${keyId}`), 200);
	must(await send(`${other.url}/auth/logout`, 'POST', { headers: bearer(second) }), 200);
	for (const id of [byKey, byLogin, stays]) await release(id ?? '');
	for (const id of [byKey, byLogin]) {
		const { status, error } = await ended(account.token, id ?? '');
		assert.deepEqual([status, error?.code], ['failed', 'forbidden']);
	}
	assert.equal((await ended(account.token, stays ?? '')).status, 'succeeded');
});

test('a job that a tool begins, run by hand, has the rights of whoever ran it, for as long as their key is good', async () => {
	const account = await registerAccount(service.url);
	const tools = `/organizations/${account.organization.id}/tools`;
	const parameters = { type: 'object', properties: { id: { type: 'string' }, runAt: { type: 'string' } } };
	const tool = { name: 'errand', type: 'errand', description: 'Runs an errand.', parameters, executionConfig: {} };
	const { id: toolId } = must(await account.post(tools, tool), 201).body.data;
	const execute = async (given: object, secret = account.token) =>
		must(await send(`${service.url}${tools}/${toolId}/execute`, 'POST', { body: { parameters: given }, headers: bearer(secret) }), 200).body
			.data.result;
	const over = async (id: string) => {
		await until(async () => !['queued', 'running', 'waiting'].includes((await execute({ id })).status), 'the job ends');
		return execute({ id });
	};
	const { status, output, error } = await over((await execute({})).id);
	assert.deepEqual([status, error, output?.subject?.startsWith('user:')], ['succeeded', null, true]);
	const permissions = ['tools:execute'];
	const { id: keyId, key } = must(await account.post('/access-keys', { name: 'ci', permissions }), 201).body.data;
	assert.deepEqual((await over((await execute({}, key)).id)).output.scopes, permissions);
	const { id } = await execute({ runAt: later() }, key);
	must(await account.del(`/access-keys/${keyId}`), 200);
	await release(id);
	assert.deepEqual((await over(id)).error?.code, 'forbidden');
});
