// Management tokens (specification 5.1) and the making and hashing of keys.

import { hash, randomBytes, randomUUID } from 'node:crypto';
import Jwt from '@hapi/jwt';
import { GatewayError } from './errors.ts';

const ISSUER = 'svc';
const AUDIENCE = 'svc-api';
const LIFETIME_SECONDS = 24 * 60 * 60;

/** Prefix of a gateway's API keys (specification 2). */
export const GATEWAY_KEY_PREFIX = 'svc_gw_';

export interface Claims {
	/** The user's id. */
	sub: string;
	/** Of this token. */
	jti: string;
	/** Of the login, seconds. */
	auth_time: number;
}

export interface Tokens {
	/** HS256, 24 hours. */
	issue(userId: string): string;
	/** @throws unauthorized, with `jwt issuer invalid` for another issuer */
	verify(token: string): Claims;
}

export function createTokens(secret: string): Tokens {
	return {
		issue: (userId) =>
			Jwt.token.generate(
				{ sub: userId, jti: randomUUID(), auth_time: Math.floor(Date.now() / 1000), iss: ISSUER, aud: AUDIENCE },
				{ key: secret, algorithm: 'HS256' },
				{ ttlSec: LIFETIME_SECONDS },
			),
		verify: (token) => verify(token, secret),
	};
}

function verify(token: string, secret: string): Claims {
	const { header, payload } = decode(token);
	// One algorithm, no choice of keys: what the header asks for is not looked at, only refused.
	if (header.alg !== 'HS256' || 'crit' in header || 'kid' in header) throw refused('Invalid token.');
	const artifacts = Jwt.token.decode(token);
	try {
		Jwt.token.verifySignature(artifacts, { key: secret, algorithm: 'HS256' });
	} catch (cause) {
		throw refused('Invalid token.', cause);
	}
	if (payload.iss !== ISSUER) throw refused('jwt issuer invalid');
	// @hapi/jwt lets an array pass; ours carry one string.
	if (payload.aud !== AUDIENCE) throw refused('jwt audience invalid');
	try {
		Jwt.token.verifyTime(artifacts, { timeSkewSec: 0 });
	} catch (cause) {
		throw refused('Token expired.', cause);
	}
	const { sub, jti, auth_time: authTime, exp, nbf } = payload;
	// @hapi/jwt looks at `nbf` only when it checks a payload as a whole; ours carry none.
	if (typeof nbf === 'number' && nbf > Date.now() / 1000) throw refused('Invalid token.');
	if (typeof sub !== 'string' || typeof jti !== 'string' || typeof authTime !== 'number' || typeof exp !== 'number')
		throw refused('Invalid token.');
	return { sub, jti, auth_time: authTime };
}

function decode(token: string): { header: Record<string, unknown>; payload: Record<string, unknown> } {
	if (token.length > 4096) throw refused('Invalid token.');
	try {
		const { decoded } = Jwt.token.decode(token);
		return { header: { ...decoded.header }, payload: { ...decoded.payload } };
	} catch (cause) {
		throw refused('Invalid token.', cause);
	}
}

const refused = (message: string, cause?: unknown): GatewayError => new GatewayError('unauthorized', message, { cause });

/** 256 random bits behind the prefix; shown once, stored as `hashKey`. */
export const mintKey = (prefix: string): string => prefix + randomBytes(32).toString('base64url');

export const hashKey = (key: string): Buffer => hash('sha256', key, 'buffer');
