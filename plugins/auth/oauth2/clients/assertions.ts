// Clients that prove themselves by what they sign: `private_key_jwt` (RFC 7521 §4.2, RFC 7523 §2.2 and §3).

import { decodeJwt, errors, type JWTPayload } from 'jose';
import { asGatewayError, audiencesOf, type Call, type KeySetRules, PUBLIC_KEY_ALGORITHMS, verifyToken } from '../../../../core/index.ts';
import { OAuthFault } from '../faults.ts';
import { gatewayUrl } from '../metadata.ts';
import type { Parameters } from '../parameters.ts';
import { digest } from '../secrets.ts';
import type { Client, ClientKeys } from './clients.ts';

/** "The value of the "client_assertion_type" is "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"" (RFC 7523 §2.2). */
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const MAX_LENGTH = 8192;
/** RFC 7523 §3: an `exp` "unreasonably far in the future" may be refused; so long it is remembered that an assertion was used. */
const MAX_SECONDS = 60 * 60;
/** Between the clocks of client and server. */
const TOLERANCE_SECONDS = 30;
/** Between the clocks of replicas and of the database. */
const MARGIN_SECONDS = 5 * 60;
/** Anyone may publish a client, so its keys take less than those of an issuer that somebody configured. */
const RULES: KeySetRules = { maxBytes: 64 * 1024, maxKeys: 20, logged: 'debug' };

/** The assertion of a request. @throws invalid_request, invalid_client */
export function presentAssertion(parameters: Parameters): { id: string; assertion: string } | null {
	const assertion = parameters.get('client_assertion');
	const type = parameters.get('client_assertion_type');
	if (assertion === null && type === null) return null;
	if (type !== TYPE) throw new OAuthFault('invalid_request', `client_assertion_type must be ${TYPE}`);
	if (assertion === null) throw new OAuthFault('invalid_request', 'client_assertion is required');
	if (assertion.length > MAX_LENGTH) throw bad(`client_assertion must have at most ${MAX_LENGTH} characters`);
	// RFC 7521 §4.2: client_id "is unnecessary for client assertion authentication because the client is identified by the subject".
	return { id: parameters.get('client_id') ?? subjectOf(assertion), assertion };
}

/** The name that an assertion gives itself: nothing is known of it yet. */
function subjectOf(assertion: string): string {
	try {
		const { sub } = decodeJwt(assertion);
		if (typeof sub === 'string') return sub;
	} catch (cause) {
		throw bad('client_assertion is no JSON Web Token', cause);
	}
	throw bad('sub of client_assertion must be the client_id');
}

/** Takes an assertion once. @throws invalid_client, saying what is wrong with it */
export async function assertSigned(client: Client, assertion: string, call: Call): Promise<void> {
	if (client.keys === null) throw bad('the client has published no keys with which client_assertion could be checked');
	const algorithms = client.signingAlg === null ? [...PUBLIC_KEY_ALGORITHMS] : [client.signingAlg];
	// RFC 7523 §3: "For client authentication, the subject MUST be the "client_id" of the OAuth client", who issues it as well (RFC 7521
	// §5.1); "The JWT MUST contain an "exp" (expiration time) claim".
	const expected = { issuer: client.id, subject: client.id, requiredClaims: ['exp'], clockTolerance: TOLERANCE_SECONDS };
	const claims = await verifyToken(assertion, toTokenKeys(client.keys), { algorithms, ...expected }, call).catch(refuse);
	assertAudience(claims, gatewayUrl(call));
	const leftSeconds = Number(claims.exp) - Date.now() / 1000;
	if (leftSeconds > MAX_SECONDS + TOLERANCE_SECONDS) throw bad('exp of client_assertion must be at most an hour away');
	const ttlMs = (leftSeconds + TOLERANCE_SECONDS + MARGIN_SECONDS) * 1000;
	if (!(await call.records.add(usedKey(client, claims, assertion), {}, { ttlMs }))) throw bad('client_assertion has been used');
}

const toTokenKeys = (keys: ClientKeys) => ('url' in keys ? { url: keys.url, rules: RULES } : keys);

/**
 * RFC 7523 §3: "The JWT MUST contain an "aud" (audience) claim containing a value that identifies the authorization server". All of
 * its values must: what is meant for another server as well, that server could send to us (draft-ietf-oauth-rfc7523bis).
 */
function assertAudience(claims: JWTPayload, issuer: string): void {
	const own = [issuer, `${issuer}/`, `${issuer}/token`, `${issuer}/revoke`];
	if (!audiencesOf(claims)?.every((audience) => own.includes(audience))) throw bad(`aud of client_assertion must be ${issuer}`);
}

/** By its `jti` or, without one, by all that was signed: another encoding of the same signature is no other assertion. */
function usedKey({ id }: Client, { jti }: JWTPayload, assertion: string): string {
	if (jti !== undefined && typeof jti !== 'string') throw bad('jti of client_assertion must be a text');
	const name = jti === undefined ? `signed ${assertion.slice(0, assertion.lastIndexOf('.'))}` : `jti ${jti}`;
	return `assertion:${digest(`${id} ${name}`)}`;
}

function refuse(cause: unknown): never {
	// Keys that a client names and nobody can read are its own fault, not the server's.
	if (asGatewayError(cause)) throw bad('the keys of the client cannot be read', cause);
	if (cause instanceof errors.JWTExpired) throw bad('client_assertion has expired', cause);
	if (cause instanceof errors.JWTClaimValidationFailed) throw bad(claimFault(cause.claim), cause);
	throw bad(`client_assertion must be signed with a key of the client, by ${PUBLIC_KEY_ALGORITHMS.join(' ')}`, cause);
}

function claimFault(claim: string): string {
	if (claim === 'iss' || claim === 'sub') return `${claim} of client_assertion must be the client_id`;
	return claim === 'exp' ? 'client_assertion must have an exp' : `${claim} of client_assertion is not good`;
}

const bad = (description: string, cause?: unknown): OAuthFault => new OAuthFault('invalid_client', description, { cause });
