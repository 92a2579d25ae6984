// Authenticates the client at the token and revocation endpoints (RFC 6749 §2.3, §3.2.1).

import type { Call, Incoming } from '../../../../core/index.ts';
import type { OAuthConfig } from '../config.ts';
import { OAuthFault } from '../faults.ts';
import { isKept } from '../kept-at.ts';
import type { Parameters } from '../parameters.ts';
import type { Placed } from '../places.ts';
import { digest, isSame } from '../secrets.ts';
import { assertSigned, presentAssertion } from './assertions.ts';
import { type Client, type ClientMethod, findClient } from './clients.ts';

interface Presented {
	id: string;
	/** A secret or, with `private_key_jwt`, an assertion. */
	proof: string | null;
	method: ClientMethod;
}

/** Authenticates the client of a request. @param place that of its code or token. @throws invalid_request, invalid_client */
export async function authenticateClient(
	{ headers, base }: Pick<Incoming, 'headers' | 'base'>,
	parameters: Parameters,
	{ config, call, place }: { config: OAuthConfig; call: Call; place: Placed | null },
): Promise<Client> {
	const presented = await present(headers.authorization, parameters);
	const isChallenged = presented.method === 'client_secret_basic';
	const client = await findClient(presented.id, config, call);
	if (!client || !mayPresent(client, presented))
		throw new OAuthFault('invalid_client', 'the client is not known or not authenticated', { isChallenged });
	if (presented.method === 'private_key_jwt' && presented.proof !== null) {
		const usedAt = place && (await isKept(place)) ? place.context : null;
		await assertSigned(client, presented.proof, { call, base, usedAt });
	}
	return client;
}

async function present(authorization: string | undefined, parameters: Parameters): Promise<Presented> {
	const secret = parameters.get('client_secret');
	const signed = await presentAssertion(parameters);
	// RFC 6749 §2.3: "The client MUST NOT use more than one authentication method in each request."
	if ([authorization ?? null, secret, signed].filter((way) => way !== null).length > 1) {
		throw new OAuthFault('invalid_request', 'the client must authenticate in one way only');
	}
	if (signed !== null) return { id: signed.id, proof: signed.assertion, method: 'private_key_jwt' };
	if (authorization === undefined) {
		return { id: parameters.require('client_id'), proof: secret, method: secret === null ? 'none' : 'client_secret_post' };
	}
	const { id, proof } = readBasic(authorization);
	const named = parameters.get('client_id');
	if (named !== null && named !== id) throw new OAuthFault('invalid_request', 'client_id is not the one of the Authorization header');
	return { id, proof, method: 'client_secret_basic' };
}

/** Reads the header's id and secret, each of which is form-encoded first (RFC 6749 §2.3.1). */
function readBasic(authorization: string): { id: string; proof: string } {
	const [, encoded] = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization) ?? [];
	const [id = '', proof = ''] = encoded === undefined ? [] : split(Buffer.from(encoded, 'base64').toString('utf8'));
	if (id === '' || proof === '')
		throw new OAuthFault('invalid_client', 'the Authorization header is not that of a client', { isChallenged: true });
	return { id, proof };
}

function split(pair: string): string[] {
	const colon = pair.indexOf(':');
	if (colon === -1) return [];
	try {
		return [pair.slice(0, colon), pair.slice(colon + 1)].map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
	} catch {
		return [];
	}
}

/** Accepts only the method that the client registered; a public client may sign its requests all the same. */
function mayPresent(client: Client, { proof, method }: Presented): boolean {
	if (method === 'private_key_jwt') return client.method === method || client.method === 'none';
	if (client.method !== method) return false;
	return client.secret === null ? proof === null : proof !== null && isSame(digest(proof), client.secret);
}
