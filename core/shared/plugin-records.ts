// Records as plugins get them: private to a plugin and its gateway or organization, checked, bounded, sealed and opened.

import { PluginFault } from '../contract/errors.ts';
import type { JsonObject, PutOptions, RecordPage, Records, StoredRecord, Tags, UpdateOptions } from '../contract/nouns.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { FoundRecord, RecordStore, Store } from '../store/store.ts';
import type { AccountOf } from './accounts.ts';
import { checkName, checkRecord, checkTags } from './check-record.ts';
import { RecordCache } from './record-cache.ts';
import { RecordQuota } from './record-quota.ts';
import { RecordWatches, type Watched } from './record-watches.ts';
import { type RecordOwner, SealedFields } from './sealed-fields.ts';

const MAX_PAGE = 100;
const MAX_COUNT = 10_000;

/** The parts that the records of all plugins share. */
export interface RecordServices {
	cache: RecordCache;
	watches: RecordWatches;
	quota: RecordQuota;
	secrets: Secrets;
	close(): void;
}

export interface RecordServiceParts {
	store: Pick<Store, 'records' | 'changes'>;
	secrets: Secrets;
	accountOf: AccountOf;
}

export function createRecordServices({ store, secrets, accountOf }: RecordServiceParts): RecordServices {
	const cache = new RecordCache(store.changes);
	const watches = new RecordWatches({ changes: store.changes, accountOf });
	const close = (): void => {
		watches.close();
		cache.close();
	};
	return { cache, watches, quota: new RecordQuota(store.records), secrets, close };
}

/** The place of a feature's records. */
export interface FeaturePlace {
	/** Its name; core sets it to that of the feature that asks. */
	feature?: string;
	organizationId: string;
	/** Default: none, so that the records belong to the organization itself. */
	gatewayId?: string;
	/** Writes in the name of the user who sent a request: `storeOf(request, core)`. Default: the service. */
	store?: { records: RecordStore };
	/** For answers: sealed fields are hidden. */
	hidesSealed?: boolean;
}

/** Returns records of a feature. @param own the store that writes in the name of the service */
export const featureRecords =
	(services: RecordServices, own: { records: RecordStore }) =>
	({ feature = 'core', organizationId, gatewayId, store = own, hidesSealed = false }: FeaturePlace): Records =>
		new PluginRecords(
			{ store: store.records, services, hidesSealed },
			{ organizationId, gatewayId: gatewayId ?? null, plugin: `feature:${feature}` },
		);

export interface RecordParts {
	/** Writes in the name of the service, or of a user for the audit log. */
	store: RecordStore;
	/** Returns the store that writes in the name of a user who was authenticated otherwise than by a credential of the request. */
	as?: (by: { userId: string; email: string }) => RecordStore;
	services: RecordServices;
	/** Sealed fields are hidden, since what is read is meant for an answer of the management API. */
	hidesSealed?: boolean;
}

/** One object per call, so its verbs are methods and not closures. */
export class PluginRecords implements Records {
	readonly #parts: RecordParts;
	readonly #owner: RecordOwner;
	/** The record without sealed fields that was read last: its update, which mostly comes next, need not read it again. */
	#plain: { key: string; revision: number } | null = null;

	constructor(parts: RecordParts, owner: RecordOwner) {
		this.#parts = parts;
		this.#owner = owner;
	}

	async get(key: string): Promise<StoredRecord | null> {
		this.#checkName('get', key);
		return this.#shownOrNull(await this.#parts.store.get(this.#owner.organizationId, this.#owner, key));
	}

	async recall(key: string): Promise<StoredRecord | null> {
		this.#checkName('recall', key);
		const record = await this.#parts.services.cache.recall(this.#cacheKey(key), () => this.#look(key));
		return record === null || record.sealed.length === 0 ? record : this.#shown(record);
	}

	async put(key: string, value: JsonObject, options: PutOptions = {}): Promise<void> {
		await this.#admit('put', key, value, options);
		return this.#writer(options).put(this.#owner.organizationId, this.#owner, key, this.#sealed(key, value, options), options);
	}

	async add(key: string, value: JsonObject, options: PutOptions = {}): Promise<boolean> {
		await this.#admit('add', key, value, options);
		return this.#writer(options).add(this.#owner.organizationId, this.#owner, key, this.#sealed(key, value, options), options);
	}

