// Describes a plugin for GET /plugins and the OpenAPI document.

import type { Kind, Plugin } from '../contract/kinds.ts';
import type { JsonSchema } from '../contract/nouns.ts';
import { KINDS } from './kinds.ts';
import type { PackageInfo } from './packages.ts';
import { configSchema } from './write-only.ts';

export interface PluginDescription {
	kind: Kind;
	name: string;
	summary: string;
	spec: string | null;
	/** Whether a client may name it as `type`. */
	creatable: boolean;
	/** The version of the plugin contract that it declares. */
	api: number | null;
	/** The package that it came with; null for a folder of the service itself. */
	package: PackageInfo | null;
	config: JsonSchema;
	/** The schema of what an operator configures, in GATEWAY_PLUGINS_CONFIG; null if there is nothing. A feature's is its `config`. */
	operator: JsonSchema | null;
}

export const describePlugin = (plugin: Plugin, from: PackageInfo | null): PluginDescription => ({
	kind: plugin.kind,
	name: plugin.name,
	summary: plugin.summary,
	spec: plugin.spec ?? null,
	creatable: isCreatable(plugin),
	api: plugin.api ?? null,
	package: from && { name: from.name, version: from.version },
	config: configSchema(plugin.config),
	operator: plugin.kind !== 'feature' && plugin.operator ? configSchema(plugin.operator) : null,
});

function isCreatable(plugin: Plugin): boolean {
	const { creatable } = KINDS[plugin.kind];
	return creatable === 'declared' ? 'creatable' in plugin && plugin.creatable === true : creatable;
}

/** Standard Schema's JSON Schema interface, which Joi 18 implements but does not declare. */
export interface JsonSchemaSource {
	jsonSchema: { input(options: { target: 'draft-2020-12' }): JsonSchema };
}
