// The storage port: interfaces only. `db/` implements it on PostgreSQL; nothing else in the tree knows how.
// Every verb on tenants' rows takes the organization first, so that a query cannot forget its tenant.

import type { AccessKeys, Accounts, Actor, Audit, Organizations } from './accounts.ts';
import type { Agents } from './agents.ts';
import type { AlertDesk, Alerts } from './alerts.ts';
import type { Analytics } from './analytics.ts';
import type { Apis, Tools } from './apis.ts';
import type { AuditChain } from './audit-chain.ts';
import type { ConfigRows, Gateways } from './gateways.ts';
import type { ImportJobs, ImportQueue } from './imports.ts';
import type { LlmProviders } from './llm-providers.ts';
import type { Idempotency, RecordStore, Topic } from './records.ts';
import type { RunQueue } from './runs.ts';
import type { Skills } from './skills.ts';
import type { TokenStore } from './upstream-tokens.ts';

export type * from './accounts.ts';
export type * from './agent-versions.ts';
export type * from './agents.ts';
export type * from './alerts.ts';
export type * from './analytics.ts';
export type * from './apis.ts';
export type * from './audit-chain.ts';
export type * from './credentials.ts';
export type * from './gateways.ts';
export type * from './imports.ts';
export type * from './llm-providers.ts';
export type * from './records.ts';
export type * from './rows.ts';
export type * from './runs.ts';
export type * from './skills.ts';
export type * from './upstream-tokens.ts';

// ── changes, seen by every replica ─────────────────────────────────────────────────────────────────────────────────

export interface Changes {
	/**
	 * Subscribes to every change committed on any replica: called at least once, within a second; of runs and work, at most once, and perhaps
	 * not at all.
	 */
	subscribe(listener: (topics: Topic[]) => void): () => void;
	/**
	 * Resolves when every change committed more than `maxAgeMs` ago has been passed to the listeners; undefined when that is so already, as
	 * usual. @throws unavailable when the database cannot be asked
	 */
	fresh(maxAgeMs: number): Promise<void> | undefined;
	/** Announces to every replica what may be lost: to this process at once, to others within a tenth of a second. */
	announce(...topics: Topic[]): void;
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
	skills: Skills;
	llmProviders: LlmProviders;
	agents: Agents;
	alerts: Alerts;
	records: RecordStore;
}

/** Looked at by metrics. */
export interface StoreGauges {
	pools(): { name: string; used: number; idle: number; waiting: number }[];
	/** Returns the number of runs that have not ended by status, over all organizations and replicas. */
	unfinished(): Promise<Record<string, number>>;
}

/** The time for which a request may still wait for the database. */
export interface TimeLeft {
	leftMs: number;
	allMs: number;
}

export interface Store extends Repositories {
	/** Returns the same verbs on behalf of an actor, under whose name the audit log records the changes. */
	as(actor: Actor): Repositories;
	idempotency: Idempotency;
	importQueue: ImportQueue;
	runQueue: RunQueue;
	/** Tokens that the service obtains for itself, whoever calls. */
	upstreamTokens: TokenStore;
	/** The request log, which only the service itself writes. */
	analytics: Analytics;
	/** The hash chains of the audit logs of all organizations. */
	auditChain: AuditChain;
	/** Alerts of all organizations, which only the service itself looks at. */
	alertDesk: AlertDesk;
	configs: ConfigRows;
	changes: Changes;
	/** Stores a fact of the whole installation. @returns the value that was stored first under this name, possibly by another replica */
	keep(name: string, value: string): Promise<string>;
	/**
	 * Begins the two seconds for which a request may wait for the database in all, however many statements it takes; then they throw `unavailable`. They
	 * count where it is around the work (`core/process/around.ts`).
	 */
	deadline(): TimeLeft;
	gauges: StoreGauges;
	/** @throws unavailable */
	ping(): Promise<void>;
	close(): Promise<void>;
}
