// Tests openid-client 6.8, which knows nothing of MCP: it takes the gateway's URL for an issuer (RFC 8414), and all its checks are on.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as openid from 'openid-client';
import { REDIRECT } from '../helpers/oauth.ts';
import { must } from '../helpers/service.ts';
import { endAccessTokens, letIn, openStage, type Stage } from './oauth-clients.ts';
import { ask, assertGood, CLIENT_KEY, METHODS, type Method, metadataFor } from './oauth-clients-generic.ts';

let stage: Stage;
before(async () => {
	stage = await openStage();
});
after(() => stage?.stop());

// The library marks this option as deprecated to warn that http is not for production, and has no other option.
const execute = [openid.allowInsecureRequests];

const authenticationFor = (method: Method): openid.ClientAuth | undefined => {
	if (method === 'none') return openid.None();
	if (method === 'private_key_jwt') return openid.PrivateKeyJwt(CLIENT_KEY);
	return method === 'client_secret_basic' ? openid.ClientSecretBasic() : openid.ClientSecretPost();
};

async function signIn(configuration: openid.Configuration): Promise<openid.TokenEndpointResponse> {
	const verifier = openid.randomPKCECodeVerifier();
	const state = openid.randomState();
	const asked = openid.buildAuthorizationUrl(configuration, {
		redirect_uri: REDIRECT,
		scope: 'tools:read tools:execute',
		code_challenge: await openid.calculatePKCECodeChallenge(verifier),
		code_challenge_method: 'S256',
		state,
		resource: stage.url,
	});
	const checks = { pkceCodeVerifier: verifier, expectedState: state };
	return openid.authorizationCodeGrant(configuration, await letIn(asked, stage.account), checks, { resource: stage.url });
}

for (const algorithm of ['oauth2', 'oidc'] as const) {
	for (const method of METHODS) {
		test(`openid-client registers, authorizes, refreshes and revokes with ${method}, by ${algorithm} discovery`, async () => {
			const options = { algorithm, execute };
			const url = new URL(stage.url);
			const configuration = await openid.dynamicClientRegistration(url, metadataFor(method), authenticationFor(method), options);
			const first = await signIn(configuration);
			await assertGood(stage.url, first.access_token);
			assert.equal(await endAccessTokens(stage, configuration.clientMetadata().client_id), 1);
			must(await ask(stage.url, first.access_token, 'tools/list'), 401);
			const second = await openid.refreshTokenGrant(configuration, first.refresh_token ?? '', { resource: stage.url });
			await assertGood(stage.url, second.access_token);
			await openid.tokenRevocation(configuration, second.refresh_token ?? '');
			must(await ask(stage.url, second.access_token, 'tools/list'), 401);
			await assert.rejects(openid.refreshTokenGrant(configuration, second.refresh_token ?? ''), { error: 'invalid_grant' });
		});
	}
}

test('openid-client finds no server at a gateway that has no OAuth, and none under a name that is not quite the gateway’s', async () => {
	const other = must(await stage.account.post('/gateways', { name: 'Plain', type: 'mcp', endpoint: '/plain' }), 201).body.data;
	must(await stage.account.post(`/gateways/${other.id}/auth`, { type: 'none' }), 201);
	await assert.rejects(openid.discovery(new URL(other.url), 'any', undefined, undefined, { algorithm: 'oauth2', execute }));
	await assert.rejects(openid.discovery(new URL(`${stage.url}/`), 'any', undefined, undefined, { algorithm: 'oauth2', execute }));
});
