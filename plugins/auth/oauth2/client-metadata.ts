// What a client says of itself (RFC 7591 §2), whether it registers or is described under a URL.

import type { Client, ClientMethod } from './clients.ts';
import { shownName } from './clients.ts';
import { OAuthFault } from './faults.ts';
import { isPlainObject } from './json.ts';
import { redirectFault } from './redirect-uris.ts';

const MAX_REDIRECTS = 20;
const MAX_NAME = 200;
const METHODS: readonly string[] = ['none', 'client_secret_basic', 'client_secret_post'];

/** Without what makes it somebody: its id and secret. */
export type ClientMetadata = Pick<Client, 'name' | 'redirectUris' | 'method' | 'mayRefresh'>;

/**
 * What is not known is not looked at (RFC 7591 §2: "MUST ignore"), and of grant types and response types those are kept that there are.
 * @throws invalid_redirect_uri, invalid_client_metadata
 */
export function readClientMetadata(given: unknown, usualMethod: ClientMethod): ClientMetadata {
	if (!isPlainObject(given)) throw bad('the metadata must be a JSON object');
	const { client_name: name = '', grant_types: grants = ['authorization_code'], response_types: responses = ['code'] } = given;
	if (typeof name !== 'string' || name.length > MAX_NAME) throw bad(`client_name must be a text of at most ${MAX_NAME} characters`);
	if (!isTexts(grants) || !grants.includes('authorization_code')) throw bad('grant_types must contain authorization_code');
	if (!isTexts(responses) || !responses.includes('code')) throw bad('response_types must contain code');
	return {
		name: shownName(name),
		redirectUris: readRedirects(given['redirect_uris']),
		method: readMethod(given['token_endpoint_auth_method'] ?? usualMethod),
		mayRefresh: grants.includes('refresh_token'),
	};
}

function readRedirects(given: unknown): string[] {
	if (!Array.isArray(given) || given.length === 0 || given.length > MAX_REDIRECTS) {
		throw new OAuthFault('invalid_redirect_uri', `redirect_uris must hold 1 to ${MAX_REDIRECTS} URIs`);
	}
	const kept = given.some((uri) => redirectFault(uri) === null) ? given.filter((uri) => !isPrivateUse(uri)) : given;
	for (const uri of kept) {
		const fault = redirectFault(uri);
		if (fault !== null) throw new OAuthFault('invalid_redirect_uri', `redirect_uris/${given.indexOf(uri)} ${fault}`);
	}
	// Each of them is a text: it has no fault.
	return kept as string[];
}

/**
 * RFC 8252 §7.1, which MCP does not allow. It is left out where others remain, as RFC 7591 §3.2.1 has it ("MAY reject or replace"): Cursor
 * names `cursor://…` beside an https and a loopback address, and could not register otherwise.
 */
const isPrivateUse = (uri: unknown): boolean => typeof uri === 'string' && /^(?!https?:)[a-z][a-z0-9+.-]*:\/\//i.test(uri);

function readMethod(method: unknown): ClientMethod {
	if (typeof method !== 'string' || !METHODS.includes(method)) throw bad(`token_endpoint_auth_method must be one of ${METHODS.join(' ')}`);
	// It is one of them.
	return method as ClientMethod;
}

const isTexts = (value: unknown): value is string[] =>
	Array.isArray(value) && value.length <= 50 && value.every((one) => typeof one === 'string');

const bad = (description: string): OAuthFault => new OAuthFault('invalid_client_metadata', description);
