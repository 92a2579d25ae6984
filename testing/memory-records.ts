// The records of plugins in memory, with the semantics of the statements in db/records: a test holds both to one story.

import { createHash } from 'node:crypto';
import { invalid } from '../core/contract/errors.ts';
import type { JsonObject, PutOptions, StoredRecord, Tags } from '../core/contract/nouns.ts';
import type { Changes, RecordScope, RecordStore, Topic } from '../core/store/store.ts';

interface Row {
	seq: number;
	place: string;
	record: Omit<StoredRecord, 'readAt'>;
	watched: boolean;
}

interface Order {
	field: 'createdAt' | 'updatedAt';
	isDown: boolean;
}

/** The place at which the next page begins, as a cursor carries it. */
interface Mark {
	sort: string;
	at: number;
	seq: number;
}

const SORTS = /^(-?)(createdAt|updatedAt)$/;

const copied = (value: JsonObject): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;
const placeOf = (organizationId: string, { plugin, gatewayId }: RecordScope): string => JSON.stringify([organizationId, gatewayId, plugin]);
const listOf = (tags: Tags): readonly string[] => (typeof tags === 'string' ? [tags] : tags.all);
const expiryAfter = (ttlMs: number | undefined): Date | null => (ttlMs === undefined ? null : new Date(Date.now() + ttlMs));

/** The store of records and its announcements, which are heard at once. */
export class MemoryRecords implements RecordStore, Changes {
	readonly #rows = new Map<string, Row>();
	readonly #listeners = new Set<(topics: Topic[]) => void>();
	#lastSeq = 0;

	subscribe(listener: (topics: Topic[]) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	fresh(): undefined {
		return undefined;
	}

	announce(...topics: Topic[]): void {
		for (const listener of this.#listeners) listener(topics);
	}

	async get(organizationId: string, scope: RecordScope, key: string): Promise<StoredRecord | null> {
		const row = this.#live(placeOf(organizationId, scope), key);
		return row ? shown(row) : null;
	}

	async look(organizationId: string, scope: RecordScope, key: string): ReturnType<RecordStore['look']> {
		const row = this.#live(placeOf(organizationId, scope), key);
		return row ? { record: shown(row), topic: row.watched ? topicOf(row) : null } : null;
	}

	async put(organizationId: string, scope: RecordScope, key: string, value: JsonObject, options: PutOptions): Promise<void> {
		this.#put(placeOf(organizationId, scope), key, value, options);
	}

	async add(organizationId: string, scope: RecordScope, key: string, value: JsonObject, options: PutOptions): Promise<boolean> {
		const place = placeOf(organizationId, scope);
		if (this.#live(place, key)) return false;
		this.#put(place, key, value, options);
		return true;
	}

	async find(
		organizationId: string,
		scope: RecordScope,
		tags: Tags,
		page: Parameters<RecordStore['find']>[3],
	): ReturnType<RecordStore['find']> {
		const { limit, sort = '-createdAt', cursor } = page;
		const order = orderOf(sort);
		const mark = cursor === undefined ? null : markOf(cursor, sort);
		const rows = this.#tagged(placeOf(organizationId, scope), tags).sort((one, other) => compare(one, other, order));
		const rest = mark === null ? rows : rows.filter((row) => isBeyond(row, mark, order));
		const last = rest.length > limit ? rest[limit - 1] : undefined;
		return { items: rest.slice(0, limit).map(shown), nextCursor: last ? cursorAt(last, sort, order) : null };
	}

	async count(organizationId: string, scope: RecordScope, tags: Tags, most: number): Promise<number> {
		return Math.min(most, this.#tagged(placeOf(organizationId, scope), tags).length);
	}

	async drop(organizationId: string, scope: RecordScope, tags: Tags): Promise<number> {
		const rows = this.#tagged(placeOf(organizationId, scope), tags);
		for (const row of rows) this.#delete(row);
		return rows.length;
	}

	async remove(organizationId: string, scope: RecordScope, key: string): Promise<boolean> {
		const row = this.#live(placeOf(organizationId, scope), key);
		if (row) this.#delete(row);
		return row !== null;
	}

	async take(organizationId: string, scope: RecordScope, key: string): Promise<StoredRecord | null> {
		const row = this.#live(placeOf(organizationId, scope), key);
		if (!row || row.record.takenAt !== null) return null;
		this.#change(row, { takenAt: new Date() });
		return shown(row);
	}

	async update(
		organizationId: string,
		scope: RecordScope,
		{ key, revision, value, sealed = [] }: Parameters<RecordStore['update']>[2],
		{ tags, ttlMs }: Parameters<RecordStore['update']>[3] = {},
	): Promise<boolean> {
		const row = this.#live(placeOf(organizationId, scope), key);
		if (row?.record.revision !== revision || row.record.sealed.join('\n') !== sealed.join('\n')) return false;
		const { expiresAt: former, tags: formerTags } = row.record;
		this.#change(row, { value: copied(value), tags: tags ? [...tags] : formerTags, expiresAt: expiryAfter(ttlMs) ?? former });
		return true;
	}

	async arrival(organizationId: string, scope: RecordScope, key: string): Promise<Topic> {
		return arrivalOf(placeOf(organizationId, scope), key);
	}

	async usage(organizationId: string, plugin: string): ReturnType<RecordStore['usage']> {
		const rows = [...this.#rows.values()].filter(({ place }) => {
			const [organization, , owner] = JSON.parse(place) as string[];
			return organization === organizationId && owner === plugin;
		});
		return { records: rows.length, bytes: rows.reduce((sum, { record }) => sum + JSON.stringify(record.value).length, 0) };
	}

	async prune(): Promise<number> {
		const old = [...this.#rows].filter(([, row]) => !isLive(row));
		for (const [id] of old) this.#rows.delete(id);
		return old.length;
	}

	#live(place: string, key: string): Row | null {
		const row = this.#rows.get(idOf(place, key));
		return row && isLive(row) ? row : null;
	}

	#tagged(place: string, tags: Tags): Row[] {
		const wanted = listOf(tags);
		return [...this.#rows.values()].filter(
			(row) => row.place === place && isLive(row) && wanted.every((tag) => row.record.tags.includes(tag)),
		);
	}

	/** Replaces everything but the record's place in the order, unless the old one had expired: then it is a new record. */
	#put(place: string, key: string, value: JsonObject, { tags = [], ttlMs, watched = false, sealed = [] }: PutOptions): void {
		const old = this.#rows.get(idOf(place, key));
		const now = new Date();
		const createdAt = old && isLive(old) ? old.record.createdAt : now;
		const record = {
			...{ key, value: copied(value), tags: [...tags], sealed: [...sealed], createdAt, updatedAt: now },
			...{ expiresAt: expiryAfter(ttlMs), takenAt: null, revision: (old?.record.revision ?? 0) + 1 },
		};
		this.#lastSeq += old ? 0 : 1;
		const row = { seq: old?.seq ?? this.#lastSeq, place, record, watched };
		this.#rows.set(idOf(place, key), row);
		if (old && isLive(old)) this.#tell(old.watched ? topicOf(row) : null);
		else this.#tell(watched ? arrivalOf(place, key) : null);
	}

	#change(row: Row, fields: Partial<Row['record']>): void {
		const { revision } = row.record;
		row.record = { ...row.record, ...fields, updatedAt: new Date(), revision: revision + 1 };
		this.#tell(row.watched ? topicOf(row) : null);
	}

	#delete(row: Row): void {
		this.#rows.delete(idOf(row.place, row.record.key));
		this.#tell(row.watched ? topicOf(row) : null);
	}

