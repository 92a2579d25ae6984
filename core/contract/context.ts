// The interfaces that core gives to plugins: storage, identity, and the running call. Types only.

import type { Admission } from './admission.ts';
import type { AgentRuns } from './agents.ts';
import type { Answer, Question, Seals } from './asking.ts';
import type { CallOptions } from './call-options.ts';
import type { NamedWork, ServedVersions } from './following.ts';
import type { Deliveries, Jobs, NewDelivery } from './jobs.ts';
import type { ModelCall } from './models.ts';
import type { Api, Caller, Gateway, Incoming, Json, Log, OrganizationSettings, Records, Tool, ToolRef, ToolResult } from './nouns.ts';
import type { OrganizationChoice } from './organizations.ts';
import type { CheckedAddress, OutboundRequest, OutboundResponse, SocketProtocol, StreamRequest, StreamResponse } from './outbound.ts';
import type { KeptPage, RunResult } from './results.ts';
import type { SandboxTask } from './sandbox.ts';
import type { Skill } from './skills.ts';

/** Short-lived values shared by all replicas; they may be lost. Keys are private to the plugin and the gateway. */
export interface KeyValue {
	get(key: string): Promise<string | null>;
	/** @param ttlMs must be finite */
	put(key: string, value: string, ttlMs: number): Promise<void>;
	/** Returns true for the first caller only, until the value expires. */
	putIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>;
	drop(key: string): Promise<void>;
}

/** A user who is logged in to Gatehouse in a browser. */
export interface Visitor {
	userId: string;
	email: string;
	name: string;
	/** The id of the login: each login has its own. */
	sessionId: string;
	/** The caller that the user is at this gateway; null when they are not a member of its organization. */
	caller: Readonly<Caller> | null;
}

/** Looks up Gatehouse's own accounts, at one gateway. Cached answers are dropped on every replica when the account changes. */
export interface Identity {
	/**
	 * Returns the caller that one of Gatehouse's own credentials identifies at this gateway: a key of the gateway, or the access key or login
	 * token of a member of its organization, with the scopes that their role and key have now. Null if it is none of these, or is expired or
	 * revoked. An auth method should not catch the errors. @throws unauthorized for a token that is invalid in itself, such as `jwt issuer
	 * invalid`; forbidden for a credential that is valid elsewhere only
	 */
	credential(secret: string): Promise<Caller | null>;
	/**
	 * Returns the caller of a JWT (HS256) signed with the service's secret: the member of a live login, or the user that `sub` or
	 * `userId` names, if the operator issued it. @throws unauthorized when it is no such token, forbidden as `credential` does
	 */
	token(token: string): Promise<Caller>;
	/**
	 * Returns a member by e-mail address and password; null when either is wrong, and for whoever is no member: passwords can be guessed, so nobody
	 * is told that one is right. @throws rate_limited
	 */
	password(email: string, password: string): Promise<Caller | null>;
	/** Returns the caller that a user is at this gateway now; null when they are not a member of its organization, or are deleted. */
	member(userId: string): Promise<Caller | null>;
	/**
	 * Returns a caller whom this interface gave earlier, as they are now: with the scopes that their role and key have now. Null when their
	 * credential was revoked or has ended, they left the organization, or the credential cannot be found again. Meant for `recheck`.
	 */
	again(caller: Caller): Promise<Caller | null>;
	/** Returns the user logged in at the browser that sent the request; null when there is none. Only OAuth's pages should call it. */
	visitor(request: Incoming): Promise<Visitor | null>;
	/**
	 * Logs a browser in; null when address or password is wrong. It is rate limited like `POST /auth/login`. @returns `cookie`, the value of
	 * `Set-Cookie`. @throws rate_limited
	 */
	logIn(request: Incoming, email: string, password: string): Promise<{ visitor: Visitor; cookie: string } | null>;
	/**
	 * Sends a mail for setting a new password, if the address is an account's; the caller cannot tell whether it is. It is rate limited and
	 * answers like `POST /auth/forgot-password`. @throws validation_failed for a text that is not an address, rate_limited
	 */
	forgotPassword(email: string): Promise<void>;
}

