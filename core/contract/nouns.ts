// The nouns that plugins, core and the database share. Types only.

import type { Readable } from 'node:stream';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
	[key: string]: Json;
}
/** JSON Schema 2020-12 with an object at its root wherever it describes arguments. */
export type JsonSchema = JsonObject;

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
	/** The name that its owners gave it: any text of at most 200 characters, which may change. */
	organizationName: string;
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
	/** What the tool printed while it ran: kept with the run and shown by the management API, never to a gateway's clients. */
	logs?: string[];
}

/** What an organization allows. */
export interface OrganizationSettings {
	/** Whether code that its members write may send requests. */
	codeMayFetch: boolean;
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

// ── descriptions of APIs ─────────────────────────────────────────────────────────────────────────────────────────────

export type CredentialType = 'api_key' | 'bearer_token' | 'basic_auth' | 'oauth2';

/** What a request is to be signed with: the credential of a scheme, or by type alone one that was stored without a scheme. */
export type CredentialNeed = CredentialType | SchemeNeed;

/** A security scheme of an API's description. */
export type SchemeNeed = {
	/** As the description calls it. */
	scheme: string;
	type: CredentialType;
	/** Where a key goes. */
	in?: KeyLocation;
	name?: string;
	/** The description has no other key: one that was stored without a scheme is this one, wherever it goes. */
	only?: boolean;
};

export type KeyLocation = 'header' | 'query' | 'cookie';

/** Arguments that are none where a stored credential goes in their place. */
export type Fillable = {
	/** Of the requests; null: that of the API. */
	origin: string | null;
	/** As the executor has its requests signed; null: with whatever is stored. */
	security: CredentialNeed[][] | null;
	arguments: { argument: string; in: KeyLocation; name: string }[];
};

/** What a user handed in: one text, or several files under the names by which they refer to each other, or one that is no text. */
export interface SchemaSource {
	/** The document that the others hang from; empty where it is no text, and where no single file is that document. */
	text: string;
	/** Where it was fetched from; null when it was handed in. */
	url: string | null;
	/** Path of `text` among `files`, `a/b.yaml`; null when there is but one text. */
	path: string | null;
	/** Everything that was handed in together, by path: relative, `/` between folders, no `.` or `..`. Empty when there is but one text. */
	files: ReadonlyMap<string, Uint8Array>;
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
	/** The same with nothing left out, where `parameters` had to be cut; calls are checked against it. Null or absent: there is none. */
	whole?: JsonSchema | null;
	outputSchema: JsonSchema | null;
	/** The answer has a schema that is too large to be promised, or loses something: that it is null says nothing of the API. */
	answerCut?: boolean;
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
	/** What it says of credentials, so that nobody has to look that up. */
	credentials?: CredentialPreset[];
}

/** A credential as `POST /apis/:id/credentials` takes it, as far as a description tells: without its secrets. */
export interface CredentialPreset {
	/** As the description calls it. */
	scheme: string;
	type: CredentialType;
	/** `name` and `in` of a key, `tokenUrl` and `scopes` of OAuth; empty where only secrets are missing. */
	credentials: JsonObject;
}

export interface ToolDraft {
	name: string;
	description: string;
	executor: string;
	parameters: JsonSchema;
	outputSchema: JsonSchema | null;
	annotations: ToolAnnotations;
	executionConfig: JsonObject;
	/** The argument that is the body of the request: its members may lie beside the other arguments. Absent: there is none. */
	bodyArgument?: string;
	/** Absent: there are none. */
	fillable?: Fillable;
}

/** How the body of a request lies among the arguments of a tool. */
export type BodyLayout = 'nested' | 'flat';

/** What it takes to nest the arguments of a flat tool again. */
export type Flattened = {
	/** The argument that holds the body. */
	argument: string;
	/** The other arguments. */
	others: string[];
	/** The body is sent even when none of its members is given. */
	isRequired: boolean;
};

// ── what is written down ─────────────────────────────────────────────────────────────────────────────────────────────

export interface Log {
	debug(fields: object, message: string): void;
	info(fields: object, message: string): void;
	warn(fields: object, message: string): void;
	error(fields: object, message: string): void;
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
	audited?: boolean;
}

export interface RecordPage {
	limit?: number;
	cursor?: string;
	/** Default `-createdAt`: the newest first. */
	sort?: string;
}
