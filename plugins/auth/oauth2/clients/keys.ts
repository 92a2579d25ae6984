// Reads the signing keys of a client from its metadata (RFC 7591 §2).

import { isObject, PUBLIC_KEY_ALGORITHMS, type PublicKeyAlgorithm, readKeySet } from '../../../../core/index.ts';
import { OAuthFault } from '../faults.ts';
import type { ClientKeys } from './clients.ts';
import { parseFetchedUrl } from './fetched-urls.ts';

/** The most keys inside the metadata, which are stored with the client. */
const MAX_INLINE = 10;
/** The members of an inline key that only name something, and their most characters. The numbers of a key are longer. */
const NAMES = ['kid', 'use', 'alg', 'crv'] as const;
const MAX_NAME = 100;

/** Reads the keys; null where the metadata name none. @throws invalid_client_metadata */
export function readClientKeys({ jwks_uri: url, jwks: set }: Record<string, unknown>): ClientKeys | null {
	// RFC 7591 §2: "The "jwks_uri" and "jwks" parameters MUST NOT both be present in the same request or response."
	if (isGiven(url) && isGiven(set)) throw bad('jwks_uri and jwks exclude each other');
	if (isGiven(url)) return { url: readUrl(url) };
	return isGiven(set) ? { set: readInline(set) } : null;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

function readUrl(url: unknown): string {
	const parsed = parseFetchedUrl(url);
	if (parsed?.hash !== '') throw bad('jwks_uri must be an https URL without user name and fragment');
	return parsed.href;
}

function readInline(set: unknown) {
	const keys: unknown = isObject(set) ? set['keys'] : null;
	if (Array.isArray(keys) && keys.some((key) => isObject(key) && ('d' in key || 'k' in key))) {
		throw bad('jwks must hold public keys only');
	}
	if (Array.isArray(keys)) for (const key of keys) assertNames(key);
	const read = readSet(set);
	if (read.keys.length === 0) throw bad('jwks must hold a public key of type RSA, EC or OKP');
	return read;
}

/** Checks the names in a key, each of which is stored with the client. @throws invalid_client_metadata */
function assertNames(key: unknown): void {
	if (!isObject(key)) return;
	const operations: unknown[] = Array.isArray(key['key_ops']) ? key['key_ops'] : [];
	const isLong = (value: unknown): boolean => typeof value === 'string' && value.length > MAX_NAME;
	const name = NAMES.find((one) => isLong(key[one])) ?? (operations.some(isLong) ? 'key_ops' : null);
	if (name !== null) throw bad(`${name} of a key in jwks must have at most ${MAX_NAME} characters`);
}

function readSet(set: unknown) {
	try {
		return readKeySet(set, MAX_INLINE);
	} catch (cause) {
		throw bad(`jwks must be a set of at most ${MAX_INLINE} keys`, cause);
	}
}

/** Tells whether the metadata name an algorithm that is not accepted. */
export const signsOtherwise = ({ token_endpoint_auth_signing_alg: algorithm }: Record<string, unknown>): boolean =>
	typeof algorithm === 'string' && !PUBLIC_KEY_ALGORITHMS.some((one) => one === algorithm);

/** Reads the algorithm; null where the metadata name none. @throws invalid_client_metadata */
export function readSigningAlg({ token_endpoint_auth_signing_alg: algorithm }: Record<string, unknown>): PublicKeyAlgorithm | null {
	if (!isGiven(algorithm)) return null;
	const known = PUBLIC_KEY_ALGORITHMS.find((one) => one === algorithm);
	if (known === undefined) throw bad(`token_endpoint_auth_signing_alg must be one of ${PUBLIC_KEY_ALGORITHMS.join(' ')}`);
	return known;
}

const bad = (description: string, cause?: unknown): OAuthFault => new OAuthFault('invalid_client_metadata', description, { cause });
