// Tests of the whole flow of a client, from the gateway's URL to a tool call, and of what ends it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Scope } from '../../../core/index.ts';
import { openBrowser } from '../../../test/helpers/browser.ts';
import { addMember } from '../../../test/helpers/members.ts';
import {
	approve,
	authorizationUrl,
	obtainCode,
	obtainTokens,
	pkce,
	redeem,
	refresh,
	registerClient,
	sendForm,
} from '../../../test/helpers/oauth.ts';
import {
	type Account,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	sharedService,
} from '../../../test/helpers/service.ts';
import { MEANINGS } from './scopes.ts';

let service: SharedService;
let account: Account;
let url: string;
let gatewayId: string;

before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	const gateway = await publishGateway(account, { auth: 'oauth2' });
	[url, gatewayId] = [gateway.url, gateway.id];
});
after(() => service.stop());

const list = (token: string | null, at = url) =>
	send(at, 'POST', {
		body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
		headers: { accept: 'application/json, text/event-stream', ...(token !== null && { authorization: `Bearer ${token}` }) },
	});

test('a client registers, its user logs in and agrees, and its token opens the gateway', async () => {
	const { access } = await obtainTokens(url, account);
	must(await list(access), 200);
	must(await list(null), 401);
	must(await list(`${access}x`), 401);
});

test('a challenge leads to the metadata of the resource, and that to the metadata of the server', async () => {
	const refused = must(await list(null), 401);
	const [, resource = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
	const { body } = must(await send(resource, 'GET'), 200);
	assert.equal(body.resource, url);
	assert.deepEqual(body.authorization_servers, [url]);
	const inserted = new URL(url);
	for (const at of [
		`${url}/.well-known/oauth-authorization-server`,
		`${inserted.origin}/.well-known/oauth-authorization-server${inserted.pathname}`,
	]) {
		assert.equal(must(await send(at, 'GET'), 200).body.issuer, url);
	}
});

test('a user who has agreed is not asked again, unless the client asks for more', async () => {
	const client = await registerClient(url, { redirect_uris: ['https://claude.example/callback'] });
	const browser = openBrowser();
	await obtainCode(url, client, account, { browser, parameters: { scope: 'tools:read' } });
	const again = await browser.open(authorizationUrl(url, client, { code_challenge: pkce().challenge, scope: 'tools:read' }));
	assert.ok(again.left && again.url.searchParams.has('code'));
	const more = await browser.open(authorizationUrl(url, client, { code_challenge: pkce().challenge }));
	assert.match(more.html, /value="allow"/);
});

for (const [uri, method, isAsked] of [
	['http://127.0.0.1:4000/callback', 'none', true],
	['http://localhost:4000/callback', 'none', true],
	['https://localhost/callback', 'none', true],
	['cursor://anysphere.cursor-mcp/oauth/callback', 'none', true],
	['https://claude.example/callback', 'none', false],
	['http://127.0.0.1:4000/callback', 'client_secret_post', false],
	['cursor://anysphere.cursor-mcp/oauth/callback', 'client_secret_basic', false],
] as const) {
	const whether = isAsked ? 'is asked again, since any program may ask in its name' : 'is not asked again';
	test(`who has agreed to ${uri} of a client with the method ${method} ${whether} (RFC 8252 §8.6)`, async () => {
		const client = await registerClient(url, { redirect_uris: [uri], token_endpoint_auth_method: method });
		const browser = openBrowser();
		await obtainCode(url, client, account, { browser });
		const again = await browser.open(authorizationUrl(url, client, { code_challenge: pkce().challenge }));
		assert.equal(again.left, !isAsked);
		if (isAsked) assert.match(again.html, /value="allow"/);
	});
}

test('who has agreed to one address of a client is asked again for another, and each has the scopes agreed to for it', async () => {
	const uris = ['https://claude.example/callback', 'https://other.example/callback'] as const;
	const metadata = { redirect_uris: [...uris, 'http://127.0.0.1:4000/callback'], token_endpoint_auth_method: 'client_secret_post' };
	const client = await registerClient(url, metadata);
	const browser = openBrowser();
	await obtainCode(url, client, account, { browser });
	const ask = (uri: string, scope: string) =>
		browser.open(authorizationUrl(url, client, { code_challenge: pkce().challenge, redirect_uri: uri, scope }));
	const other = await ask(uris[1], 'tools:read');
	assert.ok(!other.left && other.html.includes('other.example'));
	const agreed = await browser.press(other, 'allow');
	assert.ok(agreed.left && agreed.url.origin === 'https://other.example' && agreed.url.searchParams.has('code'));
	for (const [uri, scope, isAsked] of [
		[uris[0], 'tools:read tools:execute', false],
		[uris[1], 'tools:read', false],
		[uris[1], 'tools:read tools:execute', true],
		['http://127.0.0.1:4000/callback', 'tools:read', true],
	] as const)
		assert.equal((await ask(uri, scope)).left, !isAsked, `${uri} ${scope}`);
	const program = await ask('http://127.0.0.1:4000/callback', 'tools:read');
	assert.ok((await browser.press(program, 'allow')).left);
	// A program on the user's computer has another port each time.
	assert.ok((await ask('http://127.0.0.1:5000/callback', 'tools:read')).left);
});

test('a redemption need not name the redirect URI; one that names another is refused, and costs the code nothing', async () => {
	const client = await registerClient(url);
	const { code, verifier } = await obtainCode(url, client, account);
	const fields = { grant_type: 'authorization_code', code, code_verifier: verifier, client_id: client.id };
	const other = must(await sendForm(`${url}/token`, { ...fields, redirect_uri: `${client.redirectUri}x` }), 400);
	assert.deepEqual(
		[other.body.error, other.body.error_description],
		['invalid_grant', 'redirect_uri is not the one that the code was requested with'],
	);
	const { code_verifier: _none, ...unproven } = fields;
	assert.equal(must(await sendForm(`${url}/token`, unproven), 400).body.error, 'invalid_grant');
	must(await sendForm(`${url}/token`, fields), 200);
});

test('a token has the scopes that were asked for', async () => {
	const { access } = await obtainTokens(url, account, { scope: 'tools:execute' });
	const refused = must(await list(access), 403);
	assert.match(
		refused.headers.get('www-authenticate') ?? '',
		/error="insufficient_scope", resource_metadata="[^"]+", scope="tools:execute tools:read"/,
	);
});

