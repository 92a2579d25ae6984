// Access tokens to connected APIs (RFC 6749 §4.4 and §6): from memory while they are valid, else obtained by one replica for all. They are
// stored sealed, so that a refresh token exchanged for the next one is not lost.

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
	/** The token was obtained just now. */
	isNew: boolean;
	/** Obtains another token, once for all concurrent callers. Null: the last renewed one was refused at once. */
	renew(): Promise<HeldToken | null>;
	/** Reports that the token was refused although it is new. */
	refused(): void;
}

export interface UpstreamTokens {
	/** Returns the token of a credential. @param fields of the credential. @throws upstream_failed, upstream_timeout, egress_refused */
	get(organizationId: string, row: CredentialRow, fields: JsonObject): Promise<HeldToken>;
	/** Waits for the requests under way: an answer that nobody stores could hold the only copy of the next refresh token. */
	close(): Promise<void>;
}

export interface UpstreamTokenParts {
	store: TokenStore;
	changes: Changes;
	secrets: Secrets;
	log: Log;
	ask: AskTokenServer;
}

/** The length of a lease: longer than asking may take (twice, when the server must be asked in two ways) plus storing the answer. */
const LEASE_MS = 25_000;
/** The longest wait for the lease of another replica, which may have died with it. */
const MAX_WAIT_MS = LEASE_MS + 5_000;
const FIRST_POLL_MS = 50;
const LAST_POLL_MS = 400;
/** A failure counts for all callers for so long: a token server is not asked as often as tools are called. */
const FAILED_MS = 1_000;
/** A server that refuses a new token refuses the next one, too. */
const REFUSED_MS = 10_000;
const CAPACITY = 10_000;

interface CachedToken {
	accessToken: string;
	revision: number;
	/** Monotonic time. */
	goodUntilMs: number;
	isNew: boolean;
}

/** The state of one credential, of which a process has one. */
interface TokenCacheEntry {
	organizationId: string;
	row: CredentialRow;
	fields: JsonObject;
	known: CachedToken | null;
	getting: Promise<CachedToken> | null;
	failed: { error: unknown; untilMs: number } | null;
	refusedUntilMs: number;
}

/** The sealed content. */
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
	 * By the credential’s envelope: a changed credential does not find its former entry. An entry whose token is being obtained stays, so
	 * that nobody else obtains one at the same time.
	 */
	readonly #entries = new BoundedMap<string, TokenCacheEntry>(CAPACITY, { mustStay: ({ getting }) => getting !== null });
	readonly #unsubscribe: () => void;

	constructor(parts: UpstreamTokenParts) {
		this.#parts = parts;
		this.#unsubscribe = parts.changes.subscribe((topics) => {
			for (const entry of this.#entries.values())
				if (topics.includes(`token:${entry.row.apiId}`) || topics.includes('*')) entry.known = null;
		});
	}

	async get(credential: Pick<TokenCacheEntry, 'organizationId' | 'row' | 'fields'>): Promise<HeldToken> {
		const entry = this.#entry(credential);
		const { known } = entry;
		return this.#held(entry, known && known.goodUntilMs > performance.now() ? known : await this.#shared(entry, null));
	}

	async close(): Promise<void> {
		this.#unsubscribe();
		await Promise.allSettled([...this.#entries.values()].map(({ getting }) => getting));
		this.#entries.clear();
	}

	#entry(credential: Pick<TokenCacheEntry, 'organizationId' | 'row' | 'fields'>): TokenCacheEntry {
		const known = this.#entries.get(credential.row.secret);
		if (known) return known;
		const entry: TokenCacheEntry = { ...credential, known: null, getting: null, failed: null, refusedUntilMs: 0 };
		this.#entries.set(credential.row.secret, entry);
		return entry;
	}

	#held(entry: TokenCacheEntry, { accessToken, revision, isNew }: CachedToken): HeldToken {
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

	/** Returns a token newer than the refused one. */
	async #renewed(entry: TokenCacheEntry, useless: number): Promise<CachedToken> {
		if (entry.known?.revision === useless) entry.known = null;
		const { known } = entry;
		if (known && known.goodUntilMs > performance.now()) return known;
		const got = await this.#shared(entry, useless);
		// A request that was already under way may have found the refused token itself.
		return got.revision === useless ? this.#shared(entry, useless) : got;
	}

	/** Obtains a token, once at a time in this process. */
	#shared(entry: TokenCacheEntry, useless: number | null): Promise<CachedToken> {
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

	/** Obtains a token, once at a time among the replicas. */
	async #obtain(entry: TokenCacheEntry, refused: number | null): Promise<CachedToken> {
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
		throw new GatewayError('upstream_timeout', 'Another replica is still waiting for the token server. Try again later.');
	}

	/** Asks the token server and stores the token; null when it is unknown whether it was stored, so that the caller looks it up. */
	async #leased(
		entry: TokenCacheEntry,
		{ lease, row, untilMs }: { lease: string; row: TokenRow; untilMs: number },
	): Promise<CachedToken | null> {
		const { organizationId } = entry;
		try {
			// A process that was suspended meanwhile must not ask, since its lease may be another's by now.
			if (untilMs - performance.now() < 2 * TOKEN_TIMEOUT_MS)
				throw new GatewayError('upstream_timeout', 'The lease for asking the token server expired.');
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
					'the lease for asking a token server could not be released; it expires by itself',
				);
			});
			throw error;
		}
	}

	/** Retries while the lease lasts: this may be the only copy of the next refresh token. Null: an earlier attempt may have stored it. */
	async #keep(
		entry: TokenCacheEntry,
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
				log.warn({ apiId: entry.row.apiId }, 'a new access token could not be stored yet');
				await sleep(LAST_POLL_MS);
			}
		}
	}

	#open(entry: TokenCacheEntry, row: TokenRow): CachedToken | null {
		const document = this.#document(entry, row);
		const { revision, leftMs } = row;
		return document && { accessToken: document.accessToken, revision, goodUntilMs: performance.now() + leftMs, isNew: false };
	}

	/** Opens the stored token. One that cannot be opened counts as missing: the next is requested with the credential itself. */
	#document(entry: TokenCacheEntry, { sealed }: TokenRow): Document | null {
		if (sealed === null) return null;
		try {
			// The content was sealed by this class, so it has its shape.
			return JSON.parse(this.#parts.secrets.open(sealed, tokenPlace(entry), 'The access token')) as Document;
		} catch (error) {
			if (asGatewayError(error)?.code === 'secret_unreadable') return null;
			throw error;
		}
	}
}

const tokenPlace = ({ organizationId, row }: TokenCacheEntry) => ({ organizationId, table: 'upstream_tokens', row: credentialKey(row) });
