// Describes a plugin for GET /plugins and the OpenAPI document.

import type { ObjectSchema } from 'joi';
import type { Kind, Plugin } from '../contract/kinds.ts';
import type { JsonSchema } from '../contract/nouns.ts';

export interface PluginDescription {
	kind: Kind;
	name: string;
	summary: string;
	spec: string | null;
	/** Whether a client may name it as `type`. */
	creatable: boolean;
	config: JsonSchema;
}

export const describePlugin = (plugin: Plugin): PluginDescription => ({
	kind: plugin.kind,
	name: plugin.name,
	summary: plugin.summary,
	spec: plugin.spec ?? null,
	creatable: plugin.kind === 'executor' ? plugin.creatable === true : plugin.kind !== 'feature',
	config: configSchema(plugin.config),
});

/** Standard Schema's JSON Schema interface, which Joi 18 implements but does not declare. */
export interface JsonSchemaSource {
	jsonSchema: { input(options: { target: 'draft-2020-12' }): JsonSchema };
}

function configSchema(schema: ObjectSchema): JsonSchema {
	// `add` checked that the interface exists.
	const source = schema['~standard'] as unknown as JsonSchemaSource;
	return source.jsonSchema.input({ target: 'draft-2020-12' });
}
