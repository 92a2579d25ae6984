// Which stored credentials a request is sent with: the first alternative of the operation that they satisfy, on the one origin to
// which they are bound.

import type { OutboundRequest } from '../contract/context.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Api, CredentialNeed, CredentialType, JsonObject, SchemeNeed } from '../contract/nouns.ts';
import { quote } from '../kit/clean-text.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { CredentialRow, KeyPlace } from '../store/store.ts';
import type { HeldToken, UpstreamTokens } from './access-tokens.ts';
import { credentialPlace, isCredentialType } from './credential-types.ts';
import { type Proof, signed } from './signing.ts';

export interface Signature {
	request: OutboundRequest;
	/** What was written into it and must reach no other origin. */
	secrets: string[];
	/** The one of these that may be void before its time. */
	token: HeldToken | null;
}

/** For the place of its secrets, and for the words about one that cannot be read. */
type SignedApi = Pick<Api, 'organizationId' | 'name'>;

export interface Signer {
	/**
	 * The request with the first alternative of `request.security` that the stored credentials satisfy. Unchanged when
	 * none does, or when it goes to another origin than the one that the credential is bound to.
	 * @throws secret_unreadable naming the credential; upstream_failed, upstream_timeout, egress_refused where a token is to be had first
	 */
	sign(request: OutboundRequest, api: SignedApi, credentials: readonly CredentialRow[]): Promise<Signature>;
	/** The same with `hidden` in place of every secret: no secret is opened, and no token asked for. */
	preview(request: OutboundRequest, api: SignedApi, given: { credentials: readonly CredentialRow[]; hidden: string }): OutboundRequest;
	/** Where the keys go that `sign` would add. */
	places(request: Signable, api: SignedApi, credentials: readonly CredentialRow[]): KeyPlace[];
}

type Signable = Pick<OutboundRequest, 'url' | 'security'>;

export function createSigner({ secrets, tokens }: { secrets: Secrets; tokens: UpstreamTokens }): Signer {
	// It was validated by CREDENTIALS when it was saved.
	const open = ({ organizationId, name }: SignedApi, row: CredentialRow): JsonObject => {
		const scheme = row.scheme === null ? '' : ` for the scheme ${quote(row.scheme)}`;
		const what = `The credential "${row.type}"${scheme} of the API ${quote(name)}`;
		return JSON.parse(secrets.open(row.secret, credentialPlace(organizationId, row), what)) as JsonObject;
	};
	// Rows of before 0007 say only inside where their key goes.
	const placeIn =
		(api: SignedApi): PlaceOf =>
		(row) =>
			row.place ?? placeOf(open(api, row));
	return {
		async sign(request, api, credentials) {
			const signature: Signature = { request, secrets: [], token: null };
			for (const { row, place } of chosen(request, credentials, placeIn(api))) {
				const fields = open(api, row);
				if (row.type === 'oauth2') signature.token = await tokens.get(api.organizationId, row, fields);
				const proof = row.type === 'oauth2' && signature.token ? tokenProof(signature.token) : proofOf(row.type, { ...fields, ...place });
				signature.request = signed(signature.request, proof);
				signature.secrets.push(secretOf(proof));
			}
			return signature;
		},
		preview: (request, api, { credentials, hidden }) =>
			chosen(request, credentials, placeIn(api)).reduce(
				(unsigned, { row, place }) => signed(unsigned, hiddenProof(row.type, place, hidden)),
				request,
			),
		places(request, api, credentials) {
			try {
				return chosen(request, credentials, placeIn(api)).flatMap(({ place }) => place ?? []);
			} catch (error) {
				// Of a secret that does not open nobody knows where it goes; a call that needs it says so.
				if (error instanceof GatewayError) return [];
				throw error;
			}
		},
	};
}

/** A credential, and where it goes if it is a key. */
interface Chosen {
	row: CredentialRow;
	place: KeyPlace | null;
}

type Need = Pick<SchemeNeed, 'type'> & Partial<SchemeNeed>;

/** Of a stored key. */
type PlaceOf = (row: CredentialRow) => KeyPlace;

