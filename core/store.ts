// The storage port: interfaces only. `db/` implements it on PostgreSQL; nothing else in the tree knows how.
// Every verb on tenants' rows takes the organization first, so that a query cannot forget its tenant.

import type {
	JsonObject,
	JsonSchema,
	Operation,
	PutOptions,
	SchemaSummary,
	Scope,
	StoredRecord,
	ToolAnnotations,
	ToolDraft,
	UpdateOptions,
} from './contracts.ts';
import type { Permission, Role } from './permissions.ts';

export interface Page {
	/** 1–100. */
	limit: number;
	/** A field of the list, `-` before it for the other way round; in order of creation when absent. A cursor belongs to one sort. */
	sort?: string;
	/** As a former answer's `nextCursor` gave it. @throws validation_failed when it was not */
	cursor?: string;
}

/** `nextCursor` is null on the last page. */
export interface Listed<T> {
	items: T[];
	nextCursor: string | null;
}

/** A row that users edit. `version` grows with every update of it. */
interface Versioned extends Row {
	version: number;
}

interface Row {
	id: string;
	organizationId: string;
	createdAt: Date;
	updatedAt: Date;
}

/** What a removal took with it, by kind of row. */
export type Removed = Record<string, number>;

// ── accounts ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** What others may know of a user. */
export interface PersonRow {
	id: string;
	email: string;
	firstName: string;
	lastName: string;
	createdAt: Date;
}

export interface UserRow extends PersonRow {
	passwordHash: string;
}

export interface OrganizationRow {
	id: string;
	name: string;
	slug: string;
	createdAt: Date;
}

export interface MembershipRow {
	organization: OrganizationRow;
	role: Role;
	joinedAt: Date;
}

/** A user whose credential was found to be live, and where they belong now. In order of joining. */
export interface Access {
	user: PersonRow;
	memberships: MembershipRow[];
}

/** Above the tenants: verbs that take no organization. */
export interface Accounts {
	/**
	 * User, organization and the owner's membership, all or nothing. The first free one of `slugs` is taken.
	 * @param user.id minted by a caller that must name it before, as the actor of this
	 * @throws conflict when the e-mail address is taken, without regard to case
	 */
	register(
		user: Omit<UserRow, 'id' | 'createdAt'> & { id?: string },
		organization: { name: string; slugs: Iterable<string> },
	): Promise<{ user: UserRow; organization: OrganizationRow }>;
	/** Without regard to case. */
	byEmail(email: string): Promise<UserRow | null>;
	byId(userId: string): Promise<UserRow | null>;
	/** In order of joining. */
	memberships(userId: string): Promise<MembershipRow[]>;
	update(userId: string, change: Partial<Pick<UserRow, 'firstName' | 'lastName'>>): Promise<UserRow | null>;
	/** The first of `slugs` that no organization has. */
	freeSlug(slugs: Iterable<string>): Promise<string | null>;

	/**
	 * One login: every token of it carries this id.
	 * @param session.passwordHash that the login was checked against. False, and nothing begins, when it is another by now
	 */
	startSession(session: { id: string; userId: string; address: string; userAgent: string | null; passwordHash: string }): Promise<boolean>;
	/** Null when the login was ended, was pruned, or is of another user. */
	session(sessionId: string, userId: string): Promise<Access | null>;
	/** False when it had ended already. */
	endSession(sessionId: string): Promise<boolean>;
	/**
	 * Compare and set: false when the stored hash is no longer `from`. Ends every session but `keep`, and every reset that
	 * was asked for, in the same transaction.
	 */
	changePassword(userId: string, change: { from: string; to: string; keep: string }): Promise<boolean>;

