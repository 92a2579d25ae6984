// Chooses the stored credentials that a request is sent with: the first alternative of the operation that they satisfy, on the one origin
// to which they are bound.

import { GatewayError } from '../contract/errors.ts';
import type { Api, CredentialNeed, CredentialType, JsonObject, SchemeNeed } from '../contract/nouns.ts';
import type { OutboundRequest } from '../contract/outbound.ts';
import { quote } from '../kit/clean-text.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { CredentialRow, KeyPlace } from '../store/store.ts';
import type { HeldToken, UpstreamTokens } from './access-tokens.ts';
import { credentialLocation, isCredentialType } from './credential-types.ts';
import { type Proof, signed } from './signing.ts';

export interface Signature {
	request: OutboundRequest;
	/** Secrets that were written into the request and must reach no other origin. */
	secrets: string[];
	/** The token among them, which may become invalid before it expires. */
	token: HeldToken | null;
}

/** The API's fields that locate its secrets, and that name it in error messages. */
type SignedApi = Pick<Api, 'organizationId' | 'name'>;

export interface Signer {
	/**
	 * Signs the request with the first alternative of `request.security` that the stored credentials satisfy. It stays unchanged when none
	 * does, or when it goes to another origin than the one that the credential is bound to.
	 * @throws secret_unreadable naming the credential; upstream_failed, upstream_timeout, egress_refused when a token must be obtained first
	 */
	sign(request: OutboundRequest, api: SignedApi, credentials: readonly CredentialRow[]): Promise<Signature>;
	/** Does the same with `hidden` in place of every secret: no secret is opened, and no token requested. */
	preview(request: OutboundRequest, api: SignedApi, given: { credentials: readonly CredentialRow[]; hidden: string }): OutboundRequest;
	/** Lists the locations of the keys that `sign` would add. */
	places(request: Signable, api: SignedApi, credentials: readonly CredentialRow[]): KeyPlace[];
}

/** Whether a credential is a token that a server must be asked for. */
export const isObtained = (type: string): boolean => type === 'oauth2';

type Signable = Pick<OutboundRequest, 'url' | 'security'>;

export function createSigner({ secrets, tokens }: { secrets: Secrets; tokens: UpstreamTokens }): Signer {
	// CREDENTIALS validated the fields when they were saved.
	const open = ({ organizationId, name }: SignedApi, row: CredentialRow): JsonObject => {
		const scheme = row.scheme === null ? '' : ` for the scheme ${quote(row.scheme)}`;
		const what = `The credential "${row.type}"${scheme} of the API ${quote(name)}`;
		return JSON.parse(secrets.open(row.secret, credentialLocation(organizationId, row), what)) as JsonObject;
	};
	// Rows from before migration 0007 have the location of their key only among the sealed fields.
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
				// The location of a secret that cannot be opened is unknown; a call that needs it reports that.
				if (error instanceof GatewayError) return [];
				throw error;
			}
		},
	};
}

/** A credential, and the location of its key if it is one. */
interface Chosen {
	row: CredentialRow;
	place: KeyPlace | null;
}

type Need = Pick<SchemeNeed, 'type'> & Partial<SchemeNeed>;

/** The location of a stored key. */
type PlaceOf = (row: CredentialRow) => KeyPlace;

/** Chooses the credentials that are bound to the origin of the request and required by it. */
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

/** The stored credentials by scheme, and by type. */
interface Stored {
	named: Map<string, CredentialRow>;
	unnamed: Map<string, CredentialRow>;
}

/** Finds a credential for every need of an alternative; null when one is missing. */
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
 * Finds the credential of the scheme, else the one of its type that was stored without a scheme. A key stored without a scheme fits when
 * its location is the scheme's, or when there is no other key that it could be.
 */
function fitting({ type, scheme, in: location, name, only }: Need, { named, unnamed }: Stored, placeIn: PlaceOf): Chosen | null {
	const wanted = location !== undefined && name !== undefined ? { in: location, name } : null;
	const own = scheme === undefined ? undefined : named.get(scheme);
	// A location may forbid characters that another allows: a key whose scheme changed its location must be stored again.
	if (own?.type === type && (wanted === null || placeIn(own).in === wanted.in))
		return { row: own, place: type === 'api_key' ? (wanted ?? placeIn(own)) : null };
	const row = unnamed.get(type);
	if (!row) return null;
	if (type !== 'api_key') return { row, place: null };
	const place = placeIn(row);
	return wanted === null || only === true || isSamePlace(place, wanted) ? { row, place } : null;
}

/** Keeps the last of several credentials for one location, since a server would read at most one. */
const onePerPlace = (found: readonly Chosen[]): Chosen[] =>
	found.filter((one, index) => !found.slice(index + 1).some((later) => isSamePlace(at(later), at(one))));

const at = ({ place }: Chosen): KeyPlace => place ?? AUTHORIZATION;
const AUTHORIZATION: KeyPlace = { in: 'header', name: 'authorization' };

/** Compares locations; header names are case-insensitive. */
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

/** Returns the location of an API key from its fields. */
export const placeOf = (fields: JsonObject): KeyPlace => ({
	name: textOf(fields, 'name'),
	// CREDENTIALS admits no other value.
	in: textOf(fields, 'in') as KeyPlace['in'],
});

/** Returns the fields of a credential that are stored in plain text beside the sealed ones; null when there are none. */
export const shownPlace = (type: CredentialType, fields: JsonObject): KeyPlace | null => (type === 'api_key' ? placeOf(fields) : null);
