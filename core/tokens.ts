// Management tokens (specification 5.1) and the making and hashing of keys.

import { hash, randomBytes, randomUUID } from 'node:crypto';
import Jwt from '@hapi/jwt';
import { GatewayError } from './errors.ts';

const ISSUER = 'svc';
const AUDIENCE = 'svc-api';
/** Of a token, and of the cookie that carries it. */
export const TOKEN_LIFETIME_SECONDS = 24 * 60 * 60;
/** A login can be refreshed for so long. */
export const LOGIN_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;

/** Prefix of a gateway's API keys (specification 2). */
export const GATEWAY_KEY_PREFIX = 'svc_gw_';
/** Prefix of users' own long-lived keys (specification 5.1 rule 4). */
export const ACCESS_KEY_PREFIX = 'ak_live_';

export interface Claims {
	/** The user's id. */
	sub: string;
	/** Of this token. */
	jti: string;
	/** Of the login: all its tokens end together. */
	sid: string;
	/** Of the login, seconds. */
	auth_time: number;
	/** When it expires, seconds. */
	exp: number;
}

/** A login, of which tokens are issued. */
export interface Login {
	sessionId: string;
	userId: string;
	at: Date;
}

export interface Tokens {
	/** HS256, 24 hours. */
	issue(login: Login): string;
	/** @throws unauthorized, with `jwt issuer invalid` for another issuer */
	verify(token: string): Claims;
}

export function createTokens(secret: string): Tokens {
	return {
		issue: ({ sessionId, userId, at }) =>
			Jwt.token.generate(
				{ sub: userId, jti: randomUUID(), sid: sessionId, auth_time: Math.floor(at.getTime() / 1000), iss: ISSUER, aud: AUDIENCE },
				{ key: secret, algorithm: 'HS256' },
				{ ttlSec: TOKEN_LIFETIME_SECONDS },
			),
		verify: (token) => verify(token, secret),
	};
}

function verify(token: string, secret: string): Claims {
	const { header, payload } = decode(token);
	// One algorithm, no choice of keys: what the header asks for is not looked at, only refused.
	if (header['alg'] !== 'HS256' || Object.keys(header).some((name) => name !== 'alg' && name !== 'typ')) throw refused('Invalid token.');
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
	const { sub, jti, sid, auth_time: authTime, exp, nbf } = payload;
	// @hapi/jwt looks at `nbf` only when it checks a payload as a whole; ours carry none.
	if (typeof nbf === 'number' && nbf > Date.now() / 1000) throw refused('Invalid token.');
	if (typeof sub !== 'string' || typeof jti !== 'string' || typeof sid !== 'string') throw refused('Invalid token.');
	if (typeof authTime !== 'number' || typeof exp !== 'number') throw refused('Invalid token.');
	return { sub, jti, sid, auth_time: authTime, exp };
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
