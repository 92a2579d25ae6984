// Tests every secret that a client submits or receives, as a canary: it is in no line of the log, no row of the database as text, no entry
// of the audit log, and in no answer but the one that shows it.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import pg from 'pg';
import PostalMime from 'postal-mime';
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

const MCP = { accept: 'application/json, text/event-stream' };

let service: TestService;
let account: Account;
const lines: string[] = [];
const secrets = new Map<string, string>();
const upstream = createServer((request, response) => void response.end(JSON.stringify({ path: request.url?.split('?')[0] })));

before(async () => {
	await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
	service = await startTestService({ onLog: (line) => lines.push(line) });
	account = await registerAccount(service.url);
	secrets.set('password', account.password);
	secrets.set('token', account.token);
});
after(async () => {
	await service.stop();
	upstream.close();
});

/** Remembers a secret that this answer shows and no other may. */
function keep(name: string, value: unknown): string {
	assert.ok(typeof value === 'string' && value.length >= 8, name);
	secrets.set(name, value);
	return value;
}

async function mailedToken(): Promise<string> {
	const folder = join(service.config.dataDir, 'mail');
	for (let attempt = 0; attempt < 100; attempt++) {
		const files = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name.endsWith('.eml'));
		const mails = await Promise.all(files.map(({ name }) => PostalMime.parse(readFileSync(join(folder, name)))));
		const [token] = /svc_rst_[A-Za-z0-9_-]{43}/.exec(mails.map(({ text }) => text).join('\n')) ?? [];
		if (token) return token;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	throw new Error('no mail came');
}

test('a day of work with every kind of secret', async () => {
	const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
	const org = account.organization.id;
	const api = must(await account.post('/apis', { name: 'a', type: 'openapi', baseUrl: origin }), 201).body.data.id;
	for (const [type, credentials] of Object.entries({
		bearer_token: { token: 'canary-bearer-1' },
		api_key: { key: 'canary-key-1', name: 'k', in: 'query' },
		basic_auth: { username: 'u', password: 'canary-basic-1' },
		oauth2: { tokenUrl: `${origin}/token`, clientId: 'c', clientSecret: 'canary-client-1', refreshToken: 'canary-refresh-1' },
	})) {
		must(await account.post(`/apis/${api}/credentials`, { type, credentials }), 201);
		for (const [field, value] of Object.entries(credentials)) if (String(value).startsWith('canary')) keep(`${type} ${field}`, value);
	}
	const tool = await createHttpTool(account, { name: 't', url: `${origin}/t` });
	const gateway = await publishGateway(account, { toolIds: [tool] });
	keep('gateway key', gateway.key);
	const accessKey = keep('access key', must(await account.post('/access-keys', { name: 'k' }), 201).body.data.key);
	keep('invitation', must(await account.post(`/organizations/${org}/invitations`, { email: 'new@example.com' }), 201).body.data.token);

	const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't', arguments: {} } };
	for (const [query, headers] of [
		[`?api_key=${gateway.key}`, {}],
		['', { 'x-api-key': gateway.key }],
		['', { authorization: `Bearer ${accessKey}` }],
		['', { authorization: `Bearer ${account.token}` }],
	] as const) {
		assert.equal((await send(gateway.url + query, 'POST', { body: call, headers: { ...MCP, ...headers } })).status, 200);
	}
	// A wrong secret must not be revealed either: it may be valid elsewhere.
	const wrong = keep('a wrong key', 'svc_gw_canary-wrong-key-1');
	assert.equal((await send(`${gateway.url}?api_key=${wrong}`, 'POST', { body: call, headers: MCP })).status, 401);
	assert.equal(
		(await send(`${service.url}/auth/profile?access_token=${wrong}`, 'GET', { headers: { cookie: `gatehouse_token=${wrong}` } })).status,
		401,
	);
	const tried = keep('a wrong password', 'Canary-Wrong-1');
	assert.equal((await send(`${service.url}/auth/login`, 'POST', { body: { email: account.email, password: tried } })).status, 401);
	assert.equal((await account.patch('/auth/change-password', { currentPassword: tried, newPassword: 'Canary-New-1' })).status, 400);
	must(
		await account.patch('/auth/change-password', { currentPassword: account.password, newPassword: keep('new password', 'Canary-New-1') }),
		200,
	);
	must(await send(`${service.url}/auth/forgot-password`, 'POST', { body: { email: account.email } }), 200);
	const reset = keep('reset token', await mailedToken());
	const body = { token: reset, newPassword: keep('reset password', 'Canary-Reset-1') };
	must(await send(`${service.url}/auth/reset-password`, 'POST', { body }), 200);
	const login = await send(`${service.url}/auth/login`, 'POST', { body: { email: account.email, password: body.newPassword } });
	keep('second token', must(login, 200).body.data.token);
	assert.ok(secrets.size >= 15);
});

const assertNone = (where: string, text: string): void => {
	for (const [name, secret] of secrets) assert.ok(!text.includes(secret), `${where} holds the ${name}`);
};

test('no line of the log holds one (catalog 75, 88)', () => {
	assert.ok(lines.filter((line) => line.includes('"path":"/auth/login"')).length >= 2, 'the log was seen');
	assertNone('the log', lines.join('\n'));
});

test('no row of the database holds one as text', async () => {
	const { database } = service.config;
	assert.ok(database);
	const { host, port, username: user, password, name } = database;
	const client = new pg.Client({ host, port, user, password, database: name });
	await client.connect();
	const tables = await client.query("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'");
	for (const { name: table } of tables.rows) {
		const { rows } = await client.query(`SELECT to_jsonb(t)::text AS row FROM "${table}" t`);
		assertNone(table, rows.map(({ row }) => row).join('\n'));
	}
	await client.end();
});

test('no answer holds one again', async () => {
	const headers = { authorization: `Bearer ${secrets.get('second token')}` };
	const org = account.organization.id;
	const gateways = (await send(`${service.url}/gateways`, 'GET', { headers })).body.data.gateways;
	const apis = (await send(`${service.url}/apis`, 'GET', { headers })).body.data.apis;
	const paths = [
		...['/gateways', '/apis', '/access-keys', '/audit-log', '/auth/profile', '/organizations', '/plugins'],
		...['tools', 'members', 'invitations'].map((part) => `/organizations/${org}/${part}`),
		...['', '/auth', '/auth/api-keys', '/tools'].map((part) => `/gateways/${gateways[0].id}${part}`),
		`/apis/${apis[0].id}`,
	];
	for (const path of paths) assertNone(path, JSON.stringify(must(await send(service.url + path, 'GET', { headers }), 200).body));
});
