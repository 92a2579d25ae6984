// The operator's configuration of plugins: parsed by the schema of each at the start, completed by its defaults, and frozen.

import type { ObjectSchema } from 'joi';
import { faulty, type PluginsConfig } from '../config/plugins-config.ts';
import type { Plugin } from '../contract/kinds.ts';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { withoutSecrets } from '../kit/hidden-secrets.ts';
import { detailsOf, SENTENCES } from '../kit/input-faults.ts';
import { deepFreeze } from '../kit/json.ts';

/** The configuration of a plugin that takes none. */
export const NO_OPERATOR: Readonly<JsonObject> = Object.freeze({});

/** The schema of what an operator configures: a feature's own config, another plugin's `operator`. */
export const operatorSchema = (plugin: Plugin): ObjectSchema | undefined => (plugin.kind === 'feature' ? plugin.config : plugin.operator);

/**
 * Parses the configuration of every plugin. @param given null without a file
 * @throws Error listing every fault with the file, `kind:name` and the field; without the values
 */
export function parseOperatorConfigs(plugins: ReadonlyMap<string, Plugin>, given: PluginsConfig | null): Map<string, unknown> {
	const faults = [...(given?.entries.keys() ?? [])].flatMap((id) => misplaced(id, plugins.get(id)));
	const parsed = new Map<string, unknown>();
	for (const [id, plugin] of plugins) {
		const schema = operatorSchema(plugin);
		if (!schema) continue;
		// Texts are converted, since a variable of the environment is always one.
		const options = { abortEarly: false, convert: true, messages: SENTENCES };
		const config = given?.entries.get(id) ?? {};
		const { value, error } = schema.validate(config, options);
		if (error) faults.push(...detailsOf(error.details).map(({ path, message }) => `${id}: ${path}: ${withoutValues(message, config)}.`));
		else parsed.set(id, deepFreeze(value));
	}
	if (faults.length === 0) return parsed;
	throw given
		? faulty(given.file, faults)
		: new Error(`GATEWAY_PLUGINS_CONFIG is not set:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
}

function misplaced(id: string, plugin: Plugin | undefined): string[] {
	if (!plugin) return [`${id}: no plugin of this kind and name is loaded.`];
	return operatorSchema(plugin) ? [] : [`${id}: the plugin takes no configuration of the operator.`];
}

/** Shorter texts occur in ordinary messages. */
const MIN_HIDDEN_CHARS = 4;

/** Hides the texts of a config in a message, which a plugin may have written itself. */
const withoutValues = (message: string, config: Json): string => withoutSecrets(message, textsIn(config));

function textsIn(value: Json): string[] {
	if (typeof value === 'string') return value.length < MIN_HIDDEN_CHARS ? [] : [value];
	return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsIn) : [];
}
