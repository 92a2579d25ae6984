// Reads a schema as XML needs it: its name and the content of its values, with references and combinators resolved.

import { isObject, type Json, type JsonObject, quote, unescapeToken } from '../../../core/index.ts';
import type { Document } from '../document.ts';
import { lookUp } from '../references.ts';

/** Thrown when a schema cannot be written as XML; the message is a clause. */
export class Unwritable extends Error {}

/** A schema without wrappers that do not change its meaning: references, combinators with one member, alternatives of null. */
export interface Bare {
	/** The XML Objects of all wrappers, merged; the outermost takes precedence. */
	xml: JsonObject;
	/** Pointer of the innermost definition; null for an inline schema. */
	pointer: string | null;
	/** Pointers of all definitions on the way, the outermost first. */
	pointers: readonly string[];
	schema: JsonObject;
}

/** The structure of one value, merged from all schemas that apply to it. */
export interface Facts {
	types: ReadonlySet<string>;
	/** Named members, in the order in which they are written. */
	members: ReadonlyMap<string, Json>;
	/** Schemas of members with arbitrary names. */
	others: readonly Json[];
	items: readonly Json[];
	first: readonly Json[][];
}

const STRUCTURE = ['properties', 'patternProperties', 'additionalProperties', 'items', 'prefixItems', 'allOf', 'anyOf', 'oneOf', '$ref'];
const COMBINED = ['allOf', 'anyOf', 'oneOf'];
const MAX_HOPS = 32;
/** The most schemas that may apply to one value. */
const MAX_APPLIED = 300;

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
const isNull = (schema: Json): boolean => isObject(schema) && (schema['type'] === 'null' || schema['const'] === null);

/** @throws Unwritable for a reference that leads nowhere */
export const unwrap = (raw: Json | undefined, document: Document): Bare =>
	remembered(raw, BARE, document, (schema) => readBare(schema, document));

/** @throws Unwritable for unresolvable references and too many schemas */
export const gatherFacts = (raw: Json | undefined, document: Document): Facts =>
	remembered(raw, FACTS, document, (schema) => readFacts(schema, document));

type Memo<T> = WeakMap<Document, WeakMap<JsonObject, T>>;
/** Caches by document and schema, since operations share their schemas. */
const BARE: Memo<Bare> = new WeakMap();
const FACTS: Memo<Facts> = new WeakMap();

function remembered<T>(raw: Json | undefined, memo: Memo<T>, document: Document, read: (schema: JsonObject) => T): T {
	const schema = isObject(raw) ? raw : {};
	const known = memo.get(document) ?? new WeakMap<JsonObject, T>();
	memo.set(document, known);
	const found = known.get(schema) ?? read(schema);
	known.set(schema, found);
	return found;
}

function readBare(raw: JsonObject, document: Document): Bare {
	const bare: Bare & { pointers: string[] } = { xml: {}, pointer: null, pointers: [], schema: raw };
	for (let hop = 0; hop < MAX_HOPS; hop++) {
		const { schema } = bare;
		const ref = refOf(schema, document);
		if (isObject(schema['xml']) && !(ref !== null && isOld(document))) bare.xml = { ...schema['xml'], ...bare.xml };
		const inner = ref === null ? onlyMember(schema) : null;
		if (ref === null && inner === null) break;
		const found = ref === null ? { value: inner, pointer: null } : target(ref, document);
		bare.pointer = found.pointer ?? bare.pointer;
		if (found.pointer !== null) bare.pointers.push(found.pointer);
		bare.schema = isObject(found.value) ? found.value : {};
	}
	return bare;
}

/** Tells whether siblings of `$ref` "SHALL be ignored" (OpenAPI 3.0.4 §4.7.23). */
const isOld = ({ version }: Document): boolean => version <= '3.0';
const structureOf = (schema: JsonObject): string[] => STRUCTURE.filter((keyword) => Object.hasOwn(schema, keyword));

/** Returns the reference of a schema that defines no structure beside it; else null. */
function refOf(schema: JsonObject, document: Document): string | null {
	const { $ref: ref } = schema;
	return typeof ref === 'string' && (isOld(document) || structureOf(schema).length === 1) ? ref : null;
}

/** Returns the only member of a combinator, apart from alternatives of null, if the schema defines no structure beside it; else null. */
function onlyMember(schema: JsonObject): JsonObject | null {
	const [combinator = '', ...more] = structureOf(schema);
	if (more.length > 0 || !COMBINED.includes(combinator)) return null;
	const [only, ...others] = listOf(schema[combinator]).filter((member) => !isNull(member));
	return others.length === 0 && isObject(only) ? only : null;
}

