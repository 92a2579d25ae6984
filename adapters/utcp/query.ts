// Arguments from a query or a form: `tags[]=a&tags[]=b`, `tags=a&tags=b`, `point[x]=1`, each value as the schema wants it.

import {
	atFragment,
	invalid,
	isObject,
	type Json,
	type JsonObject,
	type JsonSchema,
	parseJson,
	pointerToken,
	quoteLongIntegersAtOnce,
} from '../../core/index.ts';

/** One name with what was given under it. */
interface Branch {
	values: string[];
	members: Map<string, Branch>;
}

const MAX_DEPTH = 16;
const MAX_REFERENCES = 8;
/** Digits are read in one way only: with several, each of a long text would be tried as the last one of each part. */
const NUMBER = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const INDEX = /^\d{0,6}$/;
const NO_SCHEMA: JsonSchema = {};
const NO_TYPES: ReadonlySet<Json> = new Set();

/** @param root into which the references of the schema lead. @throws validation_failed naming the parameter */
export function readQuery(pairs: Iterable<readonly [string, string]>, schema: JsonSchema, root: JsonSchema): JsonObject {
	const all = branch();
	const declared = propertiesOf(schema);
	for (const [name, value] of pairs) place(all, pathOf(name, declared), name).values.push(value);
	return objectOf(all, { schema, root, known: new Map(), path: '' });
}

const branch = (): Branch => ({ values: [], members: new Map() });

/** Splits a name at its brackets, unless a property has them in its name. */
function pathOf(name: string, declared: JsonObject): string[] {
	if (Object.hasOwn(declared, name)) return [name];
	if (name.endsWith('[]') && Object.hasOwn(declared, name.slice(0, -2))) return [name.slice(0, -2), ''];
	const start = name.indexOf('[');
	if (start <= 0 || !/^(?:\[[^[\]]*\])+$/.test(name.slice(start))) return [name];
	return [name.slice(0, start), ...name.slice(start + 1, -1).split('][')];
}

function place(root: Branch, path: readonly string[], name: string): Branch {
	if (path.length > MAX_DEPTH) throw invalid(`query/${pointerToken(name)}`, `A parameter has more than ${MAX_DEPTH} levels of brackets.`);
	let at = root;
	for (const key of path) {
		const next = at.members.get(key) ?? branch();
		at.members.set(key, next);
		at = next;
	}
	return at;
}

interface QueryPlace {
	schema: Json | undefined;
	/** The whole schema, which references lead into. */
	root: JsonSchema;
	/** The types of each schema that was asked for: a list may have as many values as a form, and a union lead to itself. */
	known: Map<JsonObject, ReadonlySet<Json>>;
	path: string;
}

function objectOf({ members }: Branch, { schema, path, ...around }: QueryPlace): JsonObject {
	const whole = resolved(schema, around.root);
	const properties = propertiesOf(whole);
	const rest = whole.additionalProperties;
	return Object.fromEntries(
		[...members].map(([name, its]) => {
			const own = Object.hasOwn(properties, name) ? properties[name] : rest;
			return [name, readBranch(its, { ...around, schema: own, path: `${path}/${pointerToken(name)}` })];
		}),
	);
}

function readBranch(given: Branch, at: QueryPlace): Json {
	const { values, members } = given;
	if (members.size === 0) return values.length === 1 && values[0] !== undefined ? single(values[0], at) : listOf(given, at);
	const isList = [...members.keys()].every((name) => INDEX.test(name)) && !typesOf(at).has('object');
	if (isList) return listOf(given, at);
	if (values.length > 0) throw invalid(at.path, `${at.path} is given as a value and as an object.`);
	return objectOf(given, at);
}

/** Items without an index come first, in their order, and then those with one, by it. */
function listOf({ values, members }: Branch, at: QueryPlace): Json[] {
	const items = { ...at, schema: itemsOf(at.schema, at.root) };
	const indexed = [...members].filter(([name]) => name !== '').sort(([a], [b]) => Number(a) - Number(b));
	const open = members.get('');
	const own = [...values, ...(open?.members.size === 0 ? open.values : [])].map((value) => coerced(value, items));
	const objects = open && open.members.size > 0 ? [readBranch(open, items)] : [];
	return [...own, ...objects, ...indexed.map(([, its]) => readBranch(its, items))];
}

