// The storage port of gateways: the tools that they serve, and the callers that they admit.

import type { JsonObject, Scope } from '../contract/nouns.ts';
import type { OrganizationRow } from './accounts.ts';
import type { ApiRow, ToolRow } from './apis.ts';
import type { CredentialRow } from './credentials.ts';
import type { Edit, Fresh, Listed, Page, Removed, Row, TextFilter, Versioned } from './rows.ts';
import type { SkillRow } from './skills.ts';

// ── gateways ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface GatewayRow extends Versioned {
	name: string;
	type: string;
	endpoint: string;
	description: string | null;
	configuration: JsonObject;
	/** The version of the transport's config with which `configuration` was written. */
	configVersion: number;
	/** The most bytes of a tool's result; longer ones are cut. Null: no limit. */
	maxResultBytes: number | null;
	/** An image for clients, by https or data URL; null: none. */
	icon: string | null;
	/** The payloads of runs that the request log keeps; null: none. */
	payloadLog: PayloadLog | null;
	status: string;
	toolCount: number;
}

/** Says which payloads the request log keeps, and how. */
export interface PayloadLog {
	arguments: boolean;
	results: boolean;
	/** JSON pointers, with `*` for any member or item, to what is hidden. */
	redactPaths: readonly string[];
	/** Patterns (RE2) of text that is hidden. */
	redactPatterns: readonly string[];
	/** The most bytes of either; longer ones are cut. */
	maxBytes: number;
}

type GatewayOptions = 'configVersion' | 'maxResultBytes' | 'icon' | 'payloadLog';

export type NewGateway = Fresh<GatewayRow, 'status' | 'toolCount' | GatewayOptions> & Partial<Pick<GatewayRow, GatewayOptions>>;
export type GatewayChange = Edit<GatewayRow, 'type' | 'toolCount'>;

/** `destructive`: only calls of a tool that may destroy something, as its hints say. */
export type Confirming = 'destructive' | 'always';

/** A tool in a gateway. `id` is the API's gatewayToolId, `name` the one that the gateway exposes. */
export interface AssignmentRow {
	id: string;
	gatewayId: string;
	toolId: string;
	name: string;
	/** The description in this gateway; null: the tool's own. */
	description: string | null;
	rateLimit: number | null;
	/** The most bytes of a result in this gateway; null: as the gateway says. */
	maxResultBytes: number | null;
	/** The calls that run only when the client's user confirms them; null: none. */
	confirm: Confirming | null;
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
	/** The config of the method, its secret fields sealed. */
	configuration: JsonObject;
	configVersion: number;
	validationRules: ValidationRules;
}

export interface KeyRow extends Row {
	gatewayId: string;
	name: string;
	/** The first characters of the key, by which people recognise it. */
	prefix: string;
	scopes: Scope[];
	expiresAt: Date | null;
	lastUsedAt: Date | null;
	revokedAt: Date | null;
}

/** A key that opens its gateway now. */
export interface LiveKey extends Pick<KeyRow, 'id' | 'scopes' | 'expiresAt'> {
	organization: OrganizationRow;
}

/** Everything needed to serve one gateway, read in one consistent snapshot. Tools and methods are in order of creation. */
export interface GatewaySnapshot {
	organization: OrganizationRow;
	gateway: GatewayRow;
	auth: AuthRow[];
	/** Active tools only. */
	tools: { assignment: AssignmentRow; tool: ToolRow }[];
	/** The tags of the operations of these tools, by the tool's id; tools without any are not in it. */
	tags: ReadonlyMap<string, readonly string[]>;
	/** In the order of their assignment. */
	skills: SkillRow[];
	apis: ApiRow[];
	credentials: CredentialRow[];
}

/** An organization's active gateways by their type, as far as it takes to see which are the only ones. */
export interface OnlyGateways {
	organizationId: string;
	/** By the type, the endpoint; two endpoints where there are several. */
	endpoints: ReadonlyMap<string, readonly string[]>;
}

export interface GatewayFilter extends TextFilter {
	type?: string;
	status?: string;
}

/** Options of an assignment that may be set with it. */
export type AssignmentSettings = Partial<Pick<AssignmentRow, 'rateLimit' | 'maxResultBytes' | 'confirm'>>;

/** A change of an assignment; `name` null restores the tool's own name. */
export interface AssignmentChange extends AssignmentSettings {
	name?: string | null;
	description?: string | null;
}

/**
 * A verb that takes `ifVersion` @throws precondition_failed when the row has another version by then. It is checked in the same statement,
 * so only one of two changes of the same version succeeds.
 */
