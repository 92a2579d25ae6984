// The parts of a request that may carry the credential of a gateway (specification 5.2, 2), read alike by every method that accepts it,
// and the challenges that ask for it in a 401 and a 403 (RFC 6750).

import Joi from 'joi';
import type { ChallengeFault } from '../contract/kinds.ts';
import type { Incoming, ServedAt } from '../contract/nouns.ts';

/** The configurable part of the three locations. */
export interface SecretPlaces {
	keyHeader?: string;
}

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 6750 §2.1; the scheme's name is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^Bearer +(\S+) *$/i;
/** The length of the longest secret that Gatehouse issues, a token; longer ones need no look-up. */
export const MAX_SECRET_LENGTH = 4096;

export const keyHeaderRule = Joi.string()
	.pattern(TOKEN, 'an HTTP token')
	.max(100)
	.invalid('authorization', 'cookie', 'host')
	.insensitive()
	.description('Header that carries the key, in place of X-API-Key.');

/** Reads X-API-Key (or `keyHeader`), `?api_key=`, or a Bearer token: the first location with a value counts, even if the value is wrong. */
export function findSecret(request: Incoming, places: SecretPlaces): string | null {
	const { headers, query } = request;
	const name = keyHeaderOf(places).toLowerCase();
	// An own property only, since every object inherits names such as `constructor`.
	return (Object.hasOwn(headers, name) && headers[name]) || query.get('api_key') || bearerToken(request);
}

export const keyHeaderOf = ({ keyHeader = 'X-API-Key' }: SecretPlaces): string => keyHeader;

/** Names the three locations in a sentence. */
export const secretPlaces = (places: SecretPlaces): string => `in ${keyHeaderOf(places)}, as ?api_key= or as a Bearer token`;

/** Returns the Bearer token; null when the Authorization header holds none. */
export const bearerToken = ({ headers }: Incoming): string | null => BEARER.exec(headers.authorization ?? '')?.[1] ?? null;

/** RFC 6750 §3: "If the request lacks any authentication information […] the resource server SHOULD NOT include an error code". */
export function bearerChallenge({ url }: ServedAt, fault: ChallengeFault | null): string {
	const challenge = `Bearer realm="${url}"`;
	if (fault === null) return challenge;
	const scope = fault.error === 'insufficient_scope' ? `, scope="${fault.scopes.join(' ')}"` : '';
	return `${challenge}, error="${fault.error}"${scope}`;
}
