// Stores clients: those that registered themselves, and those that an https URL describes.

import type { JSONWebKeySet } from 'jose';
import type { Call, Context, JsonObject, PublicKeyAlgorithm, StoredRecord } from '../../../../core/index.ts';
import type { OAuthConfig } from '../config.ts';
import { digest } from '../secrets.ts';
import { carried, uncarried } from './carried.ts';
import { readClientDocument } from './documents.ts';

export type ClientMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** The address of a client's keys, or the keys themselves. */
export type ClientKeys = { url: string } | { set: JSONWebKeySet };

export interface Client {
	id: string;
	/** The name that the client gives itself, without characters that cannot be shown. */
	name: string;
	/** True when the client's id is the https URL that describes it. */
	isDocument: boolean;
	redirectUris: string[];
	method: ClientMethod;
	/** The digest of the secret; null for a client that can keep none. */
	secret: string | null;
	/** Null for a client that signs nothing. */
	keys: ClientKeys | null;
	/** The one algorithm that the client declared; null: any accepted one. */
	signingAlg: PublicKeyAlgorithm | null;
	mayRefresh: boolean;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** The lifetime of a client that no user has allowed yet. */
const UNUSED_MS = DAY_MS;
/** The lifetime after the last use. A refresh token lives 30 days, so no client ends before its grants. */
const USED_MS = 90 * DAY_MS;
/**
 * The most clients of a gateway that no user has allowed yet: anyone may register some, and the grants of all the organization's gateways need
 * room in the same store. It is more than one address can register in a day, 10 in 300 seconds, and 3 % of the store's records.
 */
const MAX_UNUSED = 3000;
/** The most registrations at once that are told apart. */
const AT_ONCE = 100;
/** How often a registration looks for one to remove while others remove what it has found. */
const MAX_TRIES = 10;

const MAX_SHOWN = 100;
/** The most characters of an id in the audit log. */
const MAX_AUDITED = 1000;

export const CLIENTS = 'client';
/** The tag of clients that no user has allowed yet. */
const UNUSED = 'unused';
const keyOf = (id: string): string => `client:${digest(id)}`;
/** The tag of every record that belongs to the client. */
export const clientTag = (id: string): string => `client:${digest(id)}`;

/** Adds a client that has registered itself, and returns it with its id. The oldest that no user has allowed gives way. @throws conflict when the store is full */
export async function addClient(client: Client, call: Call): Promise<Client> {
	if (call.organizations) return carried(client, call);
	const tags = [CLIENTS, clientTag(client.id), UNUSED];
	await call.records.put(keyOf(client.id), toRecord(client), { tags, ttlMs: UNUSED_MS, ...audited(client) });
	await makeRoom(call);
	return client;
}

/**
 * Removes one unused client where there are too many: the oldest that no registration at the same time removes. Each adds one first, so that the
 * bound holds when all of them on all replicas are done, and none removes more than it adds.
 */
async function makeRoom({ records }: Context): Promise<void> {
	// Others may have removed all that were found, since they knew of more: then it is counted again.
	for (let tries = 0; tries < MAX_TRIES; tries++) {
		const excess = (await records.count(UNUSED, MAX_UNUSED + AT_ONCE)) - MAX_UNUSED;
		if (excess <= 0) return;
		const { records: oldest } = await records.find(UNUSED, { limit: excess, sort: 'createdAt' });
		// They are removed by their tags: a client that a user has allowed meanwhile is no longer unused.
		for (const record of oldest) if ((await records.drop({ all: [UNUSED, clientTag(toClient(record).id)] })) > 0) return;
	}
}

const audited = ({ name, id }: Client, by?: { userId: string; email: string }) => ({
	audited: { type: 'oauth_client', name: (name || id).slice(0, MAX_AUDITED), ...(by && { by }) },
});

/** Finds a client; null when there is none with this id. */
export async function findClient(id: string, config: OAuthConfig, context: Call): Promise<Client | null> {
	if (isDocumentId(id)) return config.clientMetadataDocuments ? readClientDocument(id, context) : null;
	if (context.organizations) return uncarried(id, context);
	const record = await context.records.get(keyOf(id));
	return record && toClient(record);
}

/** Finds the stored record of a client, for the gateway's owners. */
export const findStored = (id: string, { records }: Context): Promise<StoredRecord | null> => records.get(keyOf(id));

/**
 * Keeps a client that a user allows as long as it is used. A client that describes itself elsewhere, or in its id, is stored, so that the
 * owners see it. @param by the user who allows it
 */
export async function rememberClient(client: Client, { records }: Context, by?: { userId: string; email: string }): Promise<void> {
	const record = await records.get(keyOf(client.id));
	const options = { tags: [CLIENTS, clientTag(client.id)], ttlMs: USED_MS, ...audited(client, by) };
	if (record) await records.update(keyOf(client.id), record.revision, toRecord(client), { tags: options.tags, ttlMs: USED_MS });
	else if (client.isDocument || isCarried(client.id)) await records.put(keyOf(client.id), toRecord(client), options);
}

/** Ids that a gateway gives have 22 characters. */
const isCarried = (id: string): boolean => id.length > 100;

export const isDocumentId = (id: string): boolean => /^https?:\/\//i.test(id);

/** Converts a client to JSON, which it already is: a key set holds strings and lists of strings. */
const toRecord = (client: Client): JsonObject => ({ ...client }) as unknown as JsonObject;

/** Converts a record that `toRecord` made. Clients that were stored before clients could have keys lack these fields. */
export function toClient({ value }: StoredRecord): Client {
	const { keys = null, signingAlg = null, ...client } = value as unknown as Client;
	return { ...client, keys, signingAlg };
}

/** Removes characters that cannot be shown: controls, and those that reverse or hide the text around them. */
export function shownName(name: string): string {
	const plain = name
		.replace(/[\s\p{Zl}\p{Zp}]+/gu, ' ')
		.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu, '')
		.trim();
	// The name is cut between code points, so that no character is split.
	return [...plain].slice(0, MAX_SHOWN).join('').trim();
}

/** Shows a client in the management API, without its secret. */
export const presentClient = (record: StoredRecord): JsonObject => {
	const { id, name, isDocument, redirectUris, method } = toClient(record);
	return {
		clientId: id,
		name,
		registration: isDocument ? 'document' : 'dynamic',
		redirectUris,
		tokenEndpointAuthMethod: method,
		createdAt: record.createdAt.toISOString(),
		expiresAt: record.expiresAt?.toISOString() ?? null,
	};
};
