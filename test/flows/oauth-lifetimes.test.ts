// Tests how long codes and tokens live, by the database's clock, and what ends them earlier (specification 5.2 rule 8; catalog 64 to 66).
// No test waits: stored timestamps are moved into the past instead.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openBrowser } from '../helpers/browser.ts';
import { until } from '../helpers/clock.ts';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import { ask, bearer, CALL, guardedGateway } from '../helpers/gateway-auth.ts';
import { addMember, join } from '../helpers/members.ts';
import { authorizationUrl, type OAuthClient, obtainCode, pkce, redeem, refresh, registerClient, type TokenPair } from '../helpers/oauth.ts';
import { DAY, HOUR, passTime, SECOND } from '../helpers/oauth-time.ts';
import { freePort } from '../helpers/ports.ts';
import {
	type Account,
	createHttpTool,
	databaseVariables,
	must,
	publishGateway,
	registerAccount,
	SECRETS,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: TestService;
let account: Account;
let url: string;
let client: OAuthClient;
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	({ url } = await publishGateway(account, { auth: 'oauth2' }));
	client = await registerClient(url);
});
after(() => service.stop());

const newCode = (person = account, at = { url, client }) => obtainCode(at.url, at.client, person, { browser: openBrowser() });

async function newPair(person = account, at = url): Promise<TokenPair> {
	const own = at === url ? client : await registerClient(at);
	const { body } = must(await redeem(at, own, await newCode(person, { url: at, client: own })), 200);
	return { access: body.access_token, refresh: body.refresh_token, client: own };
}

const status = async (token: string, at = url): Promise<number> => (await ask(at, bearer(token))).status;

describe('66: the database’s clock decides', () => {
	test('a code is good at 9:59 and not at 10:01', async () => {
		const [first, second] = [await newCode(), await newCode()];
		await passTime(service, 599 * SECOND);
		must(await redeem(url, client, first), 200);
		await passTime(service, 2 * SECOND);
		assert.equal(must(await redeem(url, client, second), 400).body.error, 'invalid_grant');
	});

	test('an access token is good for an hour, and said to be', async () => {
		const { body } = must(await redeem(url, client, await newCode()), 200);
		assert.equal(body.expires_in, 3600);
		await passTime(service, HOUR - 10 * SECOND);
		assert.equal(await status(body.access_token), 200);
		await passTime(service, 11 * SECOND);
		await soon(async () => (await status(body.access_token)) === 401, 'the end of the hour');
		const refused = must(await ask(url, bearer(body.access_token)), 401);
		assert.match(refused.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
		must(await refresh(url, client, body.refresh_token), 200);
	});

	test('a refresh token is good for thirty days, and each use of it gives one for thirty more', async () => {
		const [pair, unused] = [await newPair(), await newPair()];
		await passTime(service, 30 * DAY - 10 * SECOND);
		const { body: second } = must(await refresh(url, client, pair.refresh), 200);
		await passTime(service, 11 * SECOND);
		assert.equal(must(await refresh(url, client, unused.refresh), 400).body.error, 'invalid_grant');
		await passTime(service, 30 * DAY - 21 * SECOND);
		const { body: third } = must(await refresh(url, client, second.refresh_token), 200);
		await passTime(service, 30 * DAY + SECOND);
		assert.equal(must(await refresh(url, client, third.refresh_token), 400).body.error, 'invalid_grant');
	});

	describe('a replica whose clock is off', () => {
		let replica: Skewed;
		before(async () => {
			replica = await startSkewed();
		});
		after(() => replica?.stop());

		for (const hours of [-2, 2])
			test(`by ${hours} hours takes and refuses what the others do`, async () => {
				assert.equal(await replica.skew(hours), hours);
				const at = replica.url + new URL(url).pathname;
				const pair = await newPair();
				assert.equal(await status(pair.access, at), 200);
				const { body } = must(await redeem(at, client, await newCode()), 200);
				assert.deepEqual([await status(body.access_token, at), await status(body.access_token)], [200, 200]);
				await passTime(service, HOUR - 30 * SECOND);
				assert.deepEqual([await status(body.access_token, at), await status(body.access_token)], [200, 200]);
				await passTime(service, 31 * SECOND);
				for (const where of [at, url]) await soon(async () => (await status(body.access_token, where)) === 401, 'the end of the hour');
				must(await refresh(at, client, body.refresh_token), 200);
				must(await refresh(at, client, pair.refresh), 200);
			});
	});
});

interface Skewed {
	url: string;
	/** Sets its clock so many hours off. @returns how many it then is off */
	skew(hours: number): Promise<number>;
	stop(): Promise<unknown>;
}

/** Starts another process on the same database, with a clock that can be set off: two hours slow at first. */
async function startSkewed(): Promise<Skewed> {
	const { database, redis } = service.config;
	if (!database || !redis) throw new Error('a service of tests has both');
	const folder = mkdtempSync(joinPath(tmpdir(), 'gatehouse-skewed-'));
	const clock = `const Real = Date; let off = ${-2 * HOUR};
		globalThis.Date = class extends Real {
			constructor(...given) { if (given.length > 0) super(...given); else super(Real.now() + off); }
			static now() { return Real.now() + off; }
		};
		process.on('message', (hours) => { off = hours * ${HOUR}; process.send(off / ${HOUR}); });
		process.channel.unref();`;
	const port = String(await freePort());
	const child = spawn(
		process.execPath,
		['--import', `data:text/javascript,${encodeURIComponent(clock)}`, fileURLToPath(new URL('../../core/main.ts', import.meta.url))],
		{
			env: {
				PATH: process.env['PATH'],
				...COMPILE_CACHE,
				...databaseVariables(database),
				...SECRETS,
				...{ REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), HOST: '127.0.0.1', PORT: port, SVC_DATA_DIR: folder },
			},
			stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
		},
	);
	const ended = new Promise((resolve) => child.once('exit', resolve));
	const at = `http://127.0.0.1:${port}`;
	const stop = async (): Promise<void> => {
		child.kill();
		await ended;
		rmSync(folder, { recursive: true, force: true });
	};
	const isReady = async (): Promise<boolean> => (await send(`${at}/health/ready`, 'GET').catch(() => null))?.status === 200;
	await until(isReady, 'the skewed replica serves', 100).catch(async (error) => {
		await stop();
		throw error;
	});
	const skew = async (hours: number): Promise<number> => {
		child.send(hours);
		const [off] = await once(child, 'message');
		return off;
	};
	return { url: at, skew, stop };
}

