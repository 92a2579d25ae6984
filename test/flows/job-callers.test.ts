// Tests, for each of our authentication methods, what its callers' jobs depend on after the request; and that a process that is killed
// takes no job with it.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../helpers/clock.ts';
import { basic, bearer, hs256 } from '../helpers/gateway-auth.ts';
import { obtainTokens } from '../helpers/oauth.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { freePort } from '../helpers/ports.ts';
import { administer } from '../helpers/postgres.ts';
import { ready, start } from '../helpers/processes.ts';
import { hurry } from '../helpers/run-processes.ts';
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

const LATER_MS = 600_000;
const KEY = 's'.repeat(32);
const seconds = (): number => Math.floor(Date.now() / 1000);

let packages: InstalledPackages;
let service: TestService;
before(async () => {
	packages = installPackages('jobs-plugin');
	service = await startTestService({ env: { GATEWAY_PLUGINS: packages.names.join(',') } });
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
});

const database = () => service.config.database ?? assert.fail('no database');

interface Guarded {
	account: Account;
	id: string;
	url: string;
	authId: string;
}

async function guarded(type: string, configuration: object = {}): Promise<Guarded> {
	const account = await registerAccount(service.url);
	const made = must(await account.post('/gateways', { name: 'Gateway', type: 'jobs_desk', endpoint: '/desk' }), 201).body.data;
	const authId = must(await account.post(`/gateways/${made.id}/auth`, { type, configuration }), 201).body.data.id;
	return { account, id: made.id, url: made.url, authId };
}

async function replaceMethod({ account, id, authId }: Guarded, type: string, configuration: object = {}): Promise<void> {
	must(await account.del(`/gateways/${id}/auth/${authId}`), 200);
	must(await account.post(`/gateways/${id}/auth`, { type, configuration }), 201);
}

interface Credential {
	gateway: Guarded;
	headers: Record<string, string>;
	/** Takes away what the caller had. */
	withdraw(): Promise<unknown>;
}

const METHODS: Record<string, () => Promise<Credential>> = {
	async none() {
		const gateway = await guarded('none');
		return { gateway, headers: {}, withdraw: () => replaceMethod(gateway, 'api_key') };
	},
	async 'api_key, with an access key'() {
		const gateway = await guarded('api_key');
		const { id, key } = must(await gateway.account.post('/access-keys', { name: 'ci' }), 201).body.data;
		const withdraw = async () => must(await gateway.account.del(`/access-keys/${id}`), 200);
		return { gateway, headers: { 'x-api-key': key }, withdraw };
	},
	async bearer_token() {
		const gateway = await guarded('bearer_token', { token: 'the-first-token-of-all' });
		const withdraw = () => replaceMethod(gateway, 'bearer_token', { token: 'another-token-than-before' });
		return { gateway, headers: bearer('the-first-token-of-all'), withdraw };
	},
	async basic_auth() {
		const gateway = await guarded('basic_auth');
		const { email, password, patch } = gateway.account;
		const withdraw = async () =>
			must(await patch('/auth/change-password', { currentPassword: password, newPassword: 'Another1Horse' }), 200);
		return { gateway, headers: basic(email, password), withdraw };
	},
	async 'jwt of another issuer'() {
		const gateway = await guarded('jwt', { secret: KEY });
		const headers = bearer(hs256({ sub: 'a', exp: seconds() + 3600 }, KEY));
		return { gateway, headers, withdraw: () => replaceMethod(gateway, 'jwt', { secret: 'x'.repeat(32) }) };
	},
	async 'jwt of the service'() {
		const gateway = await guarded('jwt');
		return { gateway, headers: bearer(gateway.account.token), withdraw: () => gateway.account.post('/auth/logout') };
	},
	async oauth2() {
		const gateway = await guarded('oauth2');
		const { access } = await obtainTokens(gateway.url, gateway.account);
		const { data } = must(await gateway.account.get(`/gateways/${gateway.id}/oauth/grants`), 200).body;
		const withdraw = async () => must(await gateway.account.del(`/gateways/${gateway.id}/oauth/grants/${data.grants[0].grantId}`), 200);
		return { gateway, headers: bearer(access), withdraw };
	},
};