	/** False, and nothing is added, when the user has `most` live ones. */
	addReset(userId: string, reset: { hash: Buffer; expiresAt: Date; most: number }): Promise<boolean>;
	/** Whether the reset could be redeemed now. */
	isResetLive(hash: Buffer): Promise<boolean>;
	/**
	 * Sets the password and ends every session and every other reset of the user, in one transaction; null for the second
	 * taker, and when it has expired.
	 */
	redeemReset(hash: Buffer, passwordHash: string): Promise<PersonRow | null>;
	/** Removes logins and resets that nothing can use any more. */
	prune(sessionsOlderThan: Date): Promise<number>;
}

// ── organizations and their people ─────────────────────────────────────────────────────────────────────────────────

export interface MemberRow {
	user: PersonRow;
	role: Role;
	joinedAt: Date;
}

export interface InvitationRow {
	id: string;
	organizationId: string;
	email: string;
	role: Role;
	invitedBy: string;
	createdAt: Date;
	expiresAt: Date;
}

/** @throws whatever it throws when the actor's role, as it is now, does not allow it */
export type Permit = (actorRole: Role | null, memberRole: Role) => void;

export interface Organizations {
	/** Those of the user, in order of joining. */
	list(userId: string, page: Page): Promise<Listed<MembershipRow>>;
	/** The user becomes its owner. */
	create(userId: string, organization: { name: string; slugs: Iterable<string> }): Promise<OrganizationRow>;
	/** The slug stays. */
	rename(organizationId: string, name: string): Promise<OrganizationRow | null>;

	members(organizationId: string, page: Page): Promise<Listed<MemberRow>>;
	/**
	 * A new role, or removal with null. One change of an organization's people at a time; `permit` sees the roles as they
	 * are then. Null when there is no such member. @throws conflict when it would leave no owner
	 */
	changeMember(
		organizationId: string,
		userId: string,
		change: { role: Role | null; by: string; permit: Permit },
	): Promise<MemberRow | null>;

	/** Those that can still be accepted. */
	invitations(organizationId: string, page: Page): Promise<Listed<InvitationRow>>;
	/** Replaces one that waits for the same address. @throws conflict when the address belongs to a member */
	invite(
		organizationId: string,
		invitation: Pick<InvitationRow, 'email' | 'role' | 'invitedBy' | 'expiresAt'> & { hash: Buffer },
	): Promise<InvitationRow>;
	/** Null when there is none that could still be accepted. */
	revokeInvitation(organizationId: string, id: string): Promise<InvitationRow | null>;
	/** One that can still be accepted, with the role that its sender has now (null: none). */
	invitationByHash(hash: Buffer): Promise<{ invitation: InvitationRow; organization: OrganizationRow; inviterRole: Role | null } | null>;
	/** Null for the second taker. @throws conflict when the user is a member already; the invitation stays */
	accept(hash: Buffer, userId: string): Promise<MembershipRow | null>;
}

// ── access keys ────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a key opens: all that its owner can reach, or one thing. */
export type KeyReach = { type: 'account' } | { type: 'gateway'; id: string; organizationId: string };

export interface AccessKeyRow {
	id: string;
	userId: string;
	name: string;
	/** First characters of the key, to recognise it by. */
	prefix: string;
	reach: KeyReach;
	/** Null: whatever its owner may do. */
	permissions: Permission[] | null;
	lastUsedAt: Date | null;
	revokedAt: Date | null;
	createdAt: Date;
}

/** They belong to users, not to organizations. */
export interface AccessKeys {
	list(userId: string, page: Page): Promise<Listed<AccessKeyRow>>;
	/** Null when what it shall reach is gone. @param key.hash SHA-256 of the key */
	create(
		userId: string,
		key: Pick<AccessKeyRow, 'name' | 'prefix' | 'reach' | 'permissions'> & { hash: Buffer },
	): Promise<AccessKeyRow | null>;
	/** Null when there is none, or it is revoked already. */
	revoke(userId: string, id: string): Promise<AccessKeyRow | null>;
	/** Null when it is unknown or revoked. A key for one thing brings only the membership that the thing belongs to. */
	byHash(hash: Buffer): Promise<(Access & { key: AccessKeyRow }) | null>;
	/** `lastUsedAt`, never moved back. */
	touch(uses: { userId: string; keyId: string; at: Date }[]): Promise<void>;
}

