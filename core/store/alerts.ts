// The storage port of alerts: an organization's rules, and the desk at which one replica at a time looks at all of them.

import type { Json } from '../contract/nouns.ts';
import type { Edit, Fresh, Listed, Page, TextFilter, Versioned } from './rows.ts';

export const ALERT_KINDS = ['error_rate', 'latency', 'credential', 'document'] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

export interface AlertRuleRow extends Versioned {
	name: string;
	kind: AlertKind;
	/** Null: every tool, each on its own. */
	toolId: string | null;
	/** Null: every API, each on its own. */
	apiId: string | null;
	/** A share of calls, or milliseconds; null for kinds without a measure. */
	bound: number | null;
	windowMinutes: number;
	minCalls: number;
	url: string;
	/** Sealed. */
	secret: string;
	status: 'active' | 'inactive';
}

export interface Alerts {
	/** Lists rules; sorts by createdAt, updatedAt, name. */
	list(organizationId: string, page: Page, filter?: TextFilter): Promise<Listed<AlertRuleRow>>;
	get(organizationId: string, id: string): Promise<AlertRuleRow | null>;
	/** @returns null when the tool or the API is none of the organization's. @throws conflict when it has `most` rules */
	create(organizationId: string, id: string, row: Fresh<AlertRuleRow, 'status'>, most: number): Promise<AlertRuleRow | null>;
	/** @throws precondition_failed */
	update(
		organizationId: string,
		id: string,
		change: Edit<AlertRuleRow, 'kind' | 'toolId' | 'apiId'>,
		ifVersion?: number,
	): Promise<AlertRuleRow | null>;
	/** Removes a rule with its incidents. @throws precondition_failed */
	remove(organizationId: string, id: string, ifVersion?: number): Promise<boolean>;
}

/** A finding of a rule about one tool or API. */
export interface AlertIncident {
	organizationId: string;
	ruleId: string;
	/** The id of the tool or API. */
	subject: string;
	id: string;
	isOpen: boolean;
	/** Tells contents apart that are alerts of their own within an incident. */
	digest: string | null;
	openedAt: Date;
}

/** A message that waits to be sent, with its rule's receiver. */
export interface UntoldAlert extends Omit<AlertIncident, 'digest'> {
	untold: Json;
	rule: Pick<AlertRuleRow, 'name' | 'url' | 'secret'>;
}

export interface AlertDesk {
	/** Takes a turn: true for one replica, when so long has passed since the last turn. */
	take(name: string, everyMs: number): Promise<boolean>;
	/** Reads active rules by id, a page of them after another. */
	active(kinds: readonly AlertKind[], after: string | null, limit: number): Promise<AlertRuleRow[]>;
	/** Reads the active rules of a kind that are about an API. */
	ofApi(organizationId: string, kind: AlertKind, apiId: string): Promise<AlertRuleRow[]>;
	/** Reads the incidents of rules that are open. */
	open(ruleIds: readonly string[]): Promise<AlertIncident[]>;
	/** Reads the APIs with an open incident of this kind. */
	openApis(kind: AlertKind, limit: number): Promise<{ organizationId: string; apiId: string }[]>;
	/** Reads open incidents that no look would end, with their rules: of a rule that is off, or an API whose credential or watch is gone. */
	orphans(limit: number): Promise<{ rule: AlertRuleRow; subject: string }[]>;
	/** Opens an incident with its message, unless it is open with the same digest. @returns whether it did */
	begin(
		rule: Pick<AlertRuleRow, 'organizationId' | 'id'>,
		subject: string,
		message: { digest: string | null; untold: Json },
	): Promise<boolean>;
	/** Ends an open incident with its message. @returns whether it was open */
	end(incident: Pick<AlertIncident, 'organizationId' | 'ruleId' | 'subject'>, untold: Json): Promise<boolean>;
	untold(limit: number): Promise<UntoldAlert[]>;
	/** Notes that the message of this incident was sent; removes it when it has ended. */
	told(incident: Pick<AlertIncident, 'organizationId' | 'ruleId' | 'subject' | 'id' | 'isOpen'>): Promise<void>;
	/** Takes APIs whose document is to be looked at, each once in so long. */
	watched(everyMs: number, limit: number): Promise<{ organizationId: string; apiId: string }[]>;
}
