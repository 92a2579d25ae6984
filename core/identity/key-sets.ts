// The public keys of token issuers (JWKS, RFC 7517 §5): fetched through the guard, cached for a while, and read again for an unknown key.

import type { JSONWebKeySet, JWK, JWTVerifyGetKey } from 'jose';
import type { Context } from '../contract/context.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import { hasManyNames, isObject, MANY_NAMES } from '../kit/json.ts';
import { lazy } from '../kit/lazy.ts';

export const jose = lazy(() => import('jose'));

/** The limits of a key set, and the log level of a failure to read it. */
export interface KeySetRules {
	maxBytes: number;
	maxKeys: number;
	/** `debug` when untrusted clients choose the address, since they could cause warnings at will. */
	logged: 'warn' | 'debug';
	/** The most sets of an organization, where untrusted clients choose the address. */
	most?: number;
}

const KEPT_MS = 10 * 60_000;
/** A token may name any key: looking for unknown ones must not flood the issuer with requests. */
const COOLDOWN_MS = 30_000;
/** The wait after a failure is shorter, since no token can be verified until a reading succeeds. */
const RETRY_MS = 5000;
const TIMEOUT_MS = 5000;
/** Public keys only: with `oct`, a set would carry secrets (RFC 8725 §2.1). */
const TYPES: readonly unknown[] = ['RSA', 'EC', 'OKP'];
/** The members needed to choose a key and to verify with it (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2). */
const MEMBERS = ['kty', 'kid', 'use', 'alg', 'crv', 'x', 'y', 'n', 'e'] as const;
/** RFC 7518 §6.2.2, §6.3.2 and RFC 8037 §2: `d` makes a key a private one. */
const PRIVATE = 'd';
/** An RSA modulus of 8192 bits in base64url. */
const MAX_MEMBER_LENGTH = 1366;
/** A public exponent of 48 bits: verifying a signature with a longer one takes as long as making it. */
const MAX_EXPONENT_LENGTH = 8;
const MAX_KEY_OPS = 10;

/** The keys at one URL, as one gateway sees them. */
export interface PublishedKeys {
	/** @throws unavailable */
	current(context: Context): Promise<JWTVerifyGetKey>;
	/**
	 * Returns the keys fetched after `known`, which lacked the wanted one; null when it is too early for another request. @throws unavailable
	 */
	newer(known: JWTVerifyGetKey, context: Context): Promise<JWTVerifyGetKey | null>;
}

export const keysAt = (url: string, rules: KeySetRules, context: Context): Promise<PublishedKeys> =>
	context.memo(`keys:${url}`, KEPT_MS, async () => publishedKeys(url, rules), { most: rules.most });

interface Reading {
	startedAtMs: number;
	keys: Promise<JWTVerifyGetKey>;
	hasFailed: boolean;
}

/** Makes the cache of one URL. `keysAt` keeps it for a while, and then makes a new one, which reads the keys again. */
function publishedKeys(url: string, rules: KeySetRules): PublishedKeys {
	let last: Reading | null = null;
	// The last successful reading: a search for an unknown key while the issuer is down must not cost the known ones.
	let kept: JWTVerifyGetKey | null = null;
	const readUnless = (context: Context, isFresh: (reading: Reading) => boolean): Promise<JWTVerifyGetKey> => {
		if (last && isFresh(last)) return last.keys;
		const reading: Reading = { startedAtMs: performance.now(), keys: fetchKeys(url, rules, context), hasFailed: false };
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

/** @throws unavailable: a token that cannot be verified is refused without blaming its bearer */
async function fetchKeys(url: string, rules: KeySetRules, context: Context): Promise<JWTVerifyGetKey> {
	try {
		const { createLocalJWKSet } = await jose();
		return createLocalJWKSet(await fetchSet(url, rules, context));
	} catch (cause) {
		const reason = asGatewayError(cause)?.message ?? String(cause);
		context.log[rules.logged]({ host: new URL(url).host, reason }, 'the keys of a JWT issuer could not be read');
		throw new GatewayError('unavailable', 'Tokens cannot be checked at the moment: the keys of their issuer could not be read.', {
			cause,
			headers: { 'retry-after': String(RETRY_MS / 1000) },
		});
	}
}

async function fetchSet(url: string, { maxBytes, maxKeys }: KeySetRules, context: Context): Promise<JSONWebKeySet> {
	const { status, body } = await context.request({
		method: 'GET',
		url,
		headers: { accept: 'application/jwk-set+json, application/json' },
		timeoutMs: TIMEOUT_MS,
		maxBytes,
		// A redirect would lead to an address that was not configured.
		maxRedirects: 0,
		// Many callers wait for the same reading, so it does not end with the first of them.
		signal: AbortSignal.timeout(TIMEOUT_MS),
	});
	if (status !== 200) throw new Error(`it answered ${status}`);
	const text = body.toString('utf8');
	if (hasManyNames(text)) throw new Error(`it has ${MANY_NAMES}`);
	return readKeySet(JSON.parse(text), maxKeys);
}

/**
 * Keeps the members needed to verify with a key, and leaves out unusable keys: "Implementations SHOULD ignore JWKs within a JWK Set that
 * use "kty" values that are not understood by them" (RFC 7517 §5). @throws Error whose message continues a sentence about the fault
 */
export function readKeySet(value: unknown, maxKeys: number): JSONWebKeySet {
	const keys = isObject(value) ? value['keys'] : null;
	if (!Array.isArray(keys)) throw new Error('it has no list of keys');
	if (keys.length > maxKeys) throw new Error(`it has more than ${maxKeys} keys`);
	return { keys: keys.map(publicPart).filter((key) => key !== null) };
}

function publicPart(key: unknown): JWK | null {
	if (!isObject(key) || !TYPES.includes(key['kty']) || Object.hasOwn(key, PRIVATE)) return null;
	const kept = MEMBERS.map((name) => [name, key[name]] as const).filter(([, value]) => value !== undefined);
	if (!kept.every(([name, value]) => isShort(value, name === 'e' ? MAX_EXPONENT_LENGTH : MAX_MEMBER_LENGTH))) return null;
	const { key_ops: operations } = key;
	if (operations === undefined) return Object.fromEntries(kept);
	if (!Array.isArray(operations) || operations.length > MAX_KEY_OPS || !operations.every((one) => isShort(one))) return null;
	return { ...Object.fromEntries(kept), key_ops: operations };
}

const isShort = (value: unknown, maxLength = MAX_MEMBER_LENGTH): value is string => typeof value === 'string' && value.length <= maxLength;
