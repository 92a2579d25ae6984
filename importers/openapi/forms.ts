// Converts forms, urlencoded and multipart, to an object schema, with the settings of single fields for the executor beside it.

import {
	cleanText,
	headerNameFault,
	headerValueFault,
	holdsSecret,
	isObject,
	type Json,
	type JsonObject,
	quote,
} from '../../core/index.ts';
import type { Definitions } from './definitions.ts';
import type { Document } from './document.ts';
import type { MediaType } from './media-types.ts';
import { follow } from './references.ts';
import { type Converted, convertSchema } from './schemas.ts';
import { convertXmlPart } from './xml/body.ts';

export interface ConvertedBody extends Converted {
	/** The executor's `requestBody`, without the name of its argument. */
	wire: JsonObject;
}

/** The media type of a form, and the version by which its encodings are read. */
type Form = Pick<MediaType, 'kind' | 'contentType'> & Pick<Document, 'version'>;

/** The fields of a form as the document gives them. */
interface Shape extends JsonObject {
	type: 'object';
	properties: JsonObject;
	required: Json[];
	/** The schema of fields that have no name in the document, if it describes any. */
	additionalProperties?: JsonObject;
}

/** Fields that describe parts by position instead of by name (OpenAPI 3.2 §4.15.3). */
const SEQUENCE = ['itemSchema', 'prefixEncoding', 'itemEncoding'];
const NAMELESS = 'the parts of its body have no names: such parts cannot be sent';
const UNNAMED_FILES = 'files of its form are known by a pattern of their names alone: they cannot be sent';
const MAX_MERGED = 50;
const MAX_WRAPPERS = 8;
const MAX_DESCRIPTION_CHARS = 500;
/** Headers that the executor derives from the part itself. */
const OWN_HEADER = /^content-(?:type|disposition)$/i;
/** Keywords that say nothing of the values. */
const ANNOTATIONS = ['title', 'description', 'deprecated', 'readOnly', 'writeOnly'];
const TEXTUAL = /^text\/|[/+]json$|[/+]xml$/;
const XML = /[/+]xml(?:;|$)/i;
/** The encodings that leave bytes as they are (RFC 2045 §6.2). */
const IDENTITIES: readonly unknown[] = ['7bit', '8bit', 'binary'];
const FORM_DATA = /^multipart\/form-data\s*(?:;|$)/i;
const STYLE = /^(?:form|spaceDelimited|pipeDelimited|deepObject)$/;
const PART_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/;
/** A list of types; the first is the type of a file that names none. */
const PART_TYPES = /^[\w.+*-]+\/[\w.+*-]+(?:, ?[\w.+*-]+\/[\w.+*-]+)*$/;

/** Schema of a file in a form: its bytes in base64, its name and its type. */
const FILE: JsonObject = {
	type: 'object',
	properties: {
		data: { type: 'string', contentEncoding: 'base64', description: 'The bytes of the file, in base64.' },
		filename: { type: 'string' },
		contentType: { type: 'string' },
	},
	required: ['data'],
	additionalProperties: false,
};

export function convertForm({ kind, contentType, raw }: MediaType, definitions: Definitions): ConvertedBody {
	const { root, version } = definitions.conversion.document;
	const faults = new Set<string>();
	if (SEQUENCE.some((field) => raw[field] !== undefined)) faults.add(NAMELESS);
	const shape = gatherFields(raw['schema'], root, faults);
	/** The schema of files that have no name in the document. A part that has one is then named in `parts`, whatever its settings. */
	const other = kind === 'multipart' ? fileOf(shape.additionalProperties, undefined, root) : null;
	const encoding = isObject(raw['encoding']) ? raw['encoding'] : {};
	/** Fields that are shown with another schema than the document has. */
	const shown: JsonObject = {};
	const parts: JsonObject = {};
	for (const [name, field] of Object.entries(shape.properties)) {
		const hint = Object.hasOwn(encoding, name) ? encoding[name] : undefined;
		const file = kind === 'multipart' ? fileOf(field, hint, root) : null;
		if (file) shown[name] = file;
		const part = readPart(hint, file !== null, { kind, contentType, version });
		if (kind === 'multipart' && XML.test(String(part['contentType']))) {
			const xml = convertXmlPart(name, field, definitions.conversion.document);
			if (xml && 'plan' in xml) part['xml'] = xml.plan;
			else if (xml) {
				shown[name] = xml.schema;
				faults.add(xml.fault);
			}
		}
		const headers = kind === 'multipart' ? readHeaders(name, hint, root, faults) : {};
		if (Object.keys(headers).length > 0) part['headers'] = headers;
		if (Object.keys(part).length > 0 || other) parts[name] = part;
	}
	const fields = convertSchema(shape, definitions.mode, null, definitions.conversion);
	const properties = { ...(isObject(fields.schema['properties']) ? fields.schema['properties'] : {}), ...shown };
	const schema = { ...fields.schema, properties, ...(other && { additionalProperties: other }) };
	const wire: JsonObject = Object.keys(parts).length > 0 ? { contentType, parts } : { contentType };
	if (other) wire['otherParts'] = { binary: true };
	return { ...fields, schema, faults: new Set([...faults, ...fields.faults]), sizeBytes: JSON.stringify(schema).length, wire };
}