function target(ref: string, { root }: Document): { value: Json; pointer: string } {
	const found = lookUp(root, ref);
	if ('fault' in found) throw new Unwritable(found.fault);
	return found;
}

function readFacts(schema: JsonObject, document: Document): Facts {
	const types = new Set<string>();
	const members = new Map<string, { schemas: Json[]; isEither: boolean }>();
	const [others, items, first]: [Json[], Json[], Json[][]] = [[], [], []];
	const visited = new Set<Json>();
	const visit = (each: Json, isEither: boolean): void => {
		// A schema that includes itself adds nothing.
		if (!isObject(each) || visited.has(each)) return;
		visited.add(each);
		if (visited.size > MAX_APPLIED) throw new Unwritable('too many schemas apply to one value');
		if (typeof each['$ref'] === 'string') visit(target(each['$ref'], document).value, isEither);
		if (typeof each['$ref'] === 'string' && isOld(document)) return;
		// In a type that extends another, the elements of the base come first (XML Schema 1.0, part 1, §3.4.2).
		for (const member of listOf(each['allOf'])) visit(member, isEither);
		for (const type of [each['type']].flat()) if (typeof type === 'string') types.add(type);
		for (const [name, property] of Object.entries(isObject(each['properties']) ? each['properties'] : {})) {
			if (name === '__proto__') continue;
			const known = members.get(name) ?? { schemas: [], isEither: false };
			members.set(name, { schemas: [...known.schemas, property], isEither: known.isEither || isEither });
		}
		if (isObject(each['patternProperties'])) others.push(...Object.values(each['patternProperties']));
		if (isObject(each['additionalProperties']) && Object.keys(each['additionalProperties']).length > 0)
			others.push(each['additionalProperties']);
		if (isObject(each['items'])) items.push(each['items']);
		if (Array.isArray(each['prefixItems'])) first.push(each['prefixItems']);
		for (const member of [...listOf(each['anyOf']), ...listOf(each['oneOf'])]) visit(member, true);
	};
	visit(schema, false);
	const merged = [...members].map(([name, { schemas, isEither }]): [string, Json] => [
		name,
		together(schemas, isEither ? 'anyOf' : 'allOf'),
	]);
	return { types, members: new Map(merged), others, items, first };
}

/** Combines the schemas into one. */
export function together(schemas: readonly Json[], combinator: 'allOf' | 'anyOf' = 'anyOf'): Json {
	if (schemas.length === 1) return schemas[0] ?? {};
	const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
	return distinct.length === 1 ? (distinct[0] ?? {}) : { [combinator]: distinct };
}

/** Returns the component name of a schema, chosen from the definitions on the way; null for an inline one. */
export function componentOf({ pointers }: Bare, { version }: Document): string | null {
	const names = pointers.flatMap((pointer) => /\/(?:components\/schemas|definitions)\/([^/]+)$/.exec(pointer)?.[1] ?? []);
	// OpenAPI 3.2.1 §4.26.3: a schema that is only a reference makes no node, so its target gives the name.
	const name = version === '3.2' ? names.at(-1) : names[0];
	return name === undefined ? null : unescapeToken(name);
}

/** Returns the merged XML Object of a composed schema. @throws Unwritable where alternatives have different names */
export function ownXml({ xml, schema }: Bare, document: Document): JsonObject {
	const inline = listOf(schema['allOf']).flatMap((member) => (isObject(member) && isObject(member['xml']) ? [member['xml']] : []));
	const own: JsonObject = Object.assign({}, ...inline.toReversed(), xml);
	const alternatives = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])].filter((member) => !isNull(member));
	const spelled = new Set(alternatives.map((member) => naming(unwrap(member, document), document)));
	if (spelled.size > 1) throw new Unwritable('its alternatives have different forms in XML');
	const [only] = alternatives;
	return only === undefined ? own : { ...unwrap(only, document).xml, ...own };
}

function naming(bare: Bare, document: Document): string {
	const { name, namespace, prefix, attribute, wrapped, nodeType } = bare.xml;
	const component = document.version === '3.2' ? componentOf(bare, document) : null;
	return JSON.stringify([name ?? component, namespace, prefix, attribute === true, wrapped === true, nodeType]);
}

export const nameFault = (name: string): Unwritable => new Unwritable(`an element or attribute cannot be called ${quote(name)} in XML`);
