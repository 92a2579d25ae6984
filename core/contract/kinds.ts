// The kinds of plugin: plugin authors start reading here. Types only.

import type { ObjectSchema } from 'joi';
import type { GateContext, Received, SecurityScheme } from './admission.ts';
import type { Call, Context } from './context.ts';
import type { CorsHeaders } from './cors.ts';
import type { ErrorCode, GatewayError } from './errors.ts';
import type { JobHandler } from './jobs.ts';
import type { Window } from './limits.ts';
import type { ManagementRoute } from './management.ts';
import type { PipelineNode } from './nodes.ts';
import type {
	Api,
	Caller,
	Incoming,
	JsonObject,
	JsonSchema,
	Log,
	Operation,
	Reply,
	SchemaSource,
	SchemaSummary,
	Scope,
	ServedAt,
	Tool,
	ToolDraft,
	ToolResult,
} from './nouns.ts';
import type { SocketProtocol } from './outbound.ts';
import type { LlmProvider } from './providers.ts';
import type { Sandbox } from './sandbox.ts';

export type { ManagementRequest, ManagementRoute } from './management.ts';

/**
 * The members that plugins of every kind have.
 * @typeParam Operator the configuration that the operator gives the plugin, as its functions get it in `context.operator`
 */
export interface Base<Config, Operator = unknown> {
	/**
	 * The version of this contract that the plugin was written for. A plugin that does not say it is taken for one of version 1, with a
	 * warning at start; one of a newer version stops the start.
	 */
	api?: 1;
	/** The value that rows store; never renamed. */
	name: string;
	/** One sentence, shown by GET /plugins. */
	summary: string;
	/** The document that the plugin implements, with version or date. */
	spec?: string;
	/**
	 * The Joi schema that defines validation, defaults and reference. Mark secrets with `.meta({ secret: true })`, wherever they are: fields,
	 * items, members, alternatives, conditions, whole objects and lists, of any type that is JSON. For a map whose members are secret by their
	 * names, `.meta({ secretMembers })` says which, as `headerRules` does. A secret must have no default. Mark texts that hold a destination
	 * of the secrets with `.meta({ destination: true })`: a client that changes its origin has to enter the secrets again.
	 */
	config: ObjectSchema<Config>;
	/**
	 * The schema of what the operator configures for the whole service, in the file GATEWAY_PLUGINS_CONFIG under `kind:name`. It is parsed at
	 * the start, with its defaults, also when the file says nothing. A feature has none: its `config` is the operator's.
	 */
	operator?: ObjectSchema<Operator>;
	/** The version of `config`, which rows keep; default 1. Raise it with each change that a stored config may not fit. */
	version?: number;
	/**
	 * Returns a stored config of a lower version as one of this version. It is called when a row is read, and must not wait. Secrets are
	 * sealed in it: they may be moved to another field, not read. The row is rewritten when a user next changes it.
	 * @param config a copy that may be changed
	 * @param from the version that stored it
	 */
	upgrade?(config: JsonObject, from: number): JsonObject;
	/** Work of the plugin that outlives a request, by name: `call.jobs.add(name, data)` begins one. An importer has none. */
	jobs?: Readonly<Record<string, JobHandler<Config, Operator>>>;
	/** Ends what the plugin holds open, such as a pool of connections, when the service stops. */
	close?(): void | Promise<void>;
}

export interface AuthMethod<C = unknown, O = unknown> extends Base<C, O> {
	kind: 'auth';
	/** Returns the caller of a valid credential, null if the request has no credential of this kind. @throws unauthorized, forbidden */
	authenticate(request: Incoming, config: C, context: GateContext<O>): Promise<Caller | null>;
	/**
	 * Checks the body of a request whose caller this method admitted, such as its signature. Core calls it once the body was received within
	 * its bound, before it is inflated, parsed or handled; also without a body. @throws unauthorized, forbidden
	 */
	verifyBody?(request: Received, caller: Caller, config: C, context: GateContext<O>): Promise<void>;
	/** Checks what the schema cannot, such as an address, when the method is added to a gateway. @throws validation_failed, egress_refused */
	check?(config: C, context: SaveContext<O>): Promise<void>;
	/**
	 * Returns a caller whom the method admitted earlier, as their credential is now; null when it is no longer good. It has no request: it goes
	 * by `caller.credential`. Jobs of a caller (`Base.jobs`) run only while it returns one; those of a method without it do not run. The
	 * scopes are never more than the caller had.
	 */
	recheck?(caller: Readonly<Caller>, config: C, context: Context<O>): Promise<Caller | null>;
	/** Headers in which the method looks for a credential, beside Authorization and Cookie: they are never passed on to an API. */
	secretHeaders?(config: C): string[];
	/** Describes the expected credential in the 401 for a request without one, such as `a key in X-API-Key`. Anonymous clients read it. */
	takes?(config: C): string;
	/** The value of WWW-Authenticate (RFC 9110 §11.6.1). @param fault the fault of a credential of this method; null when none was sent */
	challenge?(gateway: ServedAt, config: C, fault: ChallengeFault | null): string;
	/**
	 * Describes how a client authenticates, for documents that a transport publishes; null when everyone is admitted without a credential.
	 * @param config without its secrets
	 */
	scheme?(gateway: ServedAt, config: C): SecurityScheme | null;
	/** Gives refusals of the method's own routes the form of its protocol, as a transport's `fail` does. */
	fail?(error: GatewayError, request: Incoming, config: C, at: ServedAt): Reply | null;
	/** Routes that a gateway has while this method is attached to it. */
	routes?: GatewayRoute<C, O>[];
	/** Routes of the management API for the records that the method keeps for a gateway. */
	management?: ManagementRoute<O>[];
	/** Headers of the method that pages in browsers use at gateways. */
	cors?: CorsHeaders;
	/**
	 * The method also works at an address over all organizations (`Context.organizations`), with its usual config. `authenticate` returns a
	 * caller whom the `identity` of one organization gave; public routes find out by themselves which one is meant, and its management
	 * routes are those of an organization, too: their requests have no `gateway` there.
	 */
	universal?: true;
}

