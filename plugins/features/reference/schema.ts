// Converts Joi to JSON Schema 2020-12 as OpenAPI 3.1 uses it. Joi's own writer makes the keywords; what it leaves out (examples, names,
// null beside values, exclusive keys) is added by walking the schema's terms beside its result. `describe()` holds the same, but Joi
// validates its output at every level, which takes longer than all the rest.

import type { Schema } from 'joi';
import { isObject, type Json, type JsonObject, type JsonSchema, jsonSchemaOf } from '../../../core/features.ts';
import { tidy } from './tidy.ts';

/** The marks that a schema may carry in its meta: `.meta({ schema: 'Gateway' })`. */
interface Marks {
	/** The name of a component, which is referred to wherever the schema occurs. */
	schema?: string;
	/** A kind, whose plugins' names are the values. */
	plugin?: string;
	/** A kind; the value is the configuration of one of its plugins. */
	pluginConfig?: string;
}

export interface SchemaWriter {
	/** Writes a schema, with references to the named components. */
	write(schema: Schema): JsonSchema;
	/** The components that were referred to so far, by name. */
	components: Record<string, JsonSchema>;
}

export interface PluginNames {
	/** Lists the names that a client may give as type. */
	names(kind: string): string[];
	/** Lists the names of the components of the plugins' configurations. */
	configs(kind: string): string[];
}

export function createSchemaWriter(plugins: PluginNames): SchemaWriter {
	const components: Record<string, JsonSchema> = {};
	const refer = (name: string, schema: JsonSchema): JsonSchema => {
		const known = components[name];
		if (known && JSON.stringify(known) !== JSON.stringify(schema)) throw new Error(`Two different schemas are called ${name}.`);
		components[name] = schema;
		return { $ref: `#/components/schemas/${name}` };
	};

	const annotate = (written: JsonSchema, schema: Schema): JsonSchema => {
		const marks = marksOf(schema);
		// Examples, names and conditions of a secret would tell of its values.
		if (written.writeOnly === true) return written;
		const whole = conditions(withExamples(written, schema), schema);
		const inner = descend(whole, schema);
		const told = withPlugins(inner, marks, plugins);
		if (marks.schema === undefined) return told;
		const isNullable = Array.isArray(told.type) && told.type.includes('null');
		if (!isNullable) return refer(marks.schema, told);
		return { anyOf: [refer(marks.schema, withoutNull(told)), { type: 'null' }] };
	};

	const descend = (written: JsonSchema, schema: Schema): JsonSchema => {
		const copy: JsonSchema = { ...written };
		const { keys, items, matches } = termsOf(schema);
		if (isObject(copy.properties)) {
			const schemas = new Map(keys?.map(({ key, schema: value }) => [key, value]));
			copy.properties = mapValues(copy.properties, (property, name) => {
				const value = schemas.get(name);
				return value ? annotate(property, value) : property;
			});
		}
		if (items?.[0] && isObject(copy.items)) copy.items = annotate(copy.items, items[0]);
		if (Array.isArray(copy.anyOf) && matches?.length === copy.anyOf.length) {
			copy.anyOf = copy.anyOf.map((option, at) => {
				const match = matches[at]?.schema;
				return isObject(option) && match ? annotate(option, match) : option;
			});
		}
		return copy;
	};

	return { write: (schema) => tidy(annotate(jsonSchemaOf(schema), schema)), components };
}

/** The members that Joi keeps of a schema beside its flags and rules. */
interface Terms {
	metas?: Marks[] | null;
	examples?: Json[] | null;
	keys?: { key: string; schema: Schema }[] | null;
	items?: Schema[];
	matches?: { schema?: Schema }[];
	dependencies?: { describe(): Dependency }[] | null;
}

const termsOf = (schema: Schema): Terms => schema.$_terms;

function mapValues(values: JsonObject, map: (value: JsonObject, name: string) => JsonObject): JsonObject {
	return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, isObject(value) ? map(value, name) : value]));
}

const marksOf = (schema: Schema): Marks => Object.assign({}, ...(termsOf(schema).metas ?? []));

/** Adds examples, and null among the allowed values. */
function withExamples(written: JsonSchema, schema: Schema): JsonSchema {
	const copy: JsonSchema = { ...written };
	const { examples } = termsOf(schema);
	if (examples && examples.length > 0) copy.examples = examples;
	if (Array.isArray(copy.enum) && !copy.enum.includes(null) && !schema.validate(null).error) copy.enum = [...copy.enum, null];
	return copy;
}

interface Dependency {
	rel: string;
	peers: string[];
	key?: string;
}

/** Requires the names and repeats their schemas: readers evaluate each part separately, and a misspelt name would go unnoticed. */
const required = (names: string[], properties: JsonObject): JsonObject => ({
	type: 'object',
	properties: Object.fromEntries(names.map((name) => [name, wordless(properties[name])])),
	required: names,
});

function wordless(schema: Json | undefined): JsonObject {
	if (!isObject(schema)) return {};
	const { description, default: _default, examples, ...rest } = schema;
	return rest;
}

const RELATIONS: Record<string, (dependency: Dependency, properties: JsonObject) => JsonObject> = {
	or: ({ peers }, properties) => ({ anyOf: peers.map((peer) => required([peer], properties)) }),
	xor: ({ peers }, properties) => ({ oneOf: peers.map((peer) => required([peer], properties)) }),
	// The two must not occur together, whatever their values.
	without: ({ key = '', peers }) => ({ not: { anyOf: peers.map((peer) => required([key, peer], {})) } }),
	with: ({ key = '', peers }) => ({ dependentRequired: { [key]: peers } }),
	nand: ({ peers }) => ({ not: required(peers, {}) }),
	oxor: ({ peers }) => ({ not: { anyOf: pairs(peers).map((pair) => required(pair, {})) } }),
};

const pairs = (names: string[]): string[][] => names.flatMap((name, at) => names.slice(at + 1).map((other) => [name, other]));

function conditions(written: JsonSchema, schema: Schema): JsonSchema {
	const dependencies = (termsOf(schema).dependencies ?? []).map((dependency) => dependency.describe());
	const properties = isObject(written.properties) ? written.properties : {};
	const parts = dependencies.map((dependency) => RELATIONS[dependency.rel]?.(dependency, properties)).filter(isObject);
	const least = schema.$_getRule('min')?.args?.['limit'];
	const counted = schema.type === 'object' && least !== undefined ? { minProperties: least } : {};
	return { ...written, ...counted, ...(parts.length > 0 && { allOf: parts }) };
}

function withPlugins(schema: JsonSchema, { plugin, pluginConfig }: Marks, plugins: PluginNames): JsonSchema {
	if (plugin !== undefined) return { ...schema, enum: plugins.names(plugin) };
	if (pluginConfig === undefined) return schema;
	const configs = plugins.configs(pluginConfig);
	return configs.length === 0 ? schema : { ...schema, anyOf: configs.map((name) => ({ $ref: `#/components/schemas/${name}` })) };
}

function withoutNull(schema: JsonSchema): JsonSchema {
	const types = (schema.type as string[]).filter((type) => type !== 'null');
	const copy: JsonSchema = { ...schema, type: types.length === 1 ? (types[0] ?? 'object') : types };
	if (Array.isArray(copy.enum)) copy.enum = copy.enum.filter((value) => value !== null);
	return copy;
}
