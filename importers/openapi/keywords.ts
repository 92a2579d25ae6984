// Lists the schema keywords that are kept, each with the reader that checks its value. All others are dropped:
// `discriminator`, `xml`, `externalDocs`, `x-…`, identifiers and anchors (references use pointers), and the
// rarer checks (`if`, `dependentSchemas`, `unevaluated…`), which are left to the server.

import { cleanText, isObject, type Json, type JsonObject, quote } from '../../core/index.ts';
import { isType } from './defaults.ts';
import { appliesMembers, completesParts } from './in-place.ts';
import { lookUp } from './references.ts';
import type { SchemaPosition, Visit } from './schemas.ts';

/** Reads the value of a keyword. @returns undefined to drop the keyword */
type Reader = (value: Json, visit: Visit, position: SchemaPosition, schema: JsonObject) => Json | undefined;

const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']);
const MAX_TITLE_CHARS = 100;
const MAX_DESCRIPTION_CHARS = 800;
const MAX_EXAMPLES = 3;
const MAX_EXAMPLE_CHARS = 500;
const MAX_APPLIED = 200;
/** A boolean or a number as JSON writes it. */
const SCALAR = /^(?:true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?)$/;

/** Adds the loss to the report. */
export function lose(visit: Visit, fault: string): undefined {
	visit.faults.add(fault);
}

const words =
	(maxChars: number): Reader =>
	(value) =>
		typeof value === 'string' ? cleanText(value, maxChars) || undefined : undefined;

/** Reports a value that the dialect does not allow for the keyword. */
const misused = (keyword: string, visit: Visit): undefined => lose(visit, `a malformed ${keyword} was dropped`);

const when =
	(keyword: string, fits: (value: Json) => boolean): Reader =>
	(value, visit) =>
		fits(value) ? value : misused(keyword, visit);

const isCount = (value: Json): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isNumber = (value: Json): boolean => Number.isFinite(value);
const onlyTrue: Reader = (value) => (value === true ? true : undefined);

const forRequests =
	(read: Reader): Reader =>
	(value, visit, position, schema) =>
		visit.mode === 'request' ? read(value, visit, position, schema) : undefined;

const inside = (position: SchemaPosition): SchemaPosition => ({ depth: position.depth + 1, edge: null, around: [] });
const applied = (position: SchemaPosition, edge: 'allOf' | 'other', schema: JsonObject): SchemaPosition => ({
	depth: position.depth + 1,
	edge: position.edge && edge,
	around: [...position.around, schema],
});

const child: Reader = (value, visit, position) => visit.convert(value, visit, inside(position));

const readType: Reader = (value, visit) => {
	const names = [...new Set((Array.isArray(value) ? value : [value]).map((name) => (name === 'file' ? 'string' : name)))];
	const known = names.filter((name) => typeof name === 'string' && TYPES.has(name));
	if (known.length === 0 || known.length < names.length) return lose(visit, `the unknown type ${quote(JSON.stringify(value))} was dropped`);
	return Array.isArray(value) ? known : known[0];
};

const readEnum: Reader = (value, visit, _position, { type }) => {
	if (!Array.isArray(value) || value.length === 0) return misused('enum', visit);
	const types = [type === 'file' ? 'string' : (type ?? null)].flat().filter((name) => typeof name === 'string' && TYPES.has(name));
	const members = types.length === 0 ? value : value.map((member) => asType(member, types)).filter((member) => member !== undefined);
	// The text that YAML read as the number 1 may have been 1.0.
	const isUnclear = types.includes('string') && members.length < value.length && value.some((member) => typeof member === 'number');
	if (members.length === 0 || isUnclear)
		return lose(visit, `an enum with values that are not of its type ${quote(JSON.stringify(type))} was dropped`);
	return [...new Map(members.map((member) => [JSON.stringify(member), member])).values()];
};

/** Returns a listed value as one of the types: documents quote what is no text, and leave out the quotes of "true". Undefined if it is of none. */
function asType(member: Json, types: Json[]): Json | undefined {
	const isAny = (value: Json): boolean => value === null || types.some((type) => isType(value, type));
	if (isAny(member)) return member;
	const isScalar = typeof member === 'string' && SCALAR.test(member);
	const other: Json | undefined = isScalar ? JSON.parse(member) : typeof member === 'boolean' ? String(member) : undefined;
	return other !== undefined && isAny(other) && String(other) === String(member) ? other : undefined;
}

/** Reads `exclusiveMinimum` or `exclusiveMaximum`: a flag beside `minimum` in 3.0, the bound itself in later versions. */
const exclusive =
	(bound: 'minimum' | 'maximum', keyword: string): Reader =>
	(value, visit, _place, schema) => {
		if (typeof value === 'boolean') return value && isNumber(schema[bound] ?? null) ? schema[bound] : undefined;
		return isNumber(value) ? value : misused(keyword, visit);
	};

