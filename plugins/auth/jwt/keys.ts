// The public keys of an issuer (JWKS, RFC 7517 §5): fetched through the guard, kept for a while, read again for a key that is not there.

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { asGatewayError, type Context, GatewayError } from '../../../core/index.ts';

const KEPT_MS = 10 * 60_000;
/** Tokens may name any key; asking for them must not become a flood of requests to the issuer. */
const COOLDOWN_MS = 30_000;
/** Of a reading that failed: shorter, since nobody comes in until one succeeds. */
const RETRY_MS = 5000;
const TIMEOUT_MS = 5000;
const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;
/** Public keys only: with `oct`, a set would carry secrets (RFC 8725 §2.1). */
const TYPES: readonly unknown[] = ['RSA', 'EC', 'OKP'];

/** The keys at one URL, as one gateway sees them. */
export interface IssuerKeys {
	/** @throws unavailable */
	current(context: Context): Promise<JWTVerifyGetKey>;
	/** Those that were fetched after `known`, which had not the key; null when it is too early to ask for newer ones. @throws unavailable */
	newer(known: JWTVerifyGetKey, context: Context): Promise<JWTVerifyGetKey | null>;
}

export const keysOf = (url: string, context: Context): Promise<IssuerKeys> =>
	context.memo(`keys:${url}`, KEPT_MS, async () => issuerKeys(url));

interface Reading {
	startedAtMs: number;
	keys: Promise<JWTVerifyGetKey>;
	hasFailed: boolean;
}

/** Kept by `keysOf`: when its time is over, it is made anew, and reads the keys again. */
function issuerKeys(url: string): IssuerKeys {
	let last: Reading | null = null;
	// The last good ones: a key that is asked for while the issuer is away must not cost the others theirs.
	let kept: JWTVerifyGetKey | null = null;
	const readUnless = (context: Context, isFresh: (reading: Reading) => boolean): Promise<JWTVerifyGetKey> => {
		if (last && isFresh(last)) return last.keys;
		const reading: Reading = { startedAtMs: performance.now(), keys: fetchKeys(url, context), hasFailed: false };
		reading.keys.then(
			(keys) => {
				kept = keys;
			},
			() => {
				reading.hasFailed = true;
			},
		);
		last = reading;
		return reading.keys;
	};
	const ageMs = ({ startedAtMs }: Reading): number => performance.now() - startedAtMs;
	return {
		current: async (context) => kept ?? readUnless(context, (reading) => !reading.hasFailed || ageMs(reading) < RETRY_MS),
		async newer(known, context) {
			const keys = await readUnless(context, (reading) => ageMs(reading) < COOLDOWN_MS);
			return keys === known ? null : keys;
		},
	};
}

/** @throws unavailable: whoever cannot be checked is not let in, and it is not their fault */
async function fetchKeys(url: string, context: Context): Promise<JWTVerifyGetKey> {
	try {
		return createLocalJWKSet(await fetchSet(url, context));
	} catch (cause) {
		const reason = asGatewayError(cause)?.message ?? String(cause);
		context.log.warn({ host: new URL(url).host, reason }, 'the keys of a JWT issuer could not be read');
		throw new GatewayError('unavailable', 'Tokens cannot be checked at the moment: the keys of their issuer could not be read.', {
			cause,
			headers: { 'retry-after': String(RETRY_MS / 1000) },
		});
	}
}

async function fetchSet(url: string, context: Context): Promise<JSONWebKeySet> {
	const { status, body } = await context.request({
		method: 'GET',
		url,
		headers: { accept: 'application/jwk-set+json, application/json' },
		timeoutMs: TIMEOUT_MS,
		maxBytes: MAX_BYTES,
		// What it leads to is not what was configured.
		maxRedirects: 0,
		// Many wait for it: the first of them may leave.
		signal: AbortSignal.timeout(TIMEOUT_MS),
	});
	if (status !== 200) throw new Error(`it answered ${status}`);
	return readSet(JSON.parse(body.toString('utf8')));
}

function readSet(value: unknown): JSONWebKeySet {
	const keys = value !== null && typeof value === 'object' && 'keys' in value ? value.keys : null;
	if (!Array.isArray(keys)) throw new Error('it has no list of keys');
	if (keys.length > MAX_KEYS) throw new Error(`it has more than ${MAX_KEYS} keys`);
	// "Implementations SHOULD ignore JWKs within a JWK Set that use "kty" values that are not understood by them" (RFC 7517 §5).
	return { keys: keys.filter((key) => TYPES.includes(key?.kty)) };
}

export const isUnknownKey = (error: unknown): boolean => error instanceof errors.JWKSNoMatchingKey;
