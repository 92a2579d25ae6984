// The storage port of connected APIs, with their imports and operations, and of tools.

import type {
	BodyLayout,
	Fillable,
	Flattened,
	JsonObject,
	JsonSchema,
	Operation,
	SchemaSummary,
	ToolAnnotations,
	ToolDraft,
} from '../contract/nouns.ts';
import type { InputSchemaOf } from './agents.ts';
import type { Credentials } from './credentials.ts';
import type { ImportHold } from './imports.ts';
import type { Edit, Fresh, Listed, Page, Removed, Row, TextFilter, Versioned } from './rows.ts';

// ── connected APIs ─────────────────────────────────────────────────────────────────────────────────────────────────

export interface ApiRow extends Versioned {
	name: string;
	type: string;
	baseUrl: string;
	description: string | null;
	status: string;
	/** Limits on calls of the API; null: none. */
	outbound: OutboundLimits | null;
	/** Callers' own credentials that are passed on; empty: none. */
	passThrough: PassedHeader[];
	/** Results are promised to fit the output schemas of its operations, and one that does not is a failed run. */
	strictOutput: boolean;
	/** An image for clients, by https or data URL; null: none. */
	icon: string | null;
	/** Whether its document is looked at again each day, for alerts; null: it is not. */
	watch: 'daily' | null;
}

type ApiOptions = 'passThrough' | 'strictOutput' | 'icon' | 'watch';

export type NewApi = Fresh<ApiRow, 'status' | ApiOptions> & Partial<Pick<ApiRow, ApiOptions>>;
export type ApiChange = Edit<ApiRow, 'type'>;

/** A header of a gateway's request, and the header of the API's request that receives its value; names in lower case. */
export interface PassedHeader {
	from: string;
	to: string;
}

/** The limits of the lane to an API, which all replicas share. */
export interface OutboundLimits {
	/** The number of calls under way at once. */
	maxConcurrent?: number;
	/** The least time between the starts of two calls. */
	minTimeMs?: number;
	/** The number of waiting calls; one more is refused. */
	maxQueued?: number;
	/** The longest wait of a call. */
	maxWaitMs?: number;
}

export interface SchemaRow extends Row, Omit<SchemaSummary, 'credentials'> {
	apiId: string;
	sourceUrl: string | null;
	sizeBytes: number;
	sha256: string;
	report: JsonObject;
	/** Null when the import compared nothing. */
	changes: ImportChanges | null;
}

/** A schema without the parts that may fill hundreds of kilobytes: the single operations of its report and its changes. */
export type ListedSchemaRow = Omit<SchemaRow, 'changes'> & { changes: Omit<ImportChanges, 'operations'> | null };

export type OperationRow = Row &
	Omit<Operation, 'outcome' | 'whole' | 'answerCut' | 'title'> & {
		title: string | null;
		apiId: string;
		status: 'active' | 'removed';
		outcome: 'converted' | 'degraded';
		/** The hash of the complete schema, which `wholeParameters` reads; null when nothing was left out. */
		wholeHash: string | null;
		answerCut: boolean;
	};

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
		schema: SchemaSummary & Pick<SchemaRow, 'sourceUrl' | 'sizeBytes' | 'sha256' | 'report'>,
		reader?: ImportReader,
		job?: ImportJobEnd,
		check?: ImportCheck,
	): Promise<WrittenImport>;
	/**
	 * Writes the latest schema once more, whose description was read again, and no operation.
	 * @returns null, and has aborted, when the API has another one by then @throws as `commit`
	 */
	repeat(
		schemaId: string,
		reader: ImportReader,
		job?: Omit<ImportJobEnd, 'operations'>,
		check?: ImportCheck,
	): Promise<WrittenImport | null>;
	abort(): Promise<void>;
}

export interface ApiFilter extends TextFilter {
	type?: string;
	status?: string;
}

export interface OperationFilter extends TextFilter {
	tags?: string[];
	methods?: string[];
	paths?: string[];
	operationIds?: string[];
	deprecated?: boolean;
	status?: 'active' | 'removed';
}

/** The operations that become tools, and the layout of their arguments. */
export interface GenerationRequest extends OperationFilter {
	/** Default: existing tools keep their layout; new ones are nested. */
	bodies?: BodyLayout;
}

