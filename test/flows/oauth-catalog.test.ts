// Tests the authorization server's part of the catalog against the whole service: forged, misplaced or excessive requests get nothing.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { limitTable } from '../../core/limits/table.ts';
import {
	ALLOWED_CASES,
	CHALLENGE_CASES,
	HELD_ELSEWHERE,
	LOCALHOST,
	LOOPBACK,
	LOOPBACK_6,
	QUERIED,
	REDIRECT_CASES,
	REGISTRATION_CASES,
	VERIFIER_CASES,
	WEB,
} from '../catalog/oauth.ts';
import { openBrowser } from '../helpers/browser.ts';
import { ask, basic, bearer, guardedGateway } from '../helpers/gateway-auth.ts';
import {
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
import { DAY, passTime } from '../helpers/oauth-time.ts';
import { freePort } from '../helpers/ports.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

let service: TestService;
let account: Account;
let url: string;
let client: OAuthClient;
const browser = openBrowser();
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	({ url } = await publishGateway(account, { auth: 'oauth2' }));
	client = await registerClient(url, { redirect_uris: [WEB, QUERIED, LOOPBACK, LOOPBACK_6, LOCALHOST] });
});
after(() => service.stop());

const visit = (asked: URL) => fetch(asked, { redirect: 'manual' });
const asking = (change: Record<string, string | null> = {}) =>
	authorizationUrl(url, client, { code_challenge: pkce().challenge, ...change });
const newCode = () => obtainCode(url, client, account, { browser });
const faultOf = ({ status, body }: Answer): string => `${status} ${body?.error}`;

for (const { row, id, change } of CHALLENGE_CASES) {
	test(`${row}: with ${id}, the client is told invalid_request, and the user is asked nothing`, async () => {
		// Each of these values is a string or null.
		const answer = await visit(asking(change as Record<string, string | null>));
		const target = new URL(answer.headers.get('location') ?? '');
		assert.deepEqual([answer.status, target.searchParams.get('error')], [303, 'invalid_request']);
		assert.deepEqual([target.searchParams.get('state'), target.searchParams.get('iss')], ['some state', url]);
	});
}

for (const { row, id, verifier, sent, isGood } of VERIFIER_CASES) {
	test(`${row}: ${id}: ${isGood ? 'taken' : 'invalid_grant, and the code stays good'}`, async () => {
		const asked = asking({ code_challenge: pkce(verifier).challenge });
		await newCode();
		const code = (await browser.open(asked)).url.searchParams.get('code') ?? assert.fail('no code');
		const fields = { grant_type: 'authorization_code', client_id: client.id, redirect_uri: client.redirectUri, code };
		const answer = await sendForm(`${url}/token`, { ...fields, code_verifier: sent === undefined ? verifier : sent });
		if (isGood) return void must(answer, 200);
		assert.equal(faultOf(answer), '400 invalid_grant');
		if (sent !== undefined) must(await sendForm(`${url}/token`, { ...fields, code_verifier: verifier }), 200);
	});
}

for (const { row, id, uri, isGood } of REDIRECT_CASES) {
	test(`${row}: ${id}: ${isGood ? 'the user is asked' : 'a page tells the user, and nobody is sent there'}`, async () => {
		const answer = await visit(asking({ redirect_uri: uri }));
		assert.deepEqual([answer.status, answer.headers.get('location')], [isGood ? 200 : 400, null]);
		assert.match(answer.headers.get('content-type') ?? '', /^text\/html/);
		assert.equal((await answer.text()).includes('value="login"'), isGood);
	});
}

for (const { row, id, metadata, error } of REGISTRATION_CASES) {
	test(`${row}: a client with ${id} ${error ? `is refused with ${error}` : 'may register'}`, async () => {
		const answer = await send(`${url}/register`, 'POST', { body: { ...METADATA, ...metadata } });
		assert.equal(faultOf(answer), error ? `400 ${error}` : '201 undefined');
	});
}

