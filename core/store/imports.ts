// The storage port of import jobs: the view of an organization, and that of the runs that do them.

import type { ErrorCode, ErrorDetail } from '../contract/errors.ts';
import type { Actor } from './accounts.ts';
import type { GenerationRequest } from './apis.ts';
import type { Listed, Page } from './rows.ts';
import type { ClaimedRun, NewRun, RunHold, RunKind } from './runs.ts';

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
	/** The number of attempts, without those that were given back. */
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

/** The right to write for one attempt at the run of a job, whose id is that of the job. */
export type ImportHold = Pick<RunHold, 'id' | 'attempt'>;

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
	/** Its run, which is added with it. */
	run: NewRun;
	kind: RunKind;
}

export interface ImportJobs {
	/**
	 * Creates a job with its run. `busy`: another one of the same API is queued or runs; `full`: the organization has as many as it may.
	 * Null when there is no such API.
	 */
	create(
		organizationId: string,
		apiId: string,
		asked: NewImport,
	): Promise<
		{ state: 'created'; job: ImportJobRow; claimed: ClaimedRun | null } | { state: 'busy'; id: string } | { state: 'full' } | null
	>;
	list(organizationId: string, apiId: string, page: Page, filter?: { status?: ImportStatus }): Promise<Listed<ImportJobRow>>;
	get(organizationId: string, apiId: string, id: string): Promise<ImportJobRow | null>;
	/** Cancels a job with its run, whoever holds that. @returns the job as it is afterwards: unchanged when its schema is written, or it has ended */
	cancel(organizationId: string, apiId: string, id: string): Promise<ImportJobRow | null>;
}

export type ImportProgress = Pick<ImportJobRow, 'phase' | 'operations'>;
export type ImportEnd = { status: 'succeeded'; tools: GeneratedTools | null } | { status: 'failed'; error: ImportFault };

/** Every verb does nothing, and reports that, when another attempt has begun; every one that changes a job, also when that has ended. */
export interface ImportQueue {
	find(hold: ImportHold): Promise<ClaimedImport | null>;
	/** Begins a job anew in the same attempt at its run, and counts that. */
	again(hold: ImportHold): Promise<ClaimedImport | null>;
	body(hold: ImportHold): Promise<Buffer | null>;
	tell(hold: ImportHold, progress: ImportProgress): Promise<boolean>;
	finish(hold: ImportHold, end: ImportEnd): Promise<boolean>;
	/** Removes jobs that ended before that time, with their runs. */
	prune(olderThan: Date): Promise<number>;
}
