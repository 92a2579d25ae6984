// The kinds of plugin and the nouns that they share. Types only: what a plugin author reads first.

import type { Readable } from 'node:stream';
import type { Server } from '@hapi/hapi';
import type { ObjectSchema, Schema } from 'joi';
import type { Core } from './core.ts';
import type { ErrorCode } from './errors.ts';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
	[key: string]: Json;
}
/** JSON Schema 2020-12 with an object at its root wherever it describes arguments. */
export type JsonSchema = JsonObject;

// ── nouns ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export type Scope = 'tools:read' | 'tools:execute' | 'gateway:read';

/** Who calls. `subject` is stable and unique across kinds: `key:<id>`, `user:<id>`, `anonymous`. */
export interface Caller {
	method: string;
	subject: string;
	scopes: readonly Scope[];
	/** Of a member of the gateway's organization, whatever the credential. */
	userId?: string;
	/** When that member joined: what was given to them before is void. */
	memberSince?: Date;
	/** Of a key of the gateway; a user's own access key is none. */
	keyId?: string;
}

export interface Gateway {
	id: string;
	organizationId: string;
	organizationSlug: string;
	name: string;
	type: string;
	/** With its leading slash: `/main`. */
	endpoint: string;
	description: string | null;
	status: string;
	/** Public address, without a trailing slash. */
	url: string;
}

export interface Api {
	id: string;
	organizationId: string;
	name: string;
	type: string;
	baseUrl: string;
}

/** MCP's hints (2025-06-18, tools), which every transport that knows such hints may use. */
export interface ToolAnnotations {
	title?: string;
	readOnlyHint?: boolean;
	destructiveHint?: boolean;
	idempotentHint?: boolean;
	openWorldHint?: boolean;
}

/** The narrow waist: importers write it, transports read it, executors run it. */
export interface Tool {
	id: string;
	organizationId: string;
	/** In a gateway: the name that the gateway exposes, unique there. */
	name: string;
	description: string;
	/** The executor that runs it. */
	executor: string;
	parameters: JsonSchema;
	/** Null when the answer has no shape that is safe to promise. */
	outputSchema: JsonSchema | null;
	annotations: ToolAnnotations;
	apiId: string | null;
	/** Changes with every edit; what is compiled from a tool is cached under `id` and this. */
	version: string;
}

export type ContentBlock =
	| { type: 'text'; text: string }
	| { type: 'image' | 'audio'; data: string; mimeType: string }
	| { type: 'resource'; resource: { uri: string; mimeType?: string; text?: string; blob?: string } }
	| { type: 'resource_link'; uri: string; name: string; mimeType?: string };

/** `structured` is the answer as data, where it is JSON. `isError`: the tool ran and failed; `content` says how. */
export interface ToolResult {
	content: ContentBlock[];
	structured?: Json;
	isError?: boolean;
}

export type ToolRef = { name: string } | { id: string };

// ── a request of a gateway, free of hapi's types ───────────────────────────────────────────────────────────────────

export interface Incoming {
	id: string;
	method: string;
	/** Raw path inside the gateway, `/` at its root. */
	path: string;
	/** Of the matched route, percent-decoded. */
	params: Readonly<Record<string, string>>;
	query: URLSearchParams;
	/** Names in lower case. */
	headers: Readonly<Record<string, string | undefined>>;
	/** As the route's `body` asks: parsed JSON, URLSearchParams, or a Buffer; null before authentication and without a body. */
	body: unknown;
	/** Client address; forwarded ones count only from the hops that TRUST_PROXY names. */
	address: string;
	/** The listed PUBLIC_URL by which the client came. */
	publicUrl: string;
	/** The Origin header: its value, and whether it is PUBLIC_URL, FRONTEND_URL or (when PUBLIC_URL is loopback) loopback. */
	origin: { value: string | null; trusted: boolean };
}

