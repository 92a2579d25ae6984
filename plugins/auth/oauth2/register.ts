// Dynamic client registration (RFC 7591).

import { type Call, GatewayError, type Incoming, type JsonObject, type Reply } from '../../../core/index.ts';
import { readClientMetadata } from './client-metadata.ts';
import { addClient, type Client } from './clients.ts';
import type { OAuthConfig } from './config.ts';
import { answering, NO_STORE, OAuthFault } from './faults.ts';
import { tryParse } from './json.ts';
import { mediaType } from './parameters.ts';
import { SCOPES } from './scopes.ts';
import { digest, mintId, mintSecret } from './secrets.ts';

export const register = (request: Incoming, { dynamicRegistration }: OAuthConfig, call: Call): Promise<Reply> =>
	answering(async () => {
		if (!dynamicRegistration) throw new GatewayError('forbidden', 'This gateway does not let clients register themselves.');
		if (mediaType(request.headers['content-type']) !== 'application/json') {
			throw new OAuthFault('invalid_client_metadata', 'Content-Type must be application/json');
		}
		// RFC 7591 §2: "If unspecified or omitted, the default is "client_secret_basic"".
		const metadata = readClientMetadata(tryParse(request.body), 'client_secret_basic');
		const secret = metadata.method === 'none' ? null : mintSecret();
		const client: Client = { ...metadata, id: mintId(), isDocument: false, secret: secret && digest(secret) };
		await addClient(client, call);
		return { status: 201, headers: NO_STORE, body: describe(client, secret) };
	});

/** §3.2.1: all that is registered, "including any fields provisioned by the authorization server itself". */
const describe = ({ id, name, redirectUris, method, mayRefresh }: Client, secret: string | null): JsonObject => ({
	client_id: id,
	client_id_issued_at: Math.floor(Date.now() / 1000),
	// RFC 7591 §3.2.1: 0 "if it will not expire".
	...(secret !== null && { client_secret: secret, client_secret_expires_at: 0 }),
	...(name !== '' && { client_name: name }),
	redirect_uris: redirectUris,
	token_endpoint_auth_method: method,
	grant_types: ['authorization_code', ...(mayRefresh ? ['refresh_token'] : [])],
	response_types: ['code'],
	scope: SCOPES.join(' '),
});
