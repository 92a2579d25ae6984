// Which stored credentials a request is sent with: the first alternative of the operation that they satisfy, on the one origin to
// which they are bound.

import { quote } from './clean-text.ts';
import { credentialPlace } from './credential-types.ts';
import type { OutboundRequest } from './lent.ts';
import type { Api, CredentialType, JsonObject } from './nouns.ts';
import type { Secrets } from './secrets.ts';
import { type Proof, signed } from './signing.ts';
import type { CredentialRow, KeyPlace } from './store.ts';
import type { HeldToken, UpstreamTokens } from './upstream-tokens.ts';

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
}

export function createSigner({ secrets, tokens }: { secrets: Secrets; tokens: UpstreamTokens }): Signer {
	// It was validated by CREDENTIALS when it was saved.
	const open = ({ organizationId, name }: SignedApi, row: CredentialRow): JsonObject => {
		const what = `The credential "${row.type}" of the API ${quote(name)}`;
		return JSON.parse(secrets.open(row.secret, credentialPlace(organizationId, row.apiId, row.type), what)) as JsonObject;
	};
	return {
		async sign(request, api, credentials) {
			const signature: Signature = { request, secrets: [], token: null };
			for (const row of chosen(request, credentials)) {
				const fields = open(api, row);
				if (row.type === 'oauth2') signature.token = await tokens.get(api.organizationId, row, fields);
				const proof = row.type === 'oauth2' && signature.token ? tokenProof(signature.token) : proofOf(row.type, fields);
				signature.request = signed(signature.request, proof);
				signature.secrets.push(secretOf(proof));
			}
			return signature;
		},
		preview: (request, api, { credentials, hidden }) =>
			chosen(request, credentials).reduce((unsigned, row) => {
				// Rows of before 0007 say only inside where their key goes.
				const place = row.type === 'api_key' ? (row.place ?? placeOf(open(api, row))) : null;
				return signed(unsigned, hiddenProof(row.type, place, hidden));
			}, request),
	};
}

/** Bound to the origin of the request, and asked for by it. */
function chosen({ url, security }: OutboundRequest, credentials: readonly CredentialRow[]): CredentialRow[] {
	const { origin } = new URL(url);
	const stored = credentials.filter((row) => row.origin === origin);
	const alternatives: readonly (readonly string[])[] = security ?? stored.map(({ type }) => [type]);
	for (const alternative of alternatives) {
		const rows = alternative.map((type) => stored.find((row) => row.type === type));
		if (rows.every((row) => row !== undefined)) return rows;
	}
	return [];
}

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
