// The documents from which a client that knows only the gateway's URL learns the rest (RFC 8414, RFC 9728).

import { type Call, type GatewayRoute, type Incoming, type JsonObject, PUBLIC_KEY_ALGORITHMS, type ServedAt } from '../../../core/index.ts';
import type { OAuthConfig } from './config.ts';
import { SCOPES, USUAL } from './scopes.ts';
import { writtenAddress } from './written-address.ts';

export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';
export const SERVER_METADATA = '/.well-known/oauth-authorization-server';
/** The name of the resource at an address over all organizations. */
const ALL_GATEWAYS = 'All gateways of your organization';
const CLIENT_METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'];
/** The headers of the documents, which change only when the gateway's address does. */
const HEADERS = { 'cache-control': 'public, max-age=300' };

const serverMetadata = (issuer: string, { dynamicRegistration, clientMetadataDocuments }: OAuthConfig): JsonObject => ({
	issuer,
	authorization_endpoint: `${issuer}/authorize`,
	token_endpoint: `${issuer}/token`,
	...(dynamicRegistration && { registration_endpoint: `${issuer}/register` }),
	revocation_endpoint: `${issuer}/revoke`,
	scopes_supported: [...SCOPES],
	response_types_supported: ['code'],
	response_modes_supported: ['query'],
	grant_types_supported: ['authorization_code', 'refresh_token'],
	token_endpoint_auth_methods_supported: CLIENT_METHODS,
	// RFC 8414 §2: it "MUST be present" where private_key_jwt is among the methods.
	token_endpoint_auth_signing_alg_values_supported: [...PUBLIC_KEY_ALGORITHMS],
	revocation_endpoint_auth_methods_supported: CLIENT_METHODS,
	revocation_endpoint_auth_signing_alg_values_supported: [...PUBLIC_KEY_ALGORITHMS],
	code_challenge_methods_supported: ['S256'],
	authorization_response_iss_parameter_supported: true,
	client_id_metadata_document_supported: clientMetadataDocuments,
});

const resourceMetadata = ({ base, target }: Incoming, name: string): JsonObject => ({
	// RFC 9728 §3.3: it "MUST be identical" to the URL that the client knows, in whichever of its spellings.
	resource: writtenAddress(target, base),
	resource_name: name,
	authorization_servers: [base],
	// MCP, scope selection: "the minimal set of scopes necessary for basic functionality"; the Inspector requests all that are listed here.
	scopes_supported: [...USUAL],
	bearer_methods_supported: ['header'],
});

/** Returns the address of the metadata that name the resource as the request wrote it. */
export function resourceMetadataUrl({ url, target }: ServedAt): string {
	const written = target === undefined ? url : writtenAddress(target, url);
	if (written === url) return url + RESOURCE_METADATA;
	const { origin, pathname } = new URL(written);
	return origin + RESOURCE_METADATA + pathname;
}

const document = (path: string, body: (request: Incoming, config: OAuthConfig, call: Call) => JsonObject): GatewayRoute<OAuthConfig> => ({
	method: 'GET',
	path,
	public: true,
	handler: async (request, config, call) => ({ status: 200, headers: HEADERS, body: body(request, config, call) }),
});

/**
 * Describes the server. The address identifies server and resource: RFC 8414 §3.3 requires it to be "identical" to the URL that the client
 * started from.
 */
const server = ({ base }: Incoming, config: OAuthConfig): JsonObject => serverMetadata(base, config);

export const metadataRoutes: GatewayRoute<OAuthConfig>[] = [
	document(SERVER_METADATA, server),
	// Clients that know OpenID Connect look here, before or after the other.
	document('/.well-known/openid-configuration', server),
	document(RESOURCE_METADATA, (request, _config, call) => resourceMetadata(request, call.gateway?.name ?? ALL_GATEWAYS)),
];