export interface Apis extends Credentials {
	/** Lists APIs; sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: ApiFilter): Promise<Listed<ApiRow>>;
	get(organizationId: string, id: string): Promise<ApiRow | null>;
	create(organizationId: string, api: NewApi): Promise<ApiRow>;
	/** Changes an API. A `baseUrl` of another origin drops the credentials that were bound to the former one, in the same transaction. */
	update(organizationId: string, id: string, change: ApiChange, ifVersion?: number): Promise<ApiRow | null>;
	/** Removes an API; null when there is none. With `onlyIfUnused`: @throws conflict naming what depends on it */
	remove(organizationId: string, id: string, onlyIfUnused: boolean, ifVersion?: number): Promise<Removed | null>;
	/** Waits for another import of the same API to end; null when there is no such API. */
	beginImport(organizationId: string, apiId: string): Promise<ImportWriter | null>;
	schemas(organizationId: string, apiId: string, page: Page): Promise<Listed<ListedSchemaRow>>;
	schema(organizationId: string, apiId: string, id: string): Promise<SchemaRow | null>;
	operations(organizationId: string, apiId: string, page: Page, filter?: OperationFilter): Promise<Listed<OperationRow>>;
	/** Returns JSON text; null when there is none. */
	wholeParameters(organizationId: string, operationId: string): Promise<string | null>;
	countOperations(organizationId: string, apiId: string, filter?: OperationFilter): Promise<number>;
}

// ── tools ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ToolRow extends Versioned {
	/** The name shown to users: their own edit, else the imported one. */
	name: string;
	description: string;
	/** The texts of the last import, regardless of edits; null for tools without an API. */
	imported: { name: string; description: string } | null;
	/** The type as answers show it: the executor's name, or `api`. */
	type: string;
	executor: string;
	apiId: string | null;
	operationId: string | null;
	parameters: JsonSchema;
	outputSchema: JsonSchema | null;
	/** The agent whose input schema the parameters are; null: they are the tool's own. */
	followsAgent: string | null;
	annotations: ToolAnnotations;
	code: string | null;
	/** The config of the executor, its secret fields sealed. */
	executionConfig: JsonObject;
	/** The version of the executor's config with which `executionConfig` and `code` were written. */
	configVersion: number;
	/** The hash of the operation's complete schema; null when nothing was left out, and for tools without an API. */
	wholeHash: string | null;
	/** The requested layout. */
	bodies: BodyLayout;
	/** Null: the arguments are those of the executor. */
	flattened: Flattened | null;
	/** Null: no credential of the API can replace an argument. */
	fillable: Fillable | null;
	/** active, inactive, or removed (its operation is no longer in the document). */
	status: string;
}

/** The tool of an operation, with the arguments as core lays them out. */
export type ApiToolDraft = Omit<ToolDraft, 'bodyArgument' | 'fillable'> &
	Pick<ToolRow, 'wholeHash' | 'bodies' | 'flattened' | 'fillable' | 'configVersion'>;

/** A tool to be written. An absent document is that of its operation, which the database copies. */
export type DraftedTool = Omit<ApiToolDraft, 'parameters' | 'outputSchema'> & Partial<Pick<ApiToolDraft, 'parameters' | 'outputSchema'>>;

/** Fields that an import alone gives a tool. */
type Imported = 'imported' | 'apiId' | 'operationId' | 'wholeHash' | 'bodies' | 'flattened' | 'fillable';

export type NewTool = Fresh<ToolRow, Imported | 'status' | 'configVersion' | 'followsAgent'> &
	Partial<Pick<ToolRow, 'configVersion' | 'followsAgent'>>;
/**
 * `name` and `description` of a tool from an API are stored as the users' own, which a re-import leaves alone; null removes them, so that
 * the imported ones show again.
 */
export type ToolChange = Edit<ToolRow, Imported | 'type' | 'executor' | 'outputSchema' | 'name' | 'description'> & {
	name?: string | null;
	description?: string | null;
};

/** A draft made of the operation as it was at its `updatedAt`; without `asOf`, of the operation as it is. */
export interface OperationDraft {
	operationId: string;
	asOf?: Date;
	tool: DraftedTool;
}

export interface ToolFilter extends TextFilter {
	apiId?: string;
	type?: string;
	status?: string;
}

export interface Tools {
	/** Lists tools; sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: ToolFilter): Promise<Listed<ToolRow>>;
	get(organizationId: string, id: string): Promise<ToolRow | null>;
	/**
	 * @param id chosen by the caller, which seals secrets under it.
	 * @param inputSchema of the agent that the tool follows, which may have been changed since its parameters were made
	 */
	create(organizationId: string, id: string, tool: NewTool, inputSchema?: InputSchemaOf): Promise<ToolRow>;
	update(organizationId: string, id: string, change: ToolChange, ifVersion?: number, inputSchema?: InputSchemaOf): Promise<ToolRow | null>;
	remove(organizationId: string, id: string, onlyIfUnused: boolean, ifVersion?: number): Promise<Removed | null>;
	/** Returns the operations of an API whose tools were requested with a flat layout. */
	flatOf(organizationId: string, apiId: string): Promise<ReadonlySet<string>>;
	/**
	 * Creates or updates one tool per operation, or leaves it alone. Operations that are gone, or that no longer match `asOf`, are not
	 * counted; a tool that was changed after `since` counts as updated.
	 */
	generate(
		organizationId: string,
		apiId: string,
		drafts: OperationDraft[],
		since?: Date,
	): Promise<{ created: number; updated: number; unchanged: number }>;
}
