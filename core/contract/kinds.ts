// The kinds of plugin: what a plugin author reads first. Types only.

import type { ObjectSchema, Schema } from 'joi';
import type { Call, Context } from './context.ts';
import type { ErrorCode, GatewayError } from './errors.ts';
import type {
	Api,
	Caller,
	Gateway,
	Incoming,
	JsonObject,
	Log,
	Operation,
	RecordPage,
	Reply,
	SchemaSource,
	SchemaSummary,
	Scope,
	ToolDraft,
	ToolResult,
} from './nouns.ts';

export interface Base<Config> {
	/** The value rows store; never renamed. */
	name: string;
	/** One sentence, shown by GET /plugins. */
	summary: string;
	/** The document implemented, with version or date. */
	spec?: string;
	/**
	 * Validation, defaults and the reference, from one declaration. Mark secrets with `.meta({ secret: true })`. In a map whose members are
	 * secret by their names, `.meta({ secretMembers })` says which, as `headerRules` does. The top-level field that says where they are sent
	 * is marked `.meta({ destination: true })`: who changes its origin has to enter them again.
	 */
	config: ObjectSchema<Config>;
}

export interface AuthMethod<C = unknown> extends Base<C> {
	kind: 'auth';
	/** The caller if the credential is good, null if there is none of this kind. @throws unauthorized, forbidden */
	authenticate(request: Incoming, config: C, context: Context): Promise<Caller | null>;
	/** When it is added to a gateway: what the schema cannot tell, such as an address. @throws validation_failed, egress_refused */
	check?(config: C, context: SaveContext): Promise<void>;
	/** Headers in which it looks for a credential, beside Authorization and Cookie: what they hold is passed on to no API. */
	secretHeaders?(config: C): string[];
	/** Says what it takes and where, for the 401 of whoever sends nothing, such as `a key in X-API-Key`. Any stranger reads it. */
	takes?(config: C): string;
	/** Value for WWW-Authenticate (RFC 9110 §11.6.1). @param fault of a credential of this method; null when none was sent */
	challenge?(gateway: Gateway, config: C, fault: ChallengeFault | null): string;
	/** Routes of the gateway that exist while it carries this method. */
	routes?: GatewayRoute<C>[];
	/** Routes of the management API, about what the method keeps of a gateway. */
	management?: ManagementRoute[];
}

/** RFC 6750 §3.1. `scopes`: all that the caller has and the one that is missing. */
export type ChallengeFault = { error: 'invalid_token' } | { error: 'insufficient_scope'; scopes: readonly Scope[] };

/** Below `/gateways/{id}`, for members whose role allows it, in the document like every other operation. */
export interface ManagementRoute {
	method: 'GET' | 'DELETE';
	/** `/oauth/clients/{clientId}`. */
	path: string;
	/** `listOauthClients`. */
	id: string;
	/** One sentence. */
	summary: string;
	/** Reading needs `gateway:read`, removing `gateway:write`. A list: of records, under this name and paged like every other. */
	list?: string;
	/** Of `data`; of one item where it is a `list`. */
	answer: Schema;
	/**
	 * `page` is there for lists, which are answered with `items` and `nextCursor`. @throws not_found
	 */
	handler(request: ManagementRequest, context: Context): Promise<JsonObject | { items: JsonObject[]; nextCursor: string | null }>;
}

export interface ManagementRequest {
	gateway: Gateway;
	/** Of the path. */
	params: Readonly<Record<string, string>>;
	/** For `records.find`, in the order that lists of the API have. */
	page: RecordPage;
}

export interface TransportAdapter<C = unknown> extends Base<C> {
	kind: 'transport';
	routes: GatewayRoute<C>[];
}

