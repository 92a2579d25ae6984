// What core lends to plugins: the way out, what is kept, whom the accounts know, and one call. Types only.

import type {
	Api,
	Caller,
	CredentialNeed,
	Gateway,
	Incoming,
	Json,
	JsonObject,
	Log,
	OrganizationSettings,
	PutOptions,
	RecordPage,
	StoredRecord,
	Tool,
	ToolRef,
	ToolResult,
	UpdateOptions,
} from './nouns.ts';

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
	/**
	 * Read by `Call.sign`: alternatives, each a list of credentials that go together; the first of which all are stored is used, `[]` sends
	 * none. Absent: whatever is stored without a scheme.
	 */
	security?: CredentialNeed[][];
	/**
	 * Whether a second sending does no more than the first. Default: by the method (RFC 9110 §9.2.2). Inside an executor only such are sent
	 * again when the connection breaks or the upstream answers 502, 503, 504 or 429; all are when nothing of them was sent.
	 */
	repeatable?: boolean;
}

export interface OutboundResponse {
	status: number;
	headers: Record<string, string>;
	body: Buffer;
	/** After redirects. */
	url: string;
}

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
	/** Puts it where there is none of this key; of several who come at once, over all replicas, true for one. */
	add(key: string, value: JsonObject, options?: PutOptions): Promise<boolean>;
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
	/**
	 * Has a mail sent with which a new password can be set, if the address is an account's: whoever asks cannot tell. It counts and answers
	 * as `POST /auth/forgot-password` does. @throws validation_failed for a text that is no address, rate_limited
	 */
	forgotPassword(email: string): Promise<void>;
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
	/** Of the organization; a change is seen within a second. @throws unavailable */
	settings(): Promise<OrganizationSettings>;
	/**
	 * The account for which the organization's shares of scarce things count: its creator's user id. A plugin shares out by it whatever
	 * one tenant could take from others by computing, waiting or holding. It is remembered, as it never changes. @throws unavailable
	 */
	account(): Promise<string>;
	/** What this caller may see. @throws insufficient_scope */
	tools(): Promise<Tool[]>;
	/**
	 * The one way to run a tool, whatever the transport. A tool that ran and failed is a result with `isError`.
	 * @throws tool_not_found, insufficient_scope, validation_failed
	 */
	invoke(tool: ToolRef, args: Json): Promise<ToolResult>;
	/**
	 * Adds the API's stored credential, if the request goes to the origin that it is bound to. To be sent by this call's `request`, which
	 * gets another access token for one that is refused, and follows no redirect that would carry a secret elsewhere. In a dry run it adds
	 * a text that stands for the secret. @throws upstream_failed, upstream_timeout, egress_refused where a token is to be had first
	 */
	sign(request: OutboundRequest): Promise<OutboundRequest>;
	/**
	 * What `request` does by itself at a 401, for protocols that say it otherwise: `refused` with another access token, to be sent once more.
	 * Null when there is none to be had: it carried none, or one that came in this way, whose refusal is remembered.
	 * @throws upstream_failed, upstream_timeout, egress_refused
	 */
	renew(refused: OutboundRequest): Promise<OutboundRequest | null>;
	/**
	 * What `request` does by itself, for protocols with a socket of their own: `work` is one exchange with the server at `url`. It begins
	 * when the API's lane has a place, which it holds until it ends, and not at all while calls of the server keep failing. It calls `failed`
	 * when the server could not be reached or could not answer, whatever it then makes of that. Never in a dry run.
	 * @throws upstream_failed, rate_limited, and what `work` does
	 */
	exchange<T>(url: string, work: (failed: () => void) => Promise<T>): Promise<T>;
	/** Of the running tool; ignored by transports that cannot tell. `done` must grow. */
	progress(done: number, total?: number, message?: string): void;
	/**
	 * A call like this one that hears the progress of what it invokes, and stops with `signal` too. `detached`: it goes on
	 * when the client leaves, for protocols in which leaving is not cancelling.
	 */
	with(options: { progress?: ProgressListener; signal?: AbortSignal; detached?: boolean }): Call;
}

export type ProgressListener = (done: number, total?: number, message?: string) => void;
