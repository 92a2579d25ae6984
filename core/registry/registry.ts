// Holds every plugin under its kind and name, and handles their configs: parse, seal, describe.

import type { ObjectSchema } from 'joi';
import { GatewayError, invalid } from '../contract/errors.ts';
import type { Kind, Plugin, PluginOf } from '../contract/kinds.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { detailsOf, SENTENCES } from '../kit/input-faults.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import { describePlugin, type PluginDescription } from './describe.ts';
import { checkPlugin, marksOf } from './manifest.ts';
import { type Origin, THIS_PROCESS } from './packages.ts';
import {
	destinationFields,
	type FoundSecret,
	HIDDEN,
	mapSecrets,
	originIn,
	type SecretField,
	secretFields,
	textAt,
} from './secret-fields.ts';

interface Registered {
	plugin: Plugin;
	origin: Origin;
	/** Secret fields of its config. */
	secrets: SecretField[];
	/** Fields of its config that hold the destination of the secrets. */
	destinations: string[];
}

export class Registry {
	readonly #plugins = new Map<string, Registered>();
	#descriptions: PluginDescription[] | null = null;

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
		const described = plugin.config.describe();
		const origin = { source, title: from.title, package: from.package };
		this.#plugins.set(id, { plugin, origin, secrets: secretFields(described), destinations: destinationFields(described) });
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

	/**
	 * Returns a config completed by the plugin's schema. @throws validation_failed naming fields under `at`, or the type
	 * @param at JSON pointer of the config in the request's body
	 */
	parse(kind: Kind, name: string, config: unknown, at: string): JsonObject {
		const plugin = this.get(kind, name);
		if (!plugin) throw unknownType(kind, this.#names(kind));
		return parseConfig(plugin.config, config, at);
	}

	/** Returns the config with its secret fields sealed, for the row. */
	seal(kind: Kind, name: string, config: JsonObject, secrets: Secrets, location: SecretLocation): JsonObject {
		return this.#mapSecrets(kind, name, config, ({ value }) => secrets.seal(value, location));
	}

	/** Seals secrets that were stored before their field was marked as secret; returns the same config if there are none. */
	sealRest(kind: Kind, name: string, config: JsonObject, secrets: Secrets, location: SecretLocation): JsonObject {
		return this.#mapSecrets(kind, name, config, ({ value }) => (secrets.isSealed(value) ? value : secrets.seal(value, location)));
	}

	/** Returns the config with its secret fields opened, for the plugin. @throws secret_unreadable naming the field and the owner */
	open(kind: Kind, name: string, config: JsonObject, secrets: Secrets, location: NamedSecretLocation): JsonObject {
		return this.#mapSecrets(kind, name, config, (secret) => opened(secret, secrets, location));
	}

	/**
	 * Replaces each `••••` of a given config with the row's own secret, opened: clients send back what they were shown.
	 * @param at JSON pointer of the config in the request's body
	 * @throws validation_failed if nothing is stored under that name, or for another destination; secret_unreadable as `open`
	 */
	restore(kind: Kind, name: string, given: JsonObject, { stored, at, secrets, location }: Restoring): JsonObject {
		const moved = this.#moved(kind, name, stored, given);
		return this.#mapSecrets(kind, name, given, (secret) => {
			if (secret.value !== HIDDEN) return secret.value;
			const value = textAt(stored, secret.path);
			const label = `"${secret.path.join('.')}" is ${HIDDEN}, which stands for the stored value`;
			const pointer = [at, ...secret.path].join('/');
			if (value === null) throw invalid(pointer, `${label}, and none is stored under this name: enter it.`);
			if (moved !== null) throw invalid(pointer, `${label}, and that was entered for ${moved}: enter it again, if it belongs here too.`);
			return opened({ ...secret, value }, secrets, location);
		});
	}

	/** Returns the config without its secret fields, for an answer; secret members of maps become `••••`. */
	redact(kind: Kind, name: string, config: JsonObject): JsonObject {
		return this.#mapSecrets(kind, name, config, ({ isMember }) => (isMember ? HIDDEN : null));
	}

	/** Returns the config with `mask` in place of its secret fields, and opens none: for a dry run. */
	mask(kind: Kind, name: string, config: JsonObject, mask: string): JsonObject {
		return this.#mapSecrets(kind, name, config, () => mask);
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

	#mapSecrets(kind: Kind, name: string, config: JsonObject, change: (secret: FoundSecret) => string | null): JsonObject {
		return mapSecrets(config, this.#plugins.get(`${kind}:${name}`)?.secrets ?? [], change);
	}

	/** Returns the origin to which the stored secrets were sent, if the given config has another one; else null. */
	#moved(kind: Kind, name: string, stored: JsonObject, given: JsonObject): string | null {
		const destinations = this.#plugins.get(`${kind}:${name}`)?.destinations ?? [];
		const field = destinations.find((one) => originIn(textAt(stored, [one])) !== originIn(textAt(given, [one])));
		return field === undefined ? null : (originIn(textAt(stored, [field])) ?? 'another destination');
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
const opened = ({ value, path }: FoundSecret, secrets: Secrets, { of, ...location }: NamedSecretLocation): string =>
	secrets.isSealed(value) ? secrets.open(value, location, `The secret "${path.join('.')}" of ${of}`) : value;

/** Validates a config. @throws validation_failed naming fields under `at` */
export function parseConfig(schema: ObjectSchema, config: unknown, at: string): JsonObject {
	const { value, error } = schema.validate(config, { abortEarly: false, convert: false, messages: SENTENCES });
	if (!error) return value as JsonObject;
	const details = detailsOf(error.details, at);
	throw new GatewayError('validation_failed', details[0]?.message ?? 'Invalid configuration.', { details, cause: error });
}

/** Builds a validation_failed that lists the known types. */
export function unknownType(kind: Kind, names: string[]): GatewayError {
	const message = `type must be one of ${names.join(', ') || `none (no ${kind} plugin is loaded)`}.`;
	return new GatewayError('validation_failed', message, { details: [{ path: '/type', message }] });
}
