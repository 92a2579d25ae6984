// One JWT against one configuration: signature, times, issuer, audience, and whom its claims name (RFC 7519, RFC 8725).

import { createSecretKey } from 'node:crypto';
import { decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import { type Caller, type Context, GatewayError, type Scope } from '../../../core/index.ts';
import { DEFAULT_ALGORITHMS, type JwtConfig } from './config.ts';
import { isUnknownKey, keysOf } from './keys.ts';

/** Whom a token stands for, and until when. */
export interface Verified {
	caller: Caller;
	/** Infinity without an `exp`. */
	expiresAtMs: number;
}

const SCOPES: readonly Scope[] = ['tools:read', 'tools:execute', 'gateway:read'];
/** OpenID Connect Core §2 has 255 for `sub`. */
const MAX_SUBJECT_LENGTH = 255;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/;
/** Other keys than ours, other ways to read the token: nothing that its sender may choose (RFC 8725 §3.10). */
const REFUSED_HEADERS = ['crit', 'jku', 'jwk', 'x5u', 'x5c', 'b64', 'zip', 'enc'];

/** Specification 7. */
export const ISSUER_INVALID = 'jwt issuer invalid';

/** One sentence for all, so that it does not tell which part was wrong. */
export const refused = (cause?: unknown): GatewayError =>
	new GatewayError('unauthorized', 'The token is not valid for this gateway.', { cause });

/** @throws unauthorized, with `jwt issuer invalid` for another issuer; unavailable */
export async function verify(token: string, config: JwtConfig, context: Context): Promise<Verified> {
	const algorithms = config.secret === undefined ? (config.algorithms ?? DEFAULT_ALGORITHMS) : ['HS256'];
	checkHeader(token, algorithms);
	const { issuer, audience } = config;
	const options = { algorithms: [...algorithms], ...(issuer !== undefined && { issuer }), ...(audience !== undefined && { audience }) };
	const payload = await check(token, options, config, context);
	const expiresAtMs = payload.exp === undefined ? Number.POSITIVE_INFINITY : payload.exp * 1000;
	return { caller: callerOf(payload), expiresAtMs };
}

/** Before anything is fetched for it. */
function checkHeader(token: string, algorithms: readonly string[]): void {
	const header = attempt(() => decodeProtectedHeader(token));
	if (typeof header.alg !== 'string' || !algorithms.includes(header.alg)) throw refused();
	if (REFUSED_HEADERS.some((name) => Object.hasOwn(header, name))) throw refused();
}

function attempt<T>(read: () => T): T {
	try {
		return read();
	} catch (cause) {
		throw refused(cause);
	}
}

async function check(token: string, options: JWTVerifyOptions, config: JwtConfig, context: Context): Promise<JWTPayload> {
	const { secret, jwksUrl } = config;
	if (secret !== undefined) {
		const { payload } = await jwtVerify(token, createSecretKey(secret, 'utf8'), options).catch(refuse);
		return payload;
	}
	if (jwksUrl === undefined) throw refused();
	const issuer = await keysOf(jwksUrl, context);
	const keys = await issuer.current(context);
	try {
		return (await jwtVerify(token, keys, options)).payload;
	} catch (error) {
		const newer = isUnknownKey(error) ? await issuer.newer(keys, context) : null;
		if (newer === null) return refuse(error);
		return (await jwtVerify(token, newer, options).catch(refuse)).payload;
	}
}

/** Whatever a token or a key made jose throw, the token is not good. */
function refuse(cause: unknown): never {
	if (cause instanceof errors.JWTClaimValidationFailed && cause.claim === 'iss') {
		throw new GatewayError('unauthorized', ISSUER_INVALID, { cause });
	}
	throw refused(cause);
}

/** "payload must contain sub or userId" (specification 5.2, 2). @throws unauthorized */
function callerOf(payload: JWTPayload): Caller {
	const subject: unknown = payload.sub ?? payload['userId'];
	if (typeof subject !== 'string' || subject === '' || subject.length > MAX_SUBJECT_LENGTH) throw refused();
	if (CONTROL.test(subject) || !subject.isWellFormed()) throw refused();
	return { method: 'jwt', subject: `jwt:${subject}`, scopes: scopesOf(payload['scope']) };
}

/** RFC 8693 §4.2. Issuers that know nothing of our scopes name others, or none: their tokens open all. */
function scopesOf(claim: unknown): readonly Scope[] {
	const named = typeof claim === 'string' ? claim.split(' ') : [];
	const ours = SCOPES.filter((scope) => named.includes(scope));
	return ours.length > 0 ? ours : SCOPES;
}
