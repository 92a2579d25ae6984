// Arguments from a query or a form: `tags[]=a&tags[]=b`, `tags=a&tags=b`, `point[x]=1`, each value as the schema wants it.

import { atFragment, invalid, isObject, type Json, type JsonObject, type JsonSchema, pointerToken } from '../../core/index.ts';

/** One name with what was given under it. */
interface Branch {
	values: string[];
	members: Map<string, Branch>;
}

const MAX_DEPTH = 16;
const MAX_REFERENCES = 8;
const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const INDEX = /^\d{0,6}$/;
const NO_SCHEMA: JsonSchema = {};

/** @param root into which the references of the schema lead. @throws validation_failed naming the parameter */
export function readQuery(pairs: Iterable<readonly [string, string]>, schema: JsonSchema, root: JsonSchema): JsonObject {
	const all = branch();
	const declared = propertiesOf(schema);
	for (const [name, value] of pairs) place(all, pathOf(name, declared), name).values.push(value);
	return objectOf(all, { schema, root, path: '' });
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
	path: string;
}

function objectOf({ members }: Branch, { schema, root, path }: QueryPlace): JsonObject {
	const whole = resolved(schema, root);
	const properties = propertiesOf(whole);
	const rest = whole.additionalProperties;
	return Object.fromEntries(
		[...members].map(([name, its]) => {
			const own = Object.hasOwn(properties, name) ? properties[name] : rest;
			return [name, readBranch(its, { schema: own, root, path: `${path}/${pointerToken(name)}` })];
		}),
	);
}

function readBranch(given: Branch, at: QueryPlace): Json {
	const { values, members } = given;
	if (members.size === 0) return values.length === 1 && values[0] !== undefined ? single(values[0], at) : listOf(given, at);
	const isList = [...members.keys()].every((name) => INDEX.test(name)) && !typesOf(at.schema, at.root).has('object');
	if (isList) return listOf(given, at);
	if (values.length > 0) throw invalid(at.path, `${at.path} is given as a value and as an object.`);
	return objectOf(given, at);
}

/** Items without an index come first, in their order, and then those with one, by it. */
function listOf({ values, members }: Branch, { schema, root, path }: QueryPlace): Json[] {
	const items = { schema: itemsOf(schema, root), root, path };
	const indexed = [...members].filter(([name]) => name !== '').sort(([a], [b]) => Number(a) - Number(b));
	const open = members.get('');
	const own = [...values, ...(open?.members.size === 0 ? open.values : [])].map((value) => coerced(value, items));
	const objects = open && open.members.size > 0 ? [readBranch(open, items)] : [];
	return [...own, ...objects, ...indexed.map(([, its]) => readBranch(its, items))];
}

/** A single value of something that is a list is its only item. */
function single(value: string, at: QueryPlace): Json {
	const types = typesOf(at.schema, at.root);
	const isItem = types.has('array') && !types.has('string') && !value.trimStart().startsWith('[');
	return isItem ? listOf({ values: [value], members: new Map() }, at) : coerced(value, at);
}

/** A text that does not fit any of the types stays one, which the check of the arguments then refuses. */
function coerced(text: string, { schema, root }: QueryPlace): Json {
	const types = typesOf(schema, root);
	if (types.size === 0 || types.has('string')) return text;
	if ((types.has('number') || types.has('integer')) && NUMBER.test(text)) return Number(text);
	if (types.has('boolean') && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
	if (types.has('null') && (text === '' || text === 'null')) return null;
	return (types.has('object') || types.has('array')) && /^\s*[[{]/.test(text) ? parsed(text) : text;
}

function parsed(text: string): Json {
	try {
		return JSON.parse(text) as Json;
	} catch {
		// It stays a text.
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
function typesOf(schema: Json | undefined, root: JsonSchema, depth = 0): ReadonlySet<Json> {
	const whole = resolved(schema, root);
	const { type } = whole;
	if (type !== undefined) return new Set(Array.isArray(type) ? type : [type]);
	const listed = Array.isArray(whole.enum) ? whole.enum : 'const' in whole ? [whole.const ?? null] : null;
	if (listed) return new Set(listed.map(typeOf));
	const ways = [whole.anyOf, whole.oneOf, whole.allOf].find(Array.isArray);
	if (!ways || depth > MAX_REFERENCES) return new Set(isObject(whole.properties) ? ['object'] : []);
	return new Set(ways.flatMap((way: Json) => [...typesOf(way, root, depth + 1)]));
}

function typeOf(value: Json): string {
	if (value === null) return 'null';
	return Array.isArray(value) ? 'array' : typeof value;
}
