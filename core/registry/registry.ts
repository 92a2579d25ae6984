// Holds every plugin under its kind and name, and handles their configs: parse, seal, describe.

import type { ObjectSchema, ValidationErrorItem } from 'joi';
import type { PluginsConfig } from '../config/plugins-config.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Kind, Plugin, PluginOf } from '../contract/kinds.ts';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { detailsOf, SENTENCES, validateInput } from '../kit/input-faults.ts';
import { isObject } from '../kit/json.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import { describePlugin, type PluginDescription } from './describe.ts';
import { checkPlugin, marksOf } from './manifest.ts';
import { NO_OPERATOR, parseOperatorConfigs } from './operator-config.ts';
import { type Origin, THIS_PROCESS } from './packages.ts';
import { secretPlaces } from './secret-marks.ts';
import type { SecretPlace } from './secret-places.ts';
import { restoreSecrets } from './secret-restore.ts';
import { type Change, type FoundSecret, HIDDEN, isBlank, mapSecrets } from './secret-walk.ts';

interface Registered {
	plugin: Plugin;
	origin: Origin;
	/** Returns the places of its config's secrets and destinations, which are found when they are first asked for. */
	places(): SecretPlace;
}

export class Registry {
	readonly #plugins = new Map<string, Registered>();
	#descriptions: PluginDescription[] | null = null;
	#operators: ReadonlyMap<string, unknown> = new Map();

	/**
	 * Adds a plugin. @param source URL of the module, from which a worker can import it again
	 * @throws Error with a line for each fault, which names the plugin and the member of its manifest; also for a duplicate, naming both
	 */
	add(candidate: unknown, source: string | null = null, from: Omit<Origin, 'source'> = THIS_PROCESS): void {
		const plugin = checkPlugin(candidate);
		const id = `${plugin.kind}:${plugin.name}`;
		const other = this.#plugins.get(id)?.origin.title;
		if (other !== undefined) throw new Error(`${id}: there are two plugins of this kind and name, of ${other} and of ${from.title}.`);
		this.#checkManagement(plugin, id);
		const origin = { source, title: from.title, package: from.package };
		const registered = withPlaces(plugin, id, origin);
		// To describe a schema takes milliseconds. For the folders of this project its tests do it, and not each start.
		if (source === null || from.package !== null) registered.places();
		this.#plugins.set(id, registered);
		this.#descriptions = null;
	}

