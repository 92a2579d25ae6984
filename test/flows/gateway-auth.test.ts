// Tests the authentication of a gateway as a whole (specification 5.2, 7): several methods, the challenges of each answer, scopes,
// replicas, logs.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PIPELINE_CASES, type Presented, SCOPE_CASES } from '../catalog/identity.ts';
import { ask, basic, bearer, CALL, type GuardedGateway, guardedGateway, hs256, issuerKey, startIssuer } from '../helpers/gateway-auth.ts';
import { modernRequest } from '../helpers/mcp.ts';
import { addMember } from '../helpers/members.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	registerAccount,
	SECRETS,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';

const TOKEN = 'the-owners-own-token';
const SECRET = 'm'.repeat(40);

const lines: string[] = [];
let service: TestService;
let second: TestService;
let account: Account;
before(async () => {
	service = await startTestService({ onLog: (line) => void lines.push(line) });
	second = await startTestService({ replicaOf: service });
	account = await registerAccount(service.url);
});
after(async () => {
	await second.stop();
	await service.stop();
});

const keyOf = async ({ id }: { id: string }, scopes?: string[]): Promise<string> =>
	must(await account.post(`/gateways/${id}/auth/api-keys`, { name: 'k', ...(scopes && { scopes }) }), 201).body.data.key;

const asked = (answer: Answer): string | null => answer.headers.get('www-authenticate');

describe('several methods (5.2 rules 3 and 4; decisions, 22)', () => {
	const present = (what: Presented, key: string): [headers: Record<string, string>, query: string] => {
		const secret = (how: string): string => (how === 'good' ? key : `${key.slice(0, -1)}_`);
		return [
			{
				...(what['x-api-key'] && { 'x-api-key': secret(what['x-api-key']) }),
				...(what.bearer && bearer(secret(what.bearer))),
				...(what.basic && basic(account.email, what.basic === 'good' ? account.password : 'Wrong1Horse')),
			},
			what.query ? `?api_key=${secret(what.query)}` : '',
		];
	};

	for (const { row, methods: names, presented, status } of PIPELINE_CASES) {
		test(`${row}: [${names}] answers ${JSON.stringify(presented)} with ${status}`, async () => {
			const gateway = await guardedGateway(
				account,
				names.map((name) => ({
					type: name.replace(/\W/, ''),
					isRequired: !name.endsWith('?'),
					validationRules: name.endsWith('!') ? { allowedIpRanges: ['203.0.113.0/24'] } : {},
				})),
			);
			const [headers, query] = present(presented, await keyOf(gateway));
			const answer = await ask(gateway.url + query, headers);
			assert.equal(answer.status, status, JSON.stringify(answer.body));
			assert.equal(asked(answer) !== null, status === 401);
		});
	}
});

describe('what an answer asks for (RFC 9110 §11.6.1, RFC 6750 §3)', () => {
	let gateway: GuardedGateway;
	before(async () => {
		gateway = await guardedGateway(account, [
			{ type: 'basic_auth' },
			{ type: 'jwt', configuration: { secret: SECRET } },
			{ type: 'api_key' },
			{ type: 'bearer_token', configuration: { token: TOKEN } },
		]);
	});
	const realm = (): string => `realm="${gateway.url}"`;

	test('a 401 names what could be presented: each challenge once, Bearer first (decisions, 26)', async () => {
		const answer = await ask(gateway.url);
		assert.equal(answer.status, 401);
		assert.equal(asked(answer), `Bearer ${realm()}, Basic ${realm()}, charset="UTF-8"`);
	});

	test('only the challenge of a method whose credential was sent and was bad says so', async () => {
		const bad = `Bearer ${realm()}, error="invalid_token", Basic ${realm()}, charset="UTF-8"`;
		assert.equal(asked(await ask(gateway.url, bearer('x'))), bad);
		assert.equal(asked(await ask(gateway.url, { 'x-api-key': 'x' })), bad);
		assert.equal(asked(await ask(`${gateway.url}?api_key=x`)), bad);
		const wrong = await ask(gateway.url, basic(account.email, 'Wrong1Horse'));
		assert.equal(asked(wrong), `Bearer ${realm()}, Basic ${realm()}, charset="UTF-8"`);
	});

	test('a method without a challenge, and a gateway without a method, ask for Bearer', async () => {
		const bare = await guardedGateway(account, []);
		assert.equal(asked(await ask(bare.url)), 'Bearer');
	});

	test('one of each method alone', async () => {
		const alone: Record<string, (url: string) => string> = {
			api_key: (url) => `Bearer realm="${url}"`,
			bearer_token: (url) => `Bearer realm="${url}"`,
			jwt: (url) => `Bearer realm="${url}"`,
			basic_auth: (url) => `Basic realm="${url}", charset="UTF-8"`,
		};
		for (const [type, challenge] of Object.entries(alone)) {
			const { url } = await guardedGateway(account, [{ type }]);
			assert.equal(asked(await ask(url)), challenge(url), type);
		}
	});

	test('neither the answer nor its message tells which part of a credential was wrong', async () => {
		const { url } = await guardedGateway(account, [{ type: 'basic_auth' }]);
		const [wrong, unknown] = [
			await ask(url, basic(account.email, 'Wrong1Horse')),
			await ask(url, basic('nobody@example.com', 'Wrong1Horse')),
		];
		assert.deepEqual({ ...wrong.body, requestId: '' }, { ...unknown.body, requestId: '' });
		assert.equal(asked(wrong), asked(unknown));
	});
});