/** Collects the fields of the schema and of its compositions. A field is required only if all alternatives require it. */
function gatherFields(schema: Json | undefined, root: JsonObject, faults: Set<string>): Shape {
	const shape: Shape = { type: 'object', properties: {}, required: [] };
	const open: { part: Json; isCertain: boolean }[] = schema === undefined ? [] : [{ part: schema, isCertain: true }];
	for (let count = 0; count < MAX_MERGED; count++) {
		const next = open.shift();
		if (!next) break;
		const at = follow(root, next.part);
		if ('fault' in at) {
			faults.add(`fields of the form are unknown: ${at.fault}`);
			continue;
		}
		const { properties, required, allOf, anyOf, oneOf, description } = at.object;
		gatherOthers(at.object, next.isCertain, shape, { root, faults });
		if (isObject(properties)) shape.properties = Object.fromEntries([...Object.entries(properties), ...Object.entries(shape.properties)]);
		if (next.isCertain && Array.isArray(required)) shape.required.push(...required);
		if (description !== undefined) shape['description'] ??= description;
		open.push(...members(allOf).map((part) => ({ part, isCertain: next.isCertain })));
		open.push(...[...members(anyOf), ...members(oneOf)].map((part) => ({ part, isCertain: false })));
	}
	return shape;
}

/** Keeps the schema of fields without names; one of an alternative only for files, since other alternatives may have other fields. */
function gatherOthers(
	schema: JsonObject,
	isCertain: boolean,
	shape: Shape,
	{ root, faults }: { root: JsonObject; faults: Set<string> },
): void {
	const { properties, type, items, patternProperties, additionalProperties: others } = schema;
	const types = [type ?? (items === undefined ? [] : 'array')].flat().filter((name) => name !== 'null');
	if (!isObject(properties) && types.length > 0 && !types.includes('object')) faults.add(NAMELESS);
	const isFiles = (field: Json | undefined): boolean => fileOf(field, undefined, root) !== null;
	const byPattern = Object.values(isObject(patternProperties) ? patternProperties : {});
	if (byPattern.some(isFiles) || (byPattern.length > 0 && isFiles(others))) faults.add(UNNAMED_FILES);
	if (!isObject(others) || byPattern.length > 0 || !(isCertain || isFiles(others))) return;
	shape.additionalProperties ??= others;
}

const members = (list: Json | undefined): Json[] => (Array.isArray(list) ? list : []);

/** Returns the schema of a field that holds one file or several; null when it holds none. */
function fileOf(field: Json | undefined, hint: Json | undefined, root: JsonObject): JsonObject | null {
	const { schema, isNullable } = unwrapped(field, root);
	const { schema: items } = unwrapped(schema['items'], root);
	const isList = schema['type'] === 'array';
	if (!isFile(isList ? items : schema, hint)) return null;
	const file: JsonObject = isList ? { type: 'array', items: FILE } : FILE;
	const words = typeof schema['description'] === 'string' ? { description: cleanText(schema['description'], MAX_DESCRIPTION_CHARS) } : {};
	return isNullable ? { ...words, anyOf: [file, { type: 'null' }] } : { ...file, ...words };
}

/** Strips null and combinators of one member: optional files are `anyOf: [file, null]`, `type: [string, null]` or `allOf: [file]`. */
function unwrapped(field: Json | undefined, root: JsonObject, hops = 0): { schema: JsonObject; isNullable: boolean } {
	const at = follow(root, field);
	if ('fault' in at || hops > MAX_WRAPPERS) return { schema: {}, isNullable: false };
	const { type, nullable, allOf, anyOf, oneOf, ...rest } = at.object;
	const types = members(type);
	const present = types.filter((name) => name !== 'null');
	const isNullable = nullable === true || present.length < types.length;
	const schema = { ...rest, ...(present.length > 1 ? { type: present } : type === undefined ? {} : { type: present[0] ?? type }) };
	const combined = [allOf, anyOf, oneOf].flatMap(members);
	const inner = combined.filter((member) => !isObject(member) || member['type'] !== 'null');
	const [only, ...others] = inner;
	if (type !== undefined || only === undefined || others.length > 0) return { schema, isNullable };
	const found = unwrapped(only, root, hops + 1);
	return { schema: { ...found.schema, ...schema }, isNullable: isNullable || found.isNullable || inner.length < combined.length };
}

