// Programs that ask for tokens: those that registered themselves, and those that an https URL describes.

import type { JSONWebKeySet } from 'jose';
import type { Context, JsonObject, PublicKeyAlgorithm, StoredRecord } from '../../../../core/index.ts';
import type { OAuthConfig } from '../config.ts';
import { digest } from '../secrets.ts';
import { readClientDocument } from './documents.ts';

export type ClientMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** The address of a client's keys, or the keys themselves. */
export type ClientKeys = { url: string } | { set: JSONWebKeySet };

export interface Client {
	id: string;
	/** As it calls itself, without what cannot be shown. */
	name: string;
	/** It describes itself under its id, which is an https URL. */
	isDocument: boolean;
	redirectUris: string[];
	method: ClientMethod;
	/** Digest; null for a client that can keep no secret. */
	secret: string | null;
	/** Null for a client that signs nothing. */
	keys: ClientKeys | null;
	/** The one algorithm that it said it signs with; null: any that is taken. */
	signingAlg: PublicKeyAlgorithm | null;
	mayRefresh: boolean;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Of a client that nobody has let in yet. */
const UNUSED_MS = DAY_MS;
/** After its last use; a refresh token lives 30 days, so no client goes before its grants. */
const USED_MS = 90 * DAY_MS;

const MAX_SHOWN = 100;

export const CLIENTS = 'client';
const keyOf = (id: string): string => `client:${digest(id)}`;
/** Of everything that a client has been given. */
export const clientTag = (id: string): string => `client:${digest(id)}`;

export async function addClient(client: Client, { records }: Context): Promise<void> {
	await records.put(keyOf(client.id), toRecord(client), { tags: [CLIENTS, clientTag(client.id)], ttlMs: UNUSED_MS, ...audited(client) });
}

const audited = ({ name, id }: Client) => ({ audited: { type: 'oauth_client', name: name || id } });

/** Null when there is none of this id. */
export async function findClient(id: string, config: OAuthConfig, context: Context): Promise<Client | null> {
	if (isDocumentId(id)) return config.clientMetadataDocuments ? readClientDocument(id, context) : null;
	const record = await context.records.get(keyOf(id));
	return record && toClient(record);
}

/** What is stored of it, for its owners. */
export const findStored = (id: string, { records }: Context): Promise<StoredRecord | null> => records.get(keyOf(id));

/** Somebody lets it in: it stays as long as it is used, and the gateway's owners see it, also when it describes itself elsewhere. */
export async function rememberClient(client: Client, { records }: Context): Promise<void> {
	const record = await records.get(keyOf(client.id));
	const options = { tags: [CLIENTS, clientTag(client.id)], ttlMs: USED_MS, ...audited(client) };
	if (record) await records.update(keyOf(client.id), record.revision, toRecord(client), { ttlMs: USED_MS });
	else if (client.isDocument) await records.put(keyOf(client.id), toRecord(client), options);
}

export const isDocumentId = (id: string): boolean => /^https?:\/\//i.test(id);

/** A key set holds texts and lists of texts, so all of it is JSON. */
const toRecord = (client: Client): JsonObject => ({ ...client }) as unknown as JsonObject;

/** The value is what `toRecord` made of a client, but clients that were stored before they could have keys lack these fields. */
export function toClient({ value }: StoredRecord): Client {
	const { keys = null, signingAlg = null, ...client } = value as unknown as Client;
	return { ...client, keys, signingAlg };
}

/** What is no text to show is left out: controls, and characters that turn or hide what is around them. */
export function shownName(name: string): string {
	const plain = name
		.replace(/[\s\p{Zl}\p{Zp}]+/gu, ' ')
		.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu, '')
		.trim();
	// By characters, so that none is cut in half.
	return [...plain].slice(0, MAX_SHOWN).join('').trim();
}

/** For the management API: no secret in it. */
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