describe('403 insufficient_scope (RFC 6750 §3.1; MCP authorization)', () => {
	const eras: Record<string, (method: string, params?: Record<string, unknown>) => [object, Record<string, string>]> = {
		'2025-11-25': (method, params = {}) => [{ jsonrpc: '2.0', id: 1, method, params }, {}],
		'2026-07-28': modernRequest,
	};
	for (const [era, message] of Object.entries(eras)) {
		test(`${era}: the header asks for what the caller has and the scope that is missing, in the words of the method that let it in`, async () => {
			const gateway = await guardedGateway(account, [{ type: 'basic_auth' }, { type: 'bearer_token' }, { type: 'api_key' }]);
			const key = await keyOf(gateway, ['gateway:read']);
			const acts = { 'tools/list': ['tools:read', {}], 'tools/call': ['tools:execute', { name: 'x', arguments: {} }] } as const;
			for (const [method, [scope, params]] of Object.entries(acts)) {
				const [body, headers] = message(method, params);
				const answer = await ask(gateway.url, { ...headers, 'x-api-key': key }, body);
				assert.equal(answer.status, 403, JSON.stringify(answer.body));
				assert.equal(asked(answer), `Bearer realm="${gateway.url}", error="insufficient_scope", scope="gateway:read ${scope}"`);
			}
		});

		test(`${era}: a method that knows no Bearer tokens asks for none`, async () => {
			const gateway = await guardedGateway(account, [{ type: 'basic_auth' }, { type: 'api_key' }]);
			const viewer = await addMember(account, 'viewer');
			const [body, headers] = message('tools/call', { name: 'x', arguments: {} });
			const byPassword = await ask(gateway.url, { ...headers, ...basic(viewer.email, viewer.password) }, body);
			assert.deepEqual([byPassword.status, asked(byPassword)], [403, null]);
			const byToken = await ask(gateway.url, { ...headers, ...bearer(viewer.token) }, body);
			assert.equal(byToken.status, 403);
			assert.match(asked(byToken) ?? '', /error="insufficient_scope", scope="[^"]*tools:execute"$/);
		});
	}

	for (const { row, scopes, lists, calls } of SCOPE_CASES) {
		test(`${row}: a key of ${scopes.join(' and ')} ${lists ? 'lists' : 'does not list'} and ${calls ? 'calls' : 'does not call'}`, async () => {
			for (const type of ['api_key', 'bearer_token']) {
				const gateway = await guardedGateway(account, [{ type }]);
				const headers = bearer(await keyOf(gateway, scopes));
				assert.equal((await ask(gateway.url, headers)).status, lists ? 200 : 403, type);
				assert.equal((await ask(gateway.url, headers, CALL)).status, calls ? 200 : 403, type);
			}
		});
	}
});

