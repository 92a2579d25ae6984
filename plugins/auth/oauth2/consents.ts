// Stores what a user has agreed to, per user and client, and the one-time slips of the consent page.

import type { Context, JsonObject, Scope, StoredRecord } from '../../../core/index.ts';
import { type Client, clientTag, rememberClient } from './clients/clients.ts';
import { matchesRedirect } from './clients/redirect-uris.ts';
import { userTag } from './grants.ts';
import { isWithin } from './scopes.ts';
import { digest, mintSecret } from './secrets.ts';

const ASKING_MS = 15 * 60_000;

export const CONSENTS = 'consent';

interface Consent extends JsonObject {
	id: string;
	clientId: string;
	clientName: string;
	userId: string;
	email: string;
	/** Those of all places. */
	scopes: Scope[];
	/**
	 * The addresses to which the user let codes be sent, each with its scopes. The page tells where one is sent, and anybody may register a client
	 * with a name and several addresses. Consents from before these were kept have none, and are asked for again.
	 */
	places?: Place[];
}

interface Place extends JsonObject {
	redirectUri: string;
	scopes: Scope[];
}

/** The most addresses of a consent; a client registers no more. */
const MAX_PLACES = 20;

interface Agreement {
	userId: string;
	email: string;
	redirectUri: string;
	scopes: Scope[];
	/** The time since which the user is a member; null for users without such a time. Older consents are void. */
	since: Date | null;
}

const idOf = (userId: string, clientId: string): string => digest(`${userId} ${clientId}`);
const keyOf = (id: string): string => `consent:${id}`;
const consentTag = (id: string): string => `consent:${id}`;

export async function isAgreed(client: Client, agreement: Agreement, context: Context): Promise<boolean> {
	const consent = await findConsent(idOf(agreement.userId, client.id), agreement, context);
	const place = placeOf(consent, agreement);
	return place !== undefined && isWithin(agreement.scopes, place.scopes);
}

const placeOf = (consent: Consent | null, { redirectUri }: Pick<Agreement, 'redirectUri'>): Place | undefined =>
	consent?.places?.find((place) => matchesRedirect([place.redirectUri], redirectUri));

/** Finds a consent. One from before the user was removed and joined again is void. */
async function findConsent(id: string, { since }: Agreement, { records }: Context): Promise<Consent | null> {
	const record = await records.get(keyOf(id));
	// The value has the form that `agree` stored.
	if (record && (since === null || record.createdAt >= since)) return record.value as Consent;
	if (record) await records.drop(consentTag(id));
	return null;
}

/** Stores the consent, added to an earlier one. */
export async function agree(client: Client, agreement: Agreement, context: Context): Promise<void> {
	const { userId, email, redirectUri, scopes } = agreement;
	const id = idOf(userId, client.id);
	const former = await findConsent(id, agreement, context);
	const all = [...new Set([...(former?.scopes ?? []), ...scopes])];
	const place = placeOf(former, agreement);
	const others = former?.places?.filter((one) => one !== place) ?? [];
	const places = [...others, { redirectUri, scopes: [...new Set([...(place?.scopes ?? []), ...scopes])] }].slice(-MAX_PLACES);
	const consent: Consent = { id, clientId: client.id, clientName: client.name, userId, email, scopes: all, places };
	await rememberClient(client, context, { userId, email });
	await context.records.put(keyOf(id), consent, {
		tags: [CONSENTS, consentTag(id), clientTag(client.id), userTag(userId)],
		audited: { type: 'oauth_consent', name: client.name || client.id, by: { userId, email } },
	});
}

export async function withdraw(client: Client, userId: string, { records }: Context): Promise<void> {
	await records.drop(consentTag(idOf(userId, client.id)));
}

export const endConsent = async (id: string, { records }: Context): Promise<StoredRecord | null> => {
	const record = await records.get(keyOf(id));
	await records.drop(consentTag(id));
	return record;
};

/** The request that a slip is valid for: this login, and exactly the query that the page shows. */
export interface ConsentRequest {
	sessionId: string;
	/** The query of the request. */
	request: string;
}

const slipKey = (slip: string): string => `asking:${digest(slip)}`;

/** Issues a slip. @returns a text that is valid once */
export async function ask({ sessionId, request }: ConsentRequest, { records }: Context): Promise<string> {
	const slip = mintSecret();
	await records.put(slipKey(slip), { sessionId, request: digest(request) }, { ttlMs: ASKING_MS });
	return slip;
}

/** Tells whether a slip was issued for this request: each counts once, and is `repeated` when its form is sent again. */
export async function answerBy(
	slip: string,
	{ sessionId, request }: ConsentRequest,
	{ records }: Context,
): Promise<'first' | 'repeated' | null> {
	const taken = await records.take(slipKey(slip));
	const value = (taken ?? (await records.get(slipKey(slip))))?.value;
	if (value?.['sessionId'] !== sessionId || value['request'] !== digest(request)) return null;
	return taken ? 'first' : 'repeated';
}

/** Shows a consent in the management API. */
export function presentConsent(record: StoredRecord): JsonObject {
	// The value has the form that `agree` stored.
	const { id, clientId, clientName, userId, email, scopes } = record.value as Consent;
	return { consentId: id, clientId, clientName, userId, email, scopes, createdAt: record.createdAt.toISOString() };
}