describe('51: an address of a program that a gateway’s owners accept', () => {
	for (const { row, id, uri, isGood } of ALLOWED_CASES) {
		test(`${row}: ${id}: ${isGood ? 'clients register with it' : '400 with its place'}`, async () => {
			const { id: gatewayId, url: own } = await guardedGateway(account, []);
			const configuration = { allowedRedirectUris: ['first://callback', uri] };
			const { status, body } = await account.post(`/gateways/${gatewayId}/auth`, { type: 'oauth2', configuration });
			assert.equal(status, isGood ? 201 : 400, JSON.stringify(body));
			if (!isGood) return assert.equal(body.details[0].path, '/configuration/allowedRedirectUris/1');
			// The address is one of the strings above.
			await registerClient(own, { redirect_uris: [uri as string] });
			for (const more of ['/', 'x', '?a=b']) {
				const answer = await send(`${own}/register`, 'POST', { body: { ...METADATA, redirect_uris: [`${uri}${more}`] } });
				assert.equal(faultOf(answer), '400 invalid_redirect_uri');
			}
		});
	}

	test('51: is refused where it is asked for when they do not accept it any more, and is good where they do', async () => {
		const callback = 'myapp://callback';
		const gateway = await guardedGateway(account, [{ type: 'oauth2', configuration: { allowedRedirectUris: [callback] } }]);
		const own = await registerClient(gateway.url, { redirect_uris: [callback] });
		must(await redeem(gateway.url, own, await obtainCode(gateway.url, own, account, { browser })), 200);
		// The gateway has a second oauth2 method with another configuration, which applies when the first is removed.
		must(await account.post(`/gateways/${gateway.id}/auth`, { type: 'oauth2' }), 201);
		must(await account.del(`/gateways/${gateway.id}/auth/${gateway.authIds[0]}`), 200);
		const answer = await visit(authorizationUrl(gateway.url, own, { code_challenge: pkce().challenge }));
		assert.deepEqual([answer.status, answer.headers.get('location')], [400, null]);
		assert.match(await answer.text(), /redirect_uri \(myapp:\/\/callback\) must be https/);
	});

	test('51: is a text of a list of at most twenty, each once', async () => {
		const { id } = await guardedGateway(account, []);
		const lists = ['myapp://callback', Array.from({ length: 21 }, (_none, at) => `myapp://${at}`), ['myapp://a', 'myapp://a'], {}, null];
		for (const allowedRedirectUris of lists) {
			const answer = await account.post(`/gateways/${id}/auth`, { type: 'oauth2', configuration: { allowedRedirectUris } });
			assert.equal(answer.status, 400, JSON.stringify(allowedRedirectUris));
			assert.match(answer.body.details[0].path, /^\/configuration\/allowedRedirectUris/);
		}
	});
});

test('52: the eleventh registration of five minutes from one address at a gateway is a 429; another address, and another gateway, go on', async () => {
	const limits = limitTable({ rateLimit: { max: 1000, windowSeconds: 900 } });
	const env = { TRUST_PROXY: '127.0.0.1' };
	const limited = await startTestService({ limits, env });
	const replica = await startTestService({ limits, env, replicaOf: limited });
	try {
		const owner = await registerAccount(limited.url);
		const gateways = [await publishGateway(owner, { auth: 'oauth2' }), await publishGateway(owner, { auth: 'oauth2' })];
		const [at, beside] = gateways.map((gateway) => new URL(gateway.url).pathname);
		const from = (address: string, path = at, { url: origin } = limited) =>
			send(`${origin}${path}/register`, 'POST', { body: METADATA, headers: { 'x-forwarded-for': address } });
		const answers = await Promise.all(
			Array.from({ length: 15 }, (_none, turn) => from('192.0.2.1', at, turn % 2 === 0 ? limited : replica)),
		);
		assert.equal(answers.filter(({ status }) => status === 201).length, 10);
		assert.equal(answers.filter(({ status }) => status === 429).length, 5);
		const refused = must(await from('192.0.2.1'), 429);
		assert.ok(Number(refused.headers.get('retry-after')) > 60);
		// Specification 7: these four members, on every path. `error` is also the member of OAuth.
		assert.deepEqual(Object.keys(refused.body).sort(), ['error', 'message', 'statusCode', 'success']);
		assert.deepEqual([refused.body.success, refused.body.error, refused.body.statusCode], [false, 'RATE_LIMITED', 429]);
		must(await from('192.0.2.2'), 201);
		for (let time = 0; time < 10; time++) must(await from('192.0.2.1', beside, time % 2 === 0 ? limited : replica), 201);
		must(await from('192.0.2.1', beside), 429);
		for (let time = 0; time < 10; time++) must(await from('192.0.2.1', '/mcp', time % 2 === 0 ? limited : replica), 201);
		must(await from('192.0.2.1', '/mcp'), 429);
		must(await send(`${limited.url}${at}/register/`, 'POST', { body: METADATA, headers: { 'x-forwarded-for': '192.0.2.1' } }), 429);
	} finally {
		await replica.stop();
		await limited.stop();
	}
});

