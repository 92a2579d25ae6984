// Verifies one JWT against one configuration: signature, times, issuer, audience, and the subject that its claims name (RFC 7519, RFC 8725).

import { hash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import {
	asGatewayError,
	audiencesOf,
	type Caller,
	CLOCK_TOLERANCE_SECONDS,
	type Context,
	claimedScopes,
	GatewayError,
	type KeySetRules,
	lazy,
	type TokenKeys,
	verifyToken,
} from '../../../core/index.ts';
import { DEFAULT_ALGORITHMS, type JwtConfig } from './config.ts';

/** The caller that a token stands for, and the time until which it does. */
export interface Verified {
	caller: Caller;
	/** Milliseconds since 1970; Infinity without an `exp`. */
	expiresAtMs: number;
}

const jose = lazy(() => import('jose'));

/** The limit of OpenID Connect Core §2 for `sub`. */
const MAX_SUBJECT_LENGTH = 255;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/;
/** The limits for keys of an issuer, which the gateway's owners chose. */
const ISSUER_RULES: KeySetRules = { maxBytes: 256 * 1024, maxKeys: 100, logged: 'warn' };

/** The message that specification 7 gives. */
export const ISSUER_INVALID = 'jwt issuer invalid';

/** One message for every fault, so that it does not reveal which part was wrong. */
export const refused = (cause?: unknown): GatewayError =>
	new GatewayError('unauthorized', 'The token is not valid for this gateway.', { cause });

/** Verifies a token. @throws unauthorized, with `jwt issuer invalid` for another issuer; unavailable */
export async function verify(token: string, config: JwtConfig, context: Context): Promise<Verified> {
	const { issuer, audience, jwksUrl, requireExpiry = jwksUrl !== undefined } = config;
	const algorithms = config.secret === undefined ? [...(config.algorithms ?? DEFAULT_ALGORITHMS)] : ['HS256'];
	// An `exp` is past to the second: whoever verifies here compares it with the time of each call.
	const options = {
		algorithms,
		clockTolerance: CLOCK_TOLERANCE_SECONDS,
		...(issuer !== undefined && { issuer }),
		...(requireExpiry && { requiredClaims: ['exp'] }),
	};
	const payload = await verifyToken(token, keysOf(config), options, context).catch(refuse);
	assertAudience(payload, audience);
	const expiresAtMs = payload.exp === undefined ? Number.POSITIVE_INFINITY : payload.exp * 1000;
	const lasting = { credential: trustOf(config), ...(payload.exp !== undefined && { expiresAt: new Date(expiresAtMs) }) };
	return { caller: { ...callerOf(payload), ...lasting }, expiresAtMs };
}

/** Names what a config trusts: its digest, which is told to nobody. */
export const trustOf = (config: JwtConfig): string => hash('sha256', JSON.stringify(config), 'base64url');

/**
 * Checks the audience. RFC 7519 §4.1.3: "If the principal processing the claim does not identify itself with a value in the "aud" claim
 * when this claim is present, then the JWT MUST be rejected." The configuration gives the values; an `aud` that is neither a string nor a
 * list of strings is refused even without one. @throws unauthorized
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

/** Refuses the token, whatever error it or a key made jose throw. */
async function refuse(cause: unknown): Promise<never> {
	if (asGatewayError(cause)) throw cause;
	const { errors } = await jose();
	if (cause instanceof errors.JWTClaimValidationFailed && cause.claim === 'iss') {
		throw new GatewayError('unauthorized', ISSUER_INVALID, { cause });
	}
	throw refused(cause);
}

/** Reads the caller from the claims: "payload must contain sub or userId" (specification 5.2, 2). @throws unauthorized */
function callerOf(payload: JWTPayload): Caller {
	const subject: unknown = payload.sub ?? payload['userId'];
	if (typeof subject !== 'string' || subject === '' || subject.length > MAX_SUBJECT_LENGTH) throw refused();
	if (CONTROL.test(subject) || !subject.isWellFormed()) throw refused();
	return { method: 'jwt', subject: `jwt:${subject}`, scopes: claimedScopes(payload) };
}
