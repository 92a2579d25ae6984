// Tests the requirements of MCP's authorization (2025-11-25, 2026-07-28) for resource servers and authorization servers, each MUST in a
// test: the titles name the section.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser } from '../helpers/browser.ts';
import { ask, bearer, CALL, LIST, MCP } from '../helpers/gateway-auth.ts';
import { authorizationUrl, obtainCode, obtainTokens, pkce, redeem, refresh, registerClient } from '../helpers/oauth.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, send, sharedService } from '../helpers/service.ts';

let service: SharedService;
let account: Account;
let url: string;
let access: string;
/** Returns the address of the gateway's metadata: the well-known name inserted before its path. */
let inserted: (name: string) => string;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	({ url } = await publishGateway(account, { auth: 'oauth2' }));
	({ access } = await obtainTokens(url, account));
	const { origin, pathname } = new URL(url);
	inserted = (name) => `${origin}/.well-known/${name}${pathname}`;
});
after(() => service.stop());

/** Returns the parameters of a Bearer challenge. */
function challengeOf({ headers }: { headers: Headers }): Record<string, string> {
	const value = headers.get('www-authenticate') ?? '';
	assert.match(value, /^Bearer /);
	return Object.fromEntries([...value.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, text]) => [name, text]));
}

const metadata = async () => must(await send(inserted('oauth-protected-resource'), 'GET'), 200).body;
const serverMetadata = async () => must(await send(inserted('oauth-authorization-server'), 'GET'), 200).body;
const tokenOf = async (scope: string): Promise<string> => (await obtainTokens(url, account, { scope })).access;

test('Authorization Server Location: protected resource metadata are there, and name the server', async () => {
	const document = await metadata();
	assert.equal(document.resource, url);
	assert.deepEqual(document.authorization_servers, [url]);
	assert.deepEqual(document.bearer_methods_supported, ['header']);
	assert.deepEqual(document.scopes_supported.slice(0, 2), ['tools:read', 'tools:execute']);
	const answer = await send(`${url}/.well-known/oauth-protected-resource`, 'GET');
	assert.deepEqual(answer.body, document);
	assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
});

test('Protected Resource Metadata Discovery: a 401 names the metadata, and their resource is the URL that was asked (RFC 9728 §3.3)', async () => {
	const { resource_metadata = '' } = challengeOf(must(await ask(url), 401));
	assert.equal(must(await send(resource_metadata, 'GET'), 200).body.resource, url);
});

test('Protected Resource Metadata Discovery: so do they in each spelling of the address, and a token for it opens the gateway', async () => {
	const { origin, pathname } = new URL(url);
	const client = await registerClient(url);
	for (const path of [`${pathname}/`, `/@${pathname.slice(1)}`, `/@${pathname.slice(1)}/`]) {
		const spelled = origin + path;
		const { resource_metadata = '' } = challengeOf(must(await ask(spelled), 401));
		for (const at of [resource_metadata, `${origin}/.well-known/oauth-protected-resource${path}`]) {
			const { body } = must(await send(at, 'GET'), 200);
			assert.deepEqual([body.resource, body.authorization_servers], [spelled, [url]], at);
		}
		const code = await obtainCode(url, client, account, { parameters: { scope: 'tools:read', resource: spelled } });
		const reads = bearer(must(await redeem(url, client, code), 200).body.access_token);
		must(await ask(spelled, reads), 200);
		const lacking = challengeOf(must(await ask(spelled, reads, CALL), 403));
		assert.equal(lacking['resource_metadata'], resource_metadata);
	}
	const suffixed = `${origin}/@${pathname.slice(1)}/.well-known/oauth-protected-resource`;
	assert.equal(must(await send(suffixed, 'GET'), 200).body.resource, `${origin}/@${pathname.slice(1)}`);
});

test('Protected Resource Metadata Discovery: a 401 names the scopes that are needed', async () => {
	assert.equal(challengeOf(must(await ask(url), 401))['scope'], 'tools:read tools:execute');
});

