// Announces changes of runs to all replicas, without a row for each, since they may be lost: over Redis, or by PostgreSQL, where a notification takes a lock of the whole server
// at each commit, so those of 50 ms are one.

import type { Log } from '../../core/contract/nouns.ts';
import type { Carrier } from '../../core/store/carrier.ts';
import type { EndedRun, Topic } from '../../core/store/store.ts';
import { SPOKEN } from '../changes.ts';
import type { RunPool } from './pool.ts';
import type { News } from './rows.ts';

const MERGE_MS = 50;

/** A notification has less than 8,000 bytes. The name of a kind is the longest that a topic holds. */
const TOPICS = 60;
const RING = `SELECT pg_notify('${SPOKEN}', told) FROM unnest($1::text[]) AS told`;

export interface BellParts {
	/** Tells this process, which need not wait for the others. */
	say: (topics: Topic[]) => void;
	log: Log;
	/** Another way than PostgreSQL's, which stands in for it. */
	carrier?: Carrier | null;
}

export class Bell {
	readonly #pool: RunPool;
	readonly #say: (topics: Topic[]) => void;
	readonly #log: Log;
	readonly #carrier: Carrier | null;
	readonly #listeners = new Set<(run: EndedRun) => void>();
	#topics = new Set<Topic>();
	#ringing: Promise<void> | null = null;
	#last = Number.NEGATIVE_INFINITY;
	#timer: NodeJS.Timeout | null = null;

	constructor(pool: RunPool, { say, log, carrier = null }: BellParts) {
		this.#pool = pool;
		this.#say = say;
		this.#log = log;
		this.#carrier = carrier;
	}

	/** Lets `listener` hear of the ends that this process rings: of each run that it has ended, once. */
	onEnd(listener: (run: EndedRun) => void): void {
		this.#listeners.add(listener);
	}

	/** A lost announcement only costs time: whoever waits looks again by itself. */
	ring(...news: News[]): void {
		const topics = news.flatMap((one): Topic[] => (typeof one === 'string' ? [one] : [`run:${one.id}`, `run:ended:${one.id}`]));
		// Before the attempt of a run that is ended from outside is told to stop.
		for (const one of news) if (typeof one !== 'string') for (const listener of this.#listeners) listener(one);
		if (topics.length > 0) this.#say(topics);
		for (const topic of topics) this.#topics.add(topic);
		if (this.#timer || this.#ringing) return;
		const waitMs = Math.max(0, this.#last + MERGE_MS - performance.now());
		this.#timer = setTimeout(() => this.#begin(), waitMs);
	}

	/** Announces what is left. */
	async close(): Promise<void> {
		if (this.#timer) this.#begin();
		while (this.#ringing) await this.#ringing;
	}

	#begin(): void {
		if (this.#timer) clearTimeout(this.#timer);
		this.#timer = null;
		this.#last = performance.now();
		this.#ringing ??= this.#send().finally(() => {
			this.#ringing = null;
			if (this.#topics.size > 0) this.ring();
		});
	}

	async #send(): Promise<void> {
		const topics = [...this.#topics];
		this.#topics = new Set();
		const parts = Array.from({ length: Math.ceil(topics.length / TOPICS) }, (_, index) =>
			topics.slice(index * TOPICS, (index + 1) * TOPICS).join('\n'),
		);
		if (await this.#carrier?.send(parts)) return;
		await this.#pool
			.executeSql(RING, [parts])
			.catch((error: unknown) => this.#log.debug({ err: error }, 'changes of runs could not be announced'));
	}
}
