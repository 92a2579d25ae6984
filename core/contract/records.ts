// Durable documents that a plugin stores in PostgreSQL without a migration of its own. Types only.

import type { JsonObject } from './nouns.ts';

/** One tag, or a list of tags that a record must have all of; of an empty list every record has all. */
export type Tags = string | { all: readonly string[] };

/**
 * Durable documents, private to the plugin and the gateway; in a call without a gateway, to the plugin and the organization. They are removed
 * with the gateway or the organization. @throws conflict from `put` and `add` when the plugin stores too much for the organization
 */
export interface Records {
	/** Returns null when the record is absent or expired. A taken record is still returned. @throws secret_unreadable */
	get(key: string): Promise<StoredRecord | null>;
	/**
	 * Like `get`, but answers from memory while a record that was put as `watched` is unchanged; a change is seen within a second. Meant for
	 * hot paths. `readAt` advances with the time since the record was read.
	 */
	recall(key: string): Promise<StoredRecord | null>;
	put(key: string, value: JsonObject, options?: PutOptions): Promise<void>;
	/** Stores the record unless the key exists; of several concurrent callers on all replicas, exactly one gets true. */
	add(key: string, value: JsonObject, options?: PutOptions): Promise<boolean>;
	/** Returns the records that have the tags, newest first or as `page.sort` says. */
	find(tags: Tags, page?: RecordPage): Promise<{ records: StoredRecord[]; nextCursor: string | null }>;
	/** Counts the records that have the tags. @param most counting ends there; at most 10,000, which is the default */
	count(tags: Tags, most?: number): Promise<number>;
	/** @param tags at least one. @returns the number of records dropped */
	drop(tags: Tags): Promise<number>;
	/** Removes one record. @returns whether there was one */
	remove(key: string): Promise<boolean>;
	/** Reads the record and marks it as used in one statement; null for the second taker. */
	take(key: string): Promise<StoredRecord | null>;
	/** Compare and set: returns false when `revision` is no longer the stored one. Sealed fields stay sealed, and must be in the value. */
	update(key: string, revision: number, value: JsonObject, options?: UpdateOptions): Promise<boolean>;
	/**
	 * Yields the record as it is, then its state after each change on any replica, within a second: null while it is absent or expired. States
	 * in between may be left out, the last one never is. It ends with the signal, and survives an outage of the database. The record must be
	 * put as `watched`. What it yields is frozen.
	 * @throws rate_limited when the account watches too many records, unavailable for the first state; both from the iterator
	 */
	watch(key: string, signal: AbortSignal): AsyncIterable<StoredRecord | null>;
}

/** One durable document of a plugin. */
export interface StoredRecord {
	key: string;
	value: JsonObject;
	tags: string[];
	createdAt: Date;
	/** The time of the last `put`, `add`, `take` or `update`. */
	updatedAt: Date;
	expiresAt: Date | null;
	/** The time at which `take` marked it as used. */
	takenAt: Date | null;
	/** The database's clock at the read; the other times are by the same clock, whatever this process's clock says. */
	readAt: Date;
	/** Increases with each write; `update` compares it. */
	revision: number;
	/** JSON pointers to the fields that are sealed in the database. */
	sealed: string[];
}

export interface PutOptions {
	tags?: string[];
	/** Time until it expires, by the database's clock. Default: never. */
	ttlMs?: number;
	/** Every replica is notified of each change, so that `recall` can answer from memory, and `watch` without asking again and again. */
	watched?: boolean;
	/**
	 * JSON pointers to fields of the value that are encrypted at rest, such as `/token`: any JSON, also inside lists. They are opened for the
	 * plugin; in its routes of the management API they are `••••`, which `update` takes for the stored value.
	 */
	sealed?: string[];
	/** The record's type in the audit log, such as `oauth_client`, and the user who creates or deletes it. Default: not logged. */
	audited?: { type: string; name: string; by?: { userId: string; email: string } };
}

export interface UpdateOptions {
	/** New tags instead of the former ones. Default: they stay. */
	tags?: string[];
	/** New time until it expires, from now. Default: the expiry stays. */
	ttlMs?: number;
	/** Whether the update is written to the audit log, if the record is `audited`. Default: it is not. */
	audited?: boolean;
}

export interface RecordPage {
	limit?: number;
	cursor?: string;
	/** `createdAt`, `updatedAt`, or either with a `-` before it. Default `-createdAt`: newest first. `-updatedAt`: newest change first. */
	sort?: string;
}
