// Receives the changes of other replicas. Triggers write each change's topic into a table in the transaction of the change; this side polls
// the table twice a second, and at once after a notification.

import type pg from 'pg';
import type { Log } from '../core/contract/nouns.ts';
import type { Changes, Topic } from '../core/store/store.ts';
import { createClient, type Database, type Endpoint } from './connection.ts';
import { translated, unavailable } from './errors.ts';

/** The channel of announcements that may be lost: the notification holds the topics, in lines, and no row does. */
export const SPOKEN = 'gatehouse_spoken';

const POLL_MS = 500;
const PRUNE_MS = 10 * 60_000;
/** Half of the retention time: after a longer silence, some changes may have been pruned before they were read. */
const FORGOTTEN_MS = 30 * 60_000;

// Every transaction below `xmin` has ended and was seen; one above it may still commit, so the next poll starts there. Reading by the time
// or order of writing would miss late commits.
const NOW = 'SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin';
const POLL = `
SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin,
	ARRAY(SELECT DISTINCT xid::text || ' ' || topic FROM changes WHERE xid >= $1::xid8) AS changed`;
const PRUNE = `DELETE FROM changes WHERE at < now() - interval '1 hour'`;

export interface ChangeFeed extends Omit<Changes, 'announce'> {
	/** Passes topics to the listeners of this process. */
	say(topics: Topic[]): void;
	close(): Promise<void>;
}

/** @throws unavailable when the first poll fails */
export async function followChanges(endpoint: Endpoint, database: Pick<Database, 'answers' | 'waits'>, log: Log): Promise<ChangeFeed> {
	const follower = new Follower(endpoint, database, log);
	await follower.poll();
	follower.start();
	return {
		subscribe: (listener) => follower.subscribe(listener),
		fresh: (maxAgeMs) => follower.fresh(maxAgeMs),
		say: (topics) => follower.say(topics),
		close: () => follower.close(),
	};
}

/** Only `runs/bell.ts` writes there. */
const toTopics = (payload = ''): Topic[] => payload.split('\n') as Topic[];

class Follower {
	readonly #endpoint: Endpoint;
	readonly #database: Pick<Database, 'answers' | 'waits'>;
	readonly #log: Log;
	readonly #listeners = new Set<(topics: Topic[]) => void>();
	#client: pg.Client | null = null;
	#polling: Promise<void> | null = null;
	#timers: NodeJS.Timeout[] = [];
	/** The start of the next poll; null before the first. */
	#xmin: string | null = null;
	/** Changes that were delivered already, though their transactions are not below `#xmin` yet. */
	#seen: ReadonlySet<string> = new Set();
	/** The time at which the last successful poll began. */
	#readAtMs = Number.NEGATIVE_INFINITY;
	#isClosed = false;

	constructor(endpoint: Endpoint, database: Pick<Database, 'answers' | 'waits'>, log: Log) {
		this.#endpoint = endpoint;
		this.#database = database;
		this.#log = log;
	}

	start(): void {
		this.#timers = [setInterval(() => this.#refresh(), POLL_MS).unref(), setInterval(() => this.#prune(), PRUNE_MS).unref()];
	}

	subscribe(listener: (topics: Topic[]) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	fresh(maxAgeMs: number): Promise<void> | undefined {
		const neededMs = performance.now() - maxAgeMs;
		return this.#readAtMs >= neededMs ? undefined : this.#readSince(neededMs);
	}

	/** Polls once at a time: a second caller shares the running poll. */
	poll(): Promise<void> {
		this.#polling ??= translated(() => this.#database.answers.watch(() => this.#read())).finally(() => {
			this.#polling = null;
		});
		return this.#polling;
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		for (const timer of this.#timers) clearInterval(timer);
		this.#listeners.clear();
		await this.#polling?.catch((error: unknown) => this.#log.debug({ err: error }, 'the last poll of changes failed'));
		await this.#client?.end();
	}

	async #readSince(neededMs: number): Promise<void> {
		// The running poll may have begun too early; the one after it has not.
		while (this.#readAtMs < neededMs) await this.poll();
	}

	/** Polls in the background: a failed poll is soon followed by another, and `fresh` reports the error to those who depend on it. */
	#refresh(): void {
		this.poll().catch((error: unknown) => this.#log.debug({ err: error }, 'changes could not be read'));
	}

	async #read(): Promise<void> {
		if (this.#isClosed) throw unavailable(new Error('The store is closed.'));
		const client = this.#client ?? (await this.#connect());
		const startedMs = performance.now();
		try {
			await this.#readWith(client);
			this.#readAtMs = startedMs;
		} catch (error) {
			this.#drop(client);
			throw error;
		}
	}

	async #readWith(client: pg.Client): Promise<void> {
		if (this.#xmin === null) {
			const { rows } = await client.query<{ xmin: string }>(NOW);
			this.#xmin = rows[0]?.xmin ?? null;
			return;
		}
		const { rows } = await client.query<{ xmin: string; changed: string[] }>(POLL, [this.#xmin]);
		const [row] = rows;
		if (!row) return;
		const fresh = row.changed.filter((change) => !this.#seen.has(change));
		this.#xmin = row.xmin;
		this.#seen = new Set(row.changed);
		this.#announce(performance.now() - this.#readAtMs > FORGOTTEN_MS ? ['0 *'] : fresh);
	}

	say(topics: Topic[]): void {
		for (const listener of this.#listeners) listener(topics);
	}

	#announce(changed: string[]): void {
		if (changed.length === 0) return;
		// Only the triggers write topics, in these forms.
		const topics = [...new Set(changed.map((change) => change.slice(change.indexOf(' ') + 1)))] as Topic[];
		for (const listener of this.#listeners) listener(topics);
	}

	/** Connects the listener. The next poll starts where the last one ended, so a lost connection loses no change. */
	async #connect(): Promise<pg.Client> {
		const client = createClient(this.#endpoint, this.#database.waits);
		client.on('error', (error) => {
			this.#log.warn({ err: error }, 'the connection that receives changes broke');
			this.#drop(client);
			if (!this.#isClosed) this.#refresh();
		});
		client.on('notification', ({ channel, payload }) => (channel === SPOKEN ? this.say(toTopics(payload)) : this.#heard()));
		this.#client = client;
		try {
			await client.connect();
			await client.query(`LISTEN gatehouse_changes; LISTEN ${SPOKEN}`);
			return client;
		} catch (error) {
			this.#drop(client);
			throw error;
		}
	}

	/** Polls after a notification. The running poll may have begun before the announced change, so another follows it. */
	#heard(): void {
		const next = this.#polling ? this.#polling.then(() => this.poll()) : this.poll();
		next.catch((error: unknown) => this.#log.debug({ err: error }, 'changes could not be read'));
	}

	#drop(client: pg.Client): void {
		if (this.#client !== client) return;
		this.#client = null;
		client.end().catch((error: unknown) => this.#log.debug({ err: error }, 'a broken connection could not be closed'));
	}

	#prune(): void {
		this.#client?.query(PRUNE).catch((error: unknown) => this.#log.debug({ err: error }, 'changes could not be pruned'));
	}
}
