// The storage port: interfaces only. `db/` implements it on PostgreSQL; nothing else in the tree knows how.
// Every verb on tenants' rows takes the organization first, so that a query cannot forget its tenant.

import type { AccessKeys, Accounts, Actor, Audit, Organizations } from './accounts.ts';
import type { Apis, Tools } from './apis.ts';
import type { Gateways } from './gateways.ts';
import type { ImportJobs, ImportQueue } from './imports.ts';
import type { Idempotency, RecordStore, Runs, Topic } from './records.ts';
import type { TokenStore } from './upstream-tokens.ts';

export type * from './accounts.ts';
export type * from './apis.ts';
export type * from './credentials.ts';
export type * from './gateways.ts';
export type * from './imports.ts';
export type * from './records.ts';
export type * from './rows.ts';
export type * from './upstream-tokens.ts';

// ── changes, seen by every replica ─────────────────────────────────────────────────────────────────────────────────

export interface Changes {
	/** Called with every change committed anywhere, at least once, within a second. */
	subscribe(listener: (topics: Topic[]) => void): () => void;
	/**
	 * Resolves when every change committed more than `maxAgeMs` ago has been handed to the listeners: at once in the
	 * usual case. @throws unavailable when the database cannot tell
	 */
	fresh(maxAgeMs: number): Promise<void> | undefined;
}

export interface Repositories {
	accounts: Accounts;
	organizations: Organizations;
	accessKeys: AccessKeys;
	audit: Audit;
	apis: Apis;
	imports: ImportJobs;
	tools: Tools;
	gateways: Gateways;
	runs: Runs;
	records: RecordStore;
}

export interface Store extends Repositories {
	/** The same verbs, done by somebody: what they change goes into the audit log under this name. */
	as(actor: Actor): Repositories;
	idempotency: Idempotency;
	importQueue: ImportQueue;
	/** Got by the service itself, whoever calls. */
	upstreamTokens: TokenStore;
	changes: Changes;
	/** A fact of the whole installation. @returns the value that came first under this name, which may be another replica's */
	keep(name: string, value: string): Promise<string>;
	/** All that `work` begins waits for the database two seconds in all, however many statements it takes; then it throws `unavailable`. */
	withDeadline<T>(work: () => T): T;
	/** @throws unavailable */
	ping(): Promise<void>;
	close(): Promise<void>;
}