export interface Reply {
	status: number;
	headers?: Record<string, string>;
	/** An object is sent as JSON, a string as it is. A stream ends when the client leaves. */
	body?: JsonObject | string | Buffer | Readable | null;
}

// ── what core lends ────────────────────────────────────────────────────────────────────────────────────────────────

export interface Log {
	debug(fields: object, message: string): void;
	info(fields: object, message: string): void;
	warn(fields: object, message: string): void;
	error(fields: object, message: string): void;
}

export interface OutboundRequest {
	method: string;
	url: string;
	headers?: Record<string, string>;
	body?: string | Buffer | null;
	/** Whole exchange, redirects included. Default 30,000. */
	timeoutMs?: number;
	/** Greatest decoded body. Default 10 MiB. @see OutboundResponse */
	maxBytes?: number;
	/** Default 3; 0 hands the redirect itself back. Credentials do not follow to another origin. */
	maxRedirects?: number;
	signal?: AbortSignal;
	/** Read by `Call.sign`: alternatives, each a list of credential types that go together. Absent: whatever is stored. */
	security?: CredentialType[][];
}

export interface OutboundResponse {
	status: number;
	headers: Record<string, string>;
	body: Buffer;
	/** After redirects. */
	url: string;
}

export type CredentialType = 'api_key' | 'bearer_token' | 'basic_auth' | 'oauth2';

/** An address that passed the guard; dial this and no other. */
export interface CheckedAddress {
	address: string;
	family: 4 | 6;
	port: number;
}

/** Shared by all replicas, may be lost. Keys are private to the plugin and the gateway. */
export interface KeyValue {
	get(key: string): Promise<string | null>;
	/** @param ttlMs always finite. */
	put(key: string, value: string, ttlMs: number): Promise<void>;
	/** True for the first caller only, until it expires. */
	putIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>;
	drop(key: string): Promise<void>;
}

/** One durable document of a plugin. */
export interface StoredRecord {
	key: string;
	value: JsonObject;
	tags: string[];
	createdAt: Date;
	expiresAt: Date | null;
	/** When `take` marked it as used. */
	takenAt: Date | null;
	/** The database's clock at the reading: the other times are its, too, whatever this process takes the time to be. */
	readAt: Date;
	/** Grows with each write; `update` compares it. */
	revision: number;
}

export interface PutOptions {
	tags?: string[];
	/** It expires by the database's clock. Default: never. */
	ttlMs?: number;
	/** Every replica hears of each change of it, so that `recall` need not ask. */
	watched?: boolean;
	/** What the organization's audit log calls it, such as `oauth_client`, when it comes and goes, and whose doing it is. Default: the log says nothing. */
	audited?: { type: string; name: string; by?: { userId: string; email: string } };
}

export interface UpdateOptions {
	/** It expires so long from now. Default: when it would have. */
	ttlMs?: number;
	/** The audit log, if it knows the record, hears of this update. Default: it does not. */
	told?: boolean;
}

export interface RecordPage {
	limit?: number;
	cursor?: string;
	/** Default `-createdAt`: the newest first. */
	sort?: string;
}

/** Durable documents in PostgreSQL, private to the plugin and the gateway: data of one's own without a migration. */
export interface Records {
	/** Null when absent or expired. A taken record is still read. */
	get(key: string): Promise<StoredRecord | null>;
	/**
	 * The same, from memory as long as the record is as it was, if it was put as `watched`; a change is seen within a second. For hot
	 * paths. `readAt` has gone on with the time since.
	 */
	recall(key: string): Promise<StoredRecord | null>;
	put(key: string, value: JsonObject, options?: PutOptions): Promise<void>;
	find(tag: string, page?: RecordPage): Promise<{ records: StoredRecord[]; nextCursor: string | null }>;
	/** @returns how many were dropped. */
	drop(tag: string): Promise<number>;
	/** Reads and marks as used in one statement; null for the second taker. */
	take(key: string): Promise<StoredRecord | null>;
	/** Compare and set: false when `revision` is no longer the stored one. */
	update(key: string, revision: number, value: JsonObject, options?: UpdateOptions): Promise<boolean>;
}

