// Removes expired rows: runs and lines of the request log (METRICS_RETENTION_DAYS), expired records of plugins, logins and resets
// that cannot be used any more, costs of runs and agents that have ended long ago, answers kept under an Idempotency-Key, import jobs that ended a month ago. Ends runs that nobody took in time, and links the audit log.

import type { Log } from './contract/nouns.ts';
import { LOGIN_LIFETIME_MS, TOKEN_LIFETIME_SECONDS } from './secrets/tokens.ts';
import type { Store } from './store/store.ts';

const TICK_MS = 60 * 1000;
/** Rows are removed at the first tick, and at each of so many. */
const TICKS = 60;
const DAY_MS = 24 * 60 * 60 * 1000;
const IMPORTS_MS = 30 * DAY_MS;
/** Costs that count for a budget: a run may wait for an answer for months. */
const SPENDING_MS = 400 * DAY_MS;
/** The last token of a login may be issued at the end of the login's lifetime. */
const SESSION_MS = LOGIN_LIFETIME_MS + TOKEN_LIFETIME_SECONDS * 1000;

/** The settings of the sweep, and what this process knows. */
export interface Keeping {
	/** 0 keeps runs for ever. */
	retentionDays: number;
	/** Returns the kinds of run that this process knows. */
	kinds(): string[];
}

/** Starts the sweep: rows are removed a minute after the start, then every hour; runs are ended, and the audit log is linked, every minute. @returns how to stop it */
export function sweepExpired(
	store: Pick<Store, 'records' | 'accounts' | 'idempotency' | 'importQueue' | 'runQueue' | 'llmProviders' | 'analytics' | 'auditChain'>,
	{ retentionDays, kinds }: Keeping,
	log: Log,
): () => void {
	const expire = async (): Promise<void> => {
		try {
			const ended = await store.runQueue.expire(kinds());
			if (ended > 0) log.info({ ended }, 'runs ended that nobody took in time');
		} catch (error) {
			log.warn({ error: String(error) }, 'overdue runs could not be ended; the next sweep retries');
		}
	};
	const chain = async (): Promise<void> => {
		try {
			await store.auditChain.extend();
		} catch (error) {
			log.warn({ error: String(error) }, 'entries of the audit log could not be linked; the next sweep retries');
		}
	};
	const prepare = async (): Promise<void> => {
		try {
			const moved = await store.analytics.prepare();
			if (moved > 0) log.warn({ moved }, 'lines of the request log came before the table of their day');
		} catch (error) {
			log.warn({ error: String(error) }, 'the tables of the coming days could not be made; the next sweep retries');
		}
	};
	const clean = async (): Promise<void> => {
		const before = (ms: number): Date => new Date(Date.now() - ms);
		const old = before(retentionDays * DAY_MS);
		const steps: Record<string, () => Promise<number | Record<string, number>>> = {
			runs: async () => (retentionDays === 0 ? 0 : store.runQueue.prune(old)),
			log: () => store.analytics.prune(retentionDays === 0 ? null : old),
			records: () => store.records.prune(),
			logins: () => store.accounts.prune(before(SESSION_MS)),
			answers: () => store.idempotency.prune(),
			imports: () => store.importQueue.prune(before(IMPORTS_MS)),
			spending: () => store.llmProviders.prune(before(SPENDING_MS)),
		};
		const removed: Record<string, number> = {};
		for (const [rows, step] of Object.entries(steps)) {
			try {
				const counted = await step();
				Object.assign(removed, typeof counted === 'number' ? { [rows]: counted } : counted);
			} catch (error) {
				// One step that fails is no reason to keep the other rows.
				log.warn({ rows, error: String(error) }, 'expired rows could not be removed; the next sweep retries');
			}
		}
		if (Object.values(removed).some((count) => count > 0)) log.info(removed, 'expired rows removed');
	};
	let ticks = 0;
	let timer = setTimeout(function tick() {
		void expire();
		void chain();
		if (ticks++ % TICKS === 0) void prepare().then(clean);
		timer = setTimeout(tick, TICK_MS).unref();
	}, TICK_MS).unref();
	return () => clearTimeout(timer);
}