describe('64: with the next request, the tokens are dead', () => {
	test('of a user who is no member any more, and it stays so', async () => {
		const member = await addMember(account, 'member');
		const pair = await newPair(member);
		assert.equal(await status(pair.access), 200);
		const { id } = must(await member.get('/auth/profile'), 200).body.data;
		must(await account.del(`/organizations/${account.organization.id}/members/${id}`), 200);
		assert.equal(await status(pair.access), 401);
		await join(account, member, 'member');
		assert.equal(await status(pair.access), 401, 'who comes back has to let the client in again');
		assert.equal(must(await refresh(url, client, pair.refresh), 400).body.error, 'invalid_grant');
	});

	test('of a user who was removed and came again, also when nobody used them meanwhile; nor is their consent remembered', async () => {
		const member = await addMember(account, 'member');
		const [pair, code] = [await newPair(member), await newCode(member)];
		const { id } = must(await member.get('/auth/profile'), 200).body.data;
		must(await account.del(`/organizations/${account.organization.id}/members/${id}`), 200);
		await join(account, member, 'member');
		assert.equal(await status(pair.access), 401);
		assert.equal(must(await refresh(url, client, pair.refresh), 400).body.error, 'invalid_grant');
		assert.equal(must(await redeem(url, client, code), 400).body.error, 'invalid_grant');
		const browser = openBrowser();
		const asked = authorizationUrl(url, client, { code_challenge: pkce().challenge });
		const page = await browser.press(await browser.open(asked), 'login', { email: member.email, password: member.password });
		assert.match(page.html, /value="allow"/);
	});

	test('and codes, of a user who is no member any more', async () => {
		const member = await addMember(account, 'member');
		const code = await newCode(member);
		const { id } = must(await member.get('/auth/profile'), 200).body.data;
		must(await account.del(`/organizations/${account.organization.id}/members/${id}`), 200);
		assert.equal(must(await redeem(url, client, code), 400).body.error, 'invalid_grant');
	});

	test('of a gateway that is switched off, at its metadata and endpoints, too', async () => {
		const gateway = await publishGateway(account, { auth: 'oauth2' });
		const pair = await newPair(account, gateway.url);
		must(await account.patch(`/gateways/${gateway.id}`, { status: 'inactive' }), 200);
		assert.equal(await status(pair.access, gateway.url), 404);
		assert.equal((await refresh(gateway.url, pair.client, pair.refresh)).status, 404);
		assert.equal((await send(`${gateway.url}/.well-known/oauth-authorization-server`, 'GET')).status, 404);
	});

	test('of a method that was removed, also when it is added again', async () => {
		const gateway = await guardedGateway(account, [{ type: 'oauth2' }]);
		const pair = await newPair(account, gateway.url);
		must(await account.del(`/gateways/${gateway.id}/auth/${gateway.authIds[0]}`), 200);
		assert.equal(await status(pair.access, gateway.url), 401);
		assert.equal((await refresh(gateway.url, pair.client, pair.refresh)).status, 401, 'its endpoints are gone as well');
		must(await account.post(`/gateways/${gateway.id}/auth`, { type: 'oauth2' }), 201);
		assert.equal(await status(pair.access, gateway.url), 401);
		assert.equal(must(await refresh(gateway.url, pair.client, pair.refresh), 401).body.error, 'invalid_client');
	});

	test('of scopes that a lesser role lacks', async () => {
		const member = await addMember(account, 'admin');
		const { id } = must(await member.get('/auth/profile'), 200).body.data;
		const code = await obtainCode(url, client, member, { browser: openBrowser(), parameters: { scope: 'tools:read tools:execute' } });
		const pair = must(await redeem(url, client, code), 200).body;
		assert.notEqual((await ask(url, bearer(pair.access_token), CALL)).status, 403);
		must(await account.patch(`/organizations/${account.organization.id}/members/${id}`, { role: 'viewer' }), 200);
		assert.equal((await ask(url, bearer(pair.access_token), CALL)).status, 403);
		assert.equal(await status(pair.access_token), 200);
	});
});

test('65: the token of the caller is never sent to where a tool calls', async (t) => {
	const seen: IncomingHttpHeaders[] = [];
	const { origin } = await httpUpstream(t, (request, response) => {
		seen.push(request.headers);
		response.setHeader('content-type', 'application/json').end('{}');
	});
	const toolId = await createHttpTool(account, { name: 'echo', url: `${origin}/echo` });
	const gateway = await publishGateway(account, { auth: 'oauth2', toolIds: [toolId] });
	const pair = await newPair(account, gateway.url);
	const called = must(await ask(gateway.url, bearer(pair.access), { ...CALL, params: { name: 'echo', arguments: {} } }), 200);
	assert.equal(called.body.result.isError ?? false, false, JSON.stringify(called.body));
	assert.equal(seen.length, 1);
	assert.equal(seen[0]?.authorization, undefined);
	assert.ok(!JSON.stringify(seen).includes('svc_at_'));
});
