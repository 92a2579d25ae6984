// `gatehouse-proxy login`, `whoami` and `logout` with the service: the key reaches the credentials file, the proxy uses it, and it is revoked.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { until } from '../helpers/clock.ts';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import { freePort } from '../helpers/ports.ts';
import { type Account, must, registerAccount, send } from '../helpers/service.ts';
import { greet, openProxyWorld, PROGRAM, type ProxyWorld, startProxy } from '../helpers/stdio-proxy.ts';

let world: ProxyWorld;
const home = mkdtempSync(join(tmpdir(), 'gatehouse-login-'));
before(async () => {
	world = await openProxyWorld();
});
after(async () => {
	await world?.stop();
	rmSync(home, { recursive: true, force: true });
});

const FILE = join(home, '.config/gatehouse/credentials.json');
const stored = () => JSON.parse(readFileSync(FILE, 'utf8'));

/** Starts a command. @param input for its standard input */
function command(args: string[], { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {}) {
	const child = spawn(PROGRAM[0], [PROGRAM[1], ...args], { env: { PATH: `${process.env['PATH']}`, HOME: home, ...COMPILE_CACHE, ...env } });
	child.stdin.end(input);
	let [stdout, stderr] = ['', ''];
	child.stdout.setEncoding('utf8').on('data', (chunk) => (stdout += chunk));
	child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
	const code = new Promise<number | null>((resolve) => child.once('close', resolve));
	return { code, stdout: () => stdout, stderr: () => stderr };
}

/** Logs in, with an answer of the user. */
async function logIn(decision: string, body: object = {}, account = world.account) {
	const { url } = world.service;
	const login = command(['login', '--url', url]);
	await until(
		() => /code [A-Z]{4}-[A-Z]{4}\n/.test(login.stdout()),
		() => `a code; ${login.stderr()}`,
	);
	const [, code] = /shows the code (\S+)/.exec(login.stdout()) ?? [];
	assert.ok(login.stdout().startsWith(`Open ${url}/device?user_code=${code}\n`));
	must(await account.post(`/device/logins/${code}/${decision}`, decision === 'approve' ? body : undefined), 200);
	return { ...login, exit: await login.code };
}

const keyWorks = async (key: string): Promise<number> =>
	(await send(`${world.service.url}/auth/profile`, 'GET', { headers: { authorization: `Bearer ${key}` } })).status;

test('the way of a user: log in, see who one is, use a gateway and all of them, log in anew, log out', async () => {
	const { account, service, gateway } = world;
	const first = await logIn('approve', { organizationId: account.organization.id });
	assert.equal(first.exit, 0, first.stderr());
	assert.match(first.stdout(), new RegExp(`Logged in at ${service.url} as ${account.email}, in ${account.organization.slug}\\.\n`));
	const { last, services } = stored();
	const login = services[service.url];
	assert.deepEqual([last, login.organization.slug, statSync(FILE).mode & 0o777], [service.url, account.organization.slug, 0o600]);
	assert.ok(!(first.stdout() + first.stderr()).includes(login.token));
	const who = command(['whoami']);
	assert.equal(await who.code, 0, who.stderr());
	assert.equal(
		who.stdout(),
		`${account.email}, at ${service.url}\n  ${account.organization.slug} (${account.organization.name}), chosen\n`,
	);
	for (const args of [[gateway.name], []]) {
		await using proxy = startProxy(args, { XDG_CONFIG_HOME: join(home, '.config') });
		await greet(proxy);
		const { result } = await proxy.request('tools/call', { name: 'svc_execute', arguments: { name: 'echo', parameters: { text: 'me' } } });
		assert.deepEqual(result.structuredContent, { said: 'me' });
	}
	assert.equal((await logIn('approve')).exit, 0);
	const renewed = stored().services[service.url];
	assert.notEqual(renewed.token, login.token);
	assert.deepEqual([await keyWorks(login.token), await keyWorks(renewed.token)], [401, 200], 'the former key is revoked');
	const out = command(['logout']);
	assert.equal(await out.code, 0, out.stderr());
	assert.match(out.stdout(), /the key is revoked/);
	assert.deepEqual([stored(), await keyWorks(renewed.token)], [{ last: null, services: {} }, 401]);
	const again = command(['logout', '--url', service.url]);
	assert.deepEqual([await again.code, again.stderr()], [1, `Nobody is logged in at ${service.url}.\n`]);
});

test('a login that is taken up by a running proxy needs no restart', async () => {
	const { service, gateway } = world;
	assert.equal((await logIn('approve')).exit, 0);
	await using proxy = startProxy([gateway.name], { XDG_CONFIG_HOME: join(home, '.config'), SVC_URL: service.url });
	await greet(proxy);
	const call = async () => (await proxy.request('tools/call', { name: 'svc_execute', arguments: { name: 'echo', parameters: {} } })).result;
	assert.equal((await call()).isError, undefined);
	must(await send(`${service.url}/device/revoke`, 'POST', { body: { token: stored().services[service.url].token } }), 200);
	assert.equal((await call()).isError, true);
	assert.equal((await logIn('approve')).exit, 0);
	assert.equal((await call()).isError, undefined);
});

/** Publishes a gateway with one tool in an organization. @returns its id */
async function publish({ post }: Account, organizationId: string, name: string): Promise<string> {
	const headers = { 'x-organization-id': organizationId };
	const { id } = must(await post('/gateways', { name, type: 'mcp', endpoint: `/${name}` }, headers), 201).body.data;
	must(await post(`/gateways/${id}/auth`, { type: 'api_key' }, headers), 201);
	await addTool(post, organizationId, id, name);
	return id;
}

async function addTool(post: Account['post'], organizationId: string, gatewayId: string, name: string): Promise<void> {
	const tool = { name, type: 'javascript', code: 'return 1' };
	const { id: toolId } = must(await post(`/organizations/${organizationId}/tools`, tool), 201).body.data;
	must(await post(`/gateways/${gatewayId}/tools`, { toolId }, { 'x-organization-id': organizationId }), 201);
}

/** Connects a client to `/mcp` that lists the tools anew whenever it is told to. */
async function connectWatching(negotiation: 'legacy' | { pin: string }) {
	let tools: string[] = [];
	const onChanged = (error: Error | null, listed: { name: string }[] | null): void => {
		tools = error ? [String(error)] : (listed ?? []).map(({ name }) => name);
	};
	const options = { listChanged: { tools: { onChanged, debounceMs: 10 } }, versionNegotiation: { mode: negotiation } };
	const client = new Client({ name: 'gatehouse-test', version: '1.0.0' }, options);
	const env = { PATH: `${process.env['PATH']}`, HOME: home, ...COMPILE_CACHE, SVC_URL: world.service.url, SVC_MODE: 'full' };
	const transport = new StdioClientTransport({ command: PROGRAM[0], args: [PROGRAM[1]], env, stderr: 'pipe' });
	let stderr = '';
	transport.stderr?.on('data', (chunk) => (stderr += chunk));
	await client.connect(transport);
	onChanged(null, (await client.listTools()).tools);
	const knows = (...names: string[]): Promise<void> =>
		until(
			() => tools.join() === names.join(),
			() => `${names} instead of ${tools}, ${JSON.stringify(negotiation)}; ${stderr}`,
		);
	return { client, knows, stderr: () => stderr, [Symbol.asyncDispose]: () => client.close() };
}

test('at /mcp, a login for another organization is taken up by a running proxy, and its client lists anew', async () => {
	const { service } = world;
	const account = await registerAccount(service.url);
	const { organization: acme, post } = account;
	const beta = must(await post('/organizations', { name: 'Beta' }), 201).body.data;
	await publish(account, acme.id, 'of-acme');
	const gatewayId = await publish(account, beta.id, 'of-beta');
	assert.equal((await logIn('approve', { organizationId: acme.id }, account)).exit, 0);
	await using legacy = await connectWatching('legacy');
	await using modern = await connectWatching({ pin: '2026-07-28' });
	const both = (...names: string[]) => Promise.all([legacy.knows(...names), modern.knows(...names)]);
	await both('of-acme');
	// The former key is revoked, and the new one refuses the name of another organization.
	assert.equal((await logIn('approve', { scope: { type: 'gateway', id: gatewayId } }, account)).exit, 0);
	await both('of-beta');
	// One key for both organizations: nothing is revoked, and the next request finds the new login.
	const { key } = must(await post('/access-keys', { name: 'both' }), 201).body.data;
	for (const [organization, name] of [
		[acme, 'of-acme'],
		[beta, 'of-beta'],
	] as const) {
		const login = command(['login', '--url', service.url, '--with-token', '--organization', organization.slug], { input: key });
		assert.equal(await login.code, 0, login.stderr());
		for (const { client } of [legacy, modern]) {
			const { messages } = await client.getPrompt({ name: 'svc-overview' });
			assert.match(JSON.stringify(messages), new RegExp(`- ${name}`));
		}
		await both(name);
	}
	await addTool(post, beta.id, gatewayId, 'added');
	await both('of-beta', 'added');
	assert.doesNotMatch(legacy.stderr() + modern.stderr(), /refused|fault/);
});

test('a login that is denied stores nothing', async () => {
	const before = readFileSync(FILE, 'utf8');
	const denied = await logIn('deny');
	assert.deepEqual([denied.exit, denied.stderr()], [1, 'The login was denied.\n']);
	assert.equal(readFileSync(FILE, 'utf8'), before);
});

test('a machine logs in with a token from standard input, which is checked first', async () => {
	const { service, account, accessKey, gateway } = world;
	const options = { env: { SVC_URL: service.url } };
	const login = command(['login', '--with-token'], { ...options, input: `${accessKey.key}\n` });
	assert.equal(await login.code, 0, login.stderr());
	assert.match(login.stdout(), new RegExp(`as ${account.email}, in ${account.organization.slug}`));
	for (const [input, sentence] of [
		['ak_live_wrong', /The credential was refused by .*: The access key is not valid\./],
		[gateway.key, /good at that gateway only/],
		['', /Write the token to standard input/],
		['two words', /Write the token to standard input/],
	] as const) {
		const refused = command(['login', '--with-token'], { ...options, input });
		assert.equal(await refused.code, 1, input);
		assert.match(refused.stderr(), sentence);
	}
	const out = command(['logout'], options);
	assert.equal(await out.code, 0, out.stderr());
	assert.match(out.stdout(), /the token itself is still valid/);
	assert.equal(await keyWorks(accessKey.key), 200);
});

test('a service that is away, a wrong option and a wrong address are told in one line', async () => {
	const away = `http://127.0.0.1:${await freePort()}`;
	for (const [args, sentence] of [
		[['login', '--url', away], /^http:\/\/127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)\.\n$/],
		[['login', '--nothing'], /Unknown option '--nothing'/],
		[['whoami', '--url', 'ftp://x'], /^--url must be an address that begins with https/],
	] as const) {
		const refused = command([...args]);
		assert.equal(await refused.code, 1);
		assert.match(refused.stderr(), sentence);
		assert.equal(refused.stderr().trim().split('\n').length, 1);
	}
});