/** Somebody at a browser who has logged in to Gatehouse. */
export interface Visitor {
	userId: string;
	email: string;
	name: string;
	/** Of the login; another one, another id. */
	sessionId: string;
	/** As what they may call this gateway; null when they are no member of its organization. */
	caller: Caller | null;
}

/** Whom the accounts of Gatehouse know, at one gateway. What is remembered of them is dropped when it changes, on every replica. */
export interface Identity {
	/**
	 * Whom one of Gatehouse's own credentials stands for at this gateway: a key of the gateway, or an access key or login's
	 * token of a member of its organization, with the scopes that their role and key have now. Null if it is none of these, or is
	 * ended or revoked. Let through what it @throws: unauthorized for a token that is wrong in itself, such as `jwt issuer
	 * invalid`; forbidden for a credential that is good elsewhere only
	 */
	credential(secret: string): Promise<Caller | null>;
	/**
	 * Whom a JWT (HS256) stands for that was signed with the service's secret: the member of a live login, or whomever its `sub` or
	 * `userId` names, if the operator made it. @throws unauthorized when it is no such token, forbidden as `credential` does
	 */
	token(token: string): Promise<Caller>;
	/** A member by e-mail address and password; null when either is wrong. @throws forbidden for no member, rate_limited */
	password(email: string, password: string): Promise<Caller | null>;
	/** As what a user may call this gateway now; null when they are no member of its organization, or are gone. */
	member(userId: string): Promise<Caller | null>;
	/** Who is logged in at the browser that sent this; null when nobody is. No other method than OAuth's pages should look. */
	visitor(request: Incoming): Promise<Visitor | null>;
	/**
	 * Logs a browser in; null when address or password is wrong. It counts as `POST /auth/login` does. @returns `cookie` is for
	 * `Set-Cookie`. @throws rate_limited
	 */
	logIn(request: Incoming, email: string, password: string): Promise<{ visitor: Visitor; cookie: string } | null>;
}

/** What core lends to every plugin. */
export interface Context {
	log: Log;
	/** Guarded egress on a pooled connection: the hot path. @throws egress_refused, upstream_failed, upstream_timeout */
	request(options: OutboundRequest): Promise<OutboundResponse>;
	/** The same guard, for convenience and libraries. */
	fetch(url: string | URL, init?: RequestInit): Promise<Response>;
	/** The same guard, for protocols with a socket of their own. @throws egress_refused */
	connect(host: string, port: number): Promise<CheckedAddress>;
	/** Computed once per key and `ttlMs` in this process, private to the plugin and the gateway; failures are not kept. */
	memo<T>(key: string, ttlMs: number, compute: () => Promise<T>): Promise<T>;
	kv: KeyValue;
	records: Records;
	identity: Identity;
	/** Client gone, deadline passed, or shutting down. */
	signal: AbortSignal;
}

/** What core adds inside one call. */
export interface Call extends Context {
	/** Null where there is none: execute over the management API. */
	gateway: Gateway | null;
	/** Null on public routes. */
	caller: Caller | null;
	/** Inside an executor: the tool being run, and the API it came from. */
	tool: Tool | null;
	api: Api | null;
	/** What this caller may see. @throws insufficient_scope */
	tools(): Promise<Tool[]>;
	/**
	 * The one way to run a tool, whatever the transport. A tool that ran and failed is a result with `isError`.
	 * @throws tool_not_found, insufficient_scope, validation_failed
	 */
	invoke(tool: ToolRef, args: Json): Promise<ToolResult>;
	/** Adds the API's stored credential, if the request goes to the origin that it is bound to. */
	sign(request: OutboundRequest): Promise<OutboundRequest>;
	/** Of the running tool; ignored by transports that cannot tell. `done` must grow. */
	progress(done: number, total?: number, message?: string): void;
	/**
	 * A call like this one that hears the progress of what it invokes, and stops with `signal` too. `detached`: it goes on
	 * when the client leaves, for protocols in which leaving is not cancelling.
	 */
	with(options: { progress?: ProgressListener; signal?: AbortSignal; detached?: boolean }): Call;
}

