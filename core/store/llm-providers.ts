// The storage port of model connections, and of what their calls use and cost.

import type { JsonObject } from '../contract/nouns.ts';
import type { ModelPrices, Usage } from '../contract/providers.ts';
import type { OutboundLimits } from './apis.ts';
import type { Edit, Fresh, Listed, Page, Removed, TextFilter, Versioned } from './rows.ts';

export interface LlmProviderRow extends Versioned {
	name: string;
	/** The name of the plugin. */
	provider: string;
	/** The plugin's config: key and address, its secrets sealed. */
	connection: JsonObject;
	/** The version of that config. */
	configVersion: number;
	/** The model of calls that name none. */
	model: string | null;
	/** Default parameters of its calls. */
	configuration: JsonObject;
	/** The organization's own prices, by model. */
	prices: Record<string, ModelPrices> | null;
	budget: LlmBudget | null;
	/** Limits of its calls over all replicas. */
	outbound: OutboundLimits | null;
	status: 'active' | 'inactive';
}

/** The most that calls may cost, in US dollars. */
export interface LlmBudget {
	perCall?: number;
	perMonth?: number;
}

export interface NewLlmProvider extends Fresh<LlmProviderRow, 'status'> {
	status?: LlmProviderRow['status'];
}
export type LlmProviderChange = Edit<LlmProviderRow, 'provider'>;

/** A month of a connection, or all months together. Money is in millionths of a US dollar. */
export interface LlmUsage {
	calls: number;
	/** Calls whose cost is unknown. */
	unpriced: number;
	inputTokens: number;
	outputTokens: number;
	cachedTokens: number;
	cost: number;
}

/** A connection, by its organization. */
export interface LlmProviderRef {
	organizationId: string;
	id: string;
}

/** The limits of a call, in millionths of a US dollar. */
export interface LlmLimits {
	/** All calls of the connection in this month; null: no limit. */
	perMonth: number | null;
	/** Others that the call counts for, such as a run, each once. */
	holders: readonly { holder: string; period: 'month' | 'all'; limit: number }[];
}

export interface LlmProviders {
	/** Lists connections; sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: TextFilter): Promise<Listed<LlmProviderRow>>;
	get(organizationId: string, id: string): Promise<LlmProviderRow | null>;
	/** @param most connections of the organization. @throws conflict when it has as many */
	create(organizationId: string, id: string, row: NewLlmProvider, most: number): Promise<LlmProviderRow>;
	/** @throws precondition_failed */
	update(organizationId: string, id: string, change: LlmProviderChange, ifVersion?: number): Promise<LlmProviderRow | null>;
	/** Removes a connection with its usage. @throws precondition_failed */
	remove(organizationId: string, id: string, ifVersion?: number): Promise<Removed | null>;
	/** Returns what each connection used in all months, by its id; one without calls is absent. */
	usage(organizationId: string, ids: readonly string[]): Promise<Map<string, LlmUsage>>;
	/**
	 * Sets the most that a call may cost aside, unless the costs and the calls under way leave less than that of a limit.
	 * @returns the id of the reservation; the holder whose limit leaves too little, null for the connection; null without a connection
	 */
	reserve(of: LlmProviderRef, cost: number, limits: LlmLimits, ttlMs: number): Promise<string | { holder: string | null } | null>;
	/** Counts a call, also for the holders of its reservation, and ends that. @param usage null when the provider did not tell. @returns false for a connection that is gone */
	settle(of: LlmProviderRef, usage: Usage | null, reservation: string | null): Promise<boolean>;
	/** Removes the costs of holders without a call since. @returns the number of rows */
	prune(olderThan: Date): Promise<number>;
}