// ── the audit log ──────────────────────────────────────────────────────────────────────────────────────────────────

/** Who changes something, and from where. */
export interface Actor {
	userId: string;
	email: string;
	/** Of the key that was used in place of a login. */
	accessKeyId: string | null;
	address: string;
	userAgent: string | null;
	requestId: string;
}

export interface AuditRow {
	id: string;
	at: Date;
	/** Null: the service itself. */
	actor: Actor | null;
	action: 'create' | 'update' | 'delete';
	/** `gateway`, `tool`, `api`, `member`… */
	resourceType: string;
	resourceId: string;
	/** As it was called then. */
	resourceName: string | null;
	/** By field: `{ from, to }`, or `{ keys }` / `{ changed }` where values may hold secrets or fill pages. */
	changes: JsonObject;
}

export interface AuditFilter {
	resourceType?: string;
	resourceId?: string;
	actorId?: string;
	action?: string;
	since?: Date;
	until?: Date;
}

/** Written by the database itself, in the transaction of the change. */
export interface Audit {
	/** Newest first. */
	list(organizationId: string, page: Page, filter?: AuditFilter): Promise<Listed<AuditRow>>;
}

// ── connected APIs ─────────────────────────────────────────────────────────────────────────────────────────────────

export interface ApiRow extends Versioned {
	name: string;
	type: string;
	baseUrl: string;
	description: string | null;
	status: string;
	/** How it may be called; null: as often as anybody asks. */
	outbound: OutboundLimits | null;
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

/** `secret` is a sealed envelope (`core/secrets.ts`); `origin` the only one it may be sent to. */
export interface CredentialRow {
	apiId: string;
	type: string;
	origin: string;
	secret: string;
	updatedAt: Date;
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
}

export type OperationRow = Row &
	Omit<Operation, 'outcome'> & { apiId: string; status: 'active' | 'removed'; outcome: 'converted' | 'degraded' };

/** An import that is being written, in one transaction: nothing is seen before `commit`, nothing stays after `abort`. */
export interface ImportWriter {
	/** Operations that are there already (by `key`, else by `operationId`) keep their id, name and tool. */
	operations(batch: Operation[]): Promise<void>;
	/** Operations not seen since the beginning are marked as removed, and so are their tools. */
	commit(schema: SchemaSummary & { sourceUrl: string | null; sizeBytes: number; sha256: string; report: JsonObject }): Promise<{
		schema: SchemaRow;
		added: number;
		changed: number;
		unchanged: number;
		removed: number;
	}>;
	abort(): Promise<void>;
}

/** `q`: words that the name or the description holds, without regard to case; all of them. */
export interface TextFilter {
	q?: string;
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
}

export interface Apis {
	/** Sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: ApiFilter): Promise<Listed<ApiRow>>;
	get(organizationId: string, id: string): Promise<ApiRow | null>;
	create(
		organizationId: string,
		api: Pick<ApiRow, 'name' | 'type' | 'baseUrl' | 'description'> & Partial<Pick<ApiRow, 'outbound'>>,
	): Promise<ApiRow>;
	/** A `baseUrl` of another origin drops the credentials that were bound to the former one, in the same transaction. */
	update(
		organizationId: string,
		id: string,
		change: Partial<Pick<ApiRow, 'name' | 'baseUrl' | 'description' | 'status' | 'outbound'>>,
		ifVersion?: number,
	): Promise<ApiRow | null>;
	/** With `onlyIfUnused`: @throws conflict naming what depends on it. Null when there is no such API. */
	remove(organizationId: string, id: string, onlyIfUnused: boolean, ifVersion?: number): Promise<Removed | null>;
	credentials(organizationId: string, apiId: string): Promise<CredentialRow[]>;
	/** One per type: a second replaces the first. Null when there is no such API. */
	putCredential(organizationId: string, credential: Omit<CredentialRow, 'updatedAt'>): Promise<CredentialRow | null>;
	/** Waits for another import of the same API to end; null when there is no such API. */
	beginImport(organizationId: string, apiId: string): Promise<ImportWriter | null>;
	schemas(organizationId: string, apiId: string, page: Page): Promise<Listed<SchemaRow>>;
	operations(organizationId: string, apiId: string, page: Page, filter?: OperationFilter): Promise<Listed<OperationRow>>;
	countOperations(organizationId: string, apiId: string, filter?: OperationFilter): Promise<number>;
}

// ── tools ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ToolRow extends Versioned {
	/** What users see: their own edit, else what the import said. */
	name: string;
	description: string;
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
	/** active, inactive, removed (its operation is gone from the document). */
	status: string;
}

