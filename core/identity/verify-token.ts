// Verifies tokens of other issuers (RFC 7515, RFC 7519): with keys that they publish, or with a shared secret. We choose the algorithm and
// the keys, never the token (RFC 8725 §3.10).

import { createSecretKey } from 'node:crypto';
import type { JSONWebKeySet, JWTPayload, JWTVerifyOptions, ProtectedHeaderParameters } from 'jose';
import type { Context } from '../contract/context.ts';
import { jose, type KeySetRules, keysAt } from './key-sets.ts';

/**
 * Algorithms with public keys only: the signing key is never the published one, so no public key can be used as a secret (RFC 8725 §2.1).
 */
export const PUBLIC_KEY_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type PublicKeyAlgorithm = (typeof PUBLIC_KEY_ALGORITHMS)[number];

/** The keys that a signature is verified with. */
export type TokenKeys = { secret: string } | { url: string; rules: KeySetRules } | { set: JSONWebKeySet };

/** Headers that would name other keys than ours, or other ways to read the token. */
const REFUSED_HEADERS = ['crit', 'jku', 'jwk', 'x5u', 'x5c', 'b64', 'zip', 'enc'];

/** @throws unavailable when keys cannot be read; another Error when the token is invalid, one of jose's when a claim is at fault */
export async function verifyToken(
	token: string,
	keys: TokenKeys,
	options: JWTVerifyOptions & { algorithms: string[] },
	context: Context,
): Promise<JWTPayload> {
	const { createLocalJWKSet, decodeProtectedHeader, errors, jwtVerify } = await jose();
	// The header is checked before any keys are fetched for it.
	checkHeader(decodeProtectedHeader(token), options.algorithms);
	if ('secret' in keys) return (await jwtVerify(token, createSecretKey(keys.secret, 'utf8'), options)).payload;
	if ('set' in keys) return (await jwtVerify(token, createLocalJWKSet(keys.set), options)).payload;
	const published = await keysAt(keys.url, keys.rules, context);
	const current = await published.current(context);
	try {
		return (await jwtVerify(token, current, options)).payload;
	} catch (error) {
		const newer = error instanceof errors.JWKSNoMatchingKey ? await published.newer(current, context) : null;
		if (newer === null) throw error;
		return (await jwtVerify(token, newer, options)).payload;
	}
}

/** @throws Error */
function checkHeader(header: ProtectedHeaderParameters, algorithms: readonly string[]): void {
	if (typeof header.alg !== 'string' || !algorithms.includes(header.alg)) throw new Error('the token is signed by another algorithm');
	const refused = REFUSED_HEADERS.find((name) => Object.hasOwn(header, name));
	if (refused !== undefined) throw new Error(`the header ${refused} is not accepted`);
}

/**
 * Returns the audiences of a token: "an array of case-sensitive strings", or in "the special case when the JWT has one audience […] a
 * single case-sensitive string" (RFC 7519 §4.1.3). Null when it is neither.
 */
export function audiencesOf({ aud }: JWTPayload): readonly string[] | null {
	const named: unknown[] = [aud].flat();
	return named.length > 0 && named.every((one) => typeof one === 'string') ? named : null;
}
