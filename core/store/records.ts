// The storage port of what runs, plugins and retried requests leave behind.

import type { JsonObject, PutOptions, StoredRecord, UpdateOptions } from '../contract/nouns.ts';
import type { Listed, Page } from './rows.ts';

// ── what runs leave behind ─────────────────────────────────────────────────────────────────────────────────────────

export interface RunRow {
	organizationId: string;
	toolId: string;
	gatewayId: string | null;
	keyId: string | null;
	subject: string;
	status: 'success' | 'failed';
	/** The error's code, or `tool_error`. */
	error: string | null;
	/** What the tool printed. Default: nothing. */
	logs?: readonly string[] | null;
	durationMs: number;
	startedAt: Date;
}

export interface Runs {
	/** One statement for all. Rows of an organization that is gone meanwhile are left out. */
	add(runs: RunRow[]): Promise<void>;
	/** `lastUsedAt` of keys, never moved back. */
	touchKeys(uses: { organizationId: string; keyId: string; at: Date }[]): Promise<void>;
	prune(olderThan: Date): Promise<number>;
}

export interface RecordScope {
	/** `kind:name`. */
	plugin: string;
	gatewayId: string;
}

/**
 * What changed: `org:<id>` for everything of an organization but records and access tokens, `user:<id>` for an account, `record:<seq>` for a watched
 * record and `record:*` for more of them than are worth telling apart, `token:<id>` for the access token to an API, `import:<id>` for
 * an import job and `import:queued` for one that waits, `*` when it cannot be told any more.
 */
export type Topic = `org:${string}` | `user:${string}` | `record:${string}` | `token:${string}` | `import:${string}` | '*';

/** `topic` tells of every change of it, until it expires; null when it is not watched, so that nothing does. */
export interface FoundRecord {
	record: StoredRecord;
	topic: Topic | null;
}

export interface RecordStore {
	get(organizationId: string, scope: RecordScope, key: string): Promise<StoredRecord | null>;
	/** The same, for those who would remember it. */
	look(organizationId: string, scope: RecordScope, key: string): Promise<FoundRecord | null>;
	put(organizationId: string, scope: RecordScope, key: string, value: JsonObject, options: PutOptions): Promise<void>;
	/** False where there is one of this key. */
	add(organizationId: string, scope: RecordScope, key: string, value: JsonObject, options: PutOptions): Promise<boolean>;
	/** Newest first, or as `page.sort` says. */
	find(organizationId: string, scope: RecordScope, tag: string, page: Page): Promise<Listed<StoredRecord>>;
	drop(organizationId: string, scope: RecordScope, tag: string): Promise<number>;
	take(organizationId: string, scope: RecordScope, key: string): Promise<StoredRecord | null>;
	update(
		organizationId: string,
		scope: RecordScope,
		record: { key: string; revision: number; value: JsonObject },
		options?: UpdateOptions,
	): Promise<boolean>;
	/** Removes what has expired, everywhere. Nobody hears of it. */
	prune(): Promise<number>;
}

/** One request under an `Idempotency-Key`, of one user, kept for a day. */
export interface IdempotentRequest {
	userId: string;
	/** Null where the route needs no organization. */
	organizationId: string | null;
	key: string;
	/** Method and path, with its ids. */
	operation: string;
	/** SHA-256 of the query and the body. */
	fingerprint: Buffer;
}

export interface Idempotency {
	/**
	 * The first asker gets `run` and must `keep` or `forget`; others get the answer that was kept, or hear that it is `running`
	 * still, or that the key was used for something `other`. Whose process died is taken over after a while.
	 */
	begin(
		request: IdempotentRequest,
	): Promise<
		| { state: 'run' }
		| { state: 'running' }
		| { state: 'other' }
		| { state: 'kept'; status: number; body: string; headers: Record<string, string> }
	>;
	keep(request: IdempotentRequest, answer: { status: number; body: string; headers: Record<string, string> }): Promise<void>;
	/** It failed on our side, so the next one may try. */
	forget(request: IdempotentRequest): Promise<void>;
	/** Removes what is older than a day. */
	prune(): Promise<number>;
}
