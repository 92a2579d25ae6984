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
	/** How it may be called; null: as often as anybody asks. */
	outbound: OutboundLimits | null;
	/** Callers' own credentials for it; empty: none. */
	passThrough: PassedHeader[];
}

export type NewApi = Fresh<ApiRow, 'status' | 'passThrough'> & Partial<Pick<ApiRow, 'passThrough'>>;
export type ApiChange = Edit<ApiRow, 'type'>;

/** A header of a gateway's request, and the one of the API's that gets its value; names in lower case. */
export interface PassedHeader {
	from: string;
	to: string;
}

/** The lane to an API, shared by all replicas. */
export interface OutboundLimits {
	/** Calls under way at once. */
	maxConcurrent?: number;
	/** Between the beginnings of two calls. */
	minTimeMs?: number;
	/** Calls that wait; one more is refused. */
	maxQueued?: number;
	/** The longest that a call waits. */
	maxWaitMs?: number;
}

export interface SchemaRow extends Row {
	apiId: string;
	format: string;
	title: string | null;
	version: string | null;
	servers: string[];
	sourceUrl: string | null;
	sizeBytes: number;
	sha256: string;
	report: JsonObject;
	/** Null of an import that nobody compared. */
	changes: ImportChanges | null;
}

/** Without what may fill hundreds of kilobytes: the single operations of its report and its changes. */
export type ListedSchemaRow = Omit<SchemaRow, 'changes'> & { changes: Omit<ImportChanges, 'operations'> | null };

export type OperationRow = Row &
	Omit<Operation, 'outcome' | 'whole' | 'answerCut'> & {
		apiId: string;
		status: 'active' | 'removed';
		outcome: 'converted' | 'degraded';
		/** Of the schema with nothing left out, which is read by `wholeParameters`; null where there is none. */
		wholeHash: string | null;
		answerCut: boolean;
	};

/** What an import did to the operations. Type aliases, since it is stored as JSON: an interface has no index signature. */
export type ImportChanges = {
	added: number;
	removed: number;
	/** There again after they had been removed. */
	restored: number;
	changed: number;
	unchanged: number;
	/** The removed, and of the changed and of the restored those after which callers have to change. */
	breaking: number;
	additive: number;
	text: number;
	/** Tools that were there already and follow what changed. */
	toolsUpdated: number;
	/** The gravest first; of a first import none. */
	operations: OperationChange[];
	/** How many more there are. */
	unlisted: number;
};
export type OperationChange = {
	key: string;
	name: string;
	change: 'added' | 'removed' | 'restored' | 'changed';
	kind: 'breaking' | 'additive' | 'text' | null;
	/** A sentence each. */
	reasons: string[];
};

/** All of an operation that a re-import may change. */
export type OperationContent = Pick<
	Operation,
	| 'operationId'
	| 'description'
	| 'method'
	| 'path'
	| 'tags'
	| 'deprecated'
	| 'parameters'
	// Null also where it is too long to be compared.
	| 'whole'
	| 'outputSchema'
	| 'answerCut'
	| 'definition'
	| 'outcome'
	| 'reasons'
>;

/** Who is told, inside the transaction of an import, what it does: what it means is not the store's to know. */
export interface ImportReader {
	/** Of operations that came or went the first few thousand are told; of a first import none: nobody wants to read that all is new. */
	moved(change: 'added' | 'removed', operation: { key: string; name: string }): void;
	/** One that is not stored as it was. */
	differs(operation: { key: string; name: string; isRestored: boolean; before: OperationContent; after: OperationContent }): Promise<void>;
	/** Of an operation that changed, for the tool that there is of it. */
	draft(operation: OperationRow, bodies: BodyLayout): ApiToolDraft;
	/** To be kept with the schema. */
	finish(counts: { operations: number; added: number; removed: number; isFirst: boolean; toolsUpdated: number }): ImportChanges;
}

/** Looks at what an import is about to leave, and throws when it must not. */
export type ImportCheck = (count: (filter: OperationFilter) => Promise<number>, done: { removed: number }) => Promise<void>;

