// Management tokens (specification 5.1), and generating and hashing keys.

import { hash, randomBytes, randomUUID } from 'node:crypto';
import Jwt from '@hapi/jwt';
import { GatewayError } from '../contract/errors.ts';

const ISSUER = 'svc';
const AUDIENCE = 'svc-api';
/** Lifetime of a token, and of the cookie that carries it. */
export const TOKEN_LIFETIME_SECONDS = 24 * 60 * 60;
/** Time for which a login can be refreshed. */
export const LOGIN_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;

/** The tolerated difference between our clock and that of whoever issues a token, which is good from its `nbf` on. */
export const CLOCK_TOLERANCE_SECONDS = 30;

/** Prefix of a gateway's API keys (specification 2). */
export const GATEWAY_KEY_PREFIX = 'svc_gw_';
/** Prefix of users' own long-lived keys (specification 5.1 rule 4). */
export const ACCESS_KEY_PREFIX = 'ak_live_';
/** Longer credentials are not ours, and are not parsed. */
export const MAX_KEY_LENGTH = 128;
export const MAX_TOKEN_LENGTH = 4096;
/** Three parts in base64url; the last one is empty in an unsigned token, which does not match. */
export const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export interface Claims {
	/** The user's id. */
	sub: string;
	/** The token's own id. */
	jti: string;
	/** The id of the login: all tokens of a login end together. */
	sid: string;
	/** Time of the login, in seconds. */
	auth_time: number;
	/** Time of expiry, in seconds. */
	exp: number;
}

/** Claims of a token that the operator issued: by hand or with another program that has the secret. */
export interface OperatorClaims {
	/** The `sub` claim, else the `userId` claim. */
	subject: string;
	/** Seconds; null if it never expires. */
	exp: number | null;
	/** The names of scopes that the token holds. */
	scopes: readonly string[];
}

/** The claims of a token signed with the service's secret, by its issuer. */
export type SignedClaims = { by: 'service'; claims: Claims } | { by: 'operator'; claims: OperatorClaims };

/** A login, for which tokens are issued. */
export interface Login {
	sessionId: string;
	userId: string;
	at: Date;
}

export interface Tokens {
	/** Issues a token: HS256, valid for 24 hours. */
	issue(login: Login): string;
	/** Checks a management token. @throws unauthorized, with `jwt issuer invalid` for another issuer */
	verify(token: string): Claims;
	/** Reads a management token or one that the operator issued, which never looks like the former. @throws unauthorized as `verify` does */
	read(token: string): SignedClaims;
}

export function createTokens(secret: string): Tokens {
	return {
		issue: ({ sessionId, userId, at }) =>
			Jwt.token.generate(
				{ sub: userId, jti: randomUUID(), sid: sessionId, auth_time: Math.floor(at.getTime() / 1000), iss: ISSUER, aud: AUDIENCE },
				{ key: secret, algorithm: 'HS256' },
				{ ttlSec: TOKEN_LIFETIME_SECONDS },
			),
		verify: (token) => managementClaims(openToken(token, secret)),
		read: (token) => signedClaims(openToken(token, secret)),
	};
}

interface Opened {
	decoded: { header: Record<string, unknown>; payload: Record<string, unknown> };
	artifacts: Artifacts;
}

type Artifacts = ReturnType<typeof Jwt.token.decode>;

/** Decodes a token and checks its signature. @throws unauthorized */
function openToken(token: string, secret: string): Opened {
	const { decoded, artifacts } = decode(token);
	const { header } = decoded;
	// There is one algorithm and no choice of keys: any other header is refused.
	if (header['alg'] !== 'HS256' || Object.keys(header).some((name) => name !== 'alg' && name !== 'typ')) throw refused('Invalid token.');
	try {
		Jwt.token.verifySignature(artifacts, { key: secret, algorithm: 'HS256' });
	} catch (cause) {
		throw refused('Invalid token.', cause);
	}
	return { decoded, artifacts };
}

