// Reads the metadata of a client (RFC 7591 §2), from its registration or from the document that describes it.

import { isObject } from '../../../../core/index.ts';
import { OAuthFault, printable } from '../faults.ts';
import type { Client, ClientMethod } from './clients.ts';
import { shownName } from './clients.ts';
import { readClientKeys, readSigningAlg, signsOtherwise } from './keys.ts';

const MAX_REDIRECTS = 20;
/** The most characters of all redirect URIs together. Browsers and servers bound one to some thousands. */
const MAX_REDIRECT_CHARS = 8 * 1024;
const MAX_NAME = 200;
/**
 * The most bytes of the metadata as they are stored. With its id and the digest of its secret, no client takes more than 16 KB: anyone may
 * register clients, and an organization's grants need room in the same store.
 */
const MAX_BYTES = 15 * 1024;

/** A client without its id and secret. */
export type ClientMetadata = Omit<Client, 'id' | 'isDocument' | 'secret'>;

export interface MetadataRules {
	/** The methods that clients may use; `usual` applies where the metadata name none. */
	usual: ClientMethod;
	taken: readonly ClientMethod[];
	/** Says what is wrong with a redirect URI, as the rest of a sentence; null when nothing is. */
	redirectFault(uri: unknown): string | null;
}

/**
 * Reads the metadata. Unknown members are ignored (RFC 7591 §2: "MUST ignore"), as are unknown grant types and response types. @throws
 * invalid_redirect_uri, invalid_client_metadata
 */
export function readClientMetadata(given: unknown, rules: MetadataRules): ClientMetadata {
	if (!isObject(given)) throw bad('the metadata must be a JSON object');
	// Null counts as left out, as clients of languages without `undefined` write it.
	const [name, grants] = [given['client_name'] ?? '', given['grant_types'] ?? ['authorization_code']];
	const responses = given['response_types'] ?? ['code'];
	if (typeof name !== 'string' || name.length > MAX_NAME) throw bad(`client_name must be a text of at most ${MAX_NAME} characters`);
	if (!isTexts(grants) || !grants.includes('authorization_code')) throw bad('grant_types must contain authorization_code');
	if (!isTexts(responses) || !responses.includes('code')) throw bad('response_types must contain code');
	const metadata: ClientMetadata = {
		name: shownName(name),
		redirectUris: readRedirects(given['redirect_uris'], rules),
		...readProof(given, rules),
		mayRefresh: grants.includes('refresh_token'),
	};
	if (Buffer.byteLength(JSON.stringify(metadata)) > MAX_BYTES)
		throw bad(`the metadata must take at most ${MAX_BYTES} bytes: name fewer redirect URIs, or use jwks_uri`);
	return metadata;
}

/** Reads the redirect URIs, and refuses all when one is refused: otherwise the client would notice the missing one only in its user's browser. */
function readRedirects(given: unknown, { redirectFault }: MetadataRules): string[] {
	if (!Array.isArray(given) || given.length === 0 || given.length > MAX_REDIRECTS) {
		throw new OAuthFault('invalid_redirect_uri', `redirect_uris must hold 1 to ${MAX_REDIRECTS} URIs`);
	}
	for (const [at, uri] of given.entries()) {
		const fault = redirectFault(uri);
		if (fault === null) continue;
		const shown = typeof uri === 'string' ? ` (${printable(uri)})` : '';
		throw new OAuthFault('invalid_redirect_uri', `redirect_uris/${at}${shown} ${fault}`);
	}
	// All of them are strings, since none has a fault.
	const uris = given as string[];
	if (uris.reduce((sum, uri) => sum + uri.length, 0) > MAX_REDIRECT_CHARS)
		throw new OAuthFault('invalid_redirect_uri', `redirect_uris must have at most ${MAX_REDIRECT_CHARS} characters together`);
	return uris;
}

/** Chooses the client's method. A client that offers `none` is public; if it signs all the same, the signature is checked with its keys. */
function readProof(given: Record<string, unknown>, rules: MetadataRules): Pick<Client, 'method' | 'keys' | 'signingAlg'> {
	const offered = readOffered(given, rules.usual);
	const first = offered.find((name) => rules.taken.some((one) => one === name));
	const method = offered.includes('none') ? 'none' : rules.taken.find((one) => one === first);
	if (method === undefined) throw bad(`token_endpoint_auth_method must be one of ${rules.taken.join(' ')}`);
	const isSigning = method === 'private_key_jwt' || (method === 'none' && offered.includes('private_key_jwt'));
	// A public client whose algorithm is not accepted need not sign.
	if (!isSigning || (method === 'none' && signsOtherwise(given))) return { method, keys: null, signingAlg: null };
	const keys = readClientKeys(given);
	if (keys === null && method === 'private_key_jwt') throw bad('private_key_jwt needs jwks_uri or jwks');
	return { method, keys, signingAlg: readSigningAlg(given) };
}

/**
 * Lists the methods that the client can use, the preferred one first. ChatGPT names `none` only in the list, beside the `private_key_jwt`
 * that it prefers (OpenID Connect Relying Party Metadata Choices 1.0).
 */
function readOffered(given: Record<string, unknown>, usual: ClientMethod): string[] {
	const preferred = given['token_endpoint_auth_method'] ?? null;
	const supported = given['token_endpoint_auth_methods_supported'] ?? [];
	if (preferred !== null && typeof preferred !== 'string') throw bad('token_endpoint_auth_method must be a text');
	if (!isTexts(supported)) throw bad('token_endpoint_auth_methods_supported must be a list of texts');
	const offered = preferred === null ? supported : [preferred, ...supported];
	return offered.length === 0 ? [usual] : offered;
}

const isTexts = (value: unknown): value is string[] =>
	Array.isArray(value) && value.length <= 50 && value.every((one) => typeof one === 'string');

const bad = (description: string): OAuthFault => new OAuthFault('invalid_client_metadata', description);