test('52: a body of more than 1 MiB is a 413, and a client that nobody lets in is gone after a day', async () => {
	must(await send(`${url}/register`, 'POST', { body: { ...METADATA, client_name: 'n'.repeat(1_100_000) } }), 413);
	const { id } = await registerClient(url);
	const isKnown = async () => (await visit(asking({ client_id: id, redirect_uri: METADATA.redirect_uris[0] ?? '' }))).status === 200;
	assert.ok(await isKnown());
	await passTime(service, DAY - 60_000);
	assert.ok(await isKnown());
	await passTime(service, 61_000);
	assert.equal(await isKnown(), false);
});

describe('54: codes and tokens of one gateway, at another', () => {
	for (const whose of ['the same organization', 'another organization']) {
		test(`of ${whose}, is worth nothing, and is still good where it is from`, async () => {
			const owner = whose === 'another organization' ? await registerAccount(service.url) : account;
			const { url: elsewhere } = await publishGateway(owner, { auth: 'oauth2' });
			const known = await registerClient(elsewhere);
			const { access, refresh: token, client: own } = await obtainTokens(url, account);
			const code = await newCode();

			assert.equal(faultOf(await redeem(elsewhere, client, code)), '401 invalid_client');
			assert.equal(faultOf(await redeem(elsewhere, { ...known, redirectUri: client.redirectUri }, code)), '400 invalid_grant');
			assert.equal(faultOf(await refresh(elsewhere, own, token)), '401 invalid_client');
			assert.equal(faultOf(await refresh(elsewhere, known, token)), '400 invalid_grant');
			assert.equal((await visit(authorizationUrl(elsewhere, own, { code_challenge: pkce().challenge }))).status, 400);
			const refused = must(await ask(elsewhere, bearer(access)), 401);
			assert.match(refused.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
			for (const it of [access, token]) must(await sendForm(`${elsewhere}/revoke`, { token: it, client_id: known.id }), 200);

			must(await ask(url, bearer(access)), 200);
			must(await redeem(url, client, code), 200);
			must(await refresh(url, own, token), 200);
		});
	}
});

test('55: iss is in answers with a code and in answers with an error, and is the issuer of the metadata', async () => {
	const { issuer } = must(await send(`${url}/.well-known/oauth-authorization-server`, 'GET'), 200).body;
	await newCode();
	const given = await browser.open(asking());
	const faulty = await browser.open(asking({ scope: '"' }));
	for (const { url: target } of [given, faulty]) assert.equal(target.searchParams.get('iss'), issuer);
	assert.ok(given.url.searchParams.has('code') && faulty.url.searchParams.get('error') === 'invalid_scope');
});

test('56: the metadata are the same at each of their URLs, and the issuer is the gateway’s address, of the listed host that was asked', async () => {
	const port = await freePort();
	const origins = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
	const listed = await startTestService({ env: { PORT: String(port), PUBLIC_URL: origins.join(',') } });
	try {
		const { pathname } = new URL((await publishGateway(await registerAccount(listed.url), { auth: 'oauth2' })).url);
		for (const origin of origins) {
			const documents = [];
			for (const name of ['oauth-authorization-server', 'openid-configuration'])
				for (const at of [`${origin}${pathname}/.well-known/${name}`, `${origin}/.well-known/${name}${pathname}`])
					documents.push(must(await send(at, 'GET'), 200).body);
			for (const document of documents) assert.deepEqual(document, documents[0]);
			assert.equal(documents[0].issuer, origin + pathname);
			for (const [name, value] of Object.entries(documents[0]))
				if (name.endsWith('_endpoint')) assert.ok(String(value).startsWith(`${origin}${pathname}/`), name);
		}
		const raw = await send(`${origins[0]}${pathname}/.well-known/oauth-authorization-server`, 'GET', {
			headers: { 'x-forwarded-host': 'evil.example' },
		});
		assert.equal(raw.body.issuer, origins[0] + pathname);
	} finally {
		await listed.stop();
	}
});

test('58: a refresh may ask for less, not for more than was granted, and what it was granted is not less afterwards', async () => {
	const { refresh: first, client: own } = await obtainTokens(url, account, { scope: 'tools:read gateway:read' });
	assert.equal(faultOf(await refresh(url, own, first, { scope: 'tools:read tools:execute' })), '400 invalid_scope');
	const less = must(await refresh(url, own, first, { scope: 'gateway:read' }), 200).body;
	assert.equal(less.scope, 'gateway:read');
	must(await ask(url, bearer(less.access_token)), 403);
	assert.equal(must(await refresh(url, own, less.refresh_token), 200).body.scope, 'tools:read gateway:read');
});

test('59: a revoked refresh token takes all tokens with it, an access token only itself; another client touches neither', async () => {
	const { access, refresh: token, client: own } = await obtainTokens(url, account);
	const revoke = (it: string, by: OAuthClient) => sendForm(`${url}/revoke`, { token: it, client_id: by.id });
	for (const it of ['nothing', `${token}x`, 'svc_at_.']) must(await revoke(it, own), 200);
	for (const it of [access, token]) must(await revoke(it, client), 200);
	must(await ask(url, bearer(access)), 200);
	must(await revoke(access, own), 200);
	must(await ask(url, bearer(access)), 401);
	const next = must(await refresh(url, own, token), 200).body;
	must(await revoke(next.refresh_token, own), 200);
	must(await ask(url, bearer(next.access_token)), 401);
	assert.equal(faultOf(await refresh(url, own, next.refresh_token)), '400 invalid_grant');
});

test('60, 63: a client proves itself in one way, the one it registered; and nothing of the token endpoint is stored', async () => {
	const own = await registerClient(url, { token_endpoint_auth_method: 'client_secret_basic' });
	const secret = own.secret ?? assert.fail('no secret');
	const code = await obtainCode(url, own, account, { browser });
	const fields = { grant_type: 'authorization_code', code: code.code, code_verifier: code.verifier, redirect_uri: own.redirectUri };
	const ways: [outcome: string, headers: Record<string, string>, more: Record<string, string>][] = [
		['400 invalid_request', basic(own.id, secret), { client_secret: secret }],
		['401 invalid_client', basic(own.id, 'wrong'), {}],
		['401 invalid_client', basic('nobody', secret), {}],
		['401 invalid_client', {}, { client_id: own.id, client_secret: secret }],
		['401 invalid_client', {}, { client_id: own.id }],
		['200 undefined', basic(own.id, secret), {}],
	];
	for (const [outcome, headers, more] of ways) {
		const answer = await sendForm(`${url}/token`, { ...fields, ...more }, headers);
		assert.equal(faultOf(answer), outcome);
		assert.equal(answer.headers.get('cache-control'), 'no-store');
		const isChallenged = answer.status === 401 && 'authorization' in headers;
		assert.equal(answer.headers.get('www-authenticate')?.startsWith('Basic ') ?? false, isChallenged);
	}
});

test('every row of this part of the catalog is here, or elsewhere by name', () => {
	const cases = [CHALLENGE_CASES, VERIFIER_CASES, REDIRECT_CASES, REGISTRATION_CASES, ALLOWED_CASES].flat();
	assert.ok(cases.length >= 100, `${cases.length} cases`);
	for (const [row, file] of Object.entries(HELD_ELSEWHERE))
		assert.ok(existsSync(new URL(`../../${file}`, import.meta.url)), `${row}: ${file}`);
	const rows = new Set([...cases.map(({ row }) => row), 54, 55, 56, 58, 59, 60, 63, ...Object.keys(HELD_ELSEWHERE).map(Number)]);
	assert.deepEqual(
		[...rows].sort((a, b) => a - b),
		Array.from({ length: 66 - 44 }, (_none, at) => at + 45),
	);
});