/** Bound to the origin of the request, and asked for by it. */
function chosen({ url, security }: Signable, credentials: readonly CredentialRow[], placeIn: PlaceOf): Chosen[] {
	const { origin } = new URL(url);
	const stored: Stored = { named: new Map(), unnamed: new Map() };
	for (const row of credentials) {
		if (row.origin !== origin) continue;
		if (row.scheme === null) stored.unnamed.set(row.type, row);
		else stored.named.set(row.scheme, row);
	}
	const alternatives: readonly (readonly CredentialNeed[])[] =
		security ?? [...stored.unnamed.keys()].flatMap((type) => (isCredentialType(type) ? [[type]] : []));
	for (const alternative of alternatives) {
		const found = whole(alternative, stored, placeIn);
		if (found) return onePerPlace(found);
	}
	return [];
}

/** By scheme, and by type. */
interface Stored {
	named: Map<string, CredentialRow>;
	unnamed: Map<string, CredentialRow>;
}

/** Null where one is missing. */
function whole(alternative: readonly CredentialNeed[], stored: Stored, placeIn: PlaceOf): Chosen[] | null {
	const found: Chosen[] = [];
	for (const need of alternative) {
		const one = fitting(typeof need === 'string' ? { type: need } : need, stored, placeIn);
		if (!one) return null;
		found.push(one);
	}
	return found;
}

/**
 * The credential of the scheme, else the one of its type that was stored without a scheme. A key of these is the scheme's where it goes to
 * the scheme's place, or where there is no other key that it could be.
 */
function fitting({ type, scheme, in: location, name, only }: Need, { named, unnamed }: Stored, placeIn: PlaceOf): Chosen | null {
	const wanted = location !== undefined && name !== undefined ? { in: location, name } : null;
	const own = scheme === undefined ? undefined : named.get(scheme);
	// What a header may hold, another place may not: a key whose scheme went there must be stored again.
	if (own?.type === type && (wanted === null || placeIn(own).in === wanted.in))
		return { row: own, place: type === 'api_key' ? (wanted ?? placeIn(own)) : null };
	const row = unnamed.get(type);
	if (!row) return null;
	if (type !== 'api_key') return { row, place: null };
	const place = placeIn(row);
	return wanted === null || only === true || isSamePlace(place, wanted) ? { row, place } : null;
}

/** Of two in one place the last would be read, if any. */
const onePerPlace = (found: readonly Chosen[]): Chosen[] =>
	found.filter((one, index) => !found.slice(index + 1).some((later) => isSamePlace(at(later), at(one))));

const at = ({ place }: Chosen): KeyPlace => place ?? AUTHORIZATION;
const AUTHORIZATION: KeyPlace = { in: 'header', name: 'authorization' };

/** Names of headers know no case. */
export const isSamePlace = (one: KeyPlace, other: KeyPlace): boolean =>
	one.in === other.in && (one.name === other.name || (one.in === 'header' && one.name.toLowerCase() === other.name.toLowerCase()));

const tokenProof = ({ accessToken }: HeldToken): Proof => ({ type: 'oauth2', token: accessToken });

const textOf = (fields: JsonObject, name: string): string => String(fields[name] ?? '');

function proofOf(type: string, fields: JsonObject): Proof {
	if (type === 'api_key') return { type, key: textOf(fields, 'key'), ...placeOf(fields) };
	if (type === 'basic_auth') return { type, username: textOf(fields, 'username'), password: textOf(fields, 'password') };
	return { type: 'bearer_token', token: textOf(fields, 'token') };
}

function hiddenProof(type: string, place: KeyPlace | null, hidden: string): Proof {
	if (place) return { type: 'api_key', key: hidden, ...place };
	return type === 'basic_auth' ? { type, username: hidden, password: hidden } : { type: 'bearer_token', token: hidden };
}

function secretOf(proof: Proof): string {
	if (proof.type === 'api_key') return proof.key;
	return proof.type === 'basic_auth' ? proof.password : proof.token;
}

/** Of an API key's fields. */
export const placeOf = (fields: JsonObject): KeyPlace => ({
	name: textOf(fields, 'name'),
	// CREDENTIALS lets no other through.
	in: textOf(fields, 'in') as KeyPlace['in'],
});

/** What of a credential's fields is kept beside the sealed ones; null where nothing is. */
export const shownPlace = (type: CredentialType, fields: JsonObject): KeyPlace | null => (type === 'api_key' ? placeOf(fields) : null);