export interface Gateways {
	/** Lists gateways; sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: GatewayFilter): Promise<Listed<GatewayRow>>;
	get(organizationId: string, id: string): Promise<GatewayRow | null>;
	/**
	 * @param id chosen by the caller, which seals secrets under it
	 * @throws conflict when the endpoint is taken in the organization; the comparison ignores case
	 */
	create(organizationId: string, id: string, gateway: NewGateway): Promise<GatewayRow>;
	update(organizationId: string, id: string, change: GatewayChange, ifVersion?: number): Promise<GatewayRow | null>;
	remove(organizationId: string, id: string, onlyIfUnused: boolean, ifVersion?: number): Promise<Removed | null>;

	tools(organizationId: string, gatewayId: string, page: Page): Promise<Listed<{ assignment: AssignmentRow; tool: ToolRow }>>;
	available(organizationId: string, gatewayId: string, page: Page, filter?: TextFilter): Promise<Listed<ToolRow>>;
	/**
	 * Assigns all tools or none; a tool that is already assigned stays as it is, but for the settings that are given. A name that is taken in the gateway (ignoring case) gets
	 * `_<8 hex>`. @throws not_found naming the first tool that does not exist, or the gateway
	 */
	assign(organizationId: string, gatewayId: string, toolIds: string[], settings?: AssignmentSettings): Promise<AssignmentRow[]>;
	/** @param id of the tool or of the assignment */
	unassign(organizationId: string, gatewayId: string, id: string): Promise<AssignmentRow | null>;
	/** @throws conflict when another tool of the gateway has the name; the comparison ignores case */
	updateAssignment(organizationId: string, gatewayId: string, id: string, change: AssignmentChange): Promise<AssignmentRow | null>;

	auth(organizationId: string, gatewayId: string, page: Page): Promise<Listed<AuthRow>>;
	/** @param id chosen by the caller, which seals secrets under it. Null when there is no such gateway */
	addAuth(
		organizationId: string,
		gatewayId: string,
		id: string,
		method: Pick<AuthRow, 'type' | 'isRequired' | 'configuration' | 'validationRules'> & Partial<Pick<AuthRow, 'configVersion'>>,
	): Promise<AuthRow | null>;
	/**
	 * Removes a method. Together with the last one of its type, everything is removed that the method's plugin, `auth:<type>`, has stored for
	 * the gateway.
	 */
	removeAuth(organizationId: string, gatewayId: string, authId: string): Promise<AuthRow | null>;

	keys(organizationId: string, gatewayId: string, page: Page): Promise<Listed<KeyRow>>;
	/** @param key.hash SHA-256 of the key */
	addKey(
		organizationId: string,
		gatewayId: string,
		key: Pick<KeyRow, 'name' | 'prefix' | 'scopes' | 'expiresAt'> & { hash: Buffer },
	): Promise<KeyRow | null>;
	/** Revokes a key; null when there is no such key, or it is already revoked. */
	revokeKey(organizationId: string, gatewayId: string, keyId: string): Promise<KeyRow | null>;
	/** Finds a key of this gateway, including revoked and expired ones. */
	keyByHash(organizationId: string, gatewayId: string, hash: Buffer): Promise<KeyRow | null>;
	/** Sets `lastUsedAt` of keys, never to an earlier time. */
	touchKeys(uses: { organizationId: string; keyId: string; at: Date }[]): Promise<void>;
	/** Finds a key of this gateway by its id, including revoked and expired ones. */
	key(organizationId: string, gatewayId: string, keyId: string): Promise<KeyRow | null>;
	/** Finds a live key without knowing its organization; null when the key or the gateway is not live. */
	liveKey(gatewayId: string, hash: Buffer): Promise<LiveKey | null>;

	/** Reads a gateway regardless of its status; null when there is none. */
	snapshot(organizationSlug: string, endpoint: string): Promise<GatewaySnapshot | null>;
	/** Reads which active gateways are the only ones of their type; null for an organization that does not exist. */
	only(organizationSlug: string): Promise<OnlyGateways | null>;
}

// ── stored configs ─────────────────────────────────────────────────────────────────────────────────────────────────

export type ConfigTable = 'gateways' | 'gateway_auth' | 'tools' | 'apis' | 'llm_providers';

/** A row that belongs to a plugin, with the config that it stores; an API has none. */
export interface ConfigRow {
	table: ConfigTable;
	id: string;
	organizationId: string;
	/** The name of the plugin. */
	name: string;
	config: JsonObject;
	version: number;
}

/** The configs of all tenants, for the operator. */
export interface ConfigRows {
	/** Reads a page, table by table. @param after null for the first page. Another page follows unless `next` is null */
	page(
		after: { table: ConfigTable; id: string } | null,
		limit: number,
	): Promise<{ rows: ConfigRow[]; next: { table: ConfigTable; id: string } | null }>;
	/** Returns those of the rows that still exist. */
	find(organizationId: string, ids: readonly string[]): Promise<ConfigRow[]>;
}