/** The fault of a credential (RFC 6750 §3.1). `scopes`: all that the caller has, and the missing one. */
export type ChallengeFault = { error: 'invalid_token' } | { error: 'insufficient_scope'; scopes: readonly Scope[] };

export interface TransportAdapter<C = unknown, O = unknown> extends Base<C, O> {
	kind: 'transport';
	routes: GatewayRoute<C, O>[];
	/**
	 * Gives a refusal the form of the protocol, whoever refused the request once the gateway is known: core or a handler. Null leaves it in
	 * core's form. Never called for a 429, which is the same everywhere. The status of a 401 and 403 stays; another error may be given 200 or
	 * any other status from 400. Core adds its own headers, such as WWW-Authenticate and Allow. `at` is where the request was sent to: a
	 * refusal may be a page for a person who opens it in a browser, but it is for people without a credential.
	 */
	fail?(error: GatewayError, request: Incoming, config: C, at: ServedAt): Reply | null;
	/**
	 * The transport decides by itself which pages may send requests (`request.origin`). Otherwise core refuses pages of other sites where a
	 * caller without a name is admitted by an address rule, or the service is on its user's own machine.
	 */
	judgesOrigin?: true;
	/** The gateway is also served under its address with this suffix: `/{org}/{gateway}.git`. */
	suffix?: '.git';
	/** Headers of the protocol that pages in browsers use at gateways. */
	cors?: CorsHeaders;
	/**
	 * Estimates how many tokens the lists of a gateway cost a client's model, by the way in which they are shown. It is asked each time that
	 * a gateway is shown.
	 */
	tokens?(tools: readonly Readonly<Tool>[], config: C): Promise<Record<string, number>>;
}

export interface GatewayRoute<C = unknown, O = unknown> {
	method: 'GET' | 'POST' | 'PUT' | 'DELETE';
	/** Relative to /{org}/{gateway}, root '/'. */
	path: string;
	/** The route needs no caller: for discovery documents, and for what must be reachable without authentication. */
	public?: boolean;
	/** Default `raw`. */
	body?: 'json' | 'form' | 'raw';
	/** Default 1 MiB. */
	maxBytes?: number;
	/** The content codings in which the route takes bodies; they are inflated within `maxBytes`. Default: none. */
	encodings?: readonly 'gzip'[];
	/** Whether the handler may call `call.published()`: the route tells whoever may call it which tools the gateway serves. */
	lists?: boolean;
	/**
	 * Whether `/{org}` and this path answer, too, where the organization has only one active gateway whose transport declares the path so: for
	 * public GETs below /.well-known/ without parameters. Routes of authentication methods are not served there.
	 */
	atOrganization?: boolean;
	/** A window of the route's own, per caller, or per address where the caller has no name. It counts beside the gateway's. */
	limit?: Window;
	/** Credentials are guessed or issued here: while replicas cannot count together, each admits half of its share. */
	issuesCredentials?: boolean;
	handler(request: Incoming, config: C, call: Call<O>): Promise<Reply>;
}

