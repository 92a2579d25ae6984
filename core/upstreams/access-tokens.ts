// Access tokens to connected APIs (RFC 6749 §4.4 and §6): from memory while they are good, else got by one replica for all, and kept
// sealed where a refresh token that was exchanged for the next one is not lost.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { JsonObject, Log } from '../contract/nouns.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { Changes, CredentialRow, TokenRow, TokenStore } from '../store/store.ts';
import { credentialKey } from './credential-types.ts';
import { type AskTokenServer, exchange, type Grant, TOKEN_TIMEOUT_MS } from './token-requests.ts';

export interface HeldToken {
	accessToken: string;
	/** It was asked for just now. */
	isNew: boolean;
	/** Asks for another one in its place, once for all who ask at the same time. Null: the last one that was got so was refused at once. */
	renew(): Promise<HeldToken | null>;
	/** It was refused, although it is new. */
	refused(): void;
}

export interface UpstreamTokens {
	/** @param fields of the credential. @throws upstream_failed, upstream_timeout, egress_refused */
	get(organizationId: string, row: CredentialRow, fields: JsonObject): Promise<HeldToken>;
	/** Lets what is being asked end: an answer that nobody keeps could be the only one with the next refresh token. */
	close(): Promise<void>;
}

export interface UpstreamTokenParts {
	store: TokenStore;
	changes: Changes;
	secrets: Secrets;
	log: Log;
	ask: AskTokenServer;
}

/** Of whose turn it is; longer than asking may take (twice, where the server must be asked in two ways) and keeping what it answers. */
const LEASE_MS = 25_000;
/** For a turn that another replica has, which may have died with it. */
const MAX_WAIT_MS = LEASE_MS + 5_000;
const FIRST_POLL_MS = 50;
const LAST_POLL_MS = 400;
/** A failure is everybody's for so long: a token server is not asked as often as tools are called. */
const FAILED_MS = 1_000;
/** A server that refuses a token that is new refuses the next one, too. */
const REFUSED_MS = 10_000;
const CAPACITY = 10_000;

interface Known {
	accessToken: string;
	revision: number;
	/** Monotonic. */
	goodUntilMs: number;
	isNew: boolean;
}

/** One credential, of which one process has one. */
interface Entry {
	organizationId: string;
	row: CredentialRow;
	fields: JsonObject;
	known: Known | null;
	getting: Promise<Known> | null;
	failed: { error: unknown; untilMs: number } | null;
	refusedUntilMs: number;
}

/** What is sealed. */
interface Document {
	accessToken: string;
	refreshToken?: string;
	clientAuth?: Grant['clientAuth'];
}

export function createUpstreamTokens(parts: UpstreamTokenParts): UpstreamTokens {
	const tokens = new TokenCache(parts);
	return { get: (organizationId, row, fields) => tokens.get({ organizationId, row, fields }), close: () => tokens.close() };
}

class TokenCache {
	readonly #parts: UpstreamTokenParts;
	/**
	 * By the credential's envelope: a changed credential finds nothing of the former one. What is being got stays: nobody else may
	 * get it meanwhile.
	 */
	readonly #entries = new BoundedMap<string, Entry>(CAPACITY, { mustStay: ({ getting }) => getting !== null });
	readonly #unsubscribe: () => void;

