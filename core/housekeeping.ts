// Removes what has had its time: records of runs (METRICS_RETENTION_DAYS) and plugins' records that expired.

import type { Log } from './contracts.ts';
import type { Store } from './store.ts';

const FIRST_MS = 60 * 1000;
const EVERY_MS = 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** @param retentionDays 0 keeps runs for ever. @returns how to stop */
export function keepHouse(store: Pick<Store, 'runs' | 'records'>, retentionDays: number, log: Log): () => void {
	const clean = async (): Promise<void> => {
		try {
			const runs = retentionDays === 0 ? 0 : await store.runs.prune(new Date(Date.now() - retentionDays * DAY_MS));
			const records = await store.records.prune();
			if (runs + records > 0) log.info({ runs, records }, 'removed what has had its time');
		} catch (error) {
			log.warn({ error: String(error) }, 'what has had its time could not be removed yet');
		}
	};
	let timer = setTimeout(function tick() {
		void clean();
		timer = setTimeout(tick, EVERY_MS).unref();
	}, FIRST_MS).unref();
	return () => clearTimeout(timer);
}
