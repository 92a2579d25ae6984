// Holds every plugin under its kind and name, and answers for their configs: parse, seal, describe.

import type { Description, ObjectSchema } from 'joi';
import type { JsonObject, JsonSchema, Kind, Plugin, PluginOf } from './contracts.ts';
import { type ErrorDetail, GatewayError } from './errors.ts';
import type { Place, Secrets } from './secrets.ts';

/** What each kind must bring besides `name`, `summary` and `config`. */
const KINDS = {
	auth: ['authenticate'],
	transport: ['routes'],
	importer: ['detect', 'parse', 'tool'],
	executor: ['execute'],
	feature: ['register'],
} as const satisfies Record<Kind, readonly string[]>;

const NAME = /^[a-z][a-z0-9_]{0,31}$/;

export interface PluginDescription {
	kind: Kind;
	name: string;
	summary: string;
	spec: string | null;
	/** What of it a client may name as `type`. */
	creatable: boolean;
	config: JsonSchema;
}

export class Registry {
	readonly #plugins = new Map<string, { plugin: Plugin; source: string | null }>();

	/**
	 * @param source URL of the module, from which a worker can import it again
	 * @throws Error naming the plugin: an unknown kind, a bad name, a duplicate, a missing part
	 */
	add(candidate: unknown, source: string | null = null): void {
		const plugin = checkPlugin(candidate);
		const id = `${plugin.kind}:${plugin.name}`;
		if (this.#plugins.has(id)) throw new Error(`${id}: there are two plugins of this kind and name.`);
		this.#plugins.set(id, { plugin, source });
	}

	get<K extends Kind>(kind: K, name: string): PluginOf<K> | null {
		// The key holds the kind, so what is found under it is of that kind.
		return (this.#plugins.get(`${kind}:${name}`)?.plugin as PluginOf<K> | undefined) ?? null;
	}

	list<K extends Kind>(kind: K): PluginOf<K>[] {
		return [...this.#plugins.values()].map(({ plugin }) => plugin).filter((plugin): plugin is PluginOf<K> => plugin.kind === kind);
	}

	source(kind: Kind, name: string): string | null {
		return this.#plugins.get(`${kind}:${name}`)?.source ?? null;
	}

	/**
	 * A config as the plugin's schema completes it. @throws validation_failed naming fields under `at`, or the type
	 * @param at JSON pointer of the config in the request's body
	 */
	parse(kind: Kind, name: string, config: unknown, at: string): JsonObject {
		const plugin = this.get(kind, name);
		if (!plugin) throw unknownType(kind, this.#names(kind));
		const { value, error } = plugin.config.validate(config, { abortEarly: false, convert: false });
		if (!error) return value as JsonObject;
		const details: ErrorDetail[] = error.details.map((detail) => ({
			path: [at, ...detail.path.map(String)].join('/'),
			message: detail.message,
		}));
		throw new GatewayError('validation_failed', details[0]?.message ?? 'Invalid configuration.', { details, cause: error });
	}

	/** The config with its secret fields sealed, for the row. */
	seal(kind: Kind, name: string, config: JsonObject, secrets: Secrets, place: Place): JsonObject {
		return this.#mapSecrets(kind, name, config, (value) => secrets.seal(value, place));
	}

	/** The config with its secret fields opened, for the plugin. */
	open(kind: Kind, name: string, config: JsonObject, secrets: Secrets, place: Place): JsonObject {
		return this.#mapSecrets(kind, name, config, (value) => (secrets.isSealed(value) ? secrets.open(value, place) : value));
	}

	/** The config without its secret fields, for an answer. */
	redact(kind: Kind, name: string, config: JsonObject): JsonObject {
		return this.#mapSecrets(kind, name, config, () => null);
	}

	describe(): PluginDescription[] {
		return [...this.#plugins.values()].map(({ plugin }) => ({
			kind: plugin.kind,
			name: plugin.name,
			summary: plugin.summary,
			spec: plugin.spec ?? null,
			creatable: plugin.kind === 'executor' ? plugin.creatable === true : plugin.kind !== 'feature',
			config: configSchema(plugin.config),
		}));
	}

	#names(kind: Kind): string[] {
		return this.list(kind).map(({ name }) => name);
	}

	#mapSecrets(kind: Kind, name: string, config: JsonObject, map: (value: string) => string | null): JsonObject {
		const paths = secretPaths(this.get(kind, name)?.config.describe());
		if (paths.length === 0) return config;
		const copy = structuredClone(config);
		for (const path of paths) mapAt(copy, path, map);
		return copy;
	}
}