	constructor(parts: UpstreamTokenParts) {
		this.#parts = parts;
		this.#unsubscribe = parts.changes.subscribe((topics) => {
			for (const entry of this.#entries.values())
				if (topics.includes(`token:${entry.row.apiId}`) || topics.includes('*')) entry.known = null;
		});
	}

	async get(credential: Pick<Entry, 'organizationId' | 'row' | 'fields'>): Promise<HeldToken> {
		const entry = this.#entry(credential);
		const { known } = entry;
		return this.#held(entry, known && known.goodUntilMs > performance.now() ? known : await this.#shared(entry, null));
	}

	async close(): Promise<void> {
		this.#unsubscribe();
		await Promise.allSettled([...this.#entries.values()].map(({ getting }) => getting));
		this.#entries.clear();
	}

	#entry(credential: Pick<Entry, 'organizationId' | 'row' | 'fields'>): Entry {
		const known = this.#entries.get(credential.row.secret);
		if (known) return known;
		const entry: Entry = { ...credential, known: null, getting: null, failed: null, refusedUntilMs: 0 };
		this.#entries.set(credential.row.secret, entry);
		return entry;
	}

	#held(entry: Entry, { accessToken, revision, isNew }: Known): HeldToken {
		return {
			accessToken,
			isNew,
			renew: async () => {
				if (entry.refusedUntilMs > performance.now()) return null;
				return this.#held(entry, await this.#renewed(entry, revision));
			},
			refused: () => {
				entry.refusedUntilMs = performance.now() + REFUSED_MS;
			},
		};
	}

	/** Another than this revision's. */
	async #renewed(entry: Entry, useless: number): Promise<Known> {
		if (entry.known?.revision === useless) entry.known = null;
		const { known } = entry;
		if (known && known.goodUntilMs > performance.now()) return known;
		const got = await this.#shared(entry, useless);
		// What was under way when it was asked for may have found the very same.
		return got.revision === useless ? this.#shared(entry, useless) : got;
	}

	/** One at a time in this process. */
	#shared(entry: Entry, useless: number | null): Promise<Known> {
		if (entry.getting) return entry.getting;
		if (entry.failed && entry.failed.untilMs > performance.now()) return Promise.reject(entry.failed.error);
		entry.failed = null;
		const getting = this.#obtain(entry, useless);
		entry.getting = getting;
		getting.then(
			(known) => {
				entry.getting = null;
				entry.known = { ...known, isNew: false };
			},
			(error: unknown) => {
				entry.getting = null;
				entry.failed = { error, untilMs: performance.now() + FAILED_MS };
			},
		);
		return getting;
	}

	/** One at a time among the replicas. */
	async #obtain(entry: Entry, refused: number | null): Promise<Known> {
		const { organizationId, row } = entry;
		const lease = randomUUID();
		let useless = refused;
		const givenUpMs = performance.now() + MAX_WAIT_MS;
		for (let pollMs = FIRST_POLL_MS; performance.now() < givenUpMs; pollMs = Math.min(pollMs * 2, LAST_POLL_MS)) {
			const askedMs = performance.now();
			const turn = await this.#parts.store.turn(organizationId, row, { useless, lease, leaseMs: LEASE_MS });
			if (turn === null) throw new GatewayError('upstream_failed', 'The credential of the API has just been changed. Try again.');
			if (turn.state === 'found') {
				const known = this.#open(entry, turn.row);
				if (known) return known;
				useless = turn.row.revision;
				continue;
			}
			const got = turn.state === 'lease' ? await this.#leased(entry, { lease, row: turn.row, untilMs: askedMs + LEASE_MS }) : null;
			if (got) return got;
			await sleep(pollMs);
		}
		throw new GatewayError('upstream_timeout', 'Another replica has been asking the token server for too long. Try again later.');
	}

	/** Null when it cannot be told whether the token was stored: a look tells. */
	async #leased(entry: Entry, { lease, row, untilMs }: { lease: string; row: TokenRow; untilMs: number }): Promise<Known | null> {
		const { organizationId } = entry;
		try {
			// A process that was stopped in between must not ask when it may be another's turn.
			if (untilMs - performance.now() < 2 * TOKEN_TIMEOUT_MS)
				throw new GatewayError('upstream_timeout', 'The turn to ask the token server was missed.');
			const last = this.#document(entry, row);
			const granted = await exchange({ fields: entry.fields, last, organizationId }, this.#parts.ask);
			const goodUntilMs = performance.now() + granted.lifetimeMs;
			const { accessToken, lifetimeMs, ...rest } = granted;
			const document: Document = { accessToken, ...rest };
			const sealed = this.#parts.secrets.seal(JSON.stringify(document), tokenPlace(entry));
			const kept = await this.#keep(entry, { lease, sealed, lifetimeMs, untilMs });
			return kept === null ? null : { accessToken, revision: kept, goodUntilMs, isNew: true };
		} catch (error) {
			await this.#parts.store.giveUp(organizationId, entry.row, lease).catch((fault: unknown) => {
				this.#parts.log.warn(
					{ err: fault, apiId: entry.row.apiId },
					'the turn to ask a token server could not be given back; it ends by itself',
				);
			});
			throw error;
		}
	}

	/** Over and over while the lease lasts: it may be the only copy of the next refresh token. Null: an earlier time may have done it. */
	async #keep(
		entry: Entry,
		{ untilMs, ...token }: { lease: string; sealed: string; lifetimeMs: number; untilMs: number },
	): Promise<number | null> {
		const { store, log } = this.#parts;
		for (let isFirst = true; ; isFirst = false) {
			try {
				const revision = await store.keep(entry.organizationId, entry.row, token);
				if (revision !== null || !isFirst) return revision;
				throw new GatewayError('upstream_failed', 'The credential of the API has just been changed. Try again.');
			} catch (error) {
				if (!(error instanceof GatewayError && error.code === 'unavailable') || performance.now() > untilMs) throw error;
				log.warn({ apiId: entry.row.apiId }, 'a new access token cannot be stored yet');
				await sleep(LAST_POLL_MS);
			}
		}
	}

	#open(entry: Entry, row: TokenRow): Known | null {
		const document = this.#document(entry, row);
		const { revision, leftMs } = row;
		return document && { accessToken: document.accessToken, revision, goodUntilMs: performance.now() + leftMs, isNew: false };
	}

	/** One that cannot be opened is as good as none: the next is asked for with the credential itself. */
	#document(entry: Entry, { sealed }: TokenRow): Document | null {
		if (sealed === null) return null;
		try {
			// It was sealed here.
			return JSON.parse(this.#parts.secrets.open(sealed, tokenPlace(entry), 'The access token')) as Document;
		} catch (error) {
			if (asGatewayError(error)?.code === 'secret_unreadable') return null;
			throw error;
		}
	}
}

const tokenPlace = ({ organizationId, row }: Entry) => ({ organizationId, table: 'upstream_tokens', row: credentialKey(row) });