export type ProgressListener = (done: number, total?: number, message?: string) => void;

// ── the kinds ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Base<Config> {
	/** The value rows store; never renamed. */
	name: string;
	/** One sentence, shown by GET /plugins. */
	summary: string;
	/** The document implemented, with version or date. */
	spec?: string;
	/** Validation, defaults and the reference, from one declaration. Mark secrets with `.meta({ secret: true })`. */
	config: ObjectSchema<Config>;
}

export interface AuthMethod<C = unknown> extends Base<C> {
	kind: 'auth';
	/** The caller if the credential is good, null if there is none of this kind. @throws unauthorized, forbidden */
	authenticate(request: Incoming, config: C, context: Context): Promise<Caller | null>;
	/** When it is added to a gateway: what the schema cannot tell, such as an address. @throws validation_failed, egress_refused */
	check?(config: C, context: SaveContext): Promise<void>;
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
	handler(request: Incoming, config: C, call: Call): Promise<Reply>;
}

/** What a user handed in: one text, or several files under the names by which they refer to each other. */
export interface SchemaSource {
	text: string;
	/** Where it was fetched from; null when it was handed in. */
	url: string | null;
}

/** One operation of an API description. */
export interface Operation {
	/** Identity in the document, kept by a re-import: `GET /pets/{id}`. */
	key: string;
	operationId: string | null;
	/** A valid tool name, unique (without regard to case) in this import, the same whatever the order. */
	name: string;
	description: string;
	method: string;
	path: string;
	tags: string[];
	deprecated: boolean;
	parameters: JsonSchema;
	outputSchema: JsonSchema | null;
	/** The importer's own: what `tool` writes the executor's config from. */
	definition: JsonObject;
	outcome: 'converted' | 'degraded' | 'skipped';
	/** Why it is degraded or skipped, a sentence each. */
	reasons: string[];
}

/** What an importer says of the whole document when it is done. */
export interface SchemaSummary {
	/** `openapi 3.1.0`. */
	format: string;
	title: string | null;
	version: string | null;
	/** Absolute base URLs that the document names. */
	servers: string[];
}

export interface ToolDraft {
	name: string;
	description: string;
	executor: string;
	parameters: JsonSchema;
	outputSchema: JsonSchema | null;
	annotations: ToolAnnotations;
	executionConfig: JsonObject;
}

export interface SchemaImporter<C = unknown> extends Base<C> {
	kind: 'importer';
	/** 0–1: how sure it is that `source` is its format. */
	detect(source: string): number;
	/**
	 * For APIs that describe themselves when asked: the description, from the endpoint at `url`. Runs in core's worker, when what a
	 * GET of `schemaUrl` answered is none. @throws schema_invalid with the rest of a sentence on why it is not told
	 */
	introspect?(url: string, context: ImportContext): Promise<SchemaSource>;
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
	/** Whether outbound calls may go there; a name that does not resolve yet passes. @throws egress_refused */
	checkUrl(url: string): Promise<void>;
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
}

export interface Feature<C = unknown> extends Base<C> {
	kind: 'feature';
	/** A plain hapi plugin, trusted with the core. */
	register(server: Server, config: C, core: Core): void | Promise<void>;
}

export type Plugin = AuthMethod | TransportAdapter | SchemaImporter | ToolExecutor | Feature;
export type Kind = Plugin['kind'];
export type PluginOf<K extends Kind> = Extract<Plugin, { kind: K }>;

/** How a transport answers each error; a code that it forgot does not compile. */
export type ErrorMap<T> = Record<ErrorCode, T>;
