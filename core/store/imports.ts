// The storage port of import jobs: the view of an organization, and the queue that all replicas share.

import type { ErrorCode, ErrorDetail } from '../contract/errors.ts';
import type { Actor } from './accounts.ts';
import type { GenerationRequest } from './apis.ts';
import type { Listed, Page } from './rows.ts';

export type ImportStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
/**
 * `fetching`: the document is fetched; `parsing`: its operations are read; `writing`: they are merged with the stored ones; `tools`: the
 * schema is written.
 */
export type ImportPhase = 'fetching' | 'parsing' | 'writing' | 'tools';

/** Type aliases, since they are stored as JSON: an interface has no index signature. */
export type ImportFault = { code: ErrorCode; message: string; details: ErrorDetail[] };
export type GeneratedTools = { created: number; updated: number; unchanged: number; total: number };

export interface ImportJobRow {
	id: string;
	organizationId: string;
	apiId: string;
	status: ImportStatus;
	/** Null while it is queued; after the end, the last phase. */
	phase: ImportPhase | null;
	/** The number of operations read so far. */
	operations: number;
	/** The number of attempts, without those that a runner returned. */
	attempts: number;
	requestedBy: string;
	/** The fault of a failed job. */
	error: ImportFault | null;
	/** Set once the schema is written. */
	schemaId: string | null;
	/** The tools that a succeeded job made, if it made any. */
	tools: GeneratedTools | null;
	createdAt: Date;
	startedAt: Date | null;
	finishedAt: Date | null;
}

/** The right to run a job: nobody else runs it until the lease ends. */
export interface ImportHold {
	id: string;
	lease: string;
}

/** A job with everything needed to run it. */
export interface ClaimedImport extends ImportJobRow {
	actor: Actor;
	/** The tools to make; null: none. Known once the schema is written. */
	generation: GenerationRequest | null;
}

export interface NewImport {
	actor: Actor;
	/** The body of the request, kept until the job ends. */
	body: Buffer;
	/** With a lease the job runs at once, held by its owner; else it is queued. */
	lease: { lease: string; leaseMs: number } | null;
}

export interface ImportJobs {
	/**
	 * Creates a job. `busy`: another one of the same API is queued or runs; `full`: the organization has as many as it may.
	 * Null when there is no such API.
	 */
	create(
		organizationId: string,
		apiId: string,
		asked: NewImport,
	): Promise<{ state: 'created'; job: ClaimedImport } | { state: 'busy'; id: string } | { state: 'full' } | null>;
	list(organizationId: string, apiId: string, page: Page, filter?: { status?: ImportStatus }): Promise<Listed<ImportJobRow>>;
	get(organizationId: string, apiId: string, id: string): Promise<ImportJobRow | null>;
	/** Cancels a job, whoever runs it. @returns the job as it is afterwards: unchanged when its schema is written, or it has ended */
	cancel(organizationId: string, apiId: string, id: string): Promise<ImportJobRow | null>;
}

/** Every verb but `claim` does nothing, and reports that, when the lease is another's or the job has ended. */
export interface ImportQueue {
	/** Claims the next job that is queued or whose runner is gone: the organization with the fewest running jobs comes first. */
	claim(asked: { lease: string; leaseMs: number }): Promise<ClaimedImport | null>;
	body(hold: ImportHold): Promise<Buffer | null>;
	renew(hold: ImportHold, leaseMs: number, progress: Pick<ImportJobRow, 'phase' | 'operations'>): Promise<boolean>;
	/** Returns a job to the queue; unless it `counts`, as if it had not been begun. */
	release(hold: ImportHold, how: { counts: boolean }): Promise<boolean>;
	finish(
		hold: ImportHold,
		end: { status: 'succeeded'; tools: GeneratedTools | null } | { status: 'failed'; error: ImportFault },
	): Promise<boolean>;
	/** Removes jobs that ended before that time. */
	prune(olderThan: Date): Promise<number>;
}
