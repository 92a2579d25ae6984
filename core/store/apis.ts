// The storage port of connected APIs, with their schemas and operations, and of tools.

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
import type { ImportChanges, ImportWriter, KeptSource } from './imports.ts';
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
	/** Returns the source of the latest schema; null when there is none. */
	source(organizationId: string, apiId: string): Promise<(Pick<SchemaRow, 'id' | 'sourceUrl'> & KeptSource) | null>;
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
