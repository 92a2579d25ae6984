// OAuth at the universal endpoint: its issuer, the choice of the organization, and what its tokens reach and lose.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
	CHALLENGE_CASES,
	LOCALHOST,
	LOOPBACK,
	LOOPBACK_6,
	QUERIED,
	REDIRECT_CASES,
	REGISTRATION_CASES,
	VERIFIER_CASES,
	WEB,
} from '../catalog/oauth.ts';
import { startPets } from '../clients/pets.ts';
import { openBrowser } from '../helpers/browser.ts';
import { addMember, join } from '../helpers/members.ts';
import {
	approve,
	authorizationUrl,
	METADATA,
	type OAuthClient,
	obtainCode,
	obtainTokens,
	pkce,
	redeem,
	refresh,
	registerClient,
	sendForm,
} from '../helpers/oauth.ts';
import { claimsOf, publishSigner, redemption, SIGNING, signedBy } from '../helpers/oauth-signers.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';
import { TOOL } from './oauth-clients.ts';
import { createMemory, lastAsked, PINNED, SDKS, signInAt } from './oauth-clients-sdk.ts';

let service: TestService;
let replica: TestService;
let pets: Awaited<ReturnType<typeof startPets>>;
let account: Account;
/** A member of `account`'s organization, who has one of their own, too. */
let ada: Account;
let url: string;
let client: OAuthClient;

before(async () => {
	pets = await startPets();
	// Both replicas are one issuer, as behind a load balancer.
	service = await startTestService();
	replica = await startTestService({ replicaOf: service, env: { PUBLIC_URL: service.url } });
	url = `${service.url}/mcp`;
	account = await registerAccount(service.url, 'Acme & Co');
	await publish(account, TOOL);
	ada = await registerAccount(service.url);
	await publish(ada, 'hers');
	await join(account, ada, 'member');
	client = await registerClient(url, { redirect_uris: [WEB, QUERIED, LOOPBACK, LOOPBACK_6, LOCALHOST] });
});
after(async () => {
	await replica?.stop();
	await service?.stop();
	pets?.close();
});

const publish = async (owner: Account, name: string): Promise<{ id: string }> =>
	publishGateway(owner, { toolIds: [await createHttpTool(owner, { name, url: `${pets.origin}/pets/good` })] });

const ask = (
	token: string,
	method = 'tools/list',
	{ at = service, params = {}, headers = {} as Record<string, string> } = {},
): Promise<Answer> =>
	send(`${at.url}/mcp`, 'POST', {
		body: { jsonrpc: '2.0', id: 1, method, params },
		headers: { accept: 'application/json, text/event-stream', authorization: `Bearer ${token}`, ...headers },
	});
const namesOf = ({ body }: Answer): string[] => body.result.tools.map(({ name }: { name: string }) => name);
const faultOf = ({ status, body }: Answer): string => `${status} ${body?.error}`;

/** Allows a client of this URL as somebody with several organizations. @returns the code and its verifier, or the page */
async function choose(person: Account, organizationId: string | null, one: OAuthClient, parameters: Record<string, string> = {}) {
	const { verifier, challenge } = pkce();
	const browser = openBrowser();
	const login = await browser.open(authorizationUrl(url, one, { code_challenge: challenge, ...parameters }));
	const asked = await browser.press(login, 'login', { email: person.email, password: person.password });
	const end = await browser.press(asked, 'allow', { organization: organizationId ?? '' });
	return { asked, end, verifier, code: end.url.searchParams.get('code') ?? '' };
}

async function tokensIn(person: Account, organizationId: string, one = client): Promise<{ access: string; refresh: string }> {
	const { body } = must(await redeem(url, one, await choose(person, organizationId, one)), 200);
	return { access: body.access_token, refresh: body.refresh_token };
}

