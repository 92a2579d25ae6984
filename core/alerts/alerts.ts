// Alerts: each minute one replica looks at all rules; what has begun or ended is kept with its message, and then told.

import type { Log } from '../contract/nouns.ts';
import type { Imports } from '../imports/imports.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { AlertIncident, AlertKind, AlertRuleRow, Store, UntoldAlert } from '../store/store.ts';
import type { JobDesk } from '../tools/job-desk.ts';
import type { CredentialHealth } from '../upstreams/credential-health.ts';
import { differenceOf } from './documents.ts';
import { judge, Measures } from './measures.ts';
import { messageOf, type Subject, sendMessage, sendUntold } from './messages.ts';

export interface Alerts {
	/** Sends a message that says that it is a test. @returns the webhook. @throws rate_limited, secret_unreadable */
	test(rule: AlertRuleRow): Promise<{ id: string }>;
	/** Ends what is under way; others go on with it. */
	close(): Promise<void>;
}

export interface AlertParts {
	store: Pick<Store, 'alertDesk' | 'analytics' | 'tools' | 'apis'>;
	imports: Pick<Imports, 'compare'>;
	jobs: Pick<JobDesk, 'deliver'>;
	secrets: Secrets;
	health: CredentialHealth;
	log: Log;
	/** The interval of the turns, and that of reading a watched document. */
	everyMs?: number;
	watchMs?: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Timers of replicas are not in step: a turn may come a little early. */
const EARLY = 0.75;
const PAGE = 200;
/** The most messages that one turn sends, documents that it reads, broken credentials that a process knows, and what nothing else ends. */
const TOLD = 500;
const DOCUMENTS = 4;
const BROKEN = 10_000;
const ORPHANS = 500;
/** Organizations whose messages are sent at a time, and the messages of one that may fail in a turn. */
const [AT_ONCE, FAILED] = [8, 3];
const MEASURED: readonly AlertKind[] = ['error_rate', 'latency'];

export function createAlerts(parts: AlertParts): Alerts {
	const turns = new Turns(parts);
	return {
		test: (rule) => sendMessage(rule, { body: messageOf('alert.test', rule, null) }, parts),
		close: () => turns.close(),
	};
}

class Turns {
	readonly #parts: AlertParts;
	readonly #everyMs: number;
	readonly #closing = new AbortController();
	readonly #running = new Set<Promise<void>>();
	#timer: NodeJS.Timeout;