test('Token Handling: a request without a token gets a challenge without an error (RFC 6750 §3.1)', async () => {
	const none: Record<string, string>[] = [{}, { authorization: 'Basic YTpi' }, { authorization: 'Bearer' }];
	for (const headers of none) {
		const challenge = challengeOf(must(await ask(url, headers), 401));
		assert.equal(challenge['error'], undefined, JSON.stringify(headers));
	}
});

test('Token Handling: an invalid token is answered with 401 and invalid_token', async () => {
	const [id = '', secret = ''] = access.split('.');
	const bad = ['nothing', `${access}x`, `${id}.${'A'.repeat(43)}`, `${id}x.${secret}`, secret, 'x'.repeat(7000)];
	for (const token of bad)
		assert.equal(challengeOf(must(await ask(url, bearer(token)), 401))['error'], 'invalid_token', token.slice(0, 50));
});

test('Token Handling: the answer to an invalid token reveals nothing more about it', async () => {
	const { headers, body } = must(await ask(url, bearer(`${access}x`)), 401);
	assert.ok(!`${headers.get('www-authenticate')}${JSON.stringify(body)}`.includes(access));
});

test('Token Requirements: the scheme is read in any case (RFC 9110 §11.1)', async () => {
	for (const scheme of ['Bearer', 'bearer', 'BEARER']) must(await ask(url, { authorization: `${scheme} ${access}` }), 200);
});

test('Token Requirements: a token in the query, in a form or in a cookie is none', async () => {
	for (const name of ['access_token', 'api_key', 'token'])
		assert.equal(challengeOf(must(await ask(`${url}?${name}=${access}`), 401))['error'], undefined);
	must(await ask(url, { cookie: `access_token=${access}` }), 401);
	must(await ask(url, { 'x-api-key': access }), 401);
	const form = new URLSearchParams({ access_token: access }).toString();
	must(await send(url, 'POST', { body: form, headers: { ...MCP, 'content-type': 'application/x-www-form-urlencoded' } }), 401);
});

test('Token Requirements: each request has to bring it, also within one session', async () => {
	const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize' };
	const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'probe', version: '1' } };
	const opened = must(await ask(url, bearer(access), { ...initialize, params }), 200);
	const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
	must(await ask(url, { ...session, ...bearer(access) }), 200);
	must(await ask(url, session), 401);
});

test('Token Audience Binding: a token of another gateway is invalid here, and one of the management API, too', async () => {
	const { url: other } = await publishGateway(account, { auth: 'oauth2' });
	const { access: foreign } = await obtainTokens(other, account);
	must(await ask(other, bearer(foreign)), 200);
	for (const token of [foreign, account.token])
		assert.equal(challengeOf(must(await ask(url, bearer(token)), 401))['error'], 'invalid_token');
});

test('Token Audience Binding: a token of the gateway is none of the management API', async () => {
	must(await send(`${service.url}/auth/profile`, 'GET', { headers: bearer(access) }), 401);
	must(await send(`${service.url}/gateways`, 'GET', { headers: bearer(access) }), 401);
});

test('Resource Parameter Implementation: `resource` names the gateway at both endpoints, and nothing else', async () => {
	const client = await registerClient(url);
	const browser = openBrowser();
	const code = await obtainCode(url, client, account, { browser, parameters: { resource: url } });
	const { body } = must(await redeem(url, client, code), 200);
	must(await refresh(url, client, body.refresh_token, { resource: url }), 200);
	const foreign = authorizationUrl(url, client, { code_challenge: pkce().challenge, resource: `${url}/mcp` });
	assert.equal((await browser.open(foreign)).url.searchParams.get('error'), 'invalid_target');
	const again = await refresh(url, client, body.refresh_token, { resource: 'https://other.example' });
	assert.equal(must(again, 400).body.error, 'invalid_target');
});

test('Runtime Insufficient Scope Errors: 403 with insufficient_scope, the metadata, and all scopes that are needed at once', async () => {
	const reads = await tokenOf('tools:read');
	must(await ask(url, bearer(reads)), 200);
	const refused = challengeOf(must(await ask(url, bearer(reads), CALL), 403));
	assert.equal(refused['error'], 'insufficient_scope');
	assert.deepEqual(refused['scope']?.split(' ').sort(), ['tools:execute', 'tools:read']);
	assert.equal(must(await send(refused['resource_metadata'] ?? '', 'GET'), 200).body.resource, url);
});