describe('the documents', () => {
	test('are at each of their addresses, the same on both replicas, for an issuer that is the URL of the endpoint', async () => {
		const server = must(await send(`${url}/.well-known/oauth-authorization-server`, 'GET'), 200).body;
		assert.deepEqual([server.issuer, server.token_endpoint, server.registration_endpoint], [url, `${url}/token`, `${url}/register`]);
		assert.equal(server.authorization_response_iss_parameter_supported, true);
		for (const { url: origin } of [service, replica]) {
			for (const path of [
				'/.well-known/oauth-authorization-server/mcp',
				'/.well-known/openid-configuration/mcp',
				'/mcp/.well-known/openid-configuration',
			])
				assert.deepEqual(must(await send(origin + path, 'GET'), 200).body, server, path);
			for (const path of ['/.well-known/oauth-protected-resource/mcp', '/mcp/.well-known/oauth-protected-resource']) {
				const { body } = must(await send(origin + path, 'GET'), 200);
				assert.deepEqual([body.resource, body.authorization_servers], [url, [url]], path);
			}
			const slashed = must(await send(`${origin}/.well-known/oauth-protected-resource/mcp/`, 'GET'), 200).body;
			assert.deepEqual([slashed.resource, slashed.authorization_servers], [`${url}/`, [url]]);
			must(await send(`${origin}/mcp/.well-known/agent-card.json`, 'GET'), 404);
			must(await send(`${origin}/.well-known/oauth-protected-resource/mcp/more`, 'GET'), 404);
		}
	});
});

describe('the organization', () => {
	test('is the only one of a user who has one, named on the page', async () => {
		const page = await openBrowser().open(authorizationUrl(url, client, { code_challenge: pkce().challenge }));
		assert.match(page.html, /wants access to all gateways of your organization\. Log in to allow/);
		const one = await registerClient(url);
		const browser = openBrowser();
		const login = await browser.open(authorizationUrl(url, one, { code_challenge: pkce().challenge }));
		const { html } = await browser.press(login, 'login', { email: account.email, password: account.password });
		assert.match(html, /It will work in <bdi>Acme &amp; Co<\/bdi>/);
		assert.doesNotMatch(html, /type="radio"/);
		const { access } = await obtainTokens(url, account);
		assert.deepEqual(namesOf(must(await ask(access), 200)), [TOOL]);
		must(await ask(access, 'tools/call', { params: { name: TOOL, arguments: {} } }), 200);
	});

	test('is chosen by a user of several, and the token is good there only', async () => {
		const { asked, end } = await choose(ada, null, client);
		for (const { name, slug } of [account.organization, ada.organization])
			assert.ok(asked.html.includes(`<bdi>${name.replace('&', '&amp;')}</bdi>`) && asked.html.includes(slug));
		assert.match(end.html, /Choose the organization/);
		assert.equal((await choose(ada, (await registerAccount(service.url)).organization.id, client)).end.left, false, 'a foreign one');
		const there = await tokensIn(ada, account.organization.id);
		const here = await tokensIn(ada, ada.organization.id);
		assert.deepEqual(namesOf(must(await ask(there.access), 200)), [TOOL]);
		assert.deepEqual(namesOf(must(await ask(here.access, 'tools/list', { at: replica }), 200)), ['hers']);
		const other = must(await ask(there.access, 'tools/list', { headers: { 'x-organization-id': ada.organization.id } }), 400);
		assert.equal(other.body.error, 'NO_ORGANIZATION');
		const moved = `${there.access.split('~')[0]}~${here.access.split('~')[1]}`;
		must(await ask(moved), 401);
		must(await ask(there.access.split('~')[0] ?? ''), 401);
	});

	test('is asked for each time where there are several, also after a consent, and not where there is one', async () => {
		const one = await registerClient(url, { token_endpoint_auth_method: 'client_secret_post' });
		for (const [person, isAsked] of [
			[ada, true],
			[account, false],
		] as const) {
			const browser = openBrowser();
			const asking = () => authorizationUrl(url, one, { code_challenge: pkce().challenge });
			assert.ok((await approve(asking(), person, browser)).left);
			assert.equal((await browser.open(asking())).html.includes('value="allow"'), isAsked);
		}
	});

	test('decides about the scopes: a viewer there gets what a viewer may, and a member of none gets nothing', async () => {
		const viewer = await addMember(account, 'viewer');
		const { body } = must(await redeem(url, client, await choose(viewer, account.organization.id, client)), 200);
		assert.equal(body.scope, 'tools:read');
		must(await ask(body.access_token, 'tools/list'), 200);
		const { headers } = must(await ask(body.access_token, 'tools/call', { params: { name: TOOL, arguments: {} } }), 403);
		assert.match(headers.get('www-authenticate') ?? '', /^Bearer error="insufficient_scope", resource_metadata="[^"]+\/mcp\/\.well-known/);
	});
});