	get<K extends Kind>(kind: K, name: string): PluginOf<K> | null {
		// The key holds the kind, so what is found under it is of that kind.
		return (this.#plugins.get(`${kind}:${name}`)?.plugin as PluginOf<K> | undefined) ?? null;
	}

	list<K extends Kind>(kind: K): PluginOf<K>[] {
		return [...this.#plugins.values()].map(({ plugin }) => plugin).filter((plugin): plugin is PluginOf<K> => plugin.kind === kind);
	}

	source(kind: Kind, name: string): string | null {
		return this.origin(kind, name).source;
	}

	/** Returns the origin of a plugin. */
	origin(kind: Kind, name: string): Origin {
		return this.#plugins.get(`${kind}:${name}`)?.origin ?? { ...THIS_PROCESS, source: null };
	}

	/** Returns the title of the origin of `kind:name`. */
	titleOf(id: string): string {
		return this.#plugins.get(id)?.origin.title ?? THIS_PROCESS.title;
	}

	/** Returns every plugin, `kind:name`, with the URL of its module. */
	sources(): { plugin: string; source: string | null }[] {
		return [...this.#plugins].map(([plugin, { origin }]) => ({ plugin, source: origin.source }));
	}

	/** Takes the operator's configuration of the plugins. @param given null without a file. @throws Error listing every fault */
	configure(given: PluginsConfig | null): void {
		const plugins = [...this.#plugins].map(([id, { plugin }]) => [id, plugin] as const);
		this.#operators = parseOperatorConfigs(new Map(plugins), given);
	}

	/** Returns the operator's configuration of a plugin. @param id `kind:name` */
	operator(id: string): unknown {
		return this.#operators.get(id) ?? NO_OPERATOR;
	}

	/**
	 * Returns a config completed by the plugin's schema. @throws validation_failed naming fields under `at`, or the type
	 * @param at JSON pointer of the config in the request's body
	 */
	parse(kind: Kind, name: string, config: unknown, at: string): JsonObject {
		const found = this.#plugins.get(`${kind}:${name}`);
		if (!found) throw unknownType(kind, this.#names(kind));
		return parseConfig(found.plugin.config, config, at, { places: found.places() });
	}

	/** Whether a plugin marks any secret. */
	hasSecrets(kind: Kind, name: string): boolean {
		return this.#plugins.get(`${kind}:${name}`)?.places().hasSecret === true;
	}

	/** Returns the path of the first secret that a config holds, sealed or not; null if it holds none. */
	secretIn(kind: Kind, name: string, config: JsonObject): string[] | null {
		let found: string[] | null = null;
		this.#mapSecrets(kind, name, config, ({ value, path }) => {
			if (!isBlank(value)) found ??= path;
			return value;
		});
		return found;
	}

	/** Returns the config with its secrets sealed, for the row. */
	seal(kind: Kind, name: string, config: JsonObject, secrets: Secrets, location: SecretLocation): JsonObject {
		return this.#mapSecrets(kind, name, config, ({ value }) => secrets.sealJson(value, location));
	}

	/** Seals secrets that were stored before their field was marked as secret; returns the same config if there are none. */
	sealRest(kind: Kind, name: string, config: JsonObject, secrets: Secrets, location: SecretLocation): JsonObject {
		return this.#mapSecrets(kind, name, config, ({ value }) => (secrets.isSealed(value) ? value : secrets.sealJson(value, location)));
	}

	/** Returns the config with its secrets opened, for the plugin. @throws secret_unreadable naming the field and the owner */
	open(kind: Kind, name: string, config: JsonObject, secrets: Secrets, location: NamedSecretLocation): JsonObject {
		return this.#mapSecrets(kind, name, config, (secret) => opened(secret, secrets, location));
	}

	/**
	 * Replaces each `••••` of a given config with the row's own secret, opened: clients send back what they were shown.
	 * @param at JSON pointer of the config in the request's body
	 * @throws validation_failed if nothing is stored under that name, or for another destination or item; secret_unreadable as `open`
	 */
	restore(kind: Kind, name: string, given: JsonObject, { stored, at, secrets, location }: Restoring): JsonObject {
		const places = this.#plugins.get(`${kind}:${name}`)?.places();
		if (!places) return given;
		return restoreSecrets(places, given, { stored, at, open: (secret) => opened(secret, secrets, location) });
	}

	/** Returns the config without its secrets, for an answer; those in lists and maps become `••••`. */
	redact(kind: Kind, name: string, config: JsonObject): JsonObject {
		return this.#mapSecrets(kind, name, config, ({ loose }) => (loose.length > 0 ? HIDDEN : undefined));
	}

	/**
	 * Returns the config completed by the plugin's schema, with `mask` in place of its secrets, and opens none: for a dry run.
	 * @throws validation_failed as `parse`, but not for what the mask makes wrong
	 */
	mask(kind: Kind, name: string, config: JsonObject, { mask, at }: { mask: string; at: string }): JsonObject {
		const masked: string[][] = [];
		const whole = this.#mapSecrets(kind, name, config, (secret) => {
			masked.push(secret.path);
			return maskFor(secret, mask);
		});
		const found = this.#plugins.get(`${kind}:${name}`);
		if (!found) throw unknownType(kind, this.#names(kind));
		const isExpected = ({ path, context }: Fault): boolean =>
			masked.some((one) => isAtOrAround(one, path)) || JSON.stringify(context?.value ?? null).includes(mask);
		return parseConfig(found.plugin.config, whole, at, { places: found.places(), isExpected });
	}

	/** Returns the same list until a plugin is added: converting a config to JSON Schema takes milliseconds. */
	describe(): PluginDescription[] {
		this.#descriptions ??= [...this.#plugins.values()].map(({ plugin, origin }) => describePlugin(plugin, origin.package));
		return this.#descriptions;
	}

	/** Checks that no other route has the ids and places of a plugin's management routes. @throws Error naming the plugin and the route */
	#checkManagement(plugin: Plugin, id: string): void {
		if (plugin.kind !== 'auth') return;
		const taken = new Map<string, string>(
			this.list('auth').flatMap(({ name, management = [] }) => management.flatMap(marksOf).map((mark) => [mark, `auth:${name}`] as const)),
		);
		for (const [at, route] of (plugin.management ?? []).entries())
			for (const mark of marksOf(route)) {
				const owner = taken.get(mark);
				if (owner !== undefined) throw new Error(`${id}: management[${at}]: there are two of ${mark}; the other is of ${owner}.`);
				taken.set(mark, id);
			}
	}

	#names(kind: Kind): string[] {
		return this.list(kind).map(({ name }) => name);
	}

	#mapSecrets(kind: Kind, name: string, config: JsonObject, change: Change): JsonObject {
		const places = this.#plugins.get(`${kind}:${name}`)?.places();
		return places ? mapSecrets(places, config, change) : config;
	}
}

/** The location of a row's secrets, and the name of their owner for messages: `the tool “pets”`. */
export type NamedSecretLocation = SecretLocation & { of: string };

interface Restoring {
	stored: JsonObject;
	at: string;
	secrets: Secrets;
	location: NamedSecretLocation;
}