const signedClaims = (opened: Opened): SignedClaims =>
	isOurs(opened.decoded.payload) ? { by: 'service', claims: managementClaims(opened) } : { by: 'operator', claims: operatorClaims(opened) };

/** Whether a token claims to be a management token, by issuer or audience. */
const isOurs = ({ iss, aud }: Record<string, unknown>): boolean => names(iss, ISSUER) || names(aud, AUDIENCE);

const names = (claim: unknown, name: string): boolean => claim === name || (Array.isArray(claim) && claim.includes(name));

function managementClaims({ decoded: { payload }, artifacts }: Opened): Claims {
	if (payload['iss'] !== ISSUER) throw refused('jwt issuer invalid');
	// @hapi/jwt lets an array pass; ours carry one string.
	if (payload['aud'] !== AUDIENCE) throw refused('jwt audience invalid');
	assertTime(payload, artifacts);
	const { sub, jti, sid, auth_time: authTime, exp } = payload;
	if (typeof sub !== 'string' || typeof jti !== 'string' || typeof sid !== 'string') throw refused('Invalid token.');
	if (typeof authTime !== 'number' || typeof exp !== 'number') throw refused('Invalid token.');
	return { sub, jti, sid, auth_time: authTime, exp };
}

function operatorClaims({ decoded: { payload }, artifacts }: Opened): OperatorClaims {
	assertTime(payload, artifacts);
	const { sub, userId, exp } = payload;
	const subject = [sub, userId].find((name) => typeof name === 'string' && name !== '');
	if (typeof subject !== 'string') throw refused('The token names no user: it must have "sub" or "userId".');
	return { subject, exp: typeof exp === 'number' ? exp : null, scopes: scopeNames(payload) };
}

/**
 * Returns the names in `scope` (RFC 8693 §4.2) and `scp`, as Okta and Microsoft Entra ID call it. The RFC has one text with blanks between the names; Okta
 * and Duende IdentityServer write a list of them.
 */
export const scopeNames = ({ scope, scp }: Readonly<Record<string, unknown>>): string[] =>
	[scope, scp].flat().flatMap((text) => (typeof text === 'string' ? text.split(' ').filter(Boolean) : []));

/** Checks `nbf` and `exp`, if present. @throws unauthorized before `nbf` and after `exp`, and when either is not a number */
function assertTime({ exp, nbf }: Record<string, unknown>, artifacts: Artifacts): void {
	for (const time of [exp, nbf]) {
		if (time !== undefined && typeof time !== 'number') throw refused('Invalid token.');
	}
	try {
		Jwt.token.verifyTime(artifacts, { timeSkewSec: 0 });
	} catch (cause) {
		throw refused('Token expired.', cause);
	}
	// @hapi/jwt checks `nbf` only when it checks a payload as a whole.
	if (typeof nbf === 'number' && nbf > Date.now() / 1000 + CLOCK_TOLERANCE_SECONDS) throw refused('Invalid token.');
}

function decode(token: string): Opened {
	if (token.length > MAX_TOKEN_LENGTH) throw refused('Invalid token.');
	try {
		const artifacts = Jwt.token.decode(token);
		return { decoded: { header: { ...artifacts.decoded.header }, payload: { ...artifacts.decoded.payload } }, artifacts };
	} catch (cause) {
		throw refused('Invalid token.', cause);
	}
}

const refused = (message: string, cause?: unknown): GatewayError => new GatewayError('unauthorized', message, { cause });

/** Generates a key: 256 random bits after the prefix; shown once, stored as `hashKey`. */
export const mintKey = (prefix: string): string => prefix + randomBytes(32).toString('base64url');

export const hashKey = (key: string): Buffer => hash('sha256', key, 'buffer');

/** The same hash as a text, as keys of caches: a third of the cost of a buffer made one. `Buffer.from(id, 'latin1')` is the hash itself. */
export const hashId = (key: string): string => hash('sha256', key, 'binary');
