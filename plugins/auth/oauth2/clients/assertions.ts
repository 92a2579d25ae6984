// Authenticates clients by a signed assertion: `private_key_jwt` (RFC 7521 §4.2, RFC 7523 §2.2 and §3).

import type { JWTPayload } from 'jose';
import {
	asGatewayError,
	audiencesOf,
	type Call,
	CLOCK_TOLERANCE_SECONDS,
	type Context,
	type KeySetRules,
	lazy,
	PUBLIC_KEY_ALGORITHMS,
	verifyToken,
} from '../../../../core/index.ts';
import { OAuthFault } from '../faults.ts';
import type { Parameters } from '../parameters.ts';
import { digest } from '../secrets.ts';
import type { Client, ClientKeys } from './clients.ts';

const jose = lazy(() => import('jose'));

/** "The value of the "client_assertion_type" is "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"" (RFC 7523 §2.2). */
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const MAX_LENGTH = 8192;
/**
 * The longest lifetime of an assertion: RFC 7523 §3 allows to refuse an `exp` "unreasonably far in the future". Used assertions are
 * remembered as long.
 */
const MAX_SECONDS = 60 * 60;
/** The tolerated difference between the clocks of replicas and of the database. */
const MARGIN_SECONDS = 5 * 60;
/** The limits for keys of a client, lower than for a configured issuer's, since anyone may publish a client. */
const RULES: KeySetRules = { maxBytes: 16 * 1024, maxKeys: 20, logged: 'debug', most: 200 };

/** Reads the assertion of a request. @throws invalid_request, invalid_client */
export async function presentAssertion(parameters: Parameters): Promise<{ id: string; assertion: string } | null> {
	const assertion = parameters.get('client_assertion');
	const type = parameters.get('client_assertion_type');
	if (assertion === null && type === null) return null;
	if (type !== TYPE) throw new OAuthFault('invalid_request', `client_assertion_type must be ${TYPE}`);
	if (assertion === null) throw new OAuthFault('invalid_request', 'client_assertion is required');
	if (assertion.length > MAX_LENGTH) throw bad(`client_assertion must have at most ${MAX_LENGTH} characters`);
	// RFC 7521 §4.2: client_id "is unnecessary for client assertion authentication because the client is identified by the subject".
	return { id: parameters.get('client_id') ?? (await subjectOf(assertion)), assertion };
}

/** Reads the subject that an assertion claims; nothing of it is verified yet. */
async function subjectOf(assertion: string): Promise<string> {
	const { decodeJwt } = await jose();
	try {
		const { sub } = decodeJwt(assertion);
		if (typeof sub === 'string') return sub;
	} catch (cause) {
		throw bad('client_assertion is not a JSON Web Token', cause);
	}
	throw bad('sub of client_assertion must be the client_id');
}

/**
 * Verifies an assertion and records that it was used. @param usedAt the place of that record; null where the request's code or token is not
 * known, so that it will have no effect: anybody may register a client, and sign assertions without end. @throws invalid_client, saying what
 * is wrong with it
 */
export async function assertSigned(
	client: Client,
	assertion: string,
	{ call, base, usedAt }: { call: Call; base: string; usedAt: Context | null },
): Promise<void> {
	if (client.keys === null) throw bad('the client has published no keys with which client_assertion could be checked');
	const algorithms = client.signingAlg === null ? [...PUBLIC_KEY_ALGORITHMS] : [client.signingAlg];
	// RFC 7523 §3: "For client authentication, the subject MUST be the "client_id" of the OAuth client", who issues it as well (RFC 7521
	// §5.1); "The JWT MUST contain an "exp" (expiration time) claim".
	const expected = { issuer: client.id, subject: client.id, requiredClaims: ['exp'], clockTolerance: CLOCK_TOLERANCE_SECONDS };
	const claims = await verifyToken(assertion, toTokenKeys(client.keys), { algorithms, ...expected }, call).catch(refuse);
	assertAudience(claims, base);
	const leftSeconds = Number(claims.exp) - Date.now() / 1000;
	if (leftSeconds > MAX_SECONDS + CLOCK_TOLERANCE_SECONDS) throw bad('exp of client_assertion must be at most an hour away');
	const ttlMs = (leftSeconds + CLOCK_TOLERANCE_SECONDS + MARGIN_SECONDS) * 1000;
	const key = usedKey(client, claims, assertion);
	if (usedAt && !(await usedAt.records.add(key, {}, { ttlMs }))) throw bad('client_assertion has been used');
}

const toTokenKeys = (keys: ClientKeys) => ('url' in keys ? { url: keys.url, rules: RULES } : keys);

/**
 * Checks the audience. RFC 7523 §3: "The JWT MUST contain an "aud" (audience) claim containing a value that identifies the authorization
 * server". All of its values must, since another server that is named too could replay the assertion to us (draft-ietf-oauth-rfc7523bis).
 */
function assertAudience(claims: JWTPayload, issuer: string): void {
	const own = [issuer, `${issuer}/`, `${issuer}/token`, `${issuer}/revoke`];
	if (!audiencesOf(claims)?.every((audience) => own.includes(audience))) throw bad(`aud of client_assertion must be ${issuer}`);
}

/** The key under which use is recorded: the `jti` or, without one, the signed part, since the same signature can be encoded in other ways. */
function usedKey({ id }: Client, { jti }: JWTPayload, assertion: string): string {
	if (jti !== undefined && typeof jti !== 'string') throw bad('jti of client_assertion must be a text');
	const name = jti === undefined ? `signed ${assertion.slice(0, assertion.lastIndexOf('.'))}` : `jti ${jti}`;
	return `assertion:${digest(`${id} ${name}`)}`;
}

async function refuse(cause: unknown): Promise<never> {
	// Unreadable keys are the fault of the client that named them, not the server's.
	if (asGatewayError(cause)) throw bad('the keys of the client cannot be read', cause);
	const { errors } = await jose();
	if (cause instanceof errors.JWTExpired) throw bad('client_assertion has expired', cause);
	if (cause instanceof errors.JWTClaimValidationFailed) throw bad(claimFault(cause.claim), cause);
	throw bad(`client_assertion must be signed with a key of the client, by ${PUBLIC_KEY_ALGORITHMS.join(' ')}`, cause);
}

function claimFault(claim: string): string {
	if (claim === 'iss' || claim === 'sub') return `${claim} of client_assertion must be the client_id`;
	return claim === 'exp' ? 'client_assertion must have an exp' : `${claim} of client_assertion is not good`;
}

const bad = (description: string, cause?: unknown): OAuthFault => new OAuthFault('invalid_client', description, { cause });