/** The interface that core gives to every plugin. */
export interface Context<O = unknown> {
	log: Log;
	/** The operator's configuration of the plugin, by the defaults of its schema where the file says nothing; frozen. */
	operator: O;
	/** Sends a request through the guard on a pooled connection: the hot path. @throws egress_refused, upstream_failed, upstream_timeout */
	request(options: OutboundRequest): Promise<OutboundResponse>;
	/**
	 * Sends a request like `request`, and resolves with the response's headers while the body still arrives: retries end before its first
	 * byte is handed out. @throws egress_refused, upstream_failed, upstream_timeout
	 */
	stream(options: StreamRequest): Promise<StreamResponse>;
	/** Sends a request through the same guard, for convenience and for libraries. */
	fetch(url: string | URL, init?: RequestInit): Promise<Response>;
	/**
	 * Checks an address with the same guard, for protocols with a socket of their own. @throws egress_refused
	 * @param options.protocol whose ports may be used, though HTTP's requests may not go there
	 */
	connect(host: string, port: number, options?: { protocol?: SocketProtocol }): Promise<CheckedAddress>;
	/**
	 * Checks that outbound calls may go to `url`, which is called later; a name that does not resolve yet passes. @throws egress_refused
	 * @param at JSON pointer of the URL in the client's input, which the refusal names
	 */
	checkUrl(url: string, at?: string): Promise<void>;
	/** Checks in the same way a host and a port for `connect`. @throws egress_refused */
	checkAddress(host: string, port: number, options?: { protocol?: SocketProtocol; at?: string }): Promise<void>;
	/** The jobs of this plugin at this gateway, or in this organization where there is no gateway. Not for a dry run. */
	readonly jobs: Jobs;
	/**
	 * Sends a webhook, now and again until its receiver takes it: as a job, which outlives this process. It is checked by the guard at once,
	 * and again at each attempt. @throws validation_failed, egress_refused, rate_limited
	 */
	deliver(delivery: NewDelivery): Promise<{ id: string }>;
	/** The webhooks that this plugin sent from this gateway, or organization. */
	readonly deliveries: Deliveries;
	/**
	 * Computes a value once per key and `ttlMs` in this process, private to the plugin and the gateway; failures are not cached.
	 * @param options.most for keys that strangers choose, such as `document:<digest>`: so many values of this plugin whose keys begin alike, up to
	 * the first colon, are kept of an organization, and the oldest give way
	 */
	memo<T>(key: string, ttlMs: number, compute: () => Promise<T>, options?: { most?: number | undefined }): Promise<T>;
	kv: KeyValue;
	/** Not before an organization is known: see `organizations`. */
	records: Records;
	identity: Identity;
	/**
	 * The organizations, in a call at an address over all of them whose request has not named one yet: `identity` knows people there, but no
	 * members, and there are no records. Null in every other call.
	 */
	organizations: OrganizationChoice<O> | null;
	/**
	 * Aborts when the client leaves, the deadline passes, or the service shuts down: for calls in flight when their time to finish is over, for
	 * event streams at once (unless `finite`).
	 */
	signal: AbortSignal;
}

