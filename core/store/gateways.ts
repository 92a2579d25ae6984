// The storage port of gateways: what they serve, and whom they let in.

import type { JsonObject, Scope } from '../contract/nouns.ts';
import type { OrganizationRow } from './accounts.ts';
import type { ApiRow, ToolRow } from './apis.ts';
import type { CredentialRow } from './credentials.ts';
import type { Edit, Fresh, Listed, Page, Removed, Row, TextFilter, Versioned } from './rows.ts';

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

export type NewGateway = Fresh<GatewayRow, 'status' | 'toolCount'>;
export type GatewayChange = Edit<GatewayRow, 'type' | 'toolCount'>;

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

/** A key that opens its gateway now. */
export interface LiveKey extends Pick<KeyRow, 'id' | 'scopes'> {
	organization: OrganizationRow;
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
	create(organizationId: string, id: string, gateway: NewGateway): Promise<GatewayRow>;
	update(organizationId: string, id: string, change: GatewayChange, ifVersion?: number): Promise<GatewayRow | null>;
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
	/** By the key itself, where the organization is not known before; null where it or the gateway is not live. */
	liveKey(gatewayId: string, hash: Buffer): Promise<LiveKey | null>;

	/** Null when there is no such gateway. Status is not looked at. */
	snapshot(organizationSlug: string, endpoint: string): Promise<GatewaySnapshot | null>;
}