export interface GatewayRoute<C = unknown> {
	method: 'GET' | 'POST' | 'PUT' | 'DELETE';
	/** Relative to /{org}/{gateway}, root '/'. */
	path: string;
	/** Discovery documents, and what must be reachable without a caller. */
	public?: boolean;
	/** Default `raw`. */
	body?: 'json' | 'form' | 'raw';
	/** Default 1 MiB. */
	maxBytes?: number;
	/** The answer's body when a request cannot be read (its query or body: too large, broken off, no UTF-8), for protocols with a form of their own. */
	unreadable?(error: GatewayError): JsonObject;
	handler(request: Incoming, config: C, call: Call): Promise<Reply>;
}

/** `config` are the options of an import, which users give with the description. */
export interface SchemaImporter<C = unknown> extends Base<C> {
	kind: 'importer';
	/** 0–1: how sure it is that the document is its format. @param text empty when the bytes are no UTF-8 */
	detect(text: string, bytes: Uint8Array): number;
	/**
	 * Of several files none is the root: unless the user names one as `entry`, `parse` gets them all, with `text` empty and `path`
	 * null. Otherwise the root is the one file that `detect` is sure of (0.9 or more).
	 */
	rootless?: boolean;
	/**
	 * For APIs that describe themselves when asked: the description, from the endpoint at `url`. Runs in core's worker, when what a
	 * GET of `schemaUrl` answered is none. @throws schema_invalid with the rest of a sentence on why it is not told
	 */
	introspect?(url: string, context: ImportContext): Promise<Pick<SchemaSource, 'text' | 'url'>>;
	/**
	 * Runs in core's worker: only `fetch`, `request`, `log` and `signal` of the context are there. `log.warn` writes into
	 * the report. @throws schema_invalid, naming line or pointer
	 */
	parse(source: SchemaSource, config: C, context: ImportContext): AsyncGenerator<Operation, SchemaSummary>;
	/** One operation → one tool. */
	tool(operation: Operation, api: Api): ToolDraft;
}

export type ImportContext = Pick<Context, 'log' | 'fetch' | 'request' | 'signal'>;

/** While a tool or an auth method is saved: nothing is called yet. */
export interface SaveContext {
	log: Log;
	/** The organization that the tool or gateway belongs to. */
	organizationId: string;
	/** The account for which that organization's shares of scarce things count, as `Call.account` tells it. @throws unavailable */
	account(): Promise<string>;
	/**
	 * Whether outbound calls may go there; a name that does not resolve yet passes. @throws egress_refused, naming `at`
	 * @param at JSON pointer of the URL in the request's body, such as `/executionConfig/url`
	 */
	checkUrl(url: string, at?: string): Promise<void>;
}

export interface ToolExecutor<C = unknown> extends Base<C> {
	kind: 'executor';
	/** May `POST …/tools` name it as `type`. */
	creatable?: boolean;
	/** When a tool is saved: what the schema cannot tell, such as an address or syntax. @throws validation_failed, egress_refused */
	check?(config: C, context: SaveContext): Promise<void>;
	/**
	 * `args` have passed the tool's `parameters`.
	 * @throws upstream_failed, upstream_timeout, egress_refused, validation_failed; not_implemented with a detail
	 * `client/<ability>` when the client would need an ability that it has not declared
	 */
	execute(args: JsonObject, config: C, call: Call): Promise<ToolResult>;
	/**
	 * The request that `execute` would send, with nothing sent, for protocols that do not go through `call.request` or `call.fetch`:
	 * those core shows by itself. `call.sign` and secret fields of the config hold a text that stands for the secret then, and is shown as
	 * `••••`; `call.connect` gives an address that is not to be dialled. @throws what `execute` throws before it sends
	 */
	preview?(args: JsonObject, config: C, call: Call): Promise<JsonObject>;
}

/** Every kind of plugin by its name. A door that offers a further kind adds it here by declaration merging. */
export interface Kinds {
	auth: AuthMethod;
	transport: TransportAdapter;
	importer: SchemaImporter;
	executor: ToolExecutor;
}

export type Kind = keyof Kinds;
export type Plugin = Kinds[Kind];
export type PluginOf<K extends Kind> = Kinds[K];

/** How a transport answers each error; a code that it forgot does not compile. */
export type ErrorMap<T> = Record<ErrorCode, T>;
