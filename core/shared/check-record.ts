// Checks what plugins store: keys, values, tags and lifetimes of their records and of their short-lived values.

import type { KeyValue } from '../contract/context.ts';
import { PluginFault } from '../contract/errors.ts';
import type { JsonObject, PutOptions, Tags, UpdateOptions } from '../contract/nouns.ts';
import { isObject, type Measured, measureJson } from '../kit/json.ts';
import { pointersFault } from './sealed-fields.ts';

/** The most characters of a record's or a value's JSON: 1 Mi. */
const MAX_VALUE_CHARS = 1024 * 1024;
/** PostgreSQL indexes no more than some 2,700 bytes. */
const MAX_KEY_CHARS = 2048;
const MAX_TAGS = 64;

/** A record as a plugin passes it to core. */
export interface GivenRecord {
	key: unknown;
	value: unknown;
	options?: PutOptions | UpdateOptions | undefined;
}

/**
 * Checks the key or the tag of a look-up. Any text may be looked up, since it often comes from a request: a longer one than can be stored is
 * not found. @throws PluginFault
 */
export function checkName(plugin: string, method: string, name: unknown): void {
	if (typeof name !== 'string') throw new PluginFault(plugin, `${method}: the name must be a string, not a value of type ${typeof name}.`);
}

/** Checks the tags of a look-up, of which any text may be one. @throws PluginFault */
export function checkTags(plugin: string, method: string, tags: Tags): void {
	if (typeof tags === 'string') return;
	const all: unknown = isObject(tags) ? tags['all'] : null;
	if (!Array.isArray(all) || all.length > MAX_TAGS || !all.every((tag) => typeof tag === 'string'))
		throw new PluginFault(plugin, `records.${method}: the tags must be a string, or { all } with a list of at most ${MAX_TAGS} strings.`);
}

/** @param plugin `kind:name`. @param method of `records`. @returns the characters of the value. @throws PluginFault naming the argument */
export function checkRecord(plugin: string, method: string, given: GivenRecord): number {
	const { chars, fault } = recordFault(given);
	if (fault !== null) throw new PluginFault(plugin, `records.${method}: ${fault}.`);
	return chars;
}

function recordFault({ key, value, options }: GivenRecord): Measured {
	const { chars, fault } = measureValue(value);
	return {
		chars,
		fault: keyFault('the key', key) ?? fault ?? (options ? (optionsFault(options) ?? sealedFault(options, value as JsonObject)) : null),
	};
}

const sealedFault = (options: PutOptions | UpdateOptions, value: JsonObject): string | null =>
	'sealed' in options && options.sealed !== undefined ? pointersFault(options.sealed, value) : null;

function keyFault(name: string, key: unknown): string | null {
	if (typeof key !== 'string') return `${name} must be a string, not a value of type ${typeof key}`;
	return key === '' || key.length > MAX_KEY_CHARS ? `${name} must have 1 to ${MAX_KEY_CHARS} characters, not ${key.length}` : null;
}

function measureValue(value: unknown): Measured {
	if (!isObject(value)) return { chars: 0, fault: 'the value must be a JSON object' };
	const { chars, fault } = measureJson(value, MAX_VALUE_CHARS);
	if (fault !== null) return { chars, fault: `the value must be a JSON object: ${fault}` };
	return { chars, fault: chars > MAX_VALUE_CHARS ? `the value must have at most ${MAX_VALUE_CHARS} characters of JSON` : null };
}

function optionsFault({ ttlMs, audited, ...others }: PutOptions | UpdateOptions): string | null {
	const { tags } = others as PutOptions;
	if (tags !== undefined && (!Array.isArray(tags) || tags.length > MAX_TAGS)) return `tags must be a list of at most ${MAX_TAGS} strings`;
	const fault = tags?.map((tag) => keyFault('each tag', tag)).find((one) => one !== null);
	if (fault) return fault;
	if (audited !== undefined && audited !== false && !isNamed(audited)) return 'audited must have a type and a name';
	return ttlMs === undefined ? null : ttlFault(ttlMs);
}

const isNamed = (audited: unknown): boolean =>
	audited === true || (isObject(audited) && typeof audited['type'] === 'string' && typeof audited['name'] === 'string');

const ttlFault = (ttlMs: unknown): string | null => (Number.isFinite(ttlMs) ? null : 'ttlMs must be a finite number');

/** Checks what goes into short-lived values. @param plugin `kind:name`. @throws PluginFault naming the argument, from each function */
export function checkedValues(plugin: string, values: KeyValue): KeyValue {
	const checkPut = (method: string, key: string, value: string, ttlMs: number): void => {
		const fault = keyFault('the key', key) ?? textFault(value) ?? ttlFault(ttlMs);
		if (fault !== null) throw new PluginFault(plugin, `kv.${method}: ${fault}.`);
	};
	return {
		async get(key) {
			checkName(plugin, 'kv.get', key);
			return values.get(key);
		},
		async put(key, value, ttlMs) {
			checkPut('put', key, value, ttlMs);
			return values.put(key, value, whole(ttlMs));
		},
		async putIfAbsent(key, value, ttlMs) {
			checkPut('putIfAbsent', key, value, ttlMs);
			return values.putIfAbsent(key, value, whole(ttlMs));
		},
		async drop(key) {
			checkName(plugin, 'kv.drop', key);
			return values.drop(key);
		},
	};
}

function textFault(value: unknown): string | null {
	if (typeof value !== 'string') return `the value must be a string, not a value of type ${typeof value}`;
	return value.length > MAX_VALUE_CHARS ? `the value must have at most ${MAX_VALUE_CHARS} characters` : null;
}

/** Redis takes whole milliseconds, of which there must be one. */
const whole = (ttlMs: number): number => Math.max(1, Math.ceil(ttlMs));