/** Recognizes a file: `format: binary` in 3.0; in 3.1 a string of a media type that is neither text nor encoded already (§4.8.14.5). */
function isFile(schema: JsonObject, hint: Json | undefined): boolean {
	const { type, format, contentMediaType, contentEncoding } = schema;
	if (type === 'file') return true;
	const encoding = typeof contentEncoding === 'string' ? contentEncoding.toLowerCase() : contentEncoding;
	if ((type !== 'string' && type !== undefined) || (encoding !== undefined && !IDENTITIES.includes(encoding))) return false;
	if (format === 'binary' || encoding === 'binary') return true;
	// 3.1 leaves the type of bytes out, and only `encoding` says what they are.
	const isOpen = type === 'string' || Object.keys(schema).every((keyword) => ANNOTATIONS.includes(keyword));
	const mediaType = contentMediaType ?? (isObject(hint) && isOpen ? hint['contentType'] : undefined);
	return typeof mediaType === 'string' && format === undefined && !TEXTUAL.test(mediaType);
}

/** Reads the required headers of a part that have a single value (OpenAPI 3.1.1 §4.8.15.1.1; `Content-Type` has its own field), but for secrets. */
function readHeaders(field: string, hint: Json | undefined, root: JsonObject, faults: Set<string>): Record<string, string> {
	const declared = isObject(hint) && isObject(hint['headers']) ? hint['headers'] : {};
	const headers: Record<string, string> = {};
	for (const [name, raw] of Object.entries(declared)) {
		if (OWN_HEADER.test(name)) continue;
		const at = follow(root, raw);
		if (!('object' in at) || at.object['required'] !== true) continue;
		const value = fixedValue(at.object, root);
		if (holdsSecret(name)) faults.add(`the header ${quote(name)} of the part ${quote(field)} has the name of a secret and is not sent`);
		else if (value !== null && headerNameFault(name) === null && headerValueFault(value) === null) headers[name] = value;
		else faults.add(`the header ${quote(name)} of the part ${quote(field)} has no fixed value and is not sent`);
	}
	return headers;
}

/** Returns the only possible value, else null. Examples and defaults do not count: a default is what the server assumes without it. */
function fixedValue({ schema }: JsonObject, root: JsonObject): string | null {
	const at = follow(root, schema);
	if ('fault' in at) return null;
	const { const: only, enum: values } = at.object;
	const value = only ?? (Array.isArray(values) && values.length === 1 ? values[0] : null);
	return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : null;
}

/** Reads the settings of a part that differ from what the executor does by default. */
function readPart(hint: Json | undefined, isBinary: boolean, form: Form): JsonObject {
	const part: JsonObject = isBinary ? { binary: true } : {};
	if (!isObject(hint)) return part;
	const { contentType, style, explode, allowReserved } = hint;
	if (typeof contentType === 'string' && (isBinary ? PART_TYPES : PART_TYPE).test(contentType)) part['contentType'] = contentType;
	const styled: JsonObject = {};
	if (typeof style === 'string' && STYLE.test(style)) styled['style'] = style;
	if (typeof explode === 'boolean') styled['explode'] = explode;
	if (allowReserved === true) styled['allowReserved'] = true;
	if (form.kind !== 'multipart') return { ...part, ...styled };
	return !isBinary && Object.keys(styled).length > 0 && isStyleMeant(hint, form) ? styled : part;
}

/**
 * Tells whether a part of multipart is written in its style, and its media type "SHALL be ignored" (OpenAPI 3.1.1 §4.8.15.1.2). In 3.0 styles are
 * for urlencoded forms alone; one beside no media type is meant even so, but for plain `form`, which generators write at every field.
 */
function isStyleMeant({ contentType, style = 'form', explode }: JsonObject, form: Form): boolean {
	if (!FORM_DATA.test(form.contentType)) return false;
	return form.version !== '3.0' || (contentType === undefined && (style !== 'form' || explode === false));
}