describe('what ends', () => {
	test('a refresh token rotates, a former one ends the grant after its grace, revocation takes all tokens', async () => {
		const { access, refresh: first } = await tokensIn(ada, account.organization.id);
		const second = must(await refresh(url, client, first), 200).body;
		assert.ok(second.refresh_token !== first && second.access_token !== access);
		must(await ask(second.access_token), 200);
		const stranger = await registerClient(url);
		assert.equal(faultOf(await refresh(url, stranger, second.refresh_token)), '400 invalid_grant');
		must(await sendForm(`${url}/revoke`, { token: second.refresh_token, client_id: stranger.id }), 200);
		must(await ask(second.access_token), 200);
		must(await sendForm(`${url}/revoke`, { token: second.refresh_token, client_id: client.id }), 200);
		for (const token of [access, second.access_token]) must(await ask(token), 401);
		await soon(async () => (await ask(access, 'tools/list', { at: replica })).status === 401, 'on the other replica, too');
		assert.equal(faultOf(await refresh(url, client, second.refresh_token)), '400 invalid_grant');
	});

	test('a code is good once, for its client, and a made-up or moved one is not known', async () => {
		const granted = await choose(ada, account.organization.id, client);
		const [secret = '', place = ''] = granted.code.split('~');
		for (const code of [secret, `${secret}~${'A'.repeat(22)}`, `x${secret}~${place}`, `${granted.code}~${place}`, '~', `~${place}`])
			assert.equal(faultOf(await redeem(url, client, { ...granted, code })), '400 invalid_grant', code);
		assert.equal(faultOf(await redeem(url, await registerClient(url, { redirect_uris: [WEB] }), granted)), '400 invalid_grant');
		must(await redeem(url, client, granted), 200);
		assert.equal(faultOf(await redeem(url, client, granted)), '400 invalid_grant');
	});

	test('membership: the token ends with it, and joining again does not bring it back', async () => {
		const guest = await addMember(account, 'member');
		const { access, refresh: kept } = await tokensIn(guest, account.organization.id);
		must(await ask(access), 200);
		const { members } = must(await account.get(`/organizations/${account.organization.id}/members`), 200).body.data;
		const { userId } = members.find(({ email }: { email: string }) => email === guest.email);
		must(await account.del(`/organizations/${account.organization.id}/members/${userId}`), 200);
		must(await ask(access), 401);
		assert.equal(faultOf(await refresh(url, client, kept)), '400 invalid_grant');
	});

	test('owners see clients, consents and grants of their organization, and end them; others see and end nothing', async () => {
		const one = await registerClient(url, { client_name: 'Seen' });
		const { access } = await tokensIn(ada, account.organization.id, one);
		const at = ({ organization }: Account, rest: string) => `/organizations/${organization.id}/oauth/${rest}`;
		const shown = async (owner: Account, list: string) => must(await owner.get(`${at(owner, list)}?limit=100`), 200).body.data[list];
		const mine = (rows: { clientId: string }[]) => rows.filter(({ clientId }) => clientId === one.id);
		const [grant] = mine(await shown(account, 'grants')) as unknown as { grantId: string; clientName: string }[];
		assert.equal(grant?.clientName, 'Seen');
		for (const list of ['clients', 'consents']) assert.equal(mine(await shown(account, list)).length, 1, list);
		for (const list of ['clients', 'consents', 'grants']) assert.equal(mine(await shown(ada, list)).length, 0, list);
		must(await ada.del(at(ada, `grants/${grant?.grantId}`)), 404);
		must(await ada.get(at(await registerAccount(service.url), 'grants')), 404);
		must(await ask(access), 200);
		must(await account.del(at(account, `clients/${encodeURIComponent(one.id)}`)), 200);
		must(await ask(access), 401);
		assert.deepEqual(mine(await shown(account, 'grants')), []);
	});
});

