// The configs of stored rows: brought to the version of their plugin, opened, and checked. One that no longer fits is no fault of whoever
// calls: it was checked when it was stored, by a former version of the plugin.

import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Kind, Plugin } from '../contract/kinds.ts';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { deepFreeze, isObject } from '../kit/json.ts';
import { pointerToken } from '../kit/json-pointer.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { NamedSecretLocation, Registry } from './registry.ts';

/** The config of a row, its secret fields sealed. */
export interface StoredConfig {
	kind: Kind;
	/** The name of the plugin. */
	name: string;
	config: JsonObject;
	/** The version of the plugin's config with which the row was written. */
	version: number;
}

/** A config that its plugin cannot use. The message names the row for anybody, `fault` for the log: plugin, row and fields, no values. */
export class UnfitConfig extends GatewayError {
	readonly fault: string;

	constructor(of: string, fault: string) {
		super('internal', `The configuration of ${of} no longer fits: its owner has to enter it again.`, { cause: new Error(fault) });
		this.fault = fault;
	}
}

/** Faults that a log line tells of one config. */
const MAX_FAULTS = 5;

const versionOf = (plugin: Plugin | null): number => (plugin?.kind === 'feature' ? 1 : (plugin?.version ?? 1));

/** Returns the version that a row of this plugin is written with. */
export const configVersion = (registry: Registry, kind: Kind, name: string): number => versionOf(registry.get(kind, name));

type ConfigOwner = Pick<NamedSecretLocation, 'of' | 'table' | 'row'>;

/** Returns the config in the version of its plugin, still sealed. @throws UnfitConfig */
function upgraded(registry: Registry, stored: StoredConfig, place: ConfigOwner): JsonObject {
	const { kind, name, config, version: from } = stored;
	const plugin = registry.get(kind, name);
	const version = versionOf(plugin);
	if (from > version) throw unfit(stored, place, `it was written for version ${from} of the plugin’s config, which has version ${version}`);
	if (from === version || !plugin || plugin.kind === 'feature' || !plugin.upgrade) return config;
	try {
		const made: unknown = plugin.upgrade(structuredClone(config), from);
		// Its rejection is not waited for either.
		if (made instanceof Promise) made.catch(() => undefined);
		if (!isObject(made) || made instanceof Promise) throw new TypeError('it returned no object');
		// Members that JSON does not know are left out.
		return JSON.parse(JSON.stringify(made)) as JsonObject;
	} catch (cause) {
		// The plugin's own message may repeat a value.
		const reason = cause instanceof Error ? cause.name : 'no error';
		throw unfit(stored, place, `upgrade from version ${from} to ${version} failed (${reason})`);
	}
}

/** Returns a config as its plugin gets it: in its version, opened, completed. @throws UnfitConfig, secret_unreadable */
export function loadConfig(registry: Registry, stored: StoredConfig, secrets: Secrets, location: NamedSecretLocation): JsonObject {
	const { kind, name } = stored;
	return deepFreeze(
		fitting(registry, stored, registry.open(kind, name, upgraded(registry, stored, location), secrets, location), location),
	);
}

/** Does what `loadConfig` does, with `mask` for each secret. @throws UnfitConfig */
export function loadMaskedConfig(registry: Registry, stored: StoredConfig, mask: string, location: NamedSecretLocation): JsonObject {
	const { kind, name } = stored;
	const config = upgraded(registry, stored, location);
	try {
		return registry.mask(kind, name, config, { mask, at: '' });
	} catch (thrown) {
		const details = asGatewayError(thrown)?.details ?? [];
		throw unfit(stored, location, details.map(({ path }) => path).join(', '));
	}
}

function fitting(registry: Registry, stored: StoredConfig, config: JsonObject, place: ConfigOwner): JsonObject {
	const { value, error } = registry.get(stored.kind, stored.name)?.config.validate(config, { abortEarly: false, convert: false }) ?? {};
	if (!error) return (value ?? config) as JsonObject;
	const faults = error.details
		.slice(0, MAX_FAULTS)
		.map(({ path, type }) => `/${path.map((step) => pointerToken(String(step))).join('/')} (${type})`);
	throw unfit(stored, place, faults.join(', '));
}

const unfit = ({ kind, name }: StoredConfig, { of, table, row }: ConfigOwner, fault: string): UnfitConfig =>
	new UnfitConfig(of, `${kind}:${name} cannot use the config of ${table} ${row}: ${fault}`);

/** Returns the config in the version of its plugin, still sealed, for a change of the row; one that cannot be upgraded as it is. */
export function currentConfig(registry: Registry, stored: StoredConfig): JsonObject {
	try {
		return upgraded(registry, stored, NOWHERE);
	} catch {
		return stored.config;
	}
}

/** Returns the config for an answer, without secrets; also one that does not fit, in which no field is known to be secret. */
export function shownConfig(registry: Registry, stored: StoredConfig, secrets: Secrets): JsonObject {
	const { kind, name, version } = stored;
	const shown = registry.redact(kind, name, currentConfig(registry, stored));
	const isKnown = registry.get(kind, name) !== null && version === configVersion(registry, kind, name);
	return isKnown ? shown : (withoutSealed(shown, secrets) as JsonObject);
}

function withoutSealed(value: Json, secrets: Secrets): Json {
	if (Array.isArray(value)) return value.filter((item) => !secrets.isSealed(item)).map((item) => withoutSealed(item, secrets));
	if (!isObject(value)) return value;
	const members = Object.entries(value).filter(([, member]) => !secrets.isSealed(member));
	return Object.fromEntries(members.map(([key, member]) => [key, withoutSealed(member, secrets)]));
}

/** A message that nobody reads. */
const NOWHERE: ConfigOwner = { of: '', table: 'tools', row: '' };