/** Opens a secret; a value that was never sealed is returned unchanged. @throws secret_unreadable */
const opened = ({ value, path }: Pick<FoundSecret, 'value' | 'path'>, secrets: Secrets, { of, ...location }: NamedSecretLocation): Json =>
	secrets.isSealed(value) ? secrets.openJson(value, location, `The secret "${path.join('.')}" of ${of}`) : value;

/** A fault as Joi tells it. */
type Fault = Pick<ValidationErrorItem, 'type' | 'path' | 'message' | 'context'>;

interface Parsing {
	/** The places of the schema's secrets, if they are known: describing a schema takes milliseconds. */
	places?: SecretPlace;
	/** Tells faults that do not count, in a config that was valid. */
	isExpected?: (fault: Fault) => boolean;
}

/** Validates a config. @throws validation_failed naming fields under `at` */
export function parseConfig(schema: ObjectSchema, config: unknown, at: string, { places, isExpected }: Parsing = {}): JsonObject {
	const options = { convert: false, messages: SENTENCES };
	const { value, error } = isExpected ? schema.validate(config, { ...options, abortEarly: false }) : validateInput(schema, config, options);
	const faults = error?.details.filter((fault) => !isExpected?.(fault)) ?? [];
	if (faults.length === 0) return value as JsonObject;
	const details = detailsOf(withoutValues(faults, places ?? secretPlaces(schema.describe()), config), at);
	// Joi's error is no cause: it holds the config, which may be logged with it.
	throw new GatewayError('validation_failed', details[0]?.message ?? 'Invalid configuration.', { details });
}

/** Replaces messages in which a secret is repeated, or that list a secret's values. */
function withoutValues(faults: Fault[], places: SecretPlace, config: unknown): Fault[] {
	if (!isObject(config)) return faults;
	const found: { path: string[]; texts: string[] }[] = [];
	mapSecrets(places, config, ({ path, value }) => {
		found.push({ path, texts: textsIn(value) });
		return value;
	});
	// A field that was renamed has another path than it was given with.
	const shows = ({ type, path, message, context }: Fault): boolean =>
		found.some(({ texts, ...one }) => {
			const isOfSecret = isAtOrBelow(one.path, path) || texts.includes(String(context?.value));
			return texts.some((text) => message.includes(text)) || (type === 'any.only' && isOfSecret);
		});
	return faults.map((fault) => (shows(fault) ? { ...fault, message: `"${fault.path.join('.')}" is not valid` } : fault));
}

const isAtOrBelow = (path: readonly string[], fault: Fault['path']): boolean => path.every((step, at) => step === String(fault[at]));

/** Texts and numbers of a secret, but for those that occur in any sentence. */
function textsIn(value: Json): string[] {
	if (value !== null && typeof value === 'object') return Object.values(value).flatMap(textsIn);
	const text = String(value);
	return text.length < 3 ? [] : [text];
}

const isAtOrAround = (path: readonly string[], fault: readonly (string | number)[]): boolean =>
	path.slice(0, fault.length).every((step, at) => step === String(fault[at]));

/** The mask of a secret that is an object or a list has the mask in its fields. */
const maskFor = ({ places }: Pick<FoundSecret, 'places'>, mask: string): Json => maskOf(places[0] ?? null, mask);

function maskOf(place: SecretPlace | null, mask: string): Json {
	if (place?.type === 'object') return Object.fromEntries([...place.keys].map(([key, one]) => [key, maskOf(one, mask)]));
	if (place?.type === 'array') return [...(place.ordered.length > 0 ? place.ordered : [place.item])].map((one) => maskOf(one, mask));
	return mask;
}

function withPlaces(plugin: Plugin, id: string, origin: Origin): Registered {
	let places: SecretPlace | null = null;
	return {
		plugin,
		origin,
		places() {
			places ??= placesOf(plugin, id);
			return places;
		},
	};
}

/** Finds the marks of a plugin's config. @throws Error naming the plugin, the field and what was expected */
function placesOf({ kind, config }: Plugin, id: string): SecretPlace {
	try {
		const places = secretPlaces(config.describe());
		const { code } = Object.fromEntries(places.keys);
		if (kind === 'executor' && code?.hasSecret)
			throw new Error('config.code: it is stored beside the config and shown, so it cannot be a secret; use another name.');
		return places;
	} catch (cause) {
		throw new Error(`${id}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
	}
}

/** Builds a validation_failed that lists the known types. */
export function unknownType(kind: Kind, names: string[]): GatewayError {
	const message = `"type" must be one of [${names.join(', ') || `none: no ${kind} plugin is loaded`}]`;
	return new GatewayError('validation_failed', message, { details: [{ path: '/type', message }] });
}
