// Types → JSON Schema 2020-12 of their canonical JSON (https://protobuf.dev/programming-guides/json/). Messages and long enums
// become definitions.

import { type DescEnum, type DescExtension, type DescField, type DescMessage, type FileRegistry, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence as Presence } from '@bufbuild/protobuf/wkt';
import { cleanText, type JsonObject } from '../../core/index.ts';
import { behaviorsOf, type KnownBehaviors } from './options.ts';

export type Definable = DescMessage | DescEnum;
/** The types that a schema refers to. */
export type References = Set<Definable>;

/** The parts of a description that all its schemas share. */
export interface Types {
	options: FileRegistry;
	comments: ReadonlyMap<string, string>;
	/** Extensions by the full name of the extended message. */
	extensions: ReadonlyMap<string, DescExtension[]>;
	behaviors: KnownBehaviors;
}

/** Whether a schema is of arguments or of answers, which may hold more than is known. */
export type Direction = 'input' | 'output';

const MAX_DESCRIPTION_CHARS = 500;
const MAX_DEFAULT_CHARS = 100;
/** A longer enum is a definition, since inline it would be repeated at each use. */
const MAX_INLINE_VALUES = 20;

const text = (more: JsonObject = {}): JsonObject => ({ type: 'string', ...more });
const int = (minimum: number, maximum: number): JsonObject => ({ type: 'integer', minimum, maximum });
const INT32 = int(-(2 ** 31), 2 ** 31 - 1);
const UINT32 = int(0, 2 ** 32 - 1);
/** JavaScript and others lose digits above 2^53, so both integers and texts are accepted. */
const INT64: JsonObject = { type: ['string', 'integer'], pattern: '^-?[0-9]+$' };
const UINT64: JsonObject = { type: ['string', 'integer'], pattern: '^[0-9]+$', minimum: 0 };
const FLOAT: JsonObject = { type: ['number', 'string'], pattern: '^(?:NaN|-?Infinity)$' };
const BOOL: JsonObject = { type: 'boolean' };
/** Times as the library reads them, which is stricter than the format: no small letters, no blank, minutes in a zone, nine digits. */
const TIME = text({ format: 'date-time', pattern: 'T\\d\\d:\\d\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]\\d\\d:\\d\\d)$' });
const BYTES = text({ contentEncoding: 'base64' });

const SCALARS: Readonly<Record<ScalarType, JsonObject>> = {
	[ScalarType.DOUBLE]: FLOAT,
	[ScalarType.FLOAT]: FLOAT,
	[ScalarType.INT64]: INT64,
	[ScalarType.UINT64]: UINT64,
	[ScalarType.INT32]: INT32,
	[ScalarType.FIXED64]: UINT64,
	[ScalarType.FIXED32]: UINT32,
	[ScalarType.BOOL]: BOOL,
	[ScalarType.STRING]: text(),
	[ScalarType.BYTES]: BYTES,
	[ScalarType.UINT32]: UINT32,
	[ScalarType.SFIXED32]: INT32,
	[ScalarType.SFIXED64]: INT64,
	[ScalarType.SINT32]: INT32,
	[ScalarType.SINT64]: INT64,
};

const orNull = (schema: JsonObject): JsonObject => ({ ...schema, type: [schema['type'] ?? 'null', 'null'].flat() });

/** Messages whose JSON is not an object of their fields. */
const OWN_JSON: ReadonlyMap<string, JsonObject> = new Map(
	Object.entries({
		Any: { type: 'object', properties: { '@type': text({ description: 'type.googleapis.com/ and the full name of a message' }) } },
		Timestamp: TIME,
		Duration: text({ pattern: '^-?[0-9]+(?:\\.[0-9]{1,9})?s$', description: 'Seconds, such as 1.5s' }),
		FieldMask: text({ description: 'Names of fields in lowerCamelCase, separated by commas' }),
		Struct: { type: 'object' },
		Value: {},
		ListValue: { type: 'array' },
		DoubleValue: orNull(FLOAT),
		FloatValue: orNull(FLOAT),
		Int64Value: orNull(INT64),
		UInt64Value: orNull(UINT64),
		Int32Value: orNull(INT32),
		UInt32Value: orNull(UINT32),
		BoolValue: orNull(BOOL),
		StringValue: orNull(text()),
		BytesValue: orNull(BYTES),
	}).map(([name, schema]) => [`google.protobuf.${name}`, schema]),
);

export const hasOwnJson = ({ typeName }: DescMessage): boolean => OWN_JSON.has(typeName);