export type NewTool = Pick<
	ToolRow,
	'name' | 'description' | 'type' | 'executor' | 'parameters' | 'outputSchema' | 'annotations' | 'code' | 'executionConfig'
>;
/** `name` and `description` of a tool from an API go into the users' own layer, which a re-import leaves alone. */
export type ToolChange = Partial<Pick<ToolRow, 'name' | 'description' | 'parameters' | 'code' | 'executionConfig' | 'status'>>;

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
	/** One tool per operation: made, brought up to date, or left alone. */
	generate(
		organizationId: string,
		apiId: string,
		drafts: { operationId: string; tool: ToolDraft }[],
	): Promise<{ created: number; updated: number; unchanged: number }>;
}

// ── gateways ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface GatewayRow extends Versioned {
	name: string;
	type: string;
	endpoint: string;
	description: string | null;
	configuration: JsonObject;
	status: string;
	toolCount: number;
}

/** A tool in a gateway. `id` is the API's gatewayToolId, `name` the one that the gateway exposes. */
export interface AssignmentRow {
	id: string;
	gatewayId: string;
	toolId: string;
	name: string;
	/** For this gateway, in place of the tool's; null: the tool's own. */
	description: string | null;
	rateLimit: number | null;
	createdAt: Date;
}

export interface ValidationRules {
	allowedIpRanges?: string[];
	requiredHeaders?: string[];
}

export interface AuthRow extends Row {
	gatewayId: string;
	type: string;
	isRequired: boolean;
	/** Secret fields sealed. */
	configuration: JsonObject;
	validationRules: ValidationRules;
}

export interface KeyRow extends Row {
	gatewayId: string;
	name: string;
	/** First characters of the key, to recognise it by. */
	prefix: string;
	scopes: Scope[];
	expiresAt: Date | null;
	lastUsedAt: Date | null;
	revokedAt: Date | null;
}

/** Everything that serving one gateway needs, read in one consistent look. Tools and methods in order of creation. */
export interface GatewaySnapshot {
	organization: OrganizationRow;
	gateway: GatewayRow;
	auth: AuthRow[];
	/** Active tools only. */
	tools: { assignment: AssignmentRow; tool: ToolRow }[];
	apis: ApiRow[];
	credentials: CredentialRow[];
}

export interface GatewayFilter extends TextFilter {
	type?: string;
	status?: string;
}

/** `name` null: the tool's own again. */
export interface AssignmentChange {
	name?: string | null;
	description?: string | null;
	rateLimit?: number | null;
}

/**
 * Where a verb takes `ifVersion`, it @throws precondition_failed when the row's version is another by now: in the same
 * statement, so of two that read the same version one wins.
 */