const inclusive =
	(keyword: string, switchedBy: string): Reader =>
	(value, visit, _place, schema) => {
		if (schema[switchedBy] === true) return undefined;
		return isNumber(value) ? value : misused(keyword, visit);
	};

const readPattern: Reader = (value, visit) => {
	if (typeof value !== 'string') return misused('pattern', visit);
	if (visit.conversion.patternFault(value) === null) return value;
	return lose(visit, `the pattern ${quote(value)} cannot be checked in linear time and was dropped`);
};

const readProperties: Reader = (value, visit, position) => {
	if (!isObject(value)) return misused('properties', visit);
	const members = Object.entries(value).filter(([name]) => name !== '__proto__');
	return Object.fromEntries(members.map(([name, schema]) => [name, visit.convert(schema, visit, inside(position))]));
};

const readPatternProperties: Reader = (value, visit, position) => {
	if (!isObject(value)) return misused('patternProperties', visit);
	const usable = Object.entries(value).filter(([pattern]) => visit.conversion.patternFault(pattern) === null);
	// All are dropped together: beside `additionalProperties: false`, losing one pattern would refuse the names that it allowed.
	if (usable.length < Object.keys(value).length) return lose(visit, 'patternProperties that cannot be checked were dropped');
	return Object.fromEntries(usable.map(([pattern, schema]) => [pattern, visit.convert(schema, visit, inside(position))]));
};

const readAdditionalProperties: Reader = (value, visit, position, schema) => {
	// Names that dropped patterns allowed would count as additional.
	if (!keepsMembers(schema, visit)) return undefined;
	if (value !== true && isPart(schema, visit, position)) return undefined;
	if (value === false) return visit.mode === 'response' ? undefined : false;
	return value === true ? true : visit.convert(value, visit, inside(position));
};

/**
 * Tells whether other schemas describe members of the same value, which would count as additional: those that the schema applies, that are
 * applied beside it, or that extend it (`discriminator`).
 */
function isPart(schema: JsonObject, { self, conversion }: Visit, { edge, around }: SchemaPosition): boolean {
	if (schema['discriminator'] !== undefined || appliesMembers(schema) || around.some(completesParts)) return true;
	return edge !== null && self !== null && conversion.inPlace.isCompleted(self);
}

function keepsMembers({ properties = {}, patternProperties = {} }: JsonObject, visit: Visit): boolean {
	const isReadable = isObject(properties) && isObject(patternProperties);
	return isReadable && Object.keys(patternProperties).every((pattern) => visit.conversion.patternFault(pattern) === null);
}

/** Requests need no property that only the server sets, responses none that only the client sends (OpenAPI 3.0.4 §4.7.24.2). */
const readRequired: Reader = (value, visit, { around }, schema) => {
	// A boolean `required` on a property is JSON Schema draft 3, and has no meaning here.
	if (!Array.isArray(value)) return undefined;
	const flag = visit.mode === 'request' ? 'readOnly' : 'writeOnly';
	const names = value.filter((name): name is string => typeof name === 'string' && name !== '__proto__');
	const { root } = visit.conversion.document;
	const members = membersOf([schema, ...around], root);
	const kept = [...new Set(names)].filter((name) => !members.some((properties) => isMarked(properties, name, flag, root)));
	if (kept.length < names.length) visit.isExact = false;
	return kept.length > 0 ? kept : undefined;
};

/** Collects the `properties` of all schemas that apply to the same value: a subtype may require properties that its base declares. */
function membersOf(schemas: readonly JsonObject[], root: JsonObject): JsonObject[] {
	const applied = new Set<Json>(schemas);
	// Elements that are added during the iteration are visited too.
	for (const schema of applied) {
		if (!isObject(schema) || applied.size > MAX_APPLIED) continue;
		const { $ref: ref, allOf } = schema;
		const found = typeof ref === 'string' ? lookUp(root, ref) : { fault: '' };
		if (!('fault' in found)) applied.add(found.value);
		for (const member of Array.isArray(allOf) ? allOf : []) applied.add(member);
	}
	return [...applied].flatMap((schema) => (isObject(schema) && isObject(schema['properties']) ? [schema['properties']] : []));
}

function isMarked(properties: JsonObject, name: string, flag: string, root: JsonObject): boolean {
	const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
	if (!isObject(property)) return false;
	if (property[flag] === true) return true;
	if (typeof property['$ref'] !== 'string') return false;
	const found = lookUp(root, property['$ref']);
	return !('fault' in found) && isObject(found.value) && found.value[flag] === true;
}

