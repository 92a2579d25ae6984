// Converts parameters of Swagger 2.0 to OpenAPI 3.0: their types become schemas, their `collectionFormat` becomes a style, and form
// parameters become one request body.

import { isObject, type Json, type JsonObject } from '../../../core/index.ts';

const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';

/** Keywords that a parameter shares with a schema (Swagger 2.0, Parameter Object). */
const SCHEMA_KEYWORDS = new Set(
	[
		'type format items default enum maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems',
		'uniqueItems multipleOf x-nullable',
	].flatMap((words) => words.split(' ')),
);

/** The OpenAPI 3 styles by location and `collectionFormat`; combinations that OpenAPI 3 cannot express are missing. */
const STYLES: Readonly<Record<string, Readonly<Record<string, JsonObject>>>> = {
	query: {
		csv: { style: 'form', explode: false },
		ssv: { style: 'spaceDelimited', explode: false },
		pipes: { style: 'pipeDelimited', explode: false },
		multi: { explode: true },
	},
	path: { csv: { style: 'simple', explode: false } },
	header: { csv: { style: 'simple', explode: false } },
};
const SEPARATORS: Readonly<Record<string, string>> = { csv: 'commas', ssv: 'spaces', tsv: 'tabs', pipes: 'pipe characters (|)' };

/** @returns null when the list can be sent only as one text */
function styleOf(location: string, { type, items, collectionFormat }: JsonObject): JsonObject | null {
	if (type !== 'array') return {};
	if (isObject(items) && items['type'] === 'array') return null;
	return STYLES[location]?.[formatOf(collectionFormat)] ?? null;
}

const formatOf = (collectionFormat: Json | undefined): string => (typeof collectionFormat === 'string' ? collectionFormat : 'csv');

export function convertParameter(raw: JsonObject): JsonObject {
	const { name, in: location, description, required, deprecated, example = raw['x-example'], schema } = raw;
	const style = styleOf(String(location), raw);
	const text = style || schema !== undefined ? null : asText(raw);
	const parameter: JsonObject = { ...style, schema: schema ?? text ?? schemaOf(raw) };
	const known = { name, in: location, description: text?.['description'] ?? description, required, deprecated, example };
	// Azure's documents have it, and it is read in those of OpenAPI 3, too.
	const ofAzure = { 'x-ms-skip-url-encoding': raw['x-ms-skip-url-encoding'] };
	for (const [key, value] of Object.entries({ ...known, ...ofAzure })) if (value !== undefined) parameter[key] = value;
	return parameter;
}

function schemaOf(raw: JsonObject): JsonObject {
	return Object.fromEntries(Object.entries(raw).filter(([keyword]) => SCHEMA_KEYWORDS.has(keyword)));
}

function asText({ collectionFormat, description }: JsonObject): JsonObject {
	const how = `Several values in one text, separated by ${SEPARATORS[formatOf(collectionFormat)] ?? 'commas'}.`;
	return { type: 'string', description: typeof description === 'string' ? `${how} ${description}` : how };
}

/** Converts the fields of a form to one body; null when there are none. */
export function convertForm(fields: JsonObject[], consumes: string[]): JsonObject | null {
	if (fields.length === 0) return null;
	const hasFile = fields.some(({ type }) => type === 'file');
	const isMultipart = (type: string): boolean => /^multipart\/|^application\/form-data/i.test(type);
	const types = consumes.filter((type) => (isMultipart(type) || type.toLowerCase().startsWith(FORM)) && (!hasFile || isMultipart(type)));
	const chosen = types.length > 0 ? types : [hasFile ? MULTIPART : FORM];
	const content = Object.fromEntries(chosen.map((type) => [type, formOf(fields, isMultipart(type))]));
	return { content, required: fields.some(({ required }) => required === true) };
}

function formOf(fields: JsonObject[], isMultipart: boolean): JsonObject {
	const properties: JsonObject = {};
	const encoding: JsonObject = {};
	for (const field of fields) {
		const name = String(field['name']);
		if (name === '__proto__') continue;
		// In multipart, a list can be sent only with one part for each item.
		const isMulti = formatOf(field['collectionFormat']) === 'multi';
		const style = isMultipart && field['type'] === 'array' && !isMulti ? null : styleOf('query', field);
		const words = typeof field['description'] === 'string' ? { description: field['description'] } : {};
		properties[name] = style ? { ...schemaOf(field), ...words } : asText(field);
		if (style && Object.keys(style).length > 0 && !isMultipart) encoding[name] = style;
	}
	const required = fields.filter((field) => field['required'] === true).map(({ name }) => name ?? '');
	return { schema: { type: 'object', properties, required }, encoding };
}