/** An importer. `config` holds the options of an import, which users give with the description. */
export interface SchemaImporter<C = unknown, O = unknown> extends Base<C, O> {
	kind: 'importer';
	/** Returns 0 to 1: how certain it is that the document has this format. @param text empty when the bytes are not UTF-8 */
	detect(text: string, bytes: Uint8Array): number;
	/**
	 * With several files, none is the root: unless the user names one as `entry`, `parse` gets them all, with `text` empty and `path`
	 * null. Otherwise the root is the one file for which `detect` returns at least 0.9.
	 */
	rootless?: boolean;
	/** Members of definitions that describe the messages in another form than the schemas do: a change of these is reported by the schemas. */
	messageTypes?: readonly string[];
	/**
	 * Returns a definition in the form in which it is compared with the one of another import: two that make the same calls are the same in
	 * it, whether or not they name what is assumed without them.
	 */
	normalize?(definition: JsonObject): JsonObject;
	/**
	 * Fetches the description from the endpoint at `url`, for APIs that describe themselves (introspection). Runs in core's worker when a
	 * GET of `schemaUrl` returned no description. @throws schema_invalid, whose message ends a sentence on why it cannot be fetched
	 */
	introspect?(url: string, context: ImportContext<O>): Promise<Pick<SchemaSource, 'text' | 'url'>>;
	/**
	 * Yields the operations of a description. Runs in core's worker, where the context has `fetch`, `request`, `log`, `signal` and
	 * `operator` only; `log.warn` writes into the report. Frozen parts of schemas are written once, however many operations share them, so
	 * what is inside them must not change either. A description that the API has already, with the same config, is not parsed again, unless
	 * more was fetched through the context. @throws schema_invalid, naming line or pointer
	 */
	parse(source: SchemaSource, config: C, context: ImportContext<O>): AsyncGenerator<Operation, SchemaSummary>;
	/** Converts one operation into one tool. */
	tool(operation: Operation, api: Api): ToolDraft;
}

export type ImportContext<O = unknown> = Pick<Context<O>, 'log' | 'fetch' | 'request' | 'signal' | 'operator'>;

/** The context while a tool or an auth method is saved: nothing is called yet. */
export interface SaveContext<O = unknown> {
	log: Log;
	/** The operator's configuration of the plugin. */
	operator: O;
	/** The organization that the tool or gateway belongs to. */
	organizationId: string;
	/** The account by which that organization's quotas of scarce resources count, as in `Call.account`. @throws unavailable */
	account(): Promise<string>;
	/**
	 * Checks that outbound calls may go to `url`; a name that does not resolve yet passes. @throws egress_refused, naming `at`
	 * @param at JSON pointer of the URL in the request's body, such as `/executionConfig/url`
	 */
	checkUrl(url: string, at?: string): Promise<void>;
	/** Checks in the same way a host and a port for `connect`. @throws egress_refused, naming `at` */
	checkAddress(host: string, port: number, options?: { protocol?: SocketProtocol; at?: string }): Promise<void>;
	/** Checks that the organization has this LLM provider. @throws validation_failed, naming `at` */
	checkProvider(providerId: string, at: string): Promise<void>;
	/**
	 * Checks that a JSON Schema (2020-12) has an object at its root and can be used to check data with bounded effort.
	 * @throws validation_failed, naming places below `at`; rate_limited
	 */
	checkSchema(schema: JsonSchema, at: string): Promise<void>;
}

export interface ToolExecutor<C = unknown, O = unknown> extends Base<C, O> {
	kind: 'executor';
	/** Whether `POST …/tools` may name the executor as `type`. */
	creatable?: boolean;
	/** Whether `format` of an API's schema is checked, since the wire has no form for other values. Otherwise servers decide what they accept. */
	assertsFormats?: boolean;
	/** Checks what the schema cannot, such as an address or syntax, when a tool is saved. @throws validation_failed, egress_refused */
	check?(config: C, context: SaveContext<O>): Promise<void>;
	/**
	 * Names the agent that the tool runs, and the place of its id in the request's body. It must exist when the tool is saved, and a tool that
	 * is saved without `parameters` takes the agent's input schema, also when that changes.
	 */
	agent?(config: C): { id: string; at: string };
	/**
	 * Runs the tool; `args` have passed the tool's `parameters`.
	 * @throws upstream_failed, upstream_timeout, egress_refused, validation_failed; not_implemented with a detail
	 * `client/<ability>` when the client would need an ability that it has not declared
	 */
	execute(args: JsonObject, config: C, call: Call<O>): Promise<ToolResult>;
	/** The time in which a run has to end. Default 120 s; at most an hour. */
	deadlineMs?: number;
	/** Runs code that clients send, for whichever plugin asks for its language by `call.sandbox`. */
	sandbox?: Sandbox<O>;
	/**
	 * Returns the request that `execute` would send, and sends nothing. Only for protocols that do not use `call.request` or `call.fetch`,
	 * whose requests core shows by itself. `call.sign` and secret fields of the config give a placeholder for the secret then, shown as
	 * `••••`; `call.connect` gives an address that must not be dialled. @throws what `execute` throws before it sends
	 */
	preview?(args: JsonObject, config: C, call: Call<O>): Promise<JsonObject>;
}

/** Every kind of plugin by its name. A door that offers a further kind adds it here by declaration merging. */
export interface Kinds {
	auth: AuthMethod;
	transport: TransportAdapter;
	importer: SchemaImporter;
	executor: ToolExecutor;
	provider: LlmProvider;
	node: PipelineNode;
}

export type Kind = keyof Kinds;
export type Plugin = Kinds[Kind];
export type PluginOf<K extends Kind> = Kinds[K];

/** A transport's answer to each error; a transport that forgets a code does not compile. */
export type ErrorMap<T> = Record<ErrorCode, T>;