describe('a change is effective on another replica within a second', () => {
	const there = (url: string): string => second.url + new URL(url).pathname;

	test('a method that is removed, and one that takes its place with another configuration', async () => {
		const gateway = await guardedGateway(account, [{ type: 'bearer_token', configuration: { token: TOKEN } }]);
		const statusOf = async (token: string): Promise<number> => (await ask(there(gateway.url), bearer(token))).status;
		assert.equal(await statusOf(TOKEN), 200);
		must(await account.del(`/gateways/${gateway.id}/auth/${gateway.authIds[0]}`), 200);
		await soon(async () => (await statusOf(TOKEN)) === 401, 'removal');
		must(await account.post(`/gateways/${gateway.id}/auth`, { type: 'bearer_token', configuration: { token: `${TOKEN}-2` } }), 201);
		await soon(async () => (await statusOf(`${TOKEN}-2`)) === 200, 'another token');
		assert.equal(await statusOf(TOKEN), 401);
	});

	test('a JWT secret that is replaced: tokens that were remembered are refused', async () => {
		const gateway = await guardedGateway(account, [{ type: 'jwt', configuration: { secret: SECRET } }]);
		const token = hs256({ sub: 'a' }, SECRET);
		const status = async (): Promise<number> => (await ask(there(gateway.url), bearer(token))).status;
		assert.equal(await status(), 200);
		must(await account.del(`/gateways/${gateway.id}/auth/${gateway.authIds[0]}`), 200);
		must(await account.post(`/gateways/${gateway.id}/auth`, { type: 'jwt', configuration: { secret: 'n'.repeat(40) } }), 201);
		await soon(async () => (await status()) === 401, 'another secret');
	});

	test('a key that is revoked, at api_key and at bearer_token', async () => {
		for (const type of ['api_key', 'bearer_token']) {
			const gateway = await guardedGateway(account, [{ type }]);
			const path = `/gateways/${gateway.id}/auth/api-keys`;
			const { id, key } = must(await account.post(path, { name: 'k' }), 201).body.data;
			assert.equal((await ask(there(gateway.url), bearer(key))).status, 200);
			must(await account.del(`${path}/${id}`), 200);
			await soon(async () => (await ask(there(gateway.url), bearer(key))).status === 401, type);
		}
	});

	test('a password that is changed, a login that ends, a member who is removed', async () => {
		const gateway = await guardedGateway(account, [{ type: 'basic_auth' }, { type: 'jwt' }]);
		const member = await addMember(account, 'member');
		const byPassword = async (): Promise<number> => (await ask(there(gateway.url), basic(member.email, member.password))).status;
		const byToken = async (): Promise<number> => (await ask(there(gateway.url), bearer(member.token))).status;
		assert.deepEqual([await byPassword(), await byToken()], [200, 200]);
		const { userId } = must(await account.get(`/organizations/${account.organization.id}/members`), 200).body.data.members.find(
			({ email }: { email: string }) => email === member.email,
		);
		must(await account.del(`/organizations/${account.organization.id}/members/${userId}`), 200);
		// jwt is the last method tried, and finds no credential when a password is sent.
		await soon(async () => (await byPassword()) !== 200 && (await byToken()) === 403, 'removal');
		const other = await addMember(account, 'member');
		const its = async (): Promise<number> => (await ask(there(gateway.url), basic(other.email, other.password))).status;
		assert.equal(await its(), 200);
		must(await other.patch('/auth/change-password', { currentPassword: other.password, newPassword: 'Another1Horse' }), 200);
		await soon(async () => (await its()) === 401, 'another password');
	});

	test('a rule that comes with a method', async () => {
		const gateway = await guardedGateway(account, [{ type: 'none' }]);
		assert.equal((await ask(there(gateway.url))).status, 200);
		must(await account.del(`/gateways/${gateway.id}/auth/${gateway.authIds[0]}`), 200);
		must(await account.post(`/gateways/${gateway.id}/auth`, { type: 'none', validationRules: { requiredHeaders: ['X-Team'] } }), 201);
		await soon(async () => (await ask(there(gateway.url))).status === 403, 'rule');
	});
});

test('a page of another site runs no tool of a gateway on its user’s own machine, over any transport', async () => {
	const tool = await createHttpTool(account, { name: 'says', url: `${service.url}/health` });
	const card = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } };
	for (const [type, path, body] of [
		['utcp', '/tools/says', {}],
		['skills', '/tools/says', {}],
		['a2a', '', card],
		['mcp', '', CALL],
	] as const) {
		const { url } = await guardedGateway(account, [{ type: 'none' }], [tool], type);
		const from = async (origin: string): Promise<number> =>
			(await send(url + path, 'POST', { body, headers: { origin, accept: 'application/json, text/event-stream' } })).status;
		assert.equal(await from('https://evil.example'), 403, type);
		assert.equal(await from('http://localhost:5173'), 200, type);
	}
});

test('75: no line of the log holds a credential, wherever it was sent and whatever became of it', async (t) => {
	const issuer = await startIssuer(t);
	issuer.answer((response) => void response.writeHead(500).end());
	const all = [
		{ type: 'bearer_token', configuration: { token: TOKEN } },
		{ type: 'basic_auth' },
		{ type: 'jwt', configuration: { secret: SECRET } },
	];
	const gateway = await guardedGateway(account, [...all, { type: 'jwt', configuration: { jwksUrl: `${issuer.url}?canary-of-the-url` } }]);
	const key = await keyOf(gateway);
	const wrong = 'svc_gw_canary-that-is-wrong';
	const token = hs256({ sub: 'canary' }, SECRET);
	const unread = issuerKey('RS256', 'k').token({ sub: 'a' });
	const password = basic(account.email, account.password).authorization ?? '';
	for (const path of ['', '/no/such/path', '/.well-known/x']) {
		for (const secret of [key, wrong, TOKEN, token]) {
			for (const method of ['api_key', 'API_KEY', 'access_token']) await ask(`${gateway.url}${path}?a=b&${method}=${secret}`);
			await ask(gateway.url + path, { ...bearer(secret), referer: `https://x.example/?api_key=${secret}` });
		}
		await ask(gateway.url + path, { authorization: password });
		// A discovery document that does not exist is a 404 without a challenge.
		assert.equal((await ask(gateway.url + path, bearer(unread))).status, path === '/.well-known/x' ? 404 : 503);
	}
	await ask(`${gateway.url}?api_key=${key}`, { accept: 'text/nothing' });
	const log = lines.join('\n');
	assert.ok(log.includes(new URL(gateway.url).pathname), 'the log was seen');
	assert.ok(log.includes('the keys of a JWT issuer could not be read'), 'the log was seen');
	const secrets = {
		key,
		wrong,
		TOKEN,
		SECRET,
		token,
		unread,
		password: password.slice(6),
		plain: account.password,
		server: SECRETS.JWT_SECRET,
	};
	for (const [name, secret] of Object.entries(secrets)) assert.ok(!log.includes(secret), `the log holds: ${name}`);
	assert.ok(!log.includes('canary-of-the-url'));
});
