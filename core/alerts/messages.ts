// The messages of alerts, and their way into the queue of webhooks.

import type { Json, JsonObject } from '../contract/nouns.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import type { AlertRuleRow, UntoldAlert } from '../store/store.ts';
import type { JobDesk } from '../tools/job-desk.ts';

/** The plugin in whose name webhooks are sent. */
const SENDER = 'feature:alerts';

export const ALERT_EVENTS = ['alert.opened', 'alert.recovered', 'alert.test'] as const;
export type AlertEvent = (typeof ALERT_EVENTS)[number];

export const alertLocation = ({ organizationId, id }: Pick<AlertRuleRow, 'organizationId' | 'id'>): SecretLocation => ({
	...{ organizationId, table: 'alert_rules', row: id },
});

/** The tool or API that an alert is about. */
export interface Subject {
	type: 'tool' | 'api';
	id: string;
	/** Null when it is gone. */
	name: string | null;
}

/** @param found what was measured or found */
export const messageOf = (type: AlertEvent, rule: AlertRuleRow, subject: Subject | null, found: JsonObject = {}): JsonObject => ({
	type,
	timestamp: new Date().toISOString(),
	data: {
		rule: { id: rule.id, name: rule.name, kind: rule.kind },
		...(subject && { subject: { ...subject } }),
		...(rule.bound !== null && { bound: rule.bound, windowMinutes: rule.windowMinutes }),
		...found,
	},
});

interface Sending {
	jobs: Pick<JobDesk, 'deliver'>;
	secrets: Secrets;
}

/** The part of a rule that says where its messages go. */
type Receiver = Pick<AlertRuleRow, 'organizationId' | 'id' | 'name' | 'url' | 'secret'>;

/** @throws rate_limited when too many wait, secret_unreadable, egress_refused */
export function sendMessage(
	rule: Receiver,
	{ body, key }: { body: JsonObject; key?: string },
	{ jobs, secrets }: Sending,
): Promise<{ id: string }> {
	const place = alertLocation(rule);
	const of = `The alert rule "${rule.name}"`;
	const sign = { secret: secrets.open(rule.secret, place, of) };
	const scope = { plugin: SENDER, organizationId: rule.organizationId, gateway: null, caller: null };
	const url = secrets.open(rule.url, place, of);
	return jobs.deliver(scope, { url, body, event: String(body['type']), sign, ...(key !== undefined && { key }) });
}

/** Sends a kept message; a second time it is the same webhook. */
export function sendUntold({ untold, rule, ...incident }: UntoldAlert, parts: Sending): Promise<{ id: string }> {
	const { organizationId, ruleId, id, isOpen, openedAt } = incident;
	// It was made by `messageOf`.
	const { data, ...message } = untold as { data: JsonObject };
	const body = { ...message, data: { ...data, incidentId: id, openedAt: new Date(openedAt).toISOString() } as Json };
	return sendMessage({ ...rule, organizationId, id: ruleId }, { body, key: `alert:${id}:${isOpen ? 'opened' : 'recovered'}` }, parts);
}
