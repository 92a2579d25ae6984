// Which client asks at the token and revocation endpoints (RFC 6749 §2.3, §3.2.1).

import type { Context, Incoming } from '../../../core/index.ts';
import { type Client, findClient } from './clients.ts';
import type { OAuthConfig } from './config.ts';
import { OAuthFault } from './faults.ts';
import type { Parameters } from './parameters.ts';
import { digest, isSame } from './secrets.ts';

interface Presented {
	id: string;
	secret: string | null;
	method: Client['method'];
}

/** @throws invalid_request, invalid_client */
export async function authenticateClient(
	{ headers }: Pick<Incoming, 'headers'>,
	parameters: Parameters,
	{ config, context }: { config: OAuthConfig; context: Context },
): Promise<Client> {
	const presented = present(headers.authorization, parameters);
	const isChallenged = presented.method === 'client_secret_basic';
	const client = await findClient(presented.id, config, context);
	if (!client || !isProven(client, presented))
		throw new OAuthFault('invalid_client', 'the client is not known or not authenticated', { isChallenged });
	return client;
}

function present(authorization: string | undefined, parameters: Parameters): Presented {
	const secret = parameters.get('client_secret');
	if (authorization === undefined) {
		return { id: parameters.require('client_id'), secret, method: secret === null ? 'none' : 'client_secret_post' };
	}
	const basic = readBasic(authorization);
	// RFC 6749 §2.3: "The client MUST NOT use more than one authentication method in each request."
	if (secret !== null) throw new OAuthFault('invalid_request', 'the client must authenticate in one way only');
	const named = parameters.get('client_id');
	if (named !== null && named !== basic.id) throw new OAuthFault('invalid_request', 'client_id is not the one of the Authorization header');
	return { ...basic, method: 'client_secret_basic' };
}

/** RFC 6749 §2.3.1: both parts are form-encoded first. */
function readBasic(authorization: string): { id: string; secret: string } {
	const [, encoded] = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization) ?? [];
	const [id = '', secret = ''] = encoded === undefined ? [] : split(Buffer.from(encoded, 'base64').toString('utf8'));
	if (id === '' || secret === '')
		throw new OAuthFault('invalid_client', 'the Authorization header is not that of a client', { isChallenged: true });
	return { id, secret };
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

/** By the method that the client registered, and no other. */
function isProven(client: Client, { secret, method }: Presented): boolean {
	if (client.method !== method) return false;
	return client.secret === null ? secret === null : secret !== null && isSame(digest(secret), client.secret);
}
