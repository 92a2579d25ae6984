// Plugins' watched records, each kept until the database notifies of a change, so that reading one on a hot path needs no query. Sealed fields
// are kept sealed.

import type { StoredRecord } from '../contract/nouns.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { deepFreeze, measureJson } from '../kit/json.ts';
import { STALE_MS } from '../store/staleness.ts';
import type { Changes, FoundRecord, Topic } from '../store/store.ts';

/** The limits for all gateways together. */
const RECORDS_KEPT = 10_000;
const CHARS_KEPT = 64 * 1024 * 1024;

interface Kept {
	record: StoredRecord;
	topic: Topic;
	/** The time before the query was sent, so that ages computed from it are never too small. */
	askedMs: number;
	/** The size of its value. */
	chars: number;
}

interface LookUp {
	askedMs: number;
	found: Promise<FoundRecord | null>;
}

/** Watched records by cache key. Only what a change would drop is cached: neither missing records nor unwatched ones. */
export class RecordCache {
	readonly #changes: Pick<Changes, 'subscribe' | 'fresh'>;
	/** Least recently used first. */
	readonly #kept: BoundedMap<string, Kept>;
	readonly #keysByTopic = new Map<Topic, string>();
	/** Look-ups in progress; concurrent callers wait for the same answer. */
	readonly #lookUps = new Map<string, LookUp>();
	readonly #unsubscribe: () => void;
	readonly #maxChars: number;
	#chars = 0;
	#heardChanges = 0;

	constructor(changes: Pick<Changes, 'subscribe' | 'fresh'>, capacity = RECORDS_KEPT, maxChars = CHARS_KEPT) {
		this.#changes = changes;
		this.#maxChars = maxChars;
		this.#kept = new BoundedMap(capacity, { onEvicted: (_cacheKey, kept) => this.#left(kept) });
		this.#unsubscribe = changes.subscribe((topics) => this.#hear(topics));
	}

	/** Returns a record. @param cacheKey with the record's key at its end. @throws unavailable when it is unknown what has changed */
	async recall(cacheKey: string, look: () => Promise<FoundRecord | null>): Promise<StoredRecord | null> {
		// Requests to gateways have waited for this before, so it is immediate; long-running calls may have to wait.
		const news = this.#changes.fresh(STALE_MS);
		if (news) await news;
		const kept = this.#kept.get(cacheKey);
		const record = kept ? asOfNow(kept) : null;
		if (!kept || !record) return (await this.#share(cacheKey, look))?.record ?? null;
		this.#kept.set(cacheKey, kept);
		return record;
	}

	/** Like `recall`, and returns the record's topic, too. */
	async look(cacheKey: string, look: () => Promise<FoundRecord | null>): Promise<FoundRecord | null> {
		await this.#changes.fresh(STALE_MS);
		const kept = this.#kept.get(cacheKey);
		const record = kept ? asOfNow(kept) : null;
		return kept && record ? { record, topic: kept.topic } : this.#share(cacheKey, look);
	}

	close(): void {
		this.#unsubscribe();
		this.#forgetAll();
	}

	#share(cacheKey: string, look: () => Promise<FoundRecord | null>): Promise<FoundRecord | null> {
		const askedMs = performance.now();
		const known = this.#lookUps.get(cacheKey);
		// A slow answer may be from before a change that causes no notification, such as the record's creation.
		if (known && askedMs - known.askedMs < STALE_MS) return known.found;
		const isCurrent = (): boolean => this.#lookUps.get(cacheKey) === lookUp;
		const changes = this.#heardChanges;
		const lookUp: LookUp = {
			askedMs,
			found: look()
				.then((found) => {
					if (found) deepFreeze(found.record);
					if (changes === this.#heardChanges) this.#keep(cacheKey, found, askedMs);
					return found;
				})
				.finally(() => isCurrent() && this.#lookUps.delete(cacheKey)),
		};
		this.#lookUps.set(cacheKey, lookUp);
		return lookUp.found;
	}

	#keep(cacheKey: string, found: FoundRecord | null, askedMs: number): void {
		this.#forget(cacheKey);
		if (!found?.topic) return;
		const { chars } = measureJson(found.record.value, this.#maxChars);
		this.#chars += chars;
		this.#kept.set(cacheKey, { record: found.record, topic: found.topic, askedMs, chars });
		this.#keysByTopic.set(found.topic, cacheKey);
		for (const oldest of this.#kept.keys()) {
			if (this.#chars <= this.#maxChars) return;
			this.#forget(oldest);
		}
	}

	/**
	 * Drops changed records. Look-ups in progress may have read the state before the change, for any record: their callers get it, later
	 * callers do not.
	 */
	#hear(topics: readonly Topic[]): void {
		const heard = topics.filter((topic) => topic === '*' || topic.startsWith('record:'));
		if (heard.length === 0) return;
		this.#lookUps.clear();
		// The coming of a record does not change one that a look-up found.
		if (heard.some((topic) => !topic.startsWith('record:new:'))) this.#heardChanges++;
		if (heard.includes('*') || heard.includes('record:*')) this.#forgetAll();
		for (const topic of heard) {
			const cacheKey = this.#keysByTopic.get(topic);
			if (cacheKey !== undefined) this.#forget(cacheKey);
		}
	}

	#forget(cacheKey: string): void {
		const kept = this.#kept.get(cacheKey);
		if (!kept) return;
		this.#kept.delete(cacheKey);
		this.#left(kept);
	}

	#left({ topic, chars }: Kept): void {
		this.#keysByTopic.delete(topic);
		this.#chars -= chars;
	}

	#forgetAll(): void {
		this.#chars = 0;
		this.#kept.clear();
		this.#keysByTopic.clear();
		this.#lookUps.clear();
	}
}

/** Returns a record with the database's current time, whatever this process's clock says; null when it has expired by it. */
function asOfNow({ record, askedMs }: Kept): StoredRecord | null {
	const readAtMs = record.readAt.getTime() + (performance.now() - askedMs);
	if (record.expiresAt !== null && record.expiresAt.getTime() <= readAtMs) return null;
	return { ...record, readAt: new Date(readAtMs) };
}
