// Tests discovery documents (specification 4.3: "always public"): those that a gateway has and those that it lacks, at both addresses (RFC
// 8414 §3.1, RFC 9728 §3.1), and how a gateway announces the credentials that it takes.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { discoverAuthorizationServerMetadata, discoverOAuthProtectedResourceMetadata } from '@modelcontextprotocol/sdk/client/auth.js';
import { limitTable } from '../../core/limits/table.ts';
import { ask, bearer, guardedGateway, type MethodBody } from '../helpers/gateway-auth.ts';
import { type Account, must, publishGateway, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';

const TOKEN = 'the-owners-own-token';
const SECRET = 'm'.repeat(40);

let service: TestService;
let account: Account;
before(async () => {
	service = await startTestService({ limits: limitTable({ rateLimit: { max: 1_000_000, windowSeconds: 60 } }) });
	account = await registerAccount(service.url);
});
after(() => service.stop());

const GATEWAYS: Record<string, MethodBody[]> = {
	'without any method': [],
	'open to all': [{ type: 'none' }],
	'with keys': [{ type: 'api_key' }],
	'with tokens of an issuer': [{ type: 'jwt', configuration: { secret: SECRET } }],
	'with keys and passwords, for one address': [
		{ type: 'api_key', validationRules: { allowedIpRanges: ['203.0.113.7'] } },
		{ type: 'basic_auth' },
	],
};
const OAUTH = ['oauth-protected-resource', 'oauth-authorization-server', 'openid-configuration'];

/** Returns both addresses of a document: appended to the gateway's address, and inserted into it. */
function placesOf(url: string, name: string): string[] {
	const { origin, pathname } = new URL(url);
	return [`${url}/.well-known/${name}`, `${url}/.well-known/${name}/`, `${origin}/.well-known/${name}${pathname}`];
}

describe('a discovery document that is not there is a 404, and nobody is asked for a credential', () => {
	for (const [what, methods] of Object.entries(GATEWAYS)) {
		test(`at a gateway ${what}`, async () => {
			const { url } = await guardedGateway(account, methods);
			const places = [...OAUTH, 'agent-card.json', 'x'].flatMap((name) => placesOf(url, name));
			for (const place of [...places, `${url}/.well-known`, `${url}/.well-known/`, `${url}/.well-known/x/y`]) {
				for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
					for (const headers of [{}, bearer('bad')]) {
						const answer = must(await send(place, method, { headers }), 404);
						assert.equal(answer.headers.get('www-authenticate'), null, place);
						assert.equal(answer.body.error, 'NOT_FOUND');
					}
				}
				assert.equal((await fetch(place, { method: 'HEAD' })).status, 404);
			}
		});
	}

	test('at a gateway with oauth2, whose own are there: another method is a 405 that names theirs', async () => {
		const { url } = await guardedGateway(account, [{ type: 'oauth2' }]);
		for (const name of ['agent-card.json', 'x']) for (const place of placesOf(url, name)) must(await send(place, 'GET'), 404);
		for (const place of OAUTH.flatMap((name) => placesOf(url, name))) {
			must(await send(place, 'GET'), 200);
			assert.equal((await fetch(place, { method: 'HEAD' })).status, 200, place);
			for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
				const answer = must(await send(place, method), 405);
				assert.deepEqual([answer.headers.get('allow'), answer.headers.get('www-authenticate')], ['GET', null]);
			}
		}
	});

	test('at a gateway that there is not, or that is not active, or of nobody', async () => {
		const { id, url } = await guardedGateway(account, [{ type: 'oauth2' }]);
		must(await account.patch(`/gateways/${id}`, { status: 'inactive' }), 200);
		const { origin } = new URL(url);
		for (const at of [url, `${url}x`, `${origin}/nobody/main`]) {
			for (const place of [...OAUTH, 'x'].flatMap((name) => placesOf(at, name))) {
				const answer = must(await send(place, 'GET'), 404);
				assert.equal(answer.headers.get('www-authenticate'), null);
			}
		}
	});

	test('and anything else of the gateway asks for one as before', async () => {
		const { url } = await guardedGateway(account, [{ type: 'api_key' }]);
		for (const path of ['', '/no/such/path', '/well-known/x', '/.well-knownx', '/x/.well-known/x', '//.well-known/x'])
			must(await send(url + path, 'GET'), 401);
	});

	test('and counts in the gateway’s window by its address, like every public route', async () => {
		const { url } = await guardedGateway(account, [{ type: 'api_key' }]);
		const remaining = async (place: string): Promise<number> => Number((await send(place, 'GET')).headers.get('x-ratelimit-remaining'));
		const [appended = '', , inserted = ''] = placesOf(url, 'x');
		assert.deepEqual([await remaining(appended), await remaining(inserted)], [299, 298]);
	});
});

test('MCP’s client takes a gateway with keys for one that has no OAuth, not for one that is broken', async () => {
	const { url } = await publishGateway(account);
	await assert.rejects(discoverOAuthProtectedResourceMetadata(url), /does not implement OAuth 2.0 Protected Resource Metadata/);
	assert.equal(await discoverAuthorizationServerMetadata(url), undefined);
});

describe('a request without a credential gets an error that names the credentials which the gateway takes', () => {
	const TOLD: [methods: MethodBody[], message: string][] = [
		[[{ type: 'api_key' }], 'Send a key in X-API-Key, as ?api_key= or as a Bearer token.'],
		[[{ type: 'api_key', configuration: { keyHeader: 'X-Team-Key' } }], 'Send a key in X-Team-Key, as ?api_key= or as a Bearer token.'],
		[[{ type: 'bearer_token', configuration: { token: TOKEN } }], 'Send a token or a key in X-API-Key, as ?api_key= or as a Bearer token.'],
		[[{ type: 'basic_auth' }], 'Send an e-mail address and a password by Basic authentication.'],
		[[{ type: 'jwt', configuration: { secret: SECRET } }], 'Send a JSON Web Token as a Bearer token.'],
		[[{ type: 'oauth2' }], 'Send an access token of this gateway’s OAuth server as a Bearer token.'],
		[
			[{ type: 'api_key' }, { type: 'basic_auth' }, { type: 'oauth2' }],
			'Send a key in X-API-Key, as ?api_key= or as a Bearer token, or an e-mail address and a password by Basic authentication, ' +
				'or an access token of this gateway’s OAuth server as a Bearer token.',
		],
		[[{ type: 'basic_auth', isRequired: false }, { type: 'jwt' }], 'Send a JSON Web Token as a Bearer token.'],
		[[], 'This gateway has no authentication configured, so it admits nobody.'],
	];
	for (const [methods, message] of TOLD) {
		test(`${methods.map(({ type }) => type).join(' and ') || 'no method'}: ${message}`, async () => {
			const { url } = await guardedGateway(account, methods);
			const answer = must(await ask(url), 401);
			assert.equal(answer.body.message, message);
			assert.notEqual(answer.headers.get('www-authenticate'), null);
			for (const secret of [TOKEN, SECRET]) assert.ok(!JSON.stringify(answer.body).includes(secret));
		});
	}
});