export interface Gateways {
	/** Sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: GatewayFilter): Promise<Listed<GatewayRow>>;
	get(organizationId: string, id: string): Promise<GatewayRow | null>;
	/**
	 * @param id minted by the caller, which seals secrets under it
	 * @throws conflict when the endpoint is taken in the organization, without regard to case
	 */
	create(
		organizationId: string,
		id: string,
		gateway: Pick<GatewayRow, 'name' | 'type' | 'endpoint' | 'description' | 'configuration'>,
	): Promise<GatewayRow>;
	update(
		organizationId: string,
		id: string,
		change: Partial<Pick<GatewayRow, 'name' | 'endpoint' | 'description' | 'configuration' | 'status'>>,
		ifVersion?: number,
	): Promise<GatewayRow | null>;
	remove(organizationId: string, id: string, onlyIfUnused: boolean, ifVersion?: number): Promise<Removed | null>;

	tools(organizationId: string, gatewayId: string, page: Page): Promise<Listed<{ assignment: AssignmentRow; tool: ToolRow }>>;
	available(organizationId: string, gatewayId: string, page: Page, filter?: TextFilter): Promise<Listed<ToolRow>>;
	/**
	 * All or nothing; a tool that is assigned already is left as it is. A name that is taken in the gateway (without
	 * regard to case) gets `_<8 hex>`. @throws not_found naming the first tool or the gateway that is not there
	 */
	assign(organizationId: string, gatewayId: string, toolIds: string[]): Promise<AssignmentRow[]>;
	/** @param id of the tool or of the assignment */
	unassign(organizationId: string, gatewayId: string, id: string): Promise<AssignmentRow | null>;
	/** @throws conflict when another tool of the gateway has the name, without regard to case */
	updateAssignment(organizationId: string, gatewayId: string, id: string, change: AssignmentChange): Promise<AssignmentRow | null>;

	auth(organizationId: string, gatewayId: string, page: Page): Promise<Listed<AuthRow>>;
	/** @param id minted by the caller, which seals secrets under it. Null when there is no such gateway */
	addAuth(
		organizationId: string,
		gatewayId: string,
		id: string,
		method: Pick<AuthRow, 'type' | 'isRequired' | 'configuration' | 'validationRules'>,
	): Promise<AuthRow | null>;
	/** With the last one of a type goes what the method's plugin, `auth:<type>`, has stored for the gateway. */
	removeAuth(organizationId: string, gatewayId: string, authId: string): Promise<AuthRow | null>;

	keys(organizationId: string, gatewayId: string, page: Page): Promise<Listed<KeyRow>>;
	/** @param key.hash SHA-256 of the key */
	addKey(
		organizationId: string,
		gatewayId: string,
		key: Pick<KeyRow, 'name' | 'prefix' | 'scopes' | 'expiresAt'> & { hash: Buffer },
	): Promise<KeyRow | null>;
	/** Null when there is none, or it is revoked already. */
	revokeKey(organizationId: string, gatewayId: string, keyId: string): Promise<KeyRow | null>;
	/** Of this gateway only; revoked and expired ones too. */
	keyByHash(organizationId: string, gatewayId: string, hash: Buffer): Promise<KeyRow | null>;

	/** Null when there is no such gateway. Status is not looked at. */
	snapshot(organizationSlug: string, endpoint: string): Promise<GatewaySnapshot | null>;
}

// ── what runs leave behind ─────────────────────────────────────────────────────────────────────────────────────────

export interface RunRow {
	organizationId: string;
	toolId: string;
	gatewayId: string | null;
	keyId: string | null;
	subject: string;
	status: 'success' | 'failed';
	/** The error's code, or `tool_error`. */
	error: string | null;
	durationMs: number;
	startedAt: Date;
}

export interface Runs {
	/** One statement for all. Rows of an organization that is gone meanwhile are left out. */
	add(runs: RunRow[]): Promise<void>;
	/** `lastUsedAt` of keys, never moved back. */
	touchKeys(uses: { organizationId: string; keyId: string; at: Date }[]): Promise<void>;
	prune(olderThan: Date): Promise<number>;
}

export interface RecordScope {
	/** `kind:name`. */
	plugin: string;
	gatewayId: string;
}