	async find(tags: Tags, { limit = MAX_PAGE, ...from }: RecordPage = {}): Promise<{ records: StoredRecord[]; nextCursor: string | null }> {
		checkTags(this.#owner.plugin, 'find', tags);
		this.#checkWhole('find', 'limit', limit);
		const page = { ...from, limit: Math.min(limit, MAX_PAGE) };
		const { items, nextCursor } = await this.#parts.store.find(this.#owner.organizationId, this.#owner, tags, page);
		return { records: items.map((record) => this.#shown(record)), nextCursor };
	}

	async count(tags: Tags, most = MAX_COUNT): Promise<number> {
		checkTags(this.#owner.plugin, 'count', tags);
		this.#checkWhole('count', 'most', most);
		return this.#parts.store.count(this.#owner.organizationId, this.#owner, tags, Math.min(most, MAX_COUNT));
	}

	async drop(tags: Tags): Promise<number> {
		checkTags(this.#owner.plugin, 'drop', tags);
		if (typeof tags !== 'string' && tags.all.length === 0) throw this.#fault('drop', 'at least one tag must say what to drop');
		return this.#parts.store.drop(this.#owner.organizationId, this.#owner, tags);
	}

	async remove(key: string): Promise<boolean> {
		this.#checkName('remove', key);
		return this.#parts.store.remove(this.#owner.organizationId, this.#owner, key);
	}

	async take(key: string): Promise<StoredRecord | null> {
		this.#checkName('take', key);
		return this.#shownOrNull(await this.#parts.store.take(this.#owner.organizationId, this.#owner, key));
	}

	async update(key: string, revision: number, value: JsonObject, options?: UpdateOptions): Promise<boolean> {
		const { organizationId, plugin } = this.#owner;
		const chars = checkRecord(plugin, 'update', { key, value, options });
		if (!Number.isInteger(revision)) throw this.#fault('update', 'revision must be that of a record');
		const { store, services } = this.#parts;
		const isPlain = this.#plain?.key === key && this.#plain.revision === revision;
		const changed = isPlain ? { value, sealed: [] } : await this.#sealedAgain(key, revision, value);
		if (changed === null) return false;
		const growth = (): Promise<number> => this.#growth(key, revision, changed.value);
		await services.quota.assertRoom(organizationId, plugin, { chars, growth });
		return store.update(organizationId, this.#owner, { key, revision, ...changed }, options);
	}

	/** Returns the bytes by which a value is larger than the stored one; 0 when that revision is stored no longer, since nothing is written then. */
	async #growth(key: string, revision: number, value: JsonObject): Promise<number> {
		const stored = await this.#parts.store.get(this.#owner.organizationId, this.#owner, key);
		return stored?.revision === revision ? bytesOf(value) - bytesOf(stored.value) : 0;
	}

	/**
	 * Seals the fields of an update that are sealed in the record. The database sees no value before it is known which these are. Null when the
	 * revision is no longer the stored one.
	 */
	async #sealedAgain(key: string, revision: number, value: JsonObject): Promise<{ value: JsonObject; sealed: string[] } | null> {
		const stored = await this.#parts.store.get(this.#owner.organizationId, this.#owner, key);
		if (stored?.revision !== revision) return null;
		const { sealed } = stored;
		return { value: sealed.length === 0 ? value : this.#fields().sealAgain(stored, value, this.#parts.hidesSealed === true), sealed };
	}

	watch(key: string, signal: AbortSignal): AsyncIterable<StoredRecord | null> {
		this.#checkName('watch', key);
		if (!(signal instanceof AbortSignal)) throw this.#fault('watch', 'the signal must be an AbortSignal');
		const { organizationId, plugin } = this.#owner;
		const { store, services } = this.#parts;
		const watched: Watched = {
			organizationId,
			arrival: () => store.arrival(organizationId, this.#owner, key),
			read: (query) => services.cache.look(this.#cacheKey(key), () => query(() => this.#look(key))),
			shown: (record) => this.#shown(record),
			unwatched: () => new PluginFault(plugin, 'records.watch: the record was not put as `watched`, so its changes are not announced.'),
		};
		return { [Symbol.asyncIterator]: () => services.watches.begin(watched, signal) };
	}

	#look(key: string): Promise<FoundRecord | null> {
		return this.#parts.store.look(this.#owner.organizationId, this.#owner, key);
	}

	#cacheKey(key: string): string {
		const { organizationId, gatewayId, plugin } = this.#owner;
		return `${organizationId} ${gatewayId} ${plugin} ${key}`;
	}

	#shown(record: StoredRecord): StoredRecord {
		if (record.sealed.length === 0) return record;
		return this.#parts.hidesSealed ? this.#fields().hide(record) : this.#fields().open(record);
	}

	#shownOrNull(record: StoredRecord | null): StoredRecord | null {
		this.#plain = record && record.sealed.length === 0 ? { key: record.key, revision: record.revision } : null;
		return record && this.#shown(record);
	}

	#sealed(key: string, value: JsonObject, { sealed = [] }: PutOptions): JsonObject {
		return sealed.length === 0 ? value : this.#fields().seal(key, value, sealed, !this.#parts.hidesSealed);
	}

	#fields(): SealedFields {
		return new SealedFields(this.#parts.services.secrets, this.#owner);
	}

	#writer({ audited }: PutOptions): RecordStore {
		const { store, as } = this.#parts;
		return audited?.by && as ? as(audited.by) : store;
	}

	/** Checks what is put, and that there is room for it. */
	async #admit(method: string, key: string, value: JsonObject, options: PutOptions): Promise<void> {
		const { organizationId, plugin } = this.#owner;
		const chars = checkRecord(plugin, method, { key, value, options });
		const isNew = async (): Promise<boolean> => (await this.#parts.store.get(organizationId, this.#owner, key)) === null;
		await this.#parts.services.quota.assertRoom(organizationId, plugin, { chars, isNew });
		if (!options.watched) await this.#assertUnwatched(method, key);
	}

	/** Refuses a record whose coming those who watch its key would never learn of. @throws PluginFault */
	async #assertUnwatched(method: string, key: string): Promise<void> {
		const { store, services } = this.#parts;
		if (services.watches.size === 0) return;
		if (services.watches.follows(await store.arrival(this.#owner.organizationId, this.#owner, key)))
			throw this.#fault(method, 'the key is being watched, so its record must be put as `watched`');
	}

	#checkName(method: string, name: string): void {
		checkName(this.#owner.plugin, `records.${method}`, name);
	}

	#checkWhole(method: string, name: string, value: number): void {
		if (!Number.isInteger(value) || value < 1) throw this.#fault(method, `${name} must be a whole number from 1`);
	}

	#fault(method: string, fault: string): PluginFault {
		return new PluginFault(this.#owner.plugin, `records.${method}: ${fault}.`);
	}
}

const bytesOf = (value: JsonObject): number => Buffer.byteLength(JSON.stringify(value));
