// Keeps what calls leave behind until it is written, after the answer was sent: lines of the request log, and the last uses of keys.

import type { Log } from '../contract/nouns.ts';
import { RequestLog } from './request-log.ts';
import type { AccessKeys, Gateways, RequestRow, Store } from './store.ts';

const FLUSH_MS = 250;

export class Recorder {
	readonly #gateways: Pick<Gateways, 'touchKeys'>;
	readonly #accessKeys: Pick<AccessKeys, 'touch'>;
	readonly #log: Log;
	readonly #requests: RequestLog;
	readonly #timer: NodeJS.Timeout;
	#uses = new Map<string, { organizationId: string; keyId: string; at: Date }>();
	#accessUses = new Map<string, { userId: string; keyId: string; at: Date }>();
	#writing: Promise<void> = Promise.resolve();
	#busy = false;
	/** Sees each line of the request log, too. */
	onRequest: ((row: RequestRow) => void) | null = null;

	constructor({ gateways, accessKeys, analytics }: Pick<Store, 'gateways' | 'accessKeys' | 'analytics'>, log: Log) {
		this.#gateways = gateways;
		this.#accessKeys = accessKeys;
		this.#log = log;
		this.#requests = new RequestLog(analytics, log);
		this.#timer = setInterval(() => this.#flush(), FLUSH_MS).unref();
	}

	/** Adds a line to the request log. */
	request(row: RequestRow): void {
		this.#requests.add(row);
		this.onRequest?.(row);
	}

	used(organizationId: string, keyId: string): void {
		const known = this.#uses.get(keyId);
		if (known) known.at.setTime(Date.now());
		else this.#uses.set(keyId, { organizationId, keyId, at: new Date() });
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
		if (this.#busy || this.#uses.size + this.#accessUses.size === 0) return;
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
			if (uses.length > 0) await this.#gateways.touchKeys(uses);
			if (accessUses.length > 0) await this.#accessKeys.touch(accessUses);
		} catch (error) {
			for (const use of uses) if (!this.#uses.has(use.keyId)) this.#uses.set(use.keyId, use);
			for (const use of accessUses) if (!this.#accessUses.has(use.keyId)) this.#accessUses.set(use.keyId, use);
			this.#log.warn({ error: String(error) }, 'the last uses of keys could not be written yet');
		}
	}
}