/** Returns the schema of a message's use. */
export function convertMessageUse(desc: DescMessage, references: References): JsonObject {
	const own = OWN_JSON.get(desc.typeName);
	if (own) return own;
	if (desc.fields.length === 0 && desc.typeName === 'google.protobuf.Empty') return { type: 'object' };
	references.add(desc);
	return { $ref: `#/$defs/${desc.typeName}` };
}

/** Returns the schema of a type under `$defs`. */
export function convertDefinition(desc: Definable, direction: Direction, types: Types, references: References): JsonObject {
	const comment = types.comments.get(desc.typeName) ?? '';
	if (desc.kind === 'enum') return { ...convertEnum(desc, direction), ...described(comment) };
	const { properties, required } = convertFields(desc, direction, types, references);
	return {
		type: 'object',
		...described(comment, ...oneofNotes(desc)),
		properties,
		...(required.length > 0 ? { required } : {}),
		...(direction === 'input' ? { additionalProperties: false } : {}),
	};
}

export interface Fields {
	/** Schemas by the JSON names of fields. */
	properties: Record<string, JsonObject>;
	required: string[];
}

export function convertFields(desc: DescMessage, direction: Direction, types: Types, references: References): Fields {
	const fields: Fields = { properties: {}, required: [] };
	for (const field of [...desc.fields, ...(types.extensions.get(desc.typeName) ?? [])]) {
		const behaviors = behaviorsOf(field, types.options, types.behaviors);
		if ((direction === 'input' && behaviors.includes('OUTPUT_ONLY')) || field.jsonName === '__proto__') continue;
		fields.properties[field.jsonName] = convertField(field, direction, types, references);
		const isRequired = field.presence === Presence.LEGACY_REQUIRED || (behaviors.includes('REQUIRED') && field.oneof === undefined);
		if (direction === 'input' && isRequired) fields.required.push(field.jsonName);
	}
	return fields;
}

/** Describes the oneofs of a message, without those of proto3's `optional` fields. */
export const oneofNotes = ({ oneofs }: DescMessage): string[] =>
	oneofs
		.filter(({ fields }) => fields.length > 1)
		.map(({ fields }) => `At most one of ${fields.map((field) => field.jsonName).join(', ')}.`);

function convertField(field: DescField | DescExtension, direction: Direction, types: Types, references: References): JsonObject {
	const name = field.kind === 'extension' ? field.typeName : `${field.parent.typeName}.${field.name}`;
	const fallback = field.proto.defaultValue === '' ? '' : `Default: ${cleanText(field.proto.defaultValue, MAX_DEFAULT_CHARS)}.`;
	const schema = convertShape(field, direction, references);
	const words = described(types.comments.get(name) ?? '', fallback);
	return { ...schema, ...words, ...(field.deprecated ? { deprecated: true } : {}) };
}

function convertShape(field: DescField | DescExtension, direction: Direction, references: References): JsonObject {
	const value = convertValue(field, direction, references);
	if (field.fieldKind === 'list') return { type: 'array', items: value };
	if (field.fieldKind !== 'map') return value;
	return { type: 'object', additionalProperties: value, ...keysOf(field.mapKey) };
}

function convertValue(field: DescField | DescExtension, direction: Direction, references: References): JsonObject {
	if (field.message) return convertMessageUse(field.message, references);
	if (field.enum) return convertEnumUse(field.enum, direction, references);
	return field.scalar === undefined ? {} : SCALARS[field.scalar];
}

/** Restricts the keys of a map, which are texts in JSON. */
function keysOf(key: ScalarType): JsonObject {
	if (key === ScalarType.STRING) return {};
	if (key === ScalarType.BOOL) return { propertyNames: { enum: ['true', 'false'] } };
	return { propertyNames: { pattern: '^-?[0-9]+$' } };
}

function convertEnumUse(desc: DescEnum, direction: Direction, references: References): JsonObject {
	if (desc.values.length <= MAX_INLINE_VALUES) return convertEnum(desc, direction);
	references.add(desc);
	return { $ref: `#/$defs/${desc.typeName}` };
}

/** Returns the schema of an enum. In answers a value unknown to the description is a number. */
function convertEnum(desc: DescEnum, direction: Direction): JsonObject {
	if (desc.typeName === 'google.protobuf.NullValue') return { type: 'null' };
	const names: JsonObject = { type: 'string', enum: desc.values.map(({ name }) => name) };
	return direction === 'output' && desc.open ? { anyOf: [names, { type: 'integer' }] } : names;
}

export function described(...parts: string[]): { description?: string } {
	const [comment = '', ...notes] = parts;
	const description = [cleanText(comment, MAX_DESCRIPTION_CHARS), ...notes].filter(Boolean).join(' ');
	return description === '' ? {} : { description };
}