/** Scopes that a client asks for, and those that it is granted. */
const ASKED: [asked: string | null, got: string][] = [
	[null, 'tools:read tools:execute'],
	['claudeai', 'tools:read tools:execute'],
	['openid profile email', 'tools:read tools:execute'],
	['offline_access tools:read tools:execute', 'tools:read tools:execute'],
	[' tools:read', 'tools:read'],
	['tools:read claudeai', 'tools:read'],
	['gateway:read TOOLS:EXECUTE constructor __proto__', 'gateway:read'],
];

for (const [asked, got] of ASKED) {
	test(`who asks for ${asked ?? 'nothing'} gets ${got}, on the page and in each answer (RFC 6749 §3.3)`, async () => {
		const client = await registerClient(url);
		const { verifier, challenge } = pkce();
		const browser = openBrowser();
		const login = await browser.open(authorizationUrl(url, client, { code_challenge: challenge, scope: asked }));
		const page = await browser.press(login, 'login', { email: account.email, password: account.password });
		const shown = [...page.html.matchAll(/<li>(.*?)<\/li>/g)].map(([, text]) => text);
		assert.deepEqual(
			shown,
			got.split(' ').map((scope) => MEANINGS[scope as Scope]),
		);
		const code = (await browser.press(page, 'allow')).url.searchParams.get('code') ?? assert.fail('no code');
		const { body: first } = must(await redeem(url, client, { code, verifier }), 200);
		const { body: next } = must(await refresh(url, client, first.refresh_token), 200);
		assert.deepEqual([first.scope, next.scope], [got, got]);
		const refused = must(await refresh(url, client, next.refresh_token, { scope: `${got} claudeai` }), 400);
		assert.equal(refused.body.error, 'invalid_scope');
		assert.equal(must(await refresh(url, client, next.refresh_token, { scope: got }), 200).body.scope, got);
	});
}

test('a refresh token gives a new pair; a removed member has neither', async () => {
	const member = await addMember(account, 'member');
	const client = await registerClient(url);
	const first = must(await redeem(url, client, await obtainCode(url, client, member)), 200).body;
	const { body: second } = must(await refresh(url, client, first.refresh_token), 200);
	must(await list(second.access_token), 200);
	const { id } = must(await member.get('/auth/profile'), 200).body.data;
	must(await account.del(`/organizations/${account.organization.id}/members/${id}`), 200);
	must(await list(second.access_token), 401);
	assert.equal(must(await refresh(url, client, second.refresh_token), 400).body.error, 'invalid_grant');
});

test('revoking a refresh token ends its access tokens', async () => {
	const { access, refresh: token, client } = await obtainTokens(url, account);
	must(await list(access), 200);
	must(await sendForm(`${url}/revoke`, { token, client_id: client.id }), 200);
	must(await list(access), 401);
});

test('owners see clients, grants and consents, and end them', async () => {
	const { access, client } = await obtainTokens(url, account);
	const { clients } = must(await account.get(`/gateways/${gatewayId}/oauth/clients`), 200).body.data;
	assert.ok(clients.some(({ clientId }: { clientId: string }) => clientId === client.id));
	const { grants } = must(await account.get(`/gateways/${gatewayId}/oauth/grants`), 200).body.data;
	assert.equal(grants.at(-1).clientId, client.id);
	must(await account.del(`/gateways/${gatewayId}/oauth/clients/${client.id}`), 200);
	must(await list(access), 401);
});

test('a user who is no member is told so, and may log in with another account', async () => {
	const stranger = await registerAccount(service.url);
	const client = await registerClient(url);
	const browser = openBrowser();
	const end = await approve(authorizationUrl(url, client, { code_challenge: pkce().challenge }), stranger, browser);
	assert.equal(end.status, 403);
	const login = await browser.press(end, 'switch');
	const { email, password } = account;
	const agreed = await browser.press(await browser.press(login, 'login', { email, password }), 'allow');
	assert.ok(agreed.left);
});

test('a program that asks for JSON is told that its registration is gone; a person sees a page', async () => {
	const asked = authorizationUrl(url, { id: 'gone', secret: null, redirectUri: 'http://127.0.0.1/' }, { code_challenge: pkce().challenge });
	const told = must(await send(asked.href, 'GET', { headers: { accept: 'application/json' } }), 401);
	assert.equal(told.body.error, 'invalid_client');
	for (const accept of ['text/html,application/json', '*/*']) {
		const shown = must(await send(asked.href, 'GET', { headers: { accept } }), 400);
		assert.match(shown.headers.get('content-type') ?? '', /^text\/html/);
	}
});