/** The interface that core adds for one call. */
export interface Call<O = unknown> extends Context<O>, ModelCall {
	/** Null when a tool is executed over the management API. */
	gateway: Readonly<Gateway> | null;
	/** Null on public routes. */
	caller: Caller | null;
	/** The agents of the organization; progress is reported to the call's own `progress`. Not for a dry run. */
	readonly agents: AgentRuns;
	/** The tool being run and the API it came from; null outside an executor. */
	tool: Readonly<Tool> | null;
	api: Readonly<Api> | null;
	/** The organization's settings; a change is seen within a second. @throws unavailable */
	settings(): Promise<OrganizationSettings>;
	/**
	 * The user id of the organization's creator. Quotas of scarce resources count by it: a plugin limits by it whatever one tenant could take
	 * from others by computing, waiting or holding. It never changes and is cached. @throws unavailable
	 */
	account(): Promise<string>;
	/** The tools that this caller may see, frozen: a copy may be sorted or changed. @throws insufficient_scope */
	tools(): Promise<readonly Readonly<Tool>[]>;
	/**
	 * The tools that the gateway serves, whoever calls, frozen; at a fixed address over several gateways those that this caller may see. Only in
	 * routes that declare `lists`: it is a fault of the plugin elsewhere. @throws insufficient_scope at a fixed address
	 */
	published(): Promise<readonly Readonly<Tool>[]>;
	/**
	 * The skills that are assigned to the gateway, frozen; at a fixed address over several gateways those of all of them, each once. A caller
	 * needs `tools:read`; where there is none, on a public route, only routes that declare `lists` get them. @throws insufficient_scope
	 */
	skills(): Promise<readonly Readonly<Skill>[]>;
	/**
	 * Returns a copy of a file's content; null when none of these skills has it. The body of a skill is behind the head of its `SKILL.md`
	 * (`bodyOfSkill`). @throws insufficient_scope, unavailable
	 */
	skillFile(skillId: string, path: string): Promise<Buffer | null>;
	/**
	 * The methods by which the gateway, or the feature of the fixed address, admits callers: each suffices. Empty when it admits nobody, and in
	 * calls of neither.
	 */
	admission(): readonly Admission[];
	/**
	 * Runs a tool; every transport runs tools through it. A tool that ran and failed gives a result with `isError`, and `error` where core knows why; in a job, one that the
	 * job's signal ended throws the signal's reason.
	 * @throws tool_not_found, insufficient_scope, validation_failed
	 */
	invoke(tool: ToolRef, args: Json): Promise<RunResult>;
	/**
	 * Adds the API's stored credential, if the request goes to the origin that it is bound to. Send the signed request with this call's
	 * `request`, which fetches another access token when one is refused and follows no redirect that would carry a secret elsewhere. A dry
	 * run adds a placeholder instead of the secret. @throws upstream_failed, upstream_timeout, egress_refused while fetching a token
	 */
	sign(request: OutboundRequest): Promise<OutboundRequest>;
	/**
	 * Does what `request` does by itself at a 401, for protocols that refuse differently: returns `refused` with another access token, to be
	 * sent once more. Null when there is none: the request carried no token, or one that `renew` had given, whose refusal is remembered.
	 * @throws upstream_failed, upstream_timeout, egress_refused
	 */
	renew(refused: OutboundRequest): Promise<OutboundRequest | null>;
	/**
	 * Does what `request` does by itself, for protocols with a socket of their own: `work` is one exchange with the server at `url`. It
	 * starts when the API's outbound limit allows it, holds its slot until it ends, and does not start while calls of the server keep
	 * failing. It calls `failed` when the server could not be reached or could not answer, however it then handles that. It sends
	 * `trace` as headers or metadata, which tell the server the trace of the call; empty without one. Never called in a dry run.
	 * @throws upstream_failed, rate_limited, and the errors of `work`
	 */
	exchange<T>(url: string, work: (failed: () => void, trace: Readonly<Record<string, string>>) => Promise<T>): Promise<T>;
	/**
	 * Runs code that the client sent in the sandbox that an executor lends, where it reaches nothing but `task.answer`. What the code printed
	 * is in `logs`. @throws not_implemented when no executor lends one for the language; rate_limited when too much runs already
	 */
	sandbox(task: SandboxTask): Promise<ToolResult>;
	/** Reports progress of the running tool; transports that cannot report it ignore it. `done` must increase. */
	progress(done: number, total?: number, message?: string): void;
	/** Work that another request of the caller may end, on whichever replica. */
	readonly named: NamedWork;
	/** Tells the program that the client says it is, for the request log; long names are cut. */
	introduce(client: { name: string; version?: string }): void;
	/**
	 * Yields the versions of what the gateway serves, at once and then whenever one has changed, within a second; at a fixed address those of
	 * what the caller reaches. It ends with the signal, and when the gateway is gone. It looks at no scope.
	 */
	served(signal: AbortSignal): AsyncIterable<ServedVersions>;
	/** Values that the client carries between two requests. */
	seals: Seals;
	/**
	 * Asks what only the user of the client can answer. Ask before anything that has an effect: where the client sends the call again with the
	 * answer, the executor runs again from its beginning, and each `ask` gets the answer to the same question under the same key, or place.
	 * @throws not_implemented with a detail `client/elicitation` when the client cannot ask, validation_failed for an answer that does not fit,
	 * upstream_timeout without one, rate_limited when too many questions wait
	 */
	ask(question: Question): Promise<Answer>;
	/** Reads a page of a result that was cut for this caller; null when there is none. @throws insufficient_scope, unavailable */
	kept(id: string, page: number): Promise<KeptPage | null>;
	/**
	 * Returns a call like this one that also reports the progress of what it invokes to `progress`, and stops with `signal` too. `detached`:
	 * it continues when the client leaves, for protocols in which leaving is not cancelling, until the service stops. `ask`: the way to the
	 * user of the client. `keep`: results that are cut are kept for ten minutes, and the client is told how to get them (`kept`). `counted`:
	 * each tool that it runs counts as a request of the caller, for requests that run several. `strictOutput`: a result that breaks the output
	 * schema of its tool is a failed one, also where the tool's API does not promise to keep it.
	 */
	with(options: CallOptions): Call<O>;
}