const list =
	(keyword: 'allOf' | 'anyOf' | 'oneOf'): Reader =>
	(value, visit, position, schema) => {
		if (!Array.isArray(value) || value.length === 0) return misused(keyword, visit);
		const below = applied(position, keyword === 'allOf' ? 'allOf' : 'other', schema);
		return value.map((member) => visit.convert(member, visit, below));
	};

/**
 * Keeps `not` only if nothing was lost in it, since a loosened schema under `not` refuses more, not less; and only if it needs no
 * other definition, which may itself be loosened or left out.
 */
const negation: Reader = (value, visit, position, schema) => {
	const trial: Visit = { ...visit, faults: new Set(), refs: new Set(), isExact: true };
	const negated = visit.convert(value, trial, applied(position, 'other', schema));
	visit.nodes = trial.nodes;
	visit.levels = trial.levels;
	return trial.isExact && trial.faults.size === 0 && trial.refs.size === 0
		? negated
		: lose(visit, 'a "not" that cannot be kept whole was dropped');
};

const isNames = (value: Json): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string');

const readDependentRequired: Reader = (value, visit) => {
	if (!isObject(value) || !Object.values(value).every(isNames)) return misused('dependentRequired', visit);
	// The line above checked that each value is a list.
	return Object.fromEntries(Object.entries(value).map(([name, names]) => [name, [...new Set(names as Json[])]]));
};

const readPrefixItems: Reader = (value, visit, position) => {
	if (!Array.isArray(value) || value.length === 0) return misused('prefixItems', visit);
	return value.map((member) => visit.convert(member, visit, inside(position)));
};

const readExample: Reader = (value) => (JSON.stringify(value).length <= MAX_EXAMPLE_CHARS ? value : undefined);

const readExamples: Reader = (value) => {
	if (!Array.isArray(value)) return undefined;
	const short = value.filter((example) => JSON.stringify(example).length <= MAX_EXAMPLE_CHARS).slice(0, MAX_EXAMPLES);
	return short.length > 0 ? short : undefined;
};

const isWord = (value: Json): boolean => typeof value === 'string' && /^[\w./+-]{1,100}$/.test(value);

export const READERS: Readonly<Record<string, Reader>> = {
	title: words(MAX_TITLE_CHARS),
	description: words(MAX_DESCRIPTION_CHARS),
	type: readType,
	enum: readEnum,
	const: (value) => value,
	format: forRequests(when('format', isWord)),
	pattern: forRequests(readPattern),
	minLength: when('minLength', isCount),
	maxLength: when('maxLength', isCount),
	minimum: inclusive('minimum', 'exclusiveMinimum'),
	maximum: inclusive('maximum', 'exclusiveMaximum'),
	exclusiveMinimum: exclusive('minimum', 'exclusiveMinimum'),
	exclusiveMaximum: exclusive('maximum', 'exclusiveMaximum'),
	multipleOf: when('multipleOf', (value) => isNumber(value) && Number(value) > 0),
	items: child,
	prefixItems: readPrefixItems,
	minItems: when('minItems', isCount),
	maxItems: when('maxItems', isCount),
	uniqueItems: onlyTrue,
	contains: child,
	// `maxContains` is dropped: more items match a loosened schema.
	minContains: when('minContains', isCount),
	properties: readProperties,
	patternProperties: readPatternProperties,
	additionalProperties: readAdditionalProperties,
	propertyNames: child,
	required: readRequired,
	minProperties: when('minProperties', isCount),
	maxProperties: when('maxProperties', isCount),
	dependentRequired: readDependentRequired,
	allOf: list('allOf'),
	anyOf: list('anyOf'),
	oneOf: list('oneOf'),
	not: negation,
	default: forRequests((value) => value),
	example: forRequests(readExample),
	examples: forRequests(readExamples),
	deprecated: onlyTrue,
	readOnly: onlyTrue,
	writeOnly: onlyTrue,
	contentEncoding: when('contentEncoding', isWord),
	contentMediaType: when('contentMediaType', isWord),
	// If only one schema could be meant, `linking.ts` has already made it a plain reference.
	$dynamicRef: (_value, visit) => lose(visit, 'a $dynamicRef that could mean several schemas accepts anything'),
};

/** Keywords that check nothing, so that dropping one does not loosen the schema. */
const SILENT = new Set(
	[
		'title description default example examples deprecated readOnly writeOnly contentEncoding contentMediaType',
		'discriminator xml externalDocs nullable $ref $schema $comment $defs $id $anchor $dynamicAnchor $vocabulary',
	].flatMap((keywords) => keywords.split(' ')),
);

export const isSilent = (keyword: string): boolean => SILENT.has(keyword) || keyword.startsWith('x-');
