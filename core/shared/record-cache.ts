// Records that a plugin stores for a gateway, with a cache of watched ones, each kept until the database notifies of a
// change, so that reading one on a hot path needs no query.

import type { Records } from '../contract/context.ts';
import { PluginFault } from '../contract/errors.ts';
import type { PutOptions, StoredRecord } from '../contract/nouns.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { deepFreeze } from '../kit/json.ts';
import { STALE_MS } from '../store/staleness.ts';
import type { Changes, FoundRecord, RecordStore, Topic } from '../store/store.ts';
import { checkName, checkRecord, type GivenRecord } from './check-record.ts';

/** The plugin and gateway that the records belong to. */
export interface RecordOwner {
	organizationId: string;
	gatewayId: string;
	/** `kind:name`. */
	plugin: string;
}

export interface RecordParts {
	/** Writes in the name of the service, or of a user for the audit log. */
	store: RecordStore;
	/** Returns the store that writes in the name of a user who was authenticated otherwise than by a credential of the request. */
	as?: (by: { userId: string; email: string }) => RecordStore;
	cache: RecordCache;
}

const MAX_PAGE = 100;
/** The limit for all gateways together. */
const RECORDS_KEPT = 10_000;

export function recordsOf({ store, as, cache }: RecordParts, { organizationId, gatewayId, plugin }: RecordOwner): Records {
	const scope = { plugin, gatewayId };
	const writer = ({ audited }: PutOptions): RecordStore => (audited?.by && as ? as(audited.by) : store);
	const look = (method: string, name: string): void => checkName(plugin, `records.${method}`, name);
	const check = (method: string, given: GivenRecord): void => checkRecord(plugin, method, given);
	return {
		async get(key) {
			look('get', key);
			return store.get(organizationId, scope, key);
		},
		async recall(key) {
			look('recall', key);
			return cache.recall(`${organizationId} ${gatewayId} ${plugin} ${key}`, () => store.look(organizationId, scope, key));
		},
		async put(key, value, options = {}) {
			check('put', { key, value, options });
			return writer(options).put(organizationId, scope, key, value, options);
		},
		async add(key, value, options = {}) {
			check('add', { key, value, options });
			return writer(options).add(organizationId, scope, key, value, options);
		},
		async find(tag, { limit = MAX_PAGE, ...from } = {}) {
			look('find', tag);
			if (!Number.isInteger(limit) || limit < 1) throw new PluginFault(plugin, 'records.find: limit must be a whole number from 1.');
			const { items, nextCursor } = await store.find(organizationId, scope, tag, { ...from, limit: Math.min(limit, MAX_PAGE) });
			return { records: items, nextCursor };
		},
		async drop(tag) {
			look('drop', tag);
			return store.drop(organizationId, scope, tag);
		},
		async take(key) {
			look('take', key);
			return store.take(organizationId, scope, key);
		},
		async update(key, revision, value, options) {
			check('update', { key, value, options });
			if (!Number.isInteger(revision)) throw new PluginFault(plugin, 'records.update: revision must be that of a record.');
			return store.update(organizationId, scope, { key, revision, value }, options);
		},
	};
}

interface Kept {
	record: StoredRecord;
	topic: Topic;
	/** The time before the query was sent, so that ages computed from it are never too small. */
	askedMs: number;
}

interface LookUp {
	askedMs: number;
	record: Promise<StoredRecord | null>;
}

/** Watched records by cache key. Only what a change would drop is cached: neither missing records nor unwatched ones. */
export class RecordCache {
	readonly #changes: Changes;
	/** Least recently used first. */
	readonly #kept: BoundedMap<string, Kept>;
	readonly #keysByTopic = new Map<Topic, string>();
	/** Look-ups in progress; concurrent callers wait for the same answer. */
	readonly #lookUps = new Map<string, LookUp>();
	readonly #unsubscribe: () => void;

	constructor(changes: Changes, capacity = RECORDS_KEPT) {
		this.#changes = changes;
		this.#kept = new BoundedMap(capacity, { onEvicted: (_cacheKey, { topic }) => this.#keysByTopic.delete(topic) });
		this.#unsubscribe = changes.subscribe((topics) => this.#hear(topics));
	}

	/** Returns a record. @param cacheKey with the record's key at its end. @throws unavailable when it is unknown what has changed */
	async recall(cacheKey: string, look: () => Promise<FoundRecord | null>): Promise<StoredRecord | null> {
		// Requests to gateways have waited for this before, so it is immediate; long-running calls may have to wait.
		const news = this.#changes.fresh(STALE_MS);
		if (news) await news;
		const kept = this.#kept.get(cacheKey);
		const record = kept ? asOfNow(kept) : null;
		if (!kept || !record) return this.#share(cacheKey, look);
		this.#kept.set(cacheKey, kept);
		return record;
	}

	close(): void {
		this.#unsubscribe();
		this.#forgetAll();
	}

	#share(cacheKey: string, look: () => Promise<FoundRecord | null>): Promise<StoredRecord | null> {
		const askedMs = performance.now();
		const known = this.#lookUps.get(cacheKey);
		// A slow answer may be from before a change that causes no notification, such as the record's creation.
		if (known && askedMs - known.askedMs < STALE_MS) return known.record;
		const isCurrent = (): boolean => this.#lookUps.get(cacheKey) === lookUp;
		const lookUp: LookUp = {
			askedMs,
			record: look()
				.then((found) => {
					if (found) deepFreeze(found.record);
					if (isCurrent()) this.#keep(cacheKey, found, askedMs);
					return found?.record ?? null;
				})
				.finally(() => isCurrent() && this.#lookUps.delete(cacheKey)),
		};
		this.#lookUps.set(cacheKey, lookUp);
		return lookUp.record;
	}

	#keep(cacheKey: string, found: FoundRecord | null, askedMs: number): void {
		this.#forget(cacheKey);
		if (!found?.topic) return;
		this.#kept.set(cacheKey, { record: found.record, topic: found.topic, askedMs });
		this.#keysByTopic.set(found.topic, cacheKey);
	}

	/**
	 * Drops changed records. Look-ups in progress may have read the state before the change, for any record: their callers get it, later
	 * callers do not.
	 */
	#hear(topics: readonly Topic[]): void {
		const heard = topics.filter((topic) => topic === '*' || topic.startsWith('record:'));
		if (heard.length === 0) return;
		this.#lookUps.clear();
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
		this.#keysByTopic.delete(kept.topic);
	}

	#forgetAll(): void {
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