test('a token of a gateway is none here, nor one of here at a gateway', async () => {
	const gateway = await publishGateway(account, { auth: 'oauth2' });
	const there = await obtainTokens(gateway.url, account);
	const here = await obtainTokens(url, account);
	must(await ask(there.access), 401);
	must(
		await send(gateway.url, 'POST', {
			body: { jsonrpc: '2.0', id: 1, method: 'ping' },
			headers: { authorization: `Bearer ${here.access}` },
		}),
		401,
	);
	assert.equal(faultOf(await refresh(gateway.url, there.client, here.refresh)), '400 invalid_grant');
	assert.equal(faultOf(await refresh(url, here.client, there.refresh)), '400 invalid_grant');
	assert.equal(faultOf(await refresh(gateway.url, here.client, here.refresh)), '401 invalid_client');
});

test('a client with a secret must prove it, an altered id is none, and metadata that are too long are refused', async () => {
	const secret = await registerClient(url, { token_endpoint_auth_method: 'client_secret_basic' });
	const granted = await obtainCode(url, secret, account);
	const fields = {
		grant_type: 'authorization_code',
		code: granted.code,
		code_verifier: granted.verifier,
		redirect_uri: secret.redirectUri,
	};
	const basic = (password: string) => ({ authorization: `Basic ${Buffer.from(`${secret.id}:${password}`).toString('base64')}` });
	assert.equal(faultOf(await sendForm(`${url}/token`, fields, basic('wrong'))), '401 invalid_client');
	assert.equal(faultOf(await sendForm(`${url}/token`, { ...fields, client_id: secret.id })), '401 invalid_client');
	must(await sendForm(`${url}/token`, fields, basic(secret.secret ?? '')), 200);
	const altered = `${secret.id.slice(0, -2)}${secret.id.endsWith('AA') ? 'BB' : 'AA'}`;
	assert.equal(
		(await openBrowser().open(authorizationUrl(url, { ...secret, id: altered }, { code_challenge: pkce().challenge }))).status,
		400,
	);
	const redirects = Array.from({ length: 20 }, (_none, at) => `https://client.example/${at}${'x'.repeat(300)}`);
	assert.equal(
		faultOf(await send(`${url}/register`, 'POST', { body: { ...METADATA, redirect_uris: redirects } })),
		'400 invalid_client_metadata',
	);
});

test('a signed assertion beside a secret that an organization does not keep leaves nothing there', async (t) => {
	const signer = await publishSigner(t, SIGNING);
	const { code } = await obtainCode(url, signer, account);
	const place = code.slice(code.indexOf('~'));
	const assertion = signedBy(signer.key.token(claimsOf(signer.id, url)));
	const made = { grant_type: 'refresh_token', refresh_token: `${'x'.repeat(43)}${place}`, client_id: signer.id, ...assertion };
	// Had it been written down, the second one would be refused as used.
	for (const at of [service, replica]) assert.equal(faultOf(await sendForm(`${at.url}/mcp/token`, made)), '400 invalid_grant');
});