async function begin({ gateway, headers }: Credential, later = true): Promise<string> {
	const options = later ? { runAt: new Date(Date.now() + LATER_MS).toISOString() } : {};
	return must(await send(`${gateway.url}/jobs/echo`, 'POST', { body: { data: {}, options }, headers }), 202).body.id;
}

const rowOf = async (id: string) => {
	const [row] = await administer(database(), `SELECT status, attempt, error ->> 'code' AS code FROM runs WHERE id = '${id}'`);
	return row ?? assert.fail('no row');
};

async function failedAttemptsOf(id: string): Promise<number> {
	const ended = `SELECT count(*)::int AS n FROM run_steps WHERE run_id = '${id}' AND key LIKE 'attempt %' AND output ->> 'how' = 'failed'`;
	const [counted] = await administer(database(), ended);
	return Number(counted?.['n']);
}

async function endOf(id: string): Promise<unknown[]> {
	await until(async () => ['failed', 'succeeded'].includes(String((await rowOf(id))['status'])), 'the job ends');
	const { status, code } = await rowOf(id);
	return [status, code];
}

/** Lets a waiting job's time come. */
async function release(id: string): Promise<void> {
	await until(async () => (await rowOf(id))['status'] === 'waiting', 'it waits');
	await administer(
		database(),
		`UPDATE run_steps SET until = now() WHERE run_id = '${id}' AND key = 'due'`,
		`UPDATE runs SET due_at = now() WHERE id = '${id}'`,
		`UPDATE engine.job_common SET start_after = now() WHERE data ->> 'runId' = '${id}'`,
	);
}

for (const [method, credentialOf] of Object.entries(METHODS))
	test(`a job of a caller of ${method} runs as long as their credential is good`, async () => {
		const credential = await credentialOf();
		assert.deepEqual(await endOf(await begin(credential, false)), ['succeeded', null]);
		const id = await begin(credential);
		await credential.withdraw();
		await release(id);
		assert.deepEqual(await endOf(id), ['failed', 'forbidden']);
	});

test('no job runs after the end of a token', async () => {
	const gateway = await guarded('jwt', { secret: KEY });
	const exp = seconds() + 4;
	const id = await begin({ gateway, headers: bearer(hs256({ sub: 'a', exp }, KEY)), withdraw: async () => undefined });
	await sleep(5_000);
	await release(id);
	assert.deepEqual(await endOf(id), ['failed', 'forbidden']);
});

test('a job whose process is killed goes on at another replica, as the same attempt', async () => {
	const gateway = await guarded('none');
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-jobs-'));
	const [port, key] = [await freePort(), randomUUID()];
	const { redis } = service.config;
	const env = {
		...{ ...databaseVariables(database()), ...SECRETS, SVC_DATA_DIR: folder, PORT: String(port), HOST: '127.0.0.1' },
		...{ REDIS_HOST: redis?.host ?? '', REDIS_PORT: String(redis?.port), GATEWAY_PLUGINS: packages.names.join(',') },
	};
	try {
		await using killed = start(env, [], process.cwd());
		await ready(`http://127.0.0.1:${port}`, killed);
		await hurry(database(), ['job.transport.jobs_desk.held'], 2);
		// It hears of its own jobs before the other replica does.
		const there = new URL(gateway.url).pathname;
		const post = (name: string) => send(`http://127.0.0.1:${port}${there}/jobs/${name}`, 'POST', { body: { data: { key } } });
		const ids = await Promise.all(Array.from({ length: 12 }, async () => must(await post('held'), 202).body.id as string));
		await until(async () => (await Promise.all(ids.map(rowOf))).every(({ status }) => status === 'running'), 'all run');
		killed.signalGroup('SIGKILL');
		await killed.ended;
		must(await send(`${gateway.url}/keys/${key}`, 'POST'), 200);
		for (const id of ids) assert.deepEqual(await endOf(id), ['succeeded', null]);
		const jobs = await Promise.all(ids.map(async (id) => must(await send(`${gateway.url}/jobs/${id}`, 'GET'), 200).body));
		// An attempt counts where it ended, as one that asked a busy Redis did; one that went with its process does not.
		for (const { id, output } of jobs) assert.deepEqual([id, output.attempt], [id, 1 + (await failedAttemptsOf(id))]);
		const taken = (await Promise.all(ids.map(rowOf))).filter(({ attempt }) => Number(attempt) > 1);
		assert.ok(taken.length > 0, 'the killed process had some');
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
});
