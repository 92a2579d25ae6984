// The nouns that plugins, core and the database share. Types only.

import type { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { EventOptions, ServerEvent } from './server-events.ts';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
	[key: string]: Json;
}
/** JSON that is only read, such as what core hands out. */
export type ReadonlyJson = null | boolean | number | string | readonly ReadonlyJson[] | ReadonlyJsonObject;
export type ReadonlyJsonObject = { readonly [key: string]: ReadonlyJson };
/** JSON Schema 2020-12; one that describes arguments has an object at its root. */
export type JsonSchema = JsonObject;

export type Scope = 'tools:read' | 'tools:execute' | 'gateway:read';

/**
 * The authenticated client. `subject` is stable and unique across kinds: `key:<id>`, `user:<id>`, `anonymous`. A subject that core's identity did
 * not give gets the method's name in front, and that of its row where another row of the method comes first.
 */
export interface Caller {
	method: string;
	subject: string;
	scopes: readonly Scope[];
	/** The user, if the caller is a member of the gateway's organization, whatever the credential. */
	userId?: string;
	/** The time at which that member joined: grants from before are void. */
	memberSince?: Date;
	/** The gateway key's id; absent for a user's own access key. */
	keyId?: string;
	/**
	 * A name of the credential, by which the method finds it again when a job of this caller runs later (`AuthMethod.recheck`): never the
	 * credential itself, nor enough to guess it.
	 */
	credential?: string;
	/** The time at which the credential ends; no job of the caller runs after it. */
	expiresAt?: Date;
	/** The organization that the credential is for: at an address over several of them, from `identity` of one. */
	organizationId?: string;
}

/** The address of a gateway, or one over the gateways of several organizations. */
export interface ServedAt extends Pick<Gateway, 'url' | 'name'> {
	/** The target of a request that is refused there; it may have another spelling of the address. */
	target?: string;
}

