// The storage port of import jobs: what an organization sees of them, and the queue that all replicas work off.

import type { ErrorCode, ErrorDetail } from '../contract/errors.ts';
import type { Actor } from './accounts.ts';
import type { GenerationRequest } from './apis.ts';
import type { Listed, Page } from './rows.ts';

export type ImportStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
/** `fetching`: getting the document; `parsing`: its operations are read; `writing`: they meet the stored ones; `tools`: the schema is in. */
export type ImportPhase = 'fetching' | 'parsing' | 'writing' | 'tools';

/** Type aliases, since they are stored as JSON: an interface has no index signature. */
export type ImportFault = { code: ErrorCode; message: string; details: ErrorDetail[] };
export type GeneratedTools = { created: number; updated: number; unchanged: number; total: number };

export interface ImportJobRow {
	id: string;
	organizationId: string;
	apiId: string;
	status: ImportStatus;
	/** Null while it is queued; in the end the last one. */
	phase: ImportPhase | null;
	/** Read so far. */
	operations: number;
	/** How often it was begun, but for the times that it was given back. */
	attempts: number;
	requestedBy: string;
	/** Of a job that failed. */
	error: ImportFault | null;
	/** Once it is written. */
	schemaId: string | null;
	/** Of a job that made tools, in the end. */
	tools: GeneratedTools | null;
	createdAt: Date;
	startedAt: Date | null;
	finishedAt: Date | null;
}

/** Whose turn it is to run a job; nobody else runs it until the lease ends. */
export interface ImportHold {
	id: string;
	lease: string;
}

/** A job with what it takes to run it. */
export interface ClaimedImport extends ImportJobRow {
	actor: Actor;
	/** Null: no tools are made. Known once the schema is written. */
	generation: GenerationRequest | null;
}

export interface NewImport {
	actor: Actor;
	/** Of the request; kept until the job ends. */
	body: Buffer;
	/** With it the job is running at once, in the hands of who holds the lease; else it waits for anybody. */
	lease: { lease: string; leaseMs: number } | null;
}

export interface ImportJobs {
	/**
	 * `busy`: another one of the same API is queued or runs; `full`: the organization has as many as it may.
	 * Null when there is no such API.
	 */
	create(
		organizationId: string,
		apiId: string,
		asked: NewImport,
	): Promise<{ state: 'created'; job: ClaimedImport } | { state: 'busy'; id: string } | { state: 'full' } | null>;
	list(organizationId: string, apiId: string, page: Page, filter?: { status?: ImportStatus }): Promise<Listed<ImportJobRow>>;
	get(organizationId: string, apiId: string, id: string): Promise<ImportJobRow | null>;
	/** Takes a job out of the hands of who runs it. @returns the job as it is then: it stays as it was when its schema is written, or it has ended */
	cancel(organizationId: string, apiId: string, id: string): Promise<ImportJobRow | null>;
}

/** Every verb but `claim` does nothing, and says so, when the lease is another's or the job has ended. */
export interface ImportQueue {
	/** The next job that waits, or whose runner is gone: the organization with the fewest running ones comes first. */
	claim(asked: { lease: string; leaseMs: number }): Promise<ClaimedImport | null>;
	body(hold: ImportHold): Promise<Buffer | null>;
	renew(hold: ImportHold, leaseMs: number, progress: Pick<ImportJobRow, 'phase' | 'operations'>): Promise<boolean>;
	/** Back into the queue; unless it `counts`, as if it had not been begun. */
	release(hold: ImportHold, how: { counts: boolean }): Promise<boolean>;
	finish(
		hold: ImportHold,
		end: { status: 'succeeded'; tools: GeneratedTools | null } | { status: 'failed'; error: ImportFault },
	): Promise<boolean>;
	/** Removes jobs that ended before. */
	prune(olderThan: Date): Promise<number>;
}