	constructor(parts: AlertParts) {
		this.#parts = parts;
		this.#everyMs = parts.everyMs ?? MINUTE_MS;
		parts.health.tell((api, works) => this.#run(() => this.#credential(api, works), 'an alert of a credential'));
		this.#timer = this.#later();
	}

	async close(): Promise<void> {
		clearTimeout(this.#timer);
		this.#parts.health.tell(() => undefined);
		this.#closing.abort();
		await Promise.all(this.#running);
	}

	#later(): NodeJS.Timeout {
		return setTimeout(() => this.#run(() => this.#turn(), 'the rules of alerts').then(() => this.#again()), this.#everyMs).unref();
	}

	#again(): void {
		if (!this.#closing.signal.aborted) this.#timer = this.#later();
	}

	/** Waits for work whose failure the next turn makes good. */
	#run(work: () => Promise<void>, what: string): Promise<void> {
		const running = work()
			.catch((error: unknown) => {
				if (!this.#closing.signal.aborted) this.#parts.log.warn({ reason: String(error) }, `${what} could not be looked at`);
			})
			.finally(() => this.#running.delete(running));
		this.#running.add(running);
		return running;
	}

	async #turn(): Promise<void> {
		const { alertDesk } = this.#parts.store;
		const broken = await alertDesk.openApis('credential', BROKEN);
		this.#parts.health.know(broken.map(({ organizationId, apiId }) => ({ organizationId, id: apiId })));
		if (!(await alertDesk.take('rules', this.#everyMs * EARLY))) return;
		await this.#run(() => this.#measure(), 'the rules of alerts');
		await this.#run(() => this.#endOrphans(), 'alerts that nothing else ends');
		await this.#run(() => this.#tell(), 'alerts that wait');
		const due = await alertDesk.watched(this.#parts.watchMs ?? DAY_MS, DOCUMENTS);
		// A document may take minutes: the next turn does not wait for it.
		for (const { organizationId, apiId } of due) void this.#run(() => this.#document(organizationId, apiId), 'a watched document');
	}

	async #measure(): Promise<void> {
		const { alertDesk, analytics } = this.#parts.store;
		const measures = new Measures(analytics, Date.now());
		for (let after: string | null = null; ; ) {
			const rules: AlertRuleRow[] = await alertDesk.active(MEASURED, after, PAGE);
			const open = await alertDesk.open(rules.map(({ id }) => id));
			for (const rule of rules) {
				this.#closing.signal.throwIfAborted();
				const its = open.filter(({ ruleId }) => ruleId === rule.id);
				// A rule that fails is no reason to look at no other.
				await this.#run(() => this.#judge(rule, its, measures), `the rule ${rule.id} of alerts`);
			}
			after = rules.at(-1)?.id ?? null;
			if (rules.length < PAGE) return;
		}
	}

	async #judge(rule: AlertRuleRow, open: readonly AlertIncident[], measures: Measures): Promise<void> {
		const subjects = open.map(({ subject }) => subject);
		for (const [tool, measured] of await measures.of(rule, subjects)) {
			const change = judge(rule, measured, subjects.includes(tool));
			if (change) await this.#change(rule, { type: 'tool', id: tool }, { ...change, digest: null });
		}
	}

	/** Ends what nothing else would: what is no longer looked at is neither measured, called nor read again. */
	async #endOrphans(): Promise<void> {
		for (const { rule, subject } of await this.#parts.store.alertDesk.orphans(ORPHANS)) {
			const type = MEASURED.includes(rule.kind) ? 'tool' : 'api';
			await this.#change(rule, { type, id: subject }, { change: 'end', digest: null, found: {} });
		}
	}

	/** Keeps a change with its message. @returns whether it is one */
	async #change(
		rule: AlertRuleRow,
		about: Pick<Subject, 'type' | 'id'>,
		{ change, digest, found }: { change: 'open' | 'end'; digest: string | null; found: Parameters<typeof messageOf>[3] },
	): Promise<void> {
		const { alertDesk, tools, apis } = this.#parts.store;
		const { organizationId, id: ruleId } = rule;
		const named = await (about.type === 'tool' ? tools : apis).get(organizationId, about.id);
		const subject = { ...about, name: named?.name ?? null };
		if (change === 'open') await alertDesk.begin(rule, about.id, { digest, untold: messageOf('alert.opened', rule, subject, found) });
		else await alertDesk.end({ organizationId, ruleId, subject: about.id }, messageOf('alert.recovered', rule, subject, found));
	}

	async #credential({ organizationId, id }: { organizationId: string; id: string }, works: boolean): Promise<void> {
		const rules = await this.#parts.store.alertDesk.ofApi(organizationId, 'credential', id);
		for (const rule of rules) await this.#change(rule, { type: 'api', id }, { change: works ? 'end' : 'open', digest: null, found: {} });
		if (rules.length > 0) await this.#tell();
	}

	async #document(organizationId: string, apiId: string): Promise<void> {
		const { store } = this.#parts;
		const rules = await store.alertDesk.ofApi(organizationId, 'document', apiId);
		const api = rules.length > 0 ? await store.apis.get(organizationId, apiId) : null;
		if (!api) return;
		const found = await differenceOf(api, this.#closing.signal, this.#parts);
		for (const rule of rules)
			await this.#change(
				rule,
				{ type: 'api', id: apiId },
				found ? { change: 'open', ...found } : { change: 'end', digest: null, found: {} },
			);
		await this.#tell();
	}

	/** Sends what waits, of several organizations at a time: none waits for what another one's receiver does. */
	async #tell(): Promise<void> {
		const byOrganization = Map.groupBy(await this.#parts.store.alertDesk.untold(TOLD), ({ organizationId }) => organizationId);
		const waiting = [...byOrganization.values()];
		while (waiting.length > 0) await Promise.all(waiting.splice(0, AT_ONCE).map((alerts) => this.#tellOf(alerts)));
	}

	/** Sends what waits of one organization. One that cannot be sent waits for the next turn; after some of them, so do the others. */
	async #tellOf(alerts: readonly UntoldAlert[]): Promise<void> {
		const { store, log } = this.#parts;
		let failed = 0;
		for (const alert of alerts) {
			try {
				await sendUntold(alert, this.#parts);
				await store.alertDesk.told(alert);
			} catch (error) {
				const { organizationId, ruleId } = alert;
				log.warn({ organizationId, ruleId, reason: (error as { code?: string }).code ?? String(error) }, 'an alert could not be sent yet');
				if (++failed === FAILED) return;
			}
		}
	}
}