/** `topic` tells of every change of it, until it expires; null when it is not watched, so that nothing does. */
export interface FoundRecord {
	record: StoredRecord;
	topic: Topic | null;
}

export interface RecordStore {
	get(organizationId: string, scope: RecordScope, key: string): Promise<StoredRecord | null>;
	/** The same, for those who would remember it. */
	look(organizationId: string, scope: RecordScope, key: string): Promise<FoundRecord | null>;
	put(organizationId: string, scope: RecordScope, key: string, value: JsonObject, options: PutOptions): Promise<void>;
	/** Newest first, or as `page.sort` says. */
	find(organizationId: string, scope: RecordScope, tag: string, page: Page): Promise<Listed<StoredRecord>>;
	drop(organizationId: string, scope: RecordScope, tag: string): Promise<number>;
	take(organizationId: string, scope: RecordScope, key: string): Promise<StoredRecord | null>;
	update(
		organizationId: string,
		scope: RecordScope,
		record: { key: string; revision: number; value: JsonObject },
		options?: UpdateOptions,
	): Promise<boolean>;
	/** Removes what has expired, everywhere. Nobody hears of it. */
	prune(): Promise<number>;
}

/** One request under an `Idempotency-Key`, of one user, kept for a day. */
export interface IdempotentRequest {
	userId: string;
	/** Null where the route needs no organization. */
	organizationId: string | null;
	key: string;
	/** Method and path, with its ids. */
	operation: string;
	/** SHA-256 of the query and the body. */
	fingerprint: Buffer;
}

export interface Idempotency {
	/**
	 * The first asker gets `run` and must `keep` or `forget`; others get the answer that was kept, or hear that it is `running`
	 * still, or that the key was used for something `other`. Whose process died is taken over after a while.
	 */
	begin(
		request: IdempotentRequest,
	): Promise<
		| { state: 'run' }
		| { state: 'running' }
		| { state: 'other' }
		| { state: 'kept'; status: number; body: string; headers: Record<string, string> }
	>;
	keep(request: IdempotentRequest, answer: { status: number; body: string; headers: Record<string, string> }): Promise<void>;
	/** It failed on our side, so the next one may try. */
	forget(request: IdempotentRequest): Promise<void>;
	/** Removes what is older than a day. */
	prune(): Promise<number>;
}

// ── changes, seen by every replica ─────────────────────────────────────────────────────────────────────────────────

/**
 * What changed: `org:<id>` for everything of an organization but records, `user:<id>` for an account, `record:<seq>` for a watched
 * record and `record:*` for more of them than are worth telling apart, `*` when it cannot be told any more.
 */
export type Topic = `org:${string}` | `user:${string}` | `record:${string}` | '*';

export interface Changes {
	/** Called with every change committed anywhere, at least once, within a second. */
	subscribe(listener: (topics: Topic[]) => void): () => void;
	/**
	 * Resolves when every change committed more than `maxAgeMs` ago has been handed to the listeners: at once in the
	 * usual case. @throws unavailable when the database cannot tell
	 */
	fresh(maxAgeMs: number): Promise<void> | undefined;
}

export interface Repositories {
	accounts: Accounts;
	organizations: Organizations;
	accessKeys: AccessKeys;
	audit: Audit;
	apis: Apis;
	tools: Tools;
	gateways: Gateways;
	runs: Runs;
	records: RecordStore;
}

export interface Store extends Repositories {
	/** The same verbs, done by somebody: what they change goes into the audit log under this name. */
	as(actor: Actor): Repositories;
	idempotency: Idempotency;
	changes: Changes;
	/** A fact of the whole installation. @returns the value that came first under this name, which may be another replica's */
	keep(name: string, value: string): Promise<string>;
	/** All that `work` begins waits for the database two seconds in all, however many statements it takes; then it throws `unavailable`. */
	patiently<T>(work: () => T): T;
	/** @throws unavailable */
	ping(): Promise<void>;
	close(): Promise<void>;
}