export interface Gateway {
	id: string;
	organizationId: string;
	organizationSlug: string;
	/** The name that its owners gave it: any text of at most 200 characters, which may change. */
	organizationName: string;
	name: string;
	type: string;
	/** The path segment with its leading slash: `/main`. */
	endpoint: string;
	description: string | null;
	status: string;
	/** An image for clients, by https or data URL; null or absent: none. */
	icon?: string | null;
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

/** MCP's tool annotations (2025-06-18, tools), for every transport that has such hints. */
export interface ToolAnnotations {
	title?: string;
	readOnlyHint?: boolean;
	destructiveHint?: boolean;
	idempotentHint?: boolean;
	openWorldHint?: boolean;
}

/** The format that connects plugins: importers write tools, transports read them, executors run them. */
export interface Tool {
	id: string;
	organizationId: string;
	/** In a gateway, the name that the gateway exposes, unique there. */
	name: string;
	description: string;
	/** The executor that runs it. */
	executor: string;
	parameters: JsonSchema;
	/** Null when no schema can be promised for the answer. */
	outputSchema: JsonSchema | null;
	annotations: ToolAnnotations;
	/** An image for clients, by https or data URL; absent: none. */
	icon?: string;
	/** Core checks each result against `outputSchema`; absent or false: a result may break it. */
	strictOutput?: boolean;
	/** The groups in which the description of its API puts the operation, the first one first; absent: none. */
	tags?: readonly string[];
	apiId: string | null;
	/** Changes with every edit; compiled forms of a tool are cached under `id` and `version`. */
	version: string;
}

export type ContentBlock =
	| { type: 'text'; text: string }
	| { type: 'image' | 'audio'; data: string; mimeType: string }
	| { type: 'resource'; resource: { uri: string; mimeType?: string; text?: string; blob?: string } }
	| { type: 'resource_link'; uri: string; name: string; mimeType?: string; size?: number };

/** The result of a tool. `structured` is the answer as data, if it is JSON. `isError`: the tool ran and failed; `content` says how. */
export interface ToolResult {
	content: ContentBlock[];
	structured?: Json;
	isError?: boolean;
	/** Lines that the tool printed: kept with the run, shown by the management API, never sent to a gateway's clients. */
	logs?: string[];
}

/** The choices of an organization's administrators. */
export interface OrganizationSettings {
	/** Whether code that its members write may send requests. */
	codeMayFetch: boolean;
	/** How the tools of all gateways are listed at one address: all of them, or those that find and run them, by name or in code. */
	toolExposure: 'full' | 'search' | 'code';
}

export type ToolRef = { name: string } | { id: string };

// ── a request to a gateway, free of hapi's types ──────────────────────────────────────────────────────────────────

export interface Incoming {
	id: string;
	method: string;
	/** The request-target as it was received: path and query, as signatures cover them. */
	target: string;
	/** The Host header in lower case, without the default port of `publicUrl`'s scheme: `@authority` of RFC 9421 §2.2.3. */
	authority: string;
	/** Raw path inside the gateway, `/` at its root, however the gateway's address is spelt. */
	path: string;
	/** The URL of the place below which `path` lies, without a slash at its end: the gateway's, or that of a transport at a fixed address. */
	base: string;
	/** Path parameters of the matched route, percent-decoded. */
	params: Readonly<Record<string, string>>;
	query: URLSearchParams;
	/** Header names are in lower case. */
	headers: Readonly<Record<string, string | undefined>>;
	/** The body as the route's `body` names it: parsed JSON, URLSearchParams, or a Buffer; null before authentication or without one. */
	body: unknown;
	/** The id of the last event that a client of an event stream received before it reconnected; null without a usable `Last-Event-ID`. */
	lastEventId: string | null;
	/** Client address; a forwarded one counts only from the hops that TRUST_PROXY names. */
	address: string;
	/** The one of the listed PUBLIC_URLs that the client used. */
	publicUrl: string;
	/** The program that the client says it is, as `introduce` was told. */
	clientInfo?: string;
	/** The Origin header: its value, and whether it is PUBLIC_URL, FRONTEND_URL or (when PUBLIC_URL is loopback) loopback. */
	origin: { value: string | null; trusted: boolean };
}

export interface Reply {
	status: number;
	headers?: Record<string, string>;
	/**
	 * An object is sent as JSON, a string as plain text unless a header says otherwise. A stream is destroyed when the client leaves. An
	 * iterable of events is sent as an event stream, for which core does all the rest; the status is 200.
	 */
	body?: ReadonlyJsonObject | string | Buffer | Readable | ReadableStream | AsyncIterable<ServerEvent> | null;
	/** Options of a body of events. */
	stream?: EventOptions;
}

// ── descriptions of APIs ─────────────────────────────────────────────────────────────────────────────────────────────

export type CredentialType = 'api_key' | 'bearer_token' | 'basic_auth' | 'oauth2';

/** The credential that a request needs: that of a scheme, or by type alone one that was stored without a scheme. */
export type CredentialNeed = CredentialType | SchemeNeed;

/** A security scheme of an API's description. */
export type SchemeNeed = {
	/** The scheme's name in the description. */
	scheme: string;
	type: CredentialType;
	/** Location of the key. */
	in?: KeyLocation;
	name?: string;
	/** The description has no other key: a key that was stored without a scheme is used for it, wherever it is sent. */
	only?: boolean;
};

export type KeyLocation = 'header' | 'query' | 'cookie';

/** Parameters that are dropped from a tool's arguments when a stored credential supplies them. */
export type Fillable = {
	/** Origin of the requests; null: that of the API. */
	origin: string | null;
	/** The credentials with which the executor signs its requests; null: whatever is stored. */
	security: CredentialNeed[][] | null;
	arguments: { argument: string; in: KeyLocation; name: string }[];
};

/** An uploaded description: one text, several files under the names by which they refer to each other, or one binary file. */
export interface SchemaSource {
	/** The root document; empty if it is binary, or if no single file is the root. */
	text: string;
	/** The URL from which it was fetched; null when it was uploaded. */
	url: string | null;
	/** Path of `text` among `files`, such as `a/b.yaml`; null when there is only one text. */
	path: string | null;
	/** All files by path: relative, `/` between folders, no `.` or `..`. Empty when there is only one text. */
	files: ReadonlyMap<string, Uint8Array>;
}

/** One operation of an API description. */
export interface Operation {
	/** Identity in the document, stable across re-imports: `GET /pets/{id}`. */
	key: string;
	operationId: string | null;
	/** A valid tool name, unique (ignoring case) in this import, and independent of the order. */
	name: string;
	/** A short name for people, in one line. */
	title?: string | null;
	description: string;
	method: string;
	path: string;
	tags: string[];
	deprecated: boolean;
	parameters: JsonSchema;
	/** The complete schema, if `parameters` had to be cut; calls are checked against it. Null or absent if nothing was cut. */
	whole?: JsonSchema | null;
	outputSchema: JsonSchema | null;
	/** The answer has a schema that is too large or cannot be converted without loss, so `outputSchema` is null for that reason. */
	answerCut?: boolean;
	/** The importer's own data, from which `tool` writes the executor's config. */
	definition: JsonObject;
	outcome: 'converted' | 'degraded' | 'skipped';
	/** The reasons why it is degraded or skipped, a sentence each. */
	reasons: string[];
}

/** An importer's summary of the whole document. */
export interface SchemaSummary {
	/** Format and version, such as `openapi 3.1.0`. */
	format: string;
	title: string | null;
	version: string | null;
	/** Absolute base URLs that the document names. */
	servers: string[];
	/** The credentials that the document describes, ready to be completed. */
	credentials?: CredentialPreset[];
}

/** A credential as `POST /apis/:id/credentials` takes it, as far as a description defines it: without its secrets. */
export interface CredentialPreset {
	/** The scheme's name in the description. */
	scheme: string;
	type: CredentialType;
	/** `name` and `in` of a key, `tokenUrl` and `scopes` of OAuth; empty if only secrets are missing. */
	credentials: JsonObject;
}

export interface ToolDraft extends Omit<Tool, 'id' | 'organizationId' | 'apiId' | 'icon' | 'strictOutput' | 'tags' | 'version'> {
	executionConfig: JsonObject;
	/** The argument that is the body of the request: its members may be listed beside the other arguments. Absent if there is no body. */
	bodyArgument?: string;
	/** Absent if there are no such arguments. */
	fillable?: Fillable;
}

/** How the body of a request is laid out among the arguments of a tool. */
export type BodyLayout = 'nested' | 'flat';

/** The data needed to nest the arguments of a flat tool again. */
export type Flattened = {
	/** The argument that holds the body. */
	argument: string;
	/** Names of the other arguments. */
	others: string[];
	/** The body is sent even when none of its members is given. */
	isRequired: boolean;
};

// ── logs and records ─────────────────────────────────────────────────────────────────────────────────────────────────

export interface Log {
	debug(fields: object, message: string): void;
	info(fields: object, message: string): void;
	warn(fields: object, message: string): void;
	error(fields: object, message: string): void;
}

export type { PutOptions, RecordPage, Records, StoredRecord, Tags, UpdateOptions } from './records.ts';