test('a client that its document describes logs in, and its signed assertion is good once', async (t) => {
	const signer = await publishSigner(t, SIGNING);
	const granted = await obtainCode(url, signer, account);
	const assertion = signer.key.token(claimsOf(signer.id, url));
	const unknown = signedBy(signer.key.token(claimsOf(signer.id, url)));
	assert.equal(faultOf(await sendForm(`${url}/token`, { ...redemption(signer, granted), ...unknown, code: 'none' })), '400 invalid_grant');
	const { body } = must(await sendForm(`${url}/token`, { ...redemption(signer, granted), ...signedBy(assertion) }), 200);
	must(await ask(body.access_token), 200);
	const again = { grant_type: 'refresh_token', refresh_token: body.refresh_token, client_id: signer.id, ...signedBy(assertion) };
	for (const at of [service, replica]) assert.equal(faultOf(await sendForm(`${at.url}/mcp/token`, again)), '401 invalid_client');
	const aimed = signedBy(signer.key.token(claimsOf(signer.id, `${service.url}/acme/main`)));
	assert.equal(faultOf(await sendForm(`${url}/token`, { ...again, ...aimed })), '401 invalid_client');
});

describe('the catalog of threats', () => {
	const visit = (asked: URL) => fetch(asked, { redirect: 'manual' });
	const asking = (change: Record<string, string | null> = {}) =>
		authorizationUrl(url, client, { code_challenge: pkce().challenge, ...change });

	test('challenges', async () => {
		for (const { id, change } of CHALLENGE_CASES) {
			// Each of these values is a string or null.
			const answer = await visit(asking(change as Record<string, string | null>));
			const target = new URL(answer.headers.get('location') ?? '');
			assert.deepEqual(
				[answer.status, target.searchParams.get('error'), target.searchParams.get('iss')],
				[303, 'invalid_request', url],
				id,
			);
		}
	});

	test('redirect URIs', async () => {
		for (const { id, uri, isGood } of REDIRECT_CASES) {
			const answer = await visit(asking({ redirect_uri: uri }));
			assert.deepEqual([answer.status, answer.headers.get('location')], [isGood ? 200 : 400, null], id);
		}
	});

	test('registrations', async () => {
		for (const { id, metadata, error } of REGISTRATION_CASES) {
			const answer = await send(`${url}/register`, 'POST', { body: { ...METADATA, ...metadata } });
			assert.equal(faultOf(answer), error ? `400 ${error}` : '201 undefined', id);
		}
	});

	test('verifiers', async () => {
		const browser = openBrowser();
		for (const { id, verifier, sent, isGood } of VERIFIER_CASES) {
			const { url: back } = await approve(asking({ code_challenge: pkce(verifier).challenge }), account, browser);
			const fields = {
				grant_type: 'authorization_code',
				client_id: client.id,
				redirect_uri: client.redirectUri,
				code: back.searchParams.get('code'),
			};
			const answer = await sendForm(`${url}/token`, { ...fields, code_verifier: sent === undefined ? verifier : sent });
			assert.equal(faultOf(answer), isGood ? '200 undefined' : '400 invalid_grant', id);
		}
	});

	test('resources', async () => {
		for (const resource of [service.url, `${url}x`, `${service.url}/acme/main`, 'https://evil.example/mcp']) {
			const target = new URL((await visit(asking({ resource }))).headers.get('location') ?? '');
			assert.equal(target.searchParams.get('error'), 'invalid_target', resource);
		}
		assert.equal((await visit(asking({ resource: `${url}/` }))).status, 200);
	});
});

for (const sdk of [...SDKS, PINNED]) {
	test(`${sdk.name} logs in with nothing but the URL, and lists and calls`, async () => {
		const memory = createMemory();
		const session = await signInAt(sdk, memory, { url, person: account });
		assert.equal(lastAsked(memory).searchParams.get('resource'), url);
		assert.equal(session.version(), sdk.version);
		assert.deepEqual(await session.listTools(), [TOOL]);
		await session.callTool();
		await session.close();
	});
}
