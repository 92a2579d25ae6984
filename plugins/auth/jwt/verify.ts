// One JWT against one configuration: signature, times, issuer, audience, and whom its claims name (RFC 7519, RFC 8725).

import { errors, type JWTPayload } from 'jose';
import {
	asGatewayError,
	audiencesOf,
	type Caller,
	type Context,
	GatewayError,
	type KeySetRules,
	type Scope,
	type TokenKeys,
	verifyToken,
} from '../../../core/index.ts';
import { DEFAULT_ALGORITHMS, type JwtConfig } from './config.ts';

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
/** The gateway's owners chose the issuer. */
const ISSUER_RULES: KeySetRules = { maxBytes: 256 * 1024, maxKeys: 100, logged: 'warn' };

/** Specification 7. */
export const ISSUER_INVALID = 'jwt issuer invalid';

/** One sentence for all, so that it does not tell which part was wrong. */
export const refused = (cause?: unknown): GatewayError =>
	new GatewayError('unauthorized', 'The token is not valid for this gateway.', { cause });

/** @throws unauthorized, with `jwt issuer invalid` for another issuer; unavailable */
export async function verify(token: string, config: JwtConfig, context: Context): Promise<Verified> {
	const { issuer, audience, jwksUrl, requireExpiry = jwksUrl !== undefined } = config;
	const algorithms = config.secret === undefined ? [...(config.algorithms ?? DEFAULT_ALGORITHMS)] : ['HS256'];
	const options = { algorithms, ...(issuer !== undefined && { issuer }), ...(requireExpiry && { requiredClaims: ['exp'] }) };
	const payload = await verifyToken(token, keysOf(config), options, context).catch(refuse);
	assertAudience(payload, audience);
	const expiresAtMs = payload.exp === undefined ? Number.POSITIVE_INFINITY : payload.exp * 1000;
	return { caller: callerOf(payload), expiresAtMs };
}

/**
 * RFC 7519 §4.1.3: "If the principal processing the claim does not identify itself with a value in the "aud" claim when this claim is
 * present, then the JWT MUST be rejected." The configuration says by which values; an `aud` that is neither a text nor a list of texts is
 * refused without one, too. @throws unauthorized
 */
function assertAudience(payload: JWTPayload, expected: JwtConfig['audience']): void {
	if (payload.aud === undefined && expected === undefined) return;
	const named = audiencesOf(payload);
	const ours = expected === undefined ? null : [expected].flat();
	if (named === null || !(ours === null || ours.some((one) => named.includes(one)))) throw refused();
}

function keysOf({ secret, jwksUrl }: JwtConfig): TokenKeys {
	if (secret !== undefined) return { secret };
	if (jwksUrl === undefined) throw refused();
	return { url: jwksUrl, rules: ISSUER_RULES };
}

/** Whatever a token or a key made jose throw, the token is not good. */
function refuse(cause: unknown): never {
	if (asGatewayError(cause)) throw cause;
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
