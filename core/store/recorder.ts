// Writes the records of runs in batches, after the answer was sent: a call never waits for its own record.

import type { Log } from '../contract/nouns.ts';
import { RequestLog } from './request-log.ts';
import type { AccessKeys, RequestRow, RunRow, Runs, Store } from './store.ts';

const FLUSH_MS = 250;
const BATCH = 500;
/** The number of records held during a database outage; beyond it the oldest are dropped, and the drop is logged. */
const HELD = 20_000;

export class Recorder {
	readonly #runs: Runs;
	readonly #accessKeys: Pick<AccessKeys, 'touch'>;
	readonly #log: Log;
	readonly #requests: RequestLog;
	readonly #timer: NodeJS.Timeout;
	#pending: RunRow[] = [];
	#uses = new Map<string, { organizationId: string; keyId: string; at: Date }>();
	#accessUses = new Map<string, { userId: string; keyId: string; at: Date }>();
	#writing: Promise<void> = Promise.resolve();
	#busy = false;
	/** Sees each line of the request log, too. */
	onRequest: ((row: RequestRow) => void) | null = null;

	constructor({ runs, accessKeys, analytics }: Pick<Store, 'runs' | 'accessKeys' | 'analytics'>, log: Log) {
		this.#runs = runs;
		this.#accessKeys = accessKeys;
		this.#log = log;
		this.#requests = new RequestLog(analytics, log);
		this.#timer = setInterval(() => this.#flush(), FLUSH_MS).unref();
	}

	add(run: RunRow): void {
		this.#pending.push(run);
		if (this.#pending.length > HELD) {
			const lost = this.#pending.splice(0, BATCH).length;
			this.#log.error({ lost }, 'run records were dropped: the database is unavailable');
		}
	}

	/** Adds a line to the request log. */
	request(row: RequestRow): void {
		this.#requests.add(row);
		this.onRequest?.(row);
	}

	used(organizationId: string, keyId: string): void {
		this.#uses.set(keyId, { organizationId, keyId, at: new Date() });
	}

	usedAccessKey(userId: string, keyId: string): void {
		this.#accessUses.set(keyId, { userId, keyId, at: new Date() });
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		await this.#requests.close();
		await this.#writing;
		this.#flush();
		await this.#writing;
	}

	#flush(): void {
		if (this.#busy || this.#pending.length + this.#uses.size + this.#accessUses.size === 0) return;
		this.#busy = true;
		this.#writing = this.#write().finally(() => {
			this.#busy = false;
		});
	}

	async #write(): Promise<void> {
		const uses = [...this.#uses.values()];
		const accessUses = [...this.#accessUses.values()];
		this.#uses.clear();
		this.#accessUses.clear();
		try {
			if (uses.length > 0) await this.#runs.touchKeys(uses);
			if (accessUses.length > 0) await this.#accessKeys.touch(accessUses);
			while (this.#pending.length > 0) await this.#writeBatch(this.#pending.splice(0, BATCH));
		} catch (error) {
			for (const use of uses) if (!this.#uses.has(use.keyId)) this.#uses.set(use.keyId, use);
			for (const use of accessUses) if (!this.#accessUses.has(use.keyId)) this.#accessUses.set(use.keyId, use);
			this.#log.warn({ error: String(error), held: this.#pending.length }, 'run records could not be written yet');
		}
	}

	async #writeBatch(batch: RunRow[]): Promise<void> {
		try {
			await this.#runs.add(batch);
		} catch (error) {
			this.#pending.unshift(...batch);
			throw error;
		}
	}
}
