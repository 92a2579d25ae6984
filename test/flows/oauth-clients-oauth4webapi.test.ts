// Tests oauth4webapi 3.8, which knows nothing of MCP: it takes the gateway's URL for an issuer (RFC 8414), and all its checks are on.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as oauth from 'oauth4webapi';
import { REDIRECT } from '../helpers/oauth.ts';
import { must } from '../helpers/service.ts';
import { letIn, openStage, type Stage } from './oauth-clients.ts';
import { ask, assertGood, CLIENT_KEY, METHODS, type Method, metadataFor } from './oauth-clients-generic.ts';

let stage: Stage;
before(async () => {
	stage = await openStage();
});
after(() => stage?.stop());

/** The gateways of the tests use http, on loopback. */
const insecure = { [oauth.allowInsecureRequests]: true };
const resource = () => new URLSearchParams({ resource: stage.url });

const discover = async (algorithm: 'oauth2' | 'oidc'): Promise<oauth.AuthorizationServer> => {
	const issuer = new URL(stage.url);
	return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm, ...insecure }));
};

const authenticationOf = ({ client_secret: secret }: oauth.Client, method: Method): oauth.ClientAuth => {
	if (method === 'none') return oauth.None();
	if (method === 'private_key_jwt') return oauth.PrivateKeyJwt(CLIENT_KEY);
	return method === 'client_secret_basic' ? oauth.ClientSecretBasic(String(secret)) : oauth.ClientSecretPost(String(secret));
};

/** @returns the parameters of the callback, with `iss` and `state` checked */
async function authorize(server: oauth.AuthorizationServer, client: oauth.Client, verifier: string): Promise<URLSearchParams> {
	const state = oauth.generateRandomState();
	const asked = new URL(server.authorization_endpoint ?? '');
	const challenge = await oauth.calculatePKCECodeChallenge(verifier);
	asked.search = String(
		new URLSearchParams({
			client_id: client.client_id,
			redirect_uri: REDIRECT,
			response_type: 'code',
			scope: 'tools:read tools:execute',
			code_challenge: challenge,
			code_challenge_method: 'S256',
			state,
			resource: stage.url,
		}),
	);
	return oauth.validateAuthResponse(server, client, await letIn(asked, stage.account), state);
}

async function register(server: oauth.AuthorizationServer, method: Method): Promise<oauth.Client> {
	const answer = await oauth.dynamicClientRegistrationRequest(server, metadataFor(method), insecure);
	return oauth.processDynamicClientRegistrationResponse(answer);
}

test('oauth4webapi finds the resource’s metadata, and by it the server', async () => {
	const resourceUrl = new URL(stage.url);
	const found = await oauth.processResourceDiscoveryResponse(resourceUrl, await oauth.resourceDiscoveryRequest(resourceUrl, insecure));
	assert.deepEqual(found.authorization_servers, [stage.url]);
});

for (const algorithm of ['oauth2', 'oidc'] as const) {
	test(`oauth4webapi finds the server as ${algorithm === 'oidc' ? 'OpenID Connect Discovery' : 'RFC 8414'} says`, async () => {
		const server = await discover(algorithm);
		assert.equal(server.issuer, stage.url);
		assert.equal(server.authorization_response_iss_parameter_supported, true);
	});
}

for (const method of METHODS) {
	test(`oauth4webapi registers, authorizes, refreshes and revokes with ${method}`, async () => {
		const server = await discover('oauth2');
		const client = await register(server, method);
		const authentication = authenticationOf(client, method);
		const verifier = oauth.generateRandomCodeVerifier();
		const callback = await authorize(server, client, verifier);
		const options = { ...insecure, additionalParameters: resource() };
		const redeemed = await oauth.authorizationCodeGrantRequest(server, client, authentication, callback, REDIRECT, verifier, options);
		const first = await oauth.processAuthorizationCodeResponse(server, client, redeemed);
		await assertGood(stage.url, first.access_token);

		const refreshed = await oauth.refreshTokenGrantRequest(server, client, authentication, first.refresh_token ?? '', options);
		const second = await oauth.processRefreshTokenResponse(server, client, refreshed);
		assert.notEqual(second.refresh_token, first.refresh_token);
		await assertGood(stage.url, second.access_token);

		const revoked = await oauth.revocationRequest(server, client, authentication, second.refresh_token ?? '', insecure);
		await oauth.processRevocationResponse(revoked);
		must(await ask(stage.url, second.access_token, 'tools/list'), 401);
		const late = await oauth.refreshTokenGrantRequest(server, client, authentication, second.refresh_token ?? '', options);
		await assert.rejects(oauth.processRefreshTokenResponse(server, client, late), { error: 'invalid_grant', status: 400 });
	});
}

test('oauth4webapi reads why it was refused: a fault of its request, of its secret, and of its token', async () => {
	const server = await discover('oauth2');
	const client = await register(server, 'client_secret_basic');
	const wrong = await oauth.refreshTokenGrantRequest(server, client, oauth.ClientSecretBasic('wrong'), 'none', insecure);
	await assert.rejects(oauth.processRefreshTokenResponse(server, client, wrong), ({ cause }: Error) => {
		// The library reads the challenges of a 401, and the body of other statuses only.
		assert.ok(Array.isArray(cause));
		assert.equal(cause[0].scheme, 'basic');
		return true;
	});
	const headers = new Headers({ accept: 'application/json, text/event-stream', 'content-type': 'application/json' });
	const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
	const refused = oauth.protectedResourceRequest('svc_at_wrong', 'POST', new URL(stage.url), headers, body, insecure);
	await assert.rejects(refused, ({ cause }: Error) => {
		assert.ok(Array.isArray(cause));
		assert.equal(cause[0].scheme, 'bearer');
		assert.equal(cause[0].parameters.error, 'invalid_token');
		assert.equal(cause[0].parameters.resource_metadata, `${stage.url}/.well-known/oauth-protected-resource`);
		return true;
	});
});

test('oauth4webapi takes a callback of another issuer for what it is', async () => {
	const server = await discover('oauth2');
	const client = await register(server, 'none');
	const callback = new URL(`${REDIRECT}?code=some&state=some&iss=${encodeURIComponent(`${stage.url}x`)}`);
	assert.throws(() => oauth.validateAuthResponse(server, client, callback, 'some'), /iss/);
	callback.searchParams.delete('iss');
	assert.throws(() => oauth.validateAuthResponse(server, client, callback, 'some'), /iss/);
});
