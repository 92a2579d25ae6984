// Dynamic client registration (RFC 7591).

import { type Call, type Incoming, type JsonObject, mediaTypeOf, type Reply } from '../../../core/index.ts';
import { addClient, type Client, type ClientKeys, type ClientMethod } from './clients/clients.ts';
import { readClientMetadata } from './clients/metadata.ts';
import { acceptedTexts, redirectFault } from './clients/redirect-uris.ts';
import type { OAuthConfig } from './config.ts';
import { answering, NO_STORE, OAuthFault } from './faults.ts';
import { tryParse } from './json.ts';
import { assertNoneInQuery } from './parameters.ts';
import { SCOPES } from './scopes.ts';
import { digest, mintId, mintSecret } from './secrets.ts';

/** The refusal where registration is off. RFC 7591 §3.2.2 has no code for it; that of RFC 6749 §4.1.2.1 fits. */
const SHUT: Reply = {
	status: 403,
	headers: NO_STORE,
	body: { error: 'access_denied', error_description: 'This gateway does not let clients register themselves.' },
};
const METHODS: readonly ClientMethod[] = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'];

export const register = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	answering(async () => {
		if (!config.dynamicRegistration) return SHUT;
		assertNoneInQuery(request);
		if (mediaTypeOf(request.headers['content-type']) !== 'application/json') {
			throw new OAuthFault('invalid_client_metadata', 'Content-Type must be application/json');
		}
		// RFC 7591 §2: "If unspecified or omitted, the default is "client_secret_basic"".
		const metadata = readClientMetadata(tryParse(request.body), {
			usual: 'client_secret_basic',
			taken: METHODS,
			redirectFault: (uri) => redirectFault(uri, acceptedTexts(config)),
		});
		const secret = metadata.method.startsWith('client_secret_') ? mintSecret() : null;
		const client: Client = { ...metadata, id: mintId(), isDocument: false, secret: secret && digest(secret) };
		return { status: 201, headers: NO_STORE, body: describe(await addClient(client, call), secret) };
	});

/** Describes the registered client. §3.2.1: all that is registered, "including any fields provisioned by the authorization server itself". */
const describe = ({ id, name, redirectUris, method, keys, signingAlg, mayRefresh }: Client, secret: string | null): JsonObject => ({
	client_id: id,
	client_id_issued_at: Math.floor(Date.now() / 1000),
	// RFC 7591 §3.2.1: 0 "if it will not expire".
	...(secret !== null && { client_secret: secret, client_secret_expires_at: 0 }),
	...(name !== '' && { client_name: name }),
	redirect_uris: redirectUris,
	token_endpoint_auth_method: method,
	...(keys && describeKeys(keys)),
	...(signingAlg && { token_endpoint_auth_signing_alg: signingAlg }),
	grant_types: ['authorization_code', ...(mayRefresh ? ['refresh_token'] : [])],
	response_types: ['code'],
	scope: SCOPES.join(' '),
});

/** Describes the keys, which are JSON: a key set holds strings and lists of strings. */
const describeKeys = (keys: ClientKeys): JsonObject =>
	'url' in keys ? { jwks_uri: keys.url } : { jwks: keys.set as unknown as JsonObject };
