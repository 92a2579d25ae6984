// The storage port of imports: one that is being written, and their jobs as an organization and as their runs see them.

import type { ErrorCode, ErrorDetail } from '../contract/errors.ts';
import type { BodyLayout, Operation, SchemaSummary } from '../contract/nouns.ts';
import type { Actor } from './accounts.ts';
import type { DraftedTool, GenerationRequest, OperationFilter, OperationRow, SchemaRow } from './apis.ts';
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

/** The changes of an import to the operations. Type aliases, since they are stored as JSON: an interface has no index signature. */
export type ImportChanges = {
	added: number;
	removed: number;
	/** Operations that are back after they had been removed. */
	restored: number;
	changed: number;
	unchanged: number;
	/** The removed operations, and those changed or restored ones whose callers have to change. */
	breaking: number;
	additive: number;
	text: number;
	/** Existing tools that were updated. */
	toolsUpdated: number;
	/** The gravest first; empty for a first import. */
	operations: OperationChange[];
	/** The number of changes that are not listed. */
	unlisted: number;
};
export type OperationChange = {
	key: string;
	name: string;
	change: 'added' | 'removed' | 'restored' | 'changed';
	kind: 'breaking' | 'additive' | 'text' | null;
	/** One sentence each. */
	reasons: string[];
};

/** The parts of an operation that a re-import may change; `whole` is null also where it is too long to be compared. */
export type OperationContent = Omit<Operation, 'key' | 'name'>;

/** Receives the changes of an import inside its transaction, and judges them: their meaning is not the store's to know. */
export interface ImportReader {
	/** Called for the first few thousand operations that were added or removed; not for a first import, in which everything is new. */
	moved(change: 'added' | 'removed', operation: { key: string; name: string }): void;
	/** Called for an operation that differs from the stored one. */
	differs(operation: { key: string; name: string; isRestored: boolean; before: OperationContent; after: OperationContent }): Promise<void>;
	/** Makes the new draft of the tool of a changed operation. */
	draft(operation: OperationRow, bodies: BodyLayout): DraftedTool;
	/** Returns the summary to be stored with the schema. */
	finish(counts: { operations: number; added: number; removed: number; isFirst: boolean; toolsUpdated: number }): ImportChanges;
}

/** Checks the result of an import before it is committed, and throws to refuse it. */
export type ImportCheck = (count: (filter: OperationFilter) => Promise<number>, done: { removed: number }) => Promise<void>;

/** An imported schema, and how many of its operations are new, other, as before or gone: `changed` are all that differ from the stored ones. */
export interface WrittenImport extends Record<'added' | 'changed' | 'unchanged' | 'removed', number> {
	schema: SchemaRow;
}

/** The source of a description, for those who read it again. */
export interface KeptSource {
	/** The request that reads it, sealed; null where the description was sent, or it is not known how it was read. */
	repetition: string | null;
	/** Tells one document from another; null where its importer has fetched more than that. */
	digest: string | null;
}

/** A job of an import, and the result that its row takes. */
export type ImportJobEnd = ImportHold & { generation: GenerationRequest | null; operations: number };

/** An import that is being written, in one transaction: nothing is visible before `commit`, nothing stays after `abort`. */
export interface ImportWriter {
	/**
	 * Operations that exist already (by `key`, else by `operationId`) keep their id, name and tool.
	 * @param batch a list of operations as JSON in UTF-8, which is handed on as it is; skipped ones are not stored
	 */
	operations(batch: Uint8Array): Promise<void>;
	/**
	 * Marks operations not seen since the beginning as removed, together with their tools, and updates the tools of changed ones. Without a
	 * reader nothing is compared, and tools stay as they are. With a job, its row is updated in the same transaction, and nothing is written
	 * when another runner holds it by then. When `check` throws, nothing is written either.
	 * @throws conflict in the first case, the error of `check` in the other
	 */
	commit(
		schema: SchemaSummary & Pick<SchemaRow, 'sourceUrl' | 'sizeBytes' | 'sha256' | 'report'> & { source: KeptSource },
		reader?: ImportReader,
		job?: ImportJobEnd,
		check?: ImportCheck,
	): Promise<WrittenImport>;
	/**
	 * Writes the latest schema once more, whose description was read again, and no operation.
	 * @returns null, and has aborted, when the API has another one by then @throws as `commit`
	 */
	repeat(
		latest: { schemaId: string; source: KeptSource },
		reader: ImportReader,
		job?: Omit<ImportJobEnd, 'operations'>,
		check?: ImportCheck,
	): Promise<WrittenImport | null>;
	abort(): Promise<void>;
}
