// Where clients put what opens a gateway (specification 5.2, 2), read in one way by every method that takes it, and how a 401 and a
// 403 ask for it (RFC 6750).

import Joi from 'joi';
import type { ChallengeFault } from '../contract/kinds.ts';
import type { Gateway, Incoming } from '../contract/nouns.ts';

/** What a method can be told of the three places. */
export interface SecretPlaces {
	keyHeader?: string;
}

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 6750 §2.1; the scheme's name is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^Bearer +(\S+) *$/i;
/** Of the longest that Gatehouse issues, a token; what is longer need not be looked up. */
export const MAX_SECRET_LENGTH = 4096;

export const keyHeaderRule = Joi.string()
	.pattern(TOKEN, 'an HTTP token')
	.max(100)
	.invalid('authorization', 'cookie', 'host')
	.insensitive()
	.description('Header that carries the key, in place of X-API-Key.');

/** In X-API-Key (or `keyHeader`), `?api_key=` or as a Bearer token: the first place that holds something counts, also when it is wrong. */
export function findSecret(request: Incoming, places: SecretPlaces): string | null {
	const { headers, query } = request;
	const name = keyHeaderOf(places).toLowerCase();
	// `constructor` is a name that any object answers to.
	return (Object.hasOwn(headers, name) && headers[name]) || query.get('api_key') || bearerToken(request);
}

export const keyHeaderOf = ({ keyHeader = 'X-API-Key' }: SecretPlaces): string => keyHeader;

/** The three places as a sentence names them. */
export const secretPlaces = (places: SecretPlaces): string => `in ${keyHeaderOf(places)}, as ?api_key= or as a Bearer token`;

/** Null when the Authorization header holds none. */
export const bearerToken = ({ headers }: Incoming): string | null => BEARER.exec(headers.authorization ?? '')?.[1] ?? null;

/** RFC 6750 §3: "If the request lacks any authentication information […] the resource server SHOULD NOT include an error code". */
export function bearerChallenge({ url }: Gateway, fault: ChallengeFault | null): string {
	const challenge = `Bearer realm="${url}"`;
	if (fault === null) return challenge;
	const scope = fault.error === 'insufficient_scope' ? `, scope="${fault.scopes.join(' ')}"` : '';
	return `${challenge}, error="${fault.error}"${scope}`;
}
