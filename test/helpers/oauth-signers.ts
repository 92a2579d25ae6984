// OAuth clients that sign (private_key_jwt): a metadata document, keys at a URL of their own, and the assertions that they send.

import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { type Issuer, type IssuerKey, issuerKey, startIssuer } from './gateway-auth.ts';
import { type OAuthClient, REDIRECT } from './oauth.ts';
import { httpUpstream } from './upstream.ts';

/** The assertion type of RFC 7523 §2.2. */
export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export const seconds = (): number => Math.floor(Date.now() / 1000);

/** The document that ChatGPT publishes at https://chatgpt.com/oauth/client.json, without its URL and that of its keys. */
export const CHATGPT = {
	client_uri: 'https://chatgpt.com/',
	redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
	token_endpoint_auth_method: 'private_key_jwt',
	token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
	grant_types: ['authorization_code', 'refresh_token'],
	response_types: ['code'],
	client_name: 'ChatGPT',
	logo_uri: 'https://persistent.oaistatic.com/sonic/misc/openai-logo.png',
	token_endpoint_auth_signing_alg: 'RS256',
};

/** The same document for a client whose only method is to sign. */
export const SIGNING = { ...CHATGPT, token_endpoint_auth_methods_supported: undefined };

export interface Signer extends OAuthClient {
	key: IssuerKey;
	keys: Issuer;
}

let shared: IssuerKey | null = null;

/** The key of all clients that are given none: to make one takes a tenth of a second. */
function sharedKey(): IssuerKey {
	shared ??= issuerKey('RS256', 'cimd-20260428030119');
	return shared;
}

/** Publishes a client. A member of its metadata that is undefined is left out. */
export async function publishSigner(t: TestContext, metadata: object = CHATGPT, key: IssuerKey = sharedKey()): Promise<Signer> {
	const keys = await startIssuer(t, [key.jwk]);
	// Documents are remembered by their URL, and another test's server may get the same port.
	const path = `/${randomUUID()}/client.json`;
	const upstream = await httpUpstream(t, (_request, response) => {
		const document = { client_id: upstream.origin + path, jwks_uri: keys.url, ...metadata };
		response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
	});
	const [redirectUri = REDIRECT] = 'redirect_uris' in metadata ? (metadata.redirect_uris as string[]) : [];
	return { id: upstream.origin + path, secret: null, redirectUri, key, keys };
}

/** Makes the claims of a valid assertion for the server at `audience`. */
export const claimsOf = (id: string, audience: string): object => ({
	iss: id,
	sub: id,
	aud: audience,
	exp: seconds() + 60,
	iat: seconds(),
	jti: randomUUID(),
});

export const signedBy = (assertion: string): Record<string, string> => ({
	client_assertion_type: ASSERTION_TYPE,
	client_assertion: assertion,
});

/** Makes the fields of a token request. */
export const redemption = (client: OAuthClient, { code, verifier }: { code: string; verifier: string }): Record<string, string> => ({
	grant_type: 'authorization_code',
	code,
	code_verifier: verifier,
	redirect_uri: client.redirectUri,
	client_id: client.id,
});
