// The storage port of the records of plugins and of retried requests.

import type { JsonObject, PutOptions, StoredRecord, Tags, UpdateOptions } from '../contract/nouns.ts';
import type { Listed, Page } from './rows.ts';

export interface RecordScope {
	/** `kind:name`. */
	plugin: string;
	/** Null: the record belongs to the organization itself. */
	gatewayId: string | null;
}

/**
 * The subject of a change: `org:<id>` for everything of an organization but records and access tokens, `user:<id>` for an account,
 * `record:<seq>` for a watched record, `record:new:<hash>` for one that has come under a key that was free, and `record:*` for too many of
 * them to name, `token:<id>` for the access token to an API, `import:<id>` for an import job, `run:<id>` for a run, `run:signalled:<id>` and
 * `run:ended:<id>` for those events of one, `run:queued:<kind>` for a queued one, `work:<organization>:<hash>` for work that shall end, `*`
 * when the subjects are unknown.
 */
export type Topic =
	| `org:${string}`
	| `user:${string}`
	| `record:${string}`
	| `token:${string}`
	| `import:${string}`
	| `run:${string}`
	| `work:${string}`
	| '*';

/** A record, and the `topic` under which its changes are announced until it expires; null when it is not watched. */
export interface FoundRecord {
	record: StoredRecord;
	topic: Topic | null;
}

export interface RecordUsage {
	records: number;
	bytes: number;
}

export interface RecordStore {
	get(organizationId: string, scope: RecordScope, key: string): Promise<StoredRecord | null>;
	/** Reads a record for a caller that would cache it. */
	look(organizationId: string, scope: RecordScope, key: string): Promise<FoundRecord | null>;
	/** @param value with the fields that `options.sealed` names sealed already */
	put(organizationId: string, scope: RecordScope, key: string, value: JsonObject, options: PutOptions): Promise<void>;
	/** Returns false when there is already a record with this key. */
	add(organizationId: string, scope: RecordScope, key: string, value: JsonObject, options: PutOptions): Promise<boolean>;
	/** Finds records by their tags, newest first or as `page.sort` says. */
	find(organizationId: string, scope: RecordScope, tags: Tags, page: Page): Promise<Listed<StoredRecord>>;
	/** Counts records by their tags, and no more than `most`. */
	count(organizationId: string, scope: RecordScope, tags: Tags, most: number): Promise<number>;
	drop(organizationId: string, scope: RecordScope, tags: Tags): Promise<number>;
	/** Returns whether there was such a record. */
	remove(organizationId: string, scope: RecordScope, key: string): Promise<boolean>;
	take(organizationId: string, scope: RecordScope, key: string): Promise<StoredRecord | null>;
	/** Returns false when the record has another revision, or other fields of it are sealed than `sealed` names. */
	update(
		organizationId: string,
		scope: RecordScope,
		record: { key: string; revision: number; value: JsonObject; sealed?: readonly string[] },
		options?: UpdateOptions,
	): Promise<boolean>;
	/** Returns the topic under which the coming of a watched record is announced, whether it exists or not. */
	arrival(organizationId: string, scope: RecordScope, key: string): Promise<Topic>;
	/** Returns what a plugin stores for an organization with all of its gateways; `bytes` are those of the values as stored. */
	usage(organizationId: string, plugin: string): Promise<RecordUsage>;
	/** Removes expired records of all organizations, without announcing it. */
	prune(): Promise<number>;
}

/** A request of one user under an `Idempotency-Key`, kept for a day. */
export interface IdempotentRequest {
	userId: string;
	/** Null when the route needs no organization. */
	organizationId: string | null;
	key: string;
	/** Method and path, with its ids. */
	operation: string;
	/** SHA-256 of the query and the body. */
	fingerprint: Buffer;
}

/** A request that runs, as one of possibly several attempts: what an attempt does after another has taken over has no effect. */
export interface RunningRequest extends IdempotentRequest {
	attempt: string;
}

export interface Idempotency {
	/**
	 * Begins a request. The first one gets `run` and must `keep` or `forget`; others get the stored answer, or learn that the first is still
	 * `running`, or that the key was used for an `other` request. A request that was not renewed for ten minutes is taken over, since its
	 * process has died.
	 */
	begin(
		request: IdempotentRequest,
	): Promise<
		| { state: 'run'; attempt: string }
		| { state: 'running' }
		| { state: 'other' }
		| { state: 'kept'; status: number; body: string; headers: Record<string, string> }
	>;
	/** Says that the request still runs. */
	renew(request: RunningRequest): Promise<void>;
	keep(request: RunningRequest, answer: { status: number; body: string; headers: Record<string, string> }): Promise<void>;
	/** Reports a failure on our side, so that the next request may try. */
	forget(request: RunningRequest): Promise<void>;
	/** Removes requests older than a day. */
	prune(): Promise<number>;
}