function checkPlugin(candidate: unknown): Plugin {
	if (candidate === null || typeof candidate !== 'object') throw new Error('A plugin must be an object.');
	const plugin = candidate as Record<string, unknown>;
	const id = `${String(plugin['kind'])}:${String(plugin['name'])}`;
	const kind = plugin['kind'];
	if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind))
		throw new Error(`${id}: kind must be one of ${Object.keys(KINDS).join(', ')}.`);
	if (typeof plugin['name'] !== 'string' || !NAME.test(plugin['name'])) throw new Error(`${id}: name must match ${NAME}.`);
	if (typeof plugin['summary'] !== 'string' || plugin['summary'].length === 0) throw new Error(`${id}: summary must be a sentence.`);
	if (!isJoiObject(plugin['config'])) throw new Error(`${id}: config must be a Joi 18 object schema.`);
	for (const part of KINDS[kind as Kind]) {
		const ok = part === 'routes' ? Array.isArray(plugin[part]) : typeof plugin[part] === 'function';
		if (!ok) throw new Error(`${id}: ${part} is missing.`);
	}
	// Every part that its kind asks for was found above.
	return candidate as Plugin;
}

/** By behaviour: an outside package brings its own copy of Joi, 18 or later (the first that writes JSON Schema). */
function isJoiObject(value: unknown): value is ObjectSchema {
	const schema = value as Partial<ObjectSchema> | null | undefined;
	const source = schema?.['~standard'] as Partial<JsonSchemaSource> | undefined;
	return schema?.type === 'object' && typeof schema.describe === 'function' && typeof source?.jsonSchema?.input === 'function';
}

/** Standard Schema's JSON Schema interface, which Joi 18 implements but does not declare. */
interface JsonSchemaSource {
	jsonSchema: { input(options: { target: 'draft-2020-12' }): JsonSchema };
}

/** @throws validation_failed naming what there is */
export function unknownType(kind: Kind, names: string[]): GatewayError {
	const message = `type must be one of ${names.join(', ') || `none (no ${kind} plugin is loaded)`}.`;
	return new GatewayError('validation_failed', message, { details: [{ path: '/type', message }] });
}

function configSchema(schema: ObjectSchema): JsonSchema {
	// `add` checked that it is there.
	const source = schema['~standard'] as unknown as JsonSchemaSource;
	return source.jsonSchema.input({ target: 'draft-2020-12' });
}

/** Paths of the fields marked `.meta({ secret: true })`. */
function secretPaths(description: Description | undefined, at: string[] = []): string[][] {
	if (!description) return [];
	const marked = (description.metas as { secret?: boolean }[] | undefined)?.some(({ secret }) => secret === true);
	if (marked) return [at];
	const keys = (description['keys'] ?? {}) as Record<string, Description>;
	return Object.entries(keys).flatMap(([key, child]) => secretPaths(child, [...at, key]));
}

function mapAt(target: JsonObject, path: string[], map: (value: string) => string | null): void {
	const [key, ...rest] = path;
	if (key === undefined || !Object.hasOwn(target, key)) return;
	const value = target[key];
	if (rest.length > 0) {
		if (value !== null && typeof value === 'object' && !Array.isArray(value)) mapAt(value, rest, map);
		return;
	}
	if (typeof value !== 'string') return;
	const mapped = map(value);
	if (mapped === null) delete target[key];
	else target[key] = mapped;
}
