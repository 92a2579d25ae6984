// Sealed fields of plugins' records: encrypted where JSON pointers say, bound to the record's place and key.

import { createHash } from 'node:crypto';
import { PluginFault } from '../contract/errors.ts';
import type { Json, JsonObject, StoredRecord } from '../contract/nouns.ts';
import { deepFreeze } from '../kit/json.ts';
import { tokensOf } from '../kit/json-pointer.ts';
import { HIDDEN } from '../registry/secret-walk.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import type { RecordScope } from '../store/store.ts';

const MAX_FIELDS = 64;
const MAX_CHARS = 1024;
/** RFC 6901 §3, without the pointer to the whole document. */
const POINTER = /^(\/([^~/]|~[01])*)+$/;
const INDEX = /^(0|[1-9]\d*)$/;

/** The owner of records. */
export interface RecordOwner extends RecordScope {
	organizationId: string;
}

/** @returns the end of a sentence that names the pointer at fault; null if all of them point to fields of the value, none inside another */
export function pointersFault(pointers: unknown, value: JsonObject): string | null {
	if (!Array.isArray(pointers) || pointers.length > MAX_FIELDS) return `sealed must be a list of at most ${MAX_FIELDS} JSON pointers`;
	for (const pointer of pointers) {
		if (typeof pointer !== 'string' || pointer.length > MAX_CHARS || !POINTER.test(pointer))
			return `sealed must hold JSON pointers of 2 to ${MAX_CHARS} characters, such as /token`;
		if (fieldAt(value, tokensOf(pointer)) === undefined) return `the value has no ${pointer}, which is to be sealed`;
	}
	const inner = pointers.find((pointer) => pointers.some((other) => pointer !== other && pointer.startsWith(`${other}/`)));
	if (inner !== undefined) return `${inner} is inside another sealed field`;
	return new Set(pointers).size < pointers.length ? 'sealed must name each field once' : null;
}

/** Seals, opens and hides the fields of one owner's records. */
export class SealedFields {
	readonly #secrets: Secrets;
	readonly #owner: RecordOwner;

	constructor(secrets: Secrets, owner: RecordOwner) {
		this.#secrets = secrets;
		this.#owner = owner;
	}

	/** @param mayBeHidden whether a hidden field is a text like any other. @throws PluginFault naming a hidden field, for which nothing is stored */
	seal(key: string, value: JsonObject, pointers: readonly string[], mayBeHidden: boolean): JsonObject {
		return this.#each(key, value, pointers, (field, location, pointer) => {
			if (!mayBeHidden && field === HIDDEN)
				throw new PluginFault(this.#owner.plugin, `records: ${pointer} is hidden here, so only an update can keep it.`);
			return this.#secrets.sealJson(field, location);
		});
	}

	/**
	 * Seals the fields that are sealed in the stored record. @param keepsHidden whether a hidden field stands for the stored one
	 * @throws PluginFault naming a field that the value lacks
	 */
	sealAgain(stored: StoredRecord, value: JsonObject, keepsHidden: boolean): JsonObject {
		const fault = pointersFault(stored.sealed, value);
		if (fault !== null) throw new PluginFault(this.#owner.plugin, `records.update: ${fault}.`);
		return this.#each(stored.key, value, stored.sealed, (field, location, pointer) =>
			keepsHidden && field === HIDDEN ? (fieldAt(stored.value, tokensOf(pointer)) ?? HIDDEN) : this.#secrets.sealJson(field, location),
		);
	}

	/** Returns the record with its fields opened; a frozen one gives a frozen one. @throws secret_unreadable */
	open(record: StoredRecord): StoredRecord {
		const value = this.#each(record.key, record.value, record.sealed, (field, location, pointer) =>
			this.#secrets.openJson(String(field), location, `The sealed field "${pointer}" of a record of ${this.#owner.plugin}`),
		);
		return { ...record, value: Object.isFrozen(record.value) ? deepFreeze(value) : value };
	}

	hide(record: StoredRecord): StoredRecord {
		return { ...record, value: this.#each(record.key, record.value, record.sealed, () => HIDDEN) };
	}

	#each(
		key: string,
		value: JsonObject,
		pointers: readonly string[],
		change: (field: Json, location: SecretLocation, pointer: string) => Json,
	): JsonObject {
		const { organizationId, gatewayId, plugin } = this.#owner;
		// The key may be a secret, and the location of a field that cannot be opened is logged.
		const record = `${gatewayId ?? 'organization'}/${plugin}/${createHash('sha256').update(key).digest('hex')}`;
		return pointers.reduce<JsonObject>((changed, pointer) => {
			const location = { organizationId, table: 'records', row: record + pointer };
			return replaced(changed, tokensOf(pointer), (field) => change(field, location, pointer)) as JsonObject;
		}, value);
	}
}

/** Returns a field; undefined if there is none. The length of a list is no field. */
function fieldAt(value: Json | undefined, [token, ...rest]: readonly string[]): Json | undefined {
	if (token === undefined) return value;
	if (value === null || typeof value !== 'object' || !Object.hasOwn(value, token)) return undefined;
	if (Array.isArray(value) && !INDEX.test(token)) return undefined;
	// An index of a list is the name of its member, too.
	return fieldAt((value as JsonObject)[token], rest);
}

/** Returns a copy in which one field is another; what lies beside the way to it is shared. */
function replaced(value: Json, [token, ...rest]: readonly string[], change: (field: Json) => Json): Json {
	if (token === undefined) return change(value);
	const copy = Array.isArray(value) ? [...value] : { ...(value as JsonObject) };
	const members = copy as JsonObject;
	members[token] = replaced(members[token] ?? null, rest, change);
	return copy;
}
