// Signs agent cards (specification 1.0, section 8.4): ES256 over the canonical JSON of the card (RFC 8785), and the key to verify it.

import { createHash, createPublicKey, createSign, type KeyObject } from 'node:crypto';
import { isObject, type Json, type JsonObject } from '../../../core/index.ts';
import { type Operator, readSigningKey } from '../config.ts';
import { bytesOf, type Form, inPieces } from './turns.ts';

interface Signer {
	key: KeyObject;
	jwk: JsonObject;
	kid: string;
}

/** The operator's configuration is frozen, and one object as long as the service runs. */
const SIGNERS = new WeakMap<Operator, Signer | null>();

function signerOf(operator: Operator): Signer | null {
	const known = SIGNERS.get(operator);
	if (known !== undefined) return known;
	const signer = operator.signingKey === undefined ? null : read(operator.signingKey);
	SIGNERS.set(operator, signer);
	return signer;
}

function read(text: string): Signer {
	const key = readSigningKey(text);
	const { kty = '', crv = '', x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' });
	// RFC 7638 §3.2: the members in the order of their names.
	const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
	return { key, kid, jwk: { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' } };
}

/** The public keys, by which anybody verifies a card. */
export const keySet = (operator: Operator): JsonObject => ({ keys: [signerOf(operator)?.jwk ?? null].filter((jwk) => jwk !== null) });

/** @param jku the address of the key set. @returns the signatures of a card of 1.0; none without a key */
export async function signaturesOf(card: JsonObject, operator: Operator, jku: string): Promise<JsonObject[]> {
	const signer = signerOf(operator);
	if (!signer) return [];
	const header = encode(JSON.stringify({ alg: 'ES256', kid: signer.kid, typ: 'JOSE', jku }));
	const signing = createSign('sha256').update(`${header}.`);
	let left: Buffer = Buffer.alloc(0);
	for await (const bytes of bytesOf(await inPieces(card, CANONICAL))) {
		const all = Buffer.concat([left, bytes]);
		// Base64 of a part is a part of the base64 where it ends with three bytes.
		const whole = all.length - (all.length % 3);
		signing.update(all.toString('base64url', 0, whole));
		left = all.subarray(whole);
	}
	const signature = signing.update(left.toString('base64url')).sign({ key: signer.key, dsaEncoding: 'ieee-p1363' });
	return [{ protected: header, signature: signature.toString('base64url') }];
}

const encode = (text: string): string => Buffer.from(text).toString('base64url');

/** "Fields with default values MUST be omitted" (section 8.4.1): what is empty is left out, then RFC 8785 writes the rest. */
const CANONICAL: Form = {
	write(value) {
		const kept = withoutEmpty(value);
		return kept === null ? null : sorted(kept);
	},
	names: (object) => Object.keys(object).sort(),
	skipsEmpty: true,
};

function withoutEmpty(value: Json): Json {
	if (value === '' || value === null) return null;
	if (Array.isArray(value)) {
		const rest = value.map(withoutEmpty).filter((one) => one !== null);
		return rest.length === 0 ? null : rest;
	}
	if (!isObject(value)) return value;
	const rest = Object.entries(value).flatMap(([name, one]): [string, Json][] => {
		const kept = withoutEmpty(one);
		return kept === null ? [] : [[name, kept]];
	});
	return rest.length === 0 ? null : Object.fromEntries(rest);
}

function sorted(value: Json): string {
	if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
	if (!isObject(value)) return JSON.stringify(value);
	const members = Object.keys(value).sort();
	return `{${members.map((name) => `${JSON.stringify(name)}:${sorted(value[name] ?? null)}`).join(',')}}`;
}
