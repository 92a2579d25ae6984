// Reads a client's authorization request and writes the answer to it (OAuth 2.1 §4.1.1, §4.1.2).

import type { Call, Incoming, Reply, Scope } from '../../../core/index.ts';
import { type Client, findClient } from './clients/clients.ts';
import { acceptedTexts, matchesRedirect, redirectFault } from './clients/redirect-uris.ts';
import { isChallenge } from './codes.ts';
import type { OAuthConfig } from './config.ts';
import { NO_STORE, OAuthFault, printable } from './faults.ts';
import type { Parameters } from './parameters.ts';
import { assertResource } from './resource.ts';
import { askedScopes } from './scopes.ts';

/** The client and address that the answer goes to, known before the rest of the request is read. */
export interface Destination {
	client: Client;
	redirectUri: string;
	state: string | null;
}

export interface AuthorizationRequest extends Destination {
	scopes: Scope[];
	/** The code challenge of the method S256. */
	challenge: string;
}

/**
 * Finds out where the answer goes. @throws OAuthFault that only the user may see: OAuth 2.1 §4.1.2.1, "MUST NOT automatically redirect the
 * user agent to the invalid redirect URI"
 */
export async function readDestination(parameters: Parameters, config: OAuthConfig, call: Call): Promise<Destination> {
	// If a parameter comes twice, one of the two may be an attacker's.
	for (const name of ['client_id', 'redirect_uri'])
		if (parameters.isRepeated(name)) throw new OAuthFault('invalid_request', `${name} must be given once`);
	const client = await findClient(parameters.require('client_id'), config, call);
	if (!client) throw new OAuthFault('invalid_client', 'client_id names no client of this gateway: the program has to register again');
	const redirectUri = parameters.get('redirect_uri') ?? onlyRedirect(client);
	if (!matchesRedirect(client.redirectUris, redirectUri))
		throw new OAuthFault('invalid_request', 'redirect_uri is not one that the client has registered');
	// The registered address may have been removed from the accepted ones since.
	const fault = redirectFault(redirectUri, acceptedTexts(config));
	if (fault !== null) throw new OAuthFault('invalid_request', `redirect_uri (${printable(redirectUri)}) ${fault}`);
	return { client, redirectUri, state: parameters.get('state') };
}

function onlyRedirect({ redirectUris: [first, ...more] }: Client): string {
	if (first === undefined || more.length > 0) throw new OAuthFault('invalid_request', 'redirect_uri is required');
	return first;
}

/** Reads the request. @throws OAuthFault for the client */
export function readRequest(parameters: Parameters, destination: Destination, request: Pick<Incoming, 'base'>): AuthorizationRequest {
	parameters.assertOnce();
	for (const name of ['request', 'request_uri'] as const) {
		if (parameters.get(name) !== null) throw new OAuthFault(`${name}_not_supported`, `${printable(name)} is not supported`);
	}
	if (parameters.require('response_type') !== 'code') throw new OAuthFault('unsupported_response_type', 'response_type must be code');
	const mode = parameters.get('response_mode');
	if (mode !== null && mode !== 'query') throw new OAuthFault('invalid_request', 'response_mode must be query');
	const challenge = readChallenge(parameters);
	assertResource(parameters, request);
	return { ...destination, scopes: askedScopes(parameters.get('scope')), challenge };
}

/** Reads the challenge. S256 is mandatory (specification 5.2 rule 7), and its method has to be named: RFC 7636 §4.3 takes a missing one for `plain`. */
function readChallenge(parameters: Parameters): string {
	const challenge = parameters.require('code_challenge');
	if (parameters.get('code_challenge_method') !== 'S256') throw new OAuthFault('invalid_request', 'code_challenge_method must be S256');
	if (!isChallenge(challenge)) throw new OAuthFault('invalid_request', 'code_challenge must be a SHA-256 hash in base64url');
	return challenge;
}

/** Writes the redirect URI with the answer and `iss`, which errors carry too (RFC 9207 §2). */
export function answerUrl({ redirectUri, state }: Destination, answer: Record<string, string>, issuer: string): string {
	const parameters = new URLSearchParams({ ...answer, ...(state !== null && { state }), iss: issuer });
	return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters}`;
}

export const redirectTo = (destination: Destination, answer: Record<string, string>, issuer: string): Reply => ({
	status: 303,
	headers: { ...NO_STORE, location: answerUrl(destination, answer, issuer) },
});