	#tell(topic: Topic | null): void {
		if (topic !== null) this.announce(topic);
	}
}

const idOf = (place: string, key: string): string => `${place} ${key}`;
const topicOf = ({ seq }: Row): Topic => `record:${seq}`;
const arrivalOf = (place: string, key: string): Topic => `record:new:${createHash('sha256').update(idOf(place, key)).digest('hex')}`;
const isLive = ({ record: { expiresAt } }: Row): boolean => expiresAt === null || expiresAt.getTime() > Date.now();

const shown = ({ record }: Row): StoredRecord => ({
	...record,
	...{ value: copied(record.value), tags: [...record.tags], sealed: [...record.sealed], readAt: new Date() },
});

/** @throws validation_failed */
function orderOf(sort: string): Order {
	const [, minus, field] = SORTS.exec(sort) ?? [];
	if (field === undefined) throw invalid('/sort', 'sort must be createdAt or updatedAt, or either with a - before it.');
	return { field: field as Order['field'], isDown: minus === '-' };
}

/** The order of creation is that of the numbers: times may be alike. */
const keyOf = ({ record, seq }: Row, { field }: Order): number => (field === 'createdAt' ? seq : record.updatedAt.getTime());

const compare = (one: Row, other: Row, order: Order): number =>
	(order.isDown ? -1 : 1) * (keyOf(one, order) - keyOf(other, order) || one.seq - other.seq);

function isBeyond(row: Row, { at, seq }: Mark, order: Order): boolean {
	const distance = keyOf(row, order) - at || row.seq - seq;
	return order.isDown ? distance < 0 : distance > 0;
}

const cursorAt = (row: Row, sort: string, order: Order): string =>
	Buffer.from(JSON.stringify({ sort, at: keyOf(row, order), seq: row.seq } satisfies Mark)).toString('base64url');

/** @throws validation_failed for a cursor of another sort, or none of ours */
function markOf(cursor: string, sort: string): Mark {
	try {
		const mark = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Mark;
		if (mark.sort === sort) return mark;
	} catch {
		// It is refused below.
	}
	throw invalid('/cursor', 'cursor must be the nextCursor of a former answer.');
}
