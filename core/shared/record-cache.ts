// What a plugin stores for a gateway, and what of it this process remembers: watched records, each until the database tells of a
// change, so that reading one on a hot path asks nobody.

import type { Records } from '../contract/context.ts';
import type { Json, PutOptions, StoredRecord } from '../contract/nouns.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { STALE_MS } from '../store/staleness.ts';
import type { Changes, FoundRecord, RecordStore, Topic } from '../store/store.ts';

/** Whose records they are. */
export interface RecordOwner {
	organizationId: string;
	gatewayId: string;
	/** `kind:name`. */
	plugin: string;
}

export interface RecordParts {
	/** In whose name is written: the service's, or that of somebody for the audit log. */
	store: RecordStore;
	/** The same, in the name of who was let in otherwise than by a credential of the request. */
	as?: (by: { userId: string; email: string }) => RecordStore;
	cache: RecordCache;
}

const MAX_PAGE = 100;
/** Of all gateways. */
const RECORDS_KEPT = 10_000;

export function recordsOf({ store, as, cache }: RecordParts, { organizationId, gatewayId, plugin }: RecordOwner): Records {
	const scope = { plugin, gatewayId };
	const writer = ({ audited }: PutOptions): RecordStore => (audited?.by && as ? as(audited.by) : store);
	return {
		get: (key) => store.get(organizationId, scope, key),
		recall: (key) => cache.recall(`${organizationId} ${gatewayId} ${plugin} ${key}`, () => store.look(organizationId, scope, key)),
		put: (key, value, options = {}) => writer(options).put(organizationId, scope, key, value, options),
		add: (key, value, options = {}) => writer(options).add(organizationId, scope, key, value, options),
		find: async (tag, { limit = MAX_PAGE, ...from } = {}) => {
			const { items, nextCursor } = await store.find(organizationId, scope, tag, { ...from, limit: Math.min(limit, MAX_PAGE) });
			return { records: items, nextCursor };
		},
		drop: (tag) => store.drop(organizationId, scope, tag),
		take: (key) => store.take(organizationId, scope, key),
		update: (key, revision, value, options) => store.update(organizationId, scope, { key, revision, value }, options),
	};
}

interface Kept {
	record: StoredRecord;
	topic: Topic;
	/** Before the database was asked: what is measured from here is rather too old than too young. */
	askedMs: number;
}

interface LookUp {
	askedMs: number;
	record: Promise<StoredRecord | null>;
}

/** Watched records by their place. Nothing is kept that no change would drop: neither the absence of one, nor one unwatched. */
export class RecordCache {
	readonly #changes: Changes;
	/** The longest unused first. */
	readonly #kept: BoundedMap<string, Kept>;
	readonly #places = new Map<Topic, string>();
	/** Under way; those who come meanwhile wait for the same answer. */
	readonly #lookUps = new Map<string, LookUp>();
	readonly #unsubscribe: () => void;

	constructor(changes: Changes, capacity = RECORDS_KEPT) {
		this.#changes = changes;
		this.#kept = new BoundedMap(capacity, { onEvicted: (_place, { topic }) => this.#places.delete(topic) });
		this.#unsubscribe = changes.subscribe((topics) => this.#hear(topics));
	}

	/** @param place with the key at its end. @throws unavailable when the database cannot tell what has changed */
	async recall(place: string, look: () => Promise<FoundRecord | null>): Promise<StoredRecord | null> {
		// At once for requests of gateways, which have waited for it before; not for what goes on for hours.
		const news = this.#changes.fresh(STALE_MS);
		if (news) await news;
		const kept = this.#kept.get(place);
		const record = kept ? asOfNow(kept) : null;
		if (!kept || !record) return this.#share(place, look);
		this.#kept.set(place, kept);
		return record;
	}

	close(): void {
		this.#unsubscribe();
		this.#forgetAll();
	}

	#share(place: string, look: () => Promise<FoundRecord | null>): Promise<StoredRecord | null> {
		const askedMs = performance.now();
		const known = this.#lookUps.get(place);
		// An answer that is long in coming may be of before a change that nobody tells of, such as the record's coming.
		if (known && askedMs - known.askedMs < STALE_MS) return known.record;
		const isCurrent = (): boolean => this.#lookUps.get(place) === lookUp;
		const lookUp: LookUp = {
			askedMs,
			record: look()
				.then((found) => {
					if (found) freeze(found.record.value);
					if (isCurrent()) this.#keep(place, found, askedMs);
					return found?.record ?? null;
				})
				.finally(() => isCurrent() && this.#lookUps.delete(place)),
		};
		this.#lookUps.set(place, lookUp);
		return lookUp.record;
	}

	#keep(place: string, found: FoundRecord | null, askedMs: number): void {
		this.#forget(place);
		if (!found?.topic) return;
		this.#kept.set(place, { record: found.record, topic: found.topic, askedMs });
		this.#places.set(found.topic, place);
	}

	/**
	 * What is being looked up may have been read before the change, whoever's it is: those who wait for it get it, those who come
	 * later do not.
	 */
	#hear(topics: readonly Topic[]): void {
		const heard = topics.filter((topic) => topic === '*' || topic.startsWith('record:'));
		if (heard.length === 0) return;
		this.#lookUps.clear();
		if (heard.includes('*') || heard.includes('record:*')) this.#forgetAll();
		for (const topic of heard) {
			const place = this.#places.get(topic);
			if (place !== undefined) this.#forget(place);
		}
	}

	#forget(place: string): void {
		const kept = this.#kept.get(place);
		if (!kept) return;
		this.#kept.delete(place);
		this.#places.delete(kept.topic);
	}

	#forgetAll(): void {
		this.#kept.clear();
		this.#places.clear();
		this.#lookUps.clear();
	}
}

/** With the database's clock as it must be by now, whatever this process takes the time to be; null when it has expired by it. */
function asOfNow({ record, askedMs }: Kept): StoredRecord | null {
	const readAtMs = record.readAt.getTime() + (performance.now() - askedMs);
	if (record.expiresAt !== null && record.expiresAt.getTime() <= readAtMs) return null;
	return { ...record, readAt: new Date(readAtMs) };
}

/** What several hold, none of them changes. */
function freeze(value: Json): void {
	if (value === null || typeof value !== 'object') return;
	Object.freeze(value);
	for (const part of Object.values(value)) freeze(part);
}