test('Runtime Insufficient Scope Errors: no scope stands for another', async () => {
	for (const [scope, listed, called] of [
		['tools:read', 200, 403],
		['tools:execute', 403, 200],
		['gateway:read', 403, 403],
	] as const) {
		const token = await tokenOf(scope);
		const statuses = [(await ask(url, bearer(token), LIST)).status, (await ask(url, bearer(token), CALL)).status];
		assert.deepEqual(statuses, [listed, called], scope);
	}
});

test('Step-Up Authorization Flow: who is asked for more gets a token for it', async () => {
	const client = await registerClient(url);
	const browser = openBrowser();
	const first = must(
		await redeem(url, client, await obtainCode(url, client, account, { browser, parameters: { scope: 'tools:read' } })),
		200,
	);
	const { scope = '' } = challengeOf(must(await ask(url, bearer(first.body.access_token), CALL), 403));
	const second = must(await redeem(url, client, await obtainCode(url, client, account, { browser, parameters: { scope } })), 200);
	assert.notEqual((await ask(url, bearer(second.body.access_token), CALL)).status, 403);
	must(await ask(url, bearer(first.body.access_token)), 200);
});

test('Refresh Tokens: `offline_access` is in no challenge and in no metadata', async () => {
	const challenges = [(await ask(url)).headers, (await ask(url, bearer('bad'))).headers].map((headers) => headers.get('www-authenticate'));
	assert.ok(!JSON.stringify([await metadata(), await serverMetadata(), challenges]).includes('offline_access'));
});

test('Refresh Tokens: those of public clients rotate (OAuth 2.1 §4.3.1), and only who registers for them gets them', async () => {
	const { refresh: first, client } = await obtainTokens(url, account);
	assert.notEqual(must(await refresh(url, client, first), 200).body.refresh_token, first);
	const still = await registerClient(url, { grant_types: ['authorization_code'] });
	const { body } = must(await redeem(url, still, await obtainCode(url, still, account)), 200);
	assert.equal(body.refresh_token, undefined);
});

test('Authorization Code Protection: the metadata name S256 and no other method (RFC 8414 §2)', async () => {
	assert.deepEqual((await serverMetadata()).code_challenge_methods_supported, ['S256']);
});

test('Authorization Server Metadata Discovery: the issuer is what the client began with, and each endpoint answers', async () => {
	const document = await serverMetadata();
	assert.equal(document.issuer, url);
	assert.equal(document.authorization_response_iss_parameter_supported, true);
	assert.equal(document.client_id_metadata_document_supported, true);
	for (const [method, name] of [
		['GET', 'authorization_endpoint'],
		['POST', 'token_endpoint'],
		['POST', 'registration_endpoint'],
		['POST', 'revocation_endpoint'],
	] as const)
		assert.equal((await send(document[name], method)).status, 400, name);
});

test('Communication Security: the token endpoint’s answers are not stored (OAuth 2.1 §3.2.3)', async () => {
	const client = await registerClient(url);
	const code = await obtainCode(url, client, account);
	const { headers, body } = must(await redeem(url, client, code), 200);
	assert.equal(headers.get('cache-control'), 'no-store');
	assert.equal(body.token_type, 'Bearer');
	assert.equal((await redeem(url, client, code)).headers.get('cache-control'), 'no-store');
});

test('Browser-based clients: a page of another origin may read metadata and challenge, and register and redeem', async () => {
	const origin = 'https://client.example';
	for (const [method, at] of [
		['GET', inserted('oauth-protected-resource')],
		['GET', inserted('oauth-authorization-server')],
		['POST', `${url}/register`],
		['POST', `${url}/token`],
	] as const) {
		const { headers } = await send(at, method, { headers: { origin } });
		assert.ok(['*', origin].includes(headers.get('access-control-allow-origin') ?? ''), at);
		assert.equal(headers.get('access-control-allow-credentials'), null, at);
	}
});
