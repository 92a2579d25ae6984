// Input types → JSON Schema 2020-12, as values of them travel in `variables`. Input objects and long enums become definitions.

import {
	type GraphQLEnumType,
	type GraphQLInputField,
	type GraphQLInputObjectType,
	type GraphQLInputType,
	type GraphQLScalarType,
	getNamedType,
	isEnumType,
	isInputObjectType,
	isInputType,
	isListType,
	isNonNullType,
	isRequiredInputField,
	isScalarType,
} from 'graphql';
import { cleanText, type Json, type JsonObject } from '../../core/index.ts';

/** The input objects and enums that a schema refers to. */
export type References = Set<GraphQLInputObjectType | GraphQLEnumType>;

const MAX_DESCRIPTION_CHARS = 500;
/** Longer enums become definitions instead of being repeated at each use. */
const MAX_INLINE_VALUES = 20;
const MAX_CHAIN = 500;

const INT: JsonObject = { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
const TEXT = 'string';
const NUMBER_OR_TEXT = ['number', 'string'];

/** The five scalars of the specification (§3.5) and those whose meaning servers agree on. All others accept any value. */
const SCALARS: Readonly<Record<string, JsonObject>> = {
	Int: INT,
	Float: { type: 'number' },
	String: { type: TEXT },
	Boolean: { type: 'boolean' },
	// A server takes either (§3.5.5).
	ID: { type: ['string', 'integer'] },
	Date: { type: TEXT },
	DateTime: { type: TEXT },
	Time: { type: TEXT },
	URI: { type: TEXT },
	URL: { type: TEXT },
	UUID: { type: TEXT },
	Decimal: { type: NUMBER_OR_TEXT },
	BigInt: { type: NUMBER_OR_TEXT },
	BigDecimal: { type: NUMBER_OR_TEXT },
	Long: { type: NUMBER_OR_TEXT },
};
const BUILT_IN = ['Int', 'Float', 'String', 'Boolean', 'ID'];

/**
 * Whether values of the type hold files, which clients send beside `variables` (the GraphQL multipart request specification, whose servers name
 * their scalar so): a tool has none.
 */
export function isFile(type: GraphQLInputType): boolean {
	const named = getNamedType(type);
	return isScalarType(named) && named.name === 'Upload';
}

/** Lists the fields of an input object that no tool can give. */
export const filesOf = (type: GraphQLInputObjectType | GraphQLEnumType): string[] =>
	isEnumType(type) ? [] : Object.values(type.getFields()).flatMap(({ name, type: of }) => (isInputType(of) && isFile(of) ? [name] : []));

/** @returns the schema of an argument or field of this type, null included where the type admits it */
export function convertType(type: GraphQLInputType, references: References): JsonObject {
	return isNonNullType(type) ? convertPresent(type.ofType, references) : orNull(convertPresent(type, references));
}

/** Converts the type of a value that is not null. */
export function convertPresent(type: GraphQLInputType, references: References): JsonObject {
	if (isNonNullType(type)) return convertPresent(type.ofType, references);
	if (isListType(type)) return convertList(type.ofType, references);
	if (isScalarType(type)) return convertScalar(type);
	if (isEnumType(type) && type.getValues().length <= MAX_INLINE_VALUES) return convertEnum(type);
	references.add(type);
	return { $ref: `#/$defs/${type.name}` };
}

/** One item is taken as a list of one where a list is expected (§3.11). */
function convertList(itemType: GraphQLInputType, references: References): JsonObject {
	const list: JsonObject = { type: 'array', items: convertType(itemType, references) };
	const item = isNonNullType(itemType) ? itemType.ofType : itemType;
	if (isListType(item)) return list;
	const single = convertPresent(item, references);
	if (single['$ref'] !== undefined || single['enum'] !== undefined) return { anyOf: [list, single] };
	// An unknown scalar may itself be a list.
	return single['type'] === undefined ? list : { ...list, ...single, type: ['array', ...typesOf(single)] };
}

const typesOf = ({ type }: JsonObject): Json[] => (Array.isArray(type) ? type : [type ?? 'object']);

function convertScalar({ name, specifiedByURL }: GraphQLScalarType): JsonObject {
	const known = Object.hasOwn(SCALARS, name) ? SCALARS[name] : undefined;
	if (BUILT_IN.includes(name)) return { ...known };
	const title = specifiedByURL ? `${name} (${cleanText(specifiedByURL, 200)})` : name;
	return { ...known, title: cleanText(title, 300) };
}

function convertEnum(type: GraphQLEnumType): JsonObject {
	return { type: 'string', enum: type.getValues().map(({ name }) => name) };
}

function orNull(schema: JsonObject): JsonObject {
	if (Array.isArray(schema['anyOf'])) return { ...schema, anyOf: [...schema['anyOf'], { type: 'null' }] };
	if (schema['$ref'] !== undefined) return { anyOf: [schema, { type: 'null' }] };
	if (schema['type'] === undefined) return schema;
	const values = Array.isArray(schema['enum']) ? { enum: [...schema['enum'], null] } : {};
	return { ...schema, ...values, type: [...typesOf(schema), 'null'] };
}

/** Makes the schema that stands under `$defs`. */
export function convertDefinition(type: GraphQLInputObjectType | GraphQLEnumType, references: References): JsonObject {
	const words = describe(type.description);
	if (isEnumType(type)) return { ...convertEnum(type), ...words };
	const all = Object.values(type.getFields()).filter((field) => isInputType(field.type));
	const fields = all.filter((field) => !isFile(field.type));
	// No value is valid where one of them requires a file.
	const required = all.filter(isRequiredInputField).map(({ name }) => name);
	return {
		type: 'object',
		...words,
		properties: Object.fromEntries(fields.map((field) => [field.name, convertField(field, type.isOneOf, references)])),
		...(required.length > 0 ? { required } : {}),
		additionalProperties: false,
		// Exactly one field, which is not null (§3.10, "OneOf Input Objects").
		...(type.isOneOf ? { minProperties: 1, maxProperties: 1 } : {}),
	};
}

function convertField(field: GraphQLInputField, isOneOf: boolean, references: References): JsonObject {
	const schema = isOneOf ? convertPresent(field.type, references) : convertType(field.type, references);
	return { ...schema, ...describe(field.description, field), ...(field.deprecationReason == null ? {} : { deprecated: true }) };
}

/** Defaults are documented, not filled in: an absent argument gets the server's current default. */
export function describe(
	description: string | null | undefined,
	field?: Pick<GraphQLInputField, 'defaultValue'>,
): { description?: string } {
	const fallback = field?.defaultValue === undefined ? '' : `Default: ${cleanText(JSON.stringify(field.defaultValue) ?? '', 200)}.`;
	const text = [cleanText(description ?? '', MAX_DESCRIPTION_CHARS), fallback].filter(Boolean).join(' ');
	return text === '' ? {} : { description: text };
}

/**
 * Tells whether every value of the type would have to hold a file, or another of the same type without end (§3.10, "Circular
 * References").
 */
export function isImpossible(type: GraphQLInputType, known: Map<GraphQLInputObjectType, boolean>, chain = 0): boolean {
	if (!isNonNullType(type)) return false;
	if (isFile(type)) return true;
	if (!isInputObjectType(type.ofType)) return false;
	const object = type.ofType;
	const found = known.get(object);
	if (found !== undefined) return found;
	if (chain > MAX_CHAIN) return true;
	// The type counts as impossible until it is known to end: meeting it again on the way closes a circle.
	known.set(object, true);
	const impossible = Object.values(object.getFields()).some(
		(field) => isRequiredInputField(field) && isImpossible(field.type, known, chain + 1),
	);
	known.set(object, impossible);
	return impossible;
}