/** An import that is being written, in one transaction: nothing is seen before `commit`, nothing stays after `abort`. */
export interface ImportWriter {
	/** Operations that are there already (by `key`, else by `operationId`) keep their id, name and tool. */
	operations(batch: Operation[]): Promise<void>;
	/**
	 * Operations not seen since the beginning are marked as removed, and so are their tools; the tools of those that changed are brought
	 * up to date. Without a reader nothing is compared, and tools keep what they were made of. `changed` counts whatever is not stored
	 * as it was. With a job, it is told in the same transaction, and nothing is written when it is no longer the holder's. When `check`
	 * throws, nothing is written either.
	 * @throws conflict in the first case, what `check` threw in the other
	 */
	commit(
		schema: SchemaSummary & { sourceUrl: string | null; sizeBytes: number; sha256: string; report: JsonObject },
		reader?: ImportReader,
		job?: ImportHold & { generation: GenerationRequest | null; operations: number },
		check?: ImportCheck,
	): Promise<{
		schema: SchemaRow;
		added: number;
		changed: number;
		unchanged: number;
		removed: number;
	}>;
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

/** Which operations become tools, and how. */
export interface GenerationRequest extends OperationFilter {
	/** Default: of tools that are there, as they are; of new ones, nested. */
	bodies?: BodyLayout;
}

export interface Apis extends Credentials {
	/** Sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: ApiFilter): Promise<Listed<ApiRow>>;
	get(organizationId: string, id: string): Promise<ApiRow | null>;
	create(organizationId: string, api: NewApi): Promise<ApiRow>;
	/** A `baseUrl` of another origin drops the credentials that were bound to the former one, in the same transaction. */
	update(organizationId: string, id: string, change: ApiChange, ifVersion?: number): Promise<ApiRow | null>;
	/** With `onlyIfUnused`: @throws conflict naming what depends on it. Null when there is no such API. */
	remove(organizationId: string, id: string, onlyIfUnused: boolean, ifVersion?: number): Promise<Removed | null>;
	/** Waits for another import of the same API to end; null when there is no such API. */
	beginImport(organizationId: string, apiId: string): Promise<ImportWriter | null>;
	schemas(organizationId: string, apiId: string, page: Page): Promise<Listed<ListedSchemaRow>>;
	schema(organizationId: string, apiId: string, id: string): Promise<SchemaRow | null>;
	operations(organizationId: string, apiId: string, page: Page, filter?: OperationFilter): Promise<Listed<OperationRow>>;
	/** JSON text; null where there is none. */
	wholeParameters(organizationId: string, operationId: string): Promise<string | null>;
	countOperations(organizationId: string, apiId: string, filter?: OperationFilter): Promise<number>;
}

// ── tools ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ToolRow extends Versioned {
	/** What users see: their own edit, else what the import said. */
	name: string;
	description: string;
	/** What the last import said, whatever users made of it; null for tools that came from no API. */
	imported: { name: string; description: string } | null;
	/** As the API shows it: the executor's name, or `api`. */
	type: string;
	executor: string;
	apiId: string | null;
	operationId: string | null;
	parameters: JsonSchema;
	outputSchema: JsonSchema | null;
	annotations: ToolAnnotations;
	code: string | null;
	/** Secret fields sealed. */
	executionConfig: JsonObject;
	/** Of the operation's schema with nothing left out; null where there is none, and for tools that came from no API. */
	wholeHash: string | null;
	/** As it was asked for. */
	bodies: BodyLayout;
	/** Null: the arguments are those of the executor. */
	flattened: Flattened | null;
	/** Null: no credential of the API can go in an argument's place. */
	fillable: Fillable | null;
	/** active, inactive, removed (its operation is gone from the document). */
	status: string;
}

/** A tool of an operation, with what core makes of its arguments. */
export type ApiToolDraft = Omit<ToolDraft, 'bodyArgument' | 'fillable'> & Pick<ToolRow, 'wholeHash' | 'bodies' | 'flattened' | 'fillable'>;

export type NewTool = Pick<
	ToolRow,
	'name' | 'description' | 'type' | 'executor' | 'parameters' | 'outputSchema' | 'annotations' | 'code' | 'executionConfig'
>;
/**
 * `name` and `description` of a tool from an API go into the users' own layer, which a re-import leaves alone; null takes them out of it
 * again, so that the imported ones are seen.
 */
export type ToolChange = Partial<Pick<ToolRow, 'parameters' | 'code' | 'executionConfig' | 'status'>> & {
	name?: string | null;
	description?: string | null;
};

/** Of the operation as it was at its `updatedAt`; without `asOf`, as it is. */
export interface OperationDraft {
	operationId: string;
	asOf?: Date;
	tool: ApiToolDraft;
}

export interface ToolFilter extends TextFilter {
	apiId?: string;
	type?: string;
	status?: string;
}

export interface Tools {
	/** Sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: ToolFilter): Promise<Listed<ToolRow>>;
	get(organizationId: string, id: string): Promise<ToolRow | null>;
	/** @param id minted by the caller, which seals secrets under it. */
	create(organizationId: string, id: string, tool: NewTool): Promise<ToolRow>;
	update(organizationId: string, id: string, change: ToolChange, ifVersion?: number): Promise<ToolRow | null>;
	remove(organizationId: string, id: string, onlyIfUnused: boolean, ifVersion?: number): Promise<Removed | null>;
	/** Those of the operations whose tools were asked to be flat. */
	flatOf(organizationId: string, operationIds: readonly string[]): Promise<Set<string>>;
	/**
	 * One tool per operation: made, brought up to date, or left alone. Those that are gone, or not as of then any more, are not counted; a
	 * tool that was changed `since` then is one that was brought up to date.
	 */
	generate(
		organizationId: string,
		apiId: string,
		drafts: OperationDraft[],
		since?: Date,
	): Promise<{ created: number; updated: number; unchanged: number }>;
}