/** A single value of something that is a list is its only item. */
function single(value: string, at: QueryPlace): Json {
	const types = typesOf(at);
	const isItem = types.has('array') && !types.has('string') && !value.trimStart().startsWith('[');
	return isItem ? listOf({ values: [value], members: new Map() }, at) : coerced(value, at);
}

/** A text that does not fit any of the types stays one, which the check of the arguments then refuses. */
function coerced(text: string, at: QueryPlace): Json {
	const types = typesOf(at);
	if (types.size === 0 || types.has('string')) return text;
	if ((types.has('number') || types.has('integer')) && NUMBER.test(text) && isHeld(text)) return Number(text);
	if (types.has('boolean') && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
	if (types.has('null') && (text === '' || text === 'null')) return null;
	return (types.has('object') || types.has('array')) && /^\s*[[{]/.test(text) ? parsed(text) : text;
}

/** Whether a double holds the number; of an integer, each digit. */
const isHeld = (text: string): boolean => Number.isFinite(Number(text)) && quoteLongIntegersAtOnce(text).rounded.size === 0;

function parsed(text: string): Json {
	try {
		return parseJson(Buffer.from(text)) as Json;
	} catch {
		// It stays a text, and so does what nests too deep to be written again.
		return text;
	}
}

const propertiesOf = (schema: JsonObject): JsonObject => (isObject(schema.properties) ? schema.properties : NO_SCHEMA);

function itemsOf(schema: Json | undefined, root: JsonSchema): Json | undefined {
	const { items } = resolved(schema, root);
	return Array.isArray(items) ? items[0] : items;
}

/** Follows references; one that leads nowhere says nothing. */
function resolved(schema: Json | undefined, root: JsonSchema): JsonObject {
	let at = schema;
	for (let hops = 0; hops < MAX_REFERENCES && isObject(at) && typeof at.$ref === 'string'; hops += 1) at = atFragment(root, at.$ref);
	return isObject(at) ? at : NO_SCHEMA;
}

/** Returns the types that a schema allows, as far as it names them: empty when any. */
function typesOf({ schema, root, known }: QueryPlace): ReadonlySet<Json> {
	const whole = resolved(schema, root);
	if (!known.has(whole)) learnTypes(whole, root, known);
	return known.get(whole) ?? NO_TYPES;
}

/**
 * Adds the types of a schema, and of all that its unions lead to. Each is looked at once, and each type goes up from where it is named once, also
 * where unions lead to each other.
 */
function learnTypes(schema: JsonObject, root: JsonSchema, known: Map<JsonObject, ReadonlySet<Json>>): void {
	const above = new Map<JsonObject, JsonObject[]>([[schema, []]]);
	const told: [to: JsonObject, type: Json][] = [];
	for (const one of above.keys()) {
		const types = known.get(one) ?? named(one);
		for (const type of types ?? []) told.push([one, type]);
		for (const way of types ? [] : unions(one)) {
			const below = resolved(way, root);
			const over = above.get(below);
			if (over) over.push(one);
			else above.set(below, [one]);
		}
	}
	const found = new Map([...above.keys()].map((one) => [one, new Set<Json>()]));
	for (const [to, type] of told) {
		const types = found.get(to);
		if (!types || types.has(type)) continue;
		types.add(type);
		for (const union of above.get(to) ?? []) told.push([union, type]);
	}
	for (const [one, types] of found) known.set(one, types);
}

/** Returns the types that a schema names by itself; null for a union. */
function named(schema: JsonObject): readonly Json[] | null {
	const { type } = schema;
	if (type !== undefined) return Array.isArray(type) ? type : [type];
	const listed = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const ?? null] : null;
	if (listed) return listed.map(typeOf);
	if (unions(schema).length > 0) return null;
	return isObject(schema.properties) ? ['object'] : [];
}

const unions = ({ anyOf, oneOf, allOf }: JsonObject): readonly Json[] => [anyOf, oneOf, allOf].find(Array.isArray) ?? [];

function typeOf(value: Json): string {
	if (value === null) return 'null';
	return Array.isArray(value) ? 'array' : typeof value;
}
