// Converts Schema Objects of OpenAPI 2.0 to 3.2 to JSON Schema 2020-12. Only listed keywords with valid values are kept, so the
// result always compiles. Losses are reported, and they only ever loosen the schema, never tighten it.

import { isObject, type Json, type JsonObject, patternFault } from '../../core/index.ts';
import { acceptsOwnDefault } from './defaults.ts';
import type { Document } from './document.ts';
import { type Edge, InPlace } from './in-place.ts';
import { isSilent, lose, READERS } from './keywords.ts';
import { definitionName, lookUp } from './references.ts';

/** Requests are checked before a call; responses are only described, without the checks that servers are known to break. */
export type Mode = 'request' | 'response';

/** The state that all conversions of one document share. */
export interface Conversion {
	document: Document;
	inPlace: InPlace;
	/** Calls `patternFault` and caches its result. */
	patternFault(pattern: string): string | null;
	/** Tells whether a schema accepts its own default. */
	acceptsDefault(schema: JsonObject): boolean;
}

/** The state of one schema's conversion. */
export interface Visit {
	conversion: Conversion;
	mode: Mode;
	/** Pointer of the definition that is converted; null for a schema inside an operation. */
	self: string | null;
	/** Pointers of the definitions that the result refers to. */
	refs: Set<string>;
	/** Losses, as a clause each. */
	faults: Set<string>;
	/** False once the result accepts more than the original schema, whether a fault was reported or not. */
	isExact: boolean;
	nodes: number;
	/** Depth of the deepest schema in it, below its root. */
	levels: number;
	/** Converts subschemas, for the readers of single keywords. */
	convert(raw: Json | undefined, visit: Visit, position: SchemaPosition): JsonObject;
}

/** The position of a subschema. */
export interface SchemaPosition {
	depth: number;
	/** The combinator through which it applies to the same value as the root; null below a property or an item. */
	edge: Edge | null;
	/** The enclosing schemas, unconverted, that apply to the very same value. */
	around: readonly JsonObject[];
}

export interface Converted {
	schema: JsonObject;
	refs: Set<string>;
	faults: Set<string>;
	sizeBytes: number;
	/** Depth of the deepest schema in it, below its root. */
	levels: number;
}

const MAX_DEPTH = 40;
/** The most schemas in one definition, since a YAML alias may repeat a large one many times. */
const MAX_NODES = 20_000;
const ANNOTATIONS = ['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'];
const COMBINED = ['$ref', 'allOf', 'anyOf', 'not'];

export function createConversion(document: Document): Conversion {
	const patterns = new Map<string, string | null>();
	const defaults = new Map<string, boolean>();
	return {
		document,
		inPlace: new InPlace(document),
		patternFault: (pattern) => remember(patterns, pattern, () => patternFault(pattern)),
		acceptsDefault: (schema) => {
			const { title: _, description: __, ...rest } = schema;
			const written = JSON.stringify(rest);
			return remember(defaults, written, () => acceptsOwnDefault(rest, written));
		},
	};
}

/** @param self pointer of the schema if it is a definition, else null */
export function convertSchema(raw: Json | undefined, mode: Mode, self: string | null, conversion: Conversion): Converted {
	const visit: Visit = { conversion, mode, self, refs: new Set(), faults: new Set(), isExact: true, nodes: 0, levels: 0, convert };
	const schema = convert(raw, visit, { depth: 0, edge: 'other', around: [] });
	return { schema, refs: visit.refs, faults: visit.faults, sizeBytes: JSON.stringify(schema).length, levels: visit.levels };
}

function convert(raw: Json | undefined, visit: Visit, position: SchemaPosition): JsonObject {
	if (raw === true || raw === undefined) return {};
	if (raw === false) return { not: {} };
	if (!isObject(raw)) return anything(visit, 'a schema that is not an object accepts anything');
	if (position.depth > MAX_DEPTH) return anything(visit, `a schema nested deeper than ${MAX_DEPTH} levels accepts anything below`);
	if (++visit.nodes > MAX_NODES) return anything(visit, `a schema of more than ${MAX_NODES} parts accepts anything beyond`);
	visit.levels = Math.max(visit.levels, position.depth);
	const schema = readKeywords(ownKeywords(raw, visit), visit, position);
	const ref = typeof raw['$ref'] === 'string' ? reference(raw['$ref'], visit, position) : undefined;
	if (ref) schema['$ref'] = ref;
	keepFittingDefault(schema, visit);
	return raw['nullable'] === true || raw['x-nullable'] === true ? nullable(schema) : schema;
}

/** Drops the siblings of `$ref` in 3.0, which "SHALL be ignored" (3.0.4 §4.7.23), but keeps a description. In 3.1 all of them count. */
function ownKeywords(raw: JsonObject, { conversion }: Visit): JsonObject {
	if (typeof raw['$ref'] !== 'string' || conversion.document.version !== '3.0') return raw;
	return typeof raw['description'] === 'string' ? { description: raw['description'] } : {};
}

function readKeywords(raw: JsonObject, visit: Visit, position: SchemaPosition): JsonObject {
	const schema: JsonObject = {};
	for (const [keyword, value] of Object.entries(raw)) {
		const read = Object.hasOwn(READERS, keyword) ? READERS[keyword] : undefined;
		const kept = read?.(value, visit, position, raw);
		if (kept !== undefined) Object.assign(schema, merge(schema, keyword, kept));
		if ((kept === undefined && !isSilent(keyword)) || keyword === 'oneOf') visit.isExact = false;
	}
	return schema;
}

/** Adds a converted keyword. `oneOf` becomes `anyOf`, since alternatives in real documents overlap, and valid calls would be refused. */
function merge(schema: JsonObject, keyword: string, kept: Json): JsonObject {
	const { allOf, anyOf, examples } = schema;
	if (keyword === 'example') return examples === undefined ? { examples: [kept] } : {};
	if (keyword === 'allOf') return { allOf: members(allOf).concat(kept) };
	if (keyword !== 'oneOf' && keyword !== 'anyOf') return { [keyword]: kept };
	return anyOf === undefined ? { anyOf: kept } : { allOf: [...members(allOf), { anyOf: kept }] };
}

const members = (list: Json | undefined): Json[] => (Array.isArray(list) ? list : []);

function reference(ref: string, visit: Visit, position: SchemaPosition): string | undefined {
	const { document, inPlace } = visit.conversion;
	const found = lookUp(document.root, ref);
	if ('fault' in found) return lose(visit, `${found.fault}: it accepts anything`);
	const name = definitionName(found.pointer, document);
	if (position.edge !== null && inPlace.isEndless(found.pointer))
		return lose(visit, `${name} combines too many other schemas to be checked: it accepts anything`);
	if (visit.self !== null && position.edge !== null && inPlace.closesCycle(visit.self, found.pointer, position.edge))
		return lose(visit, `${name} includes itself endlessly: the inner one accepts anything`);
	visit.refs.add(found.pointer);
	return `#/$defs/${name}`;
}

/** Removes a default that the schema itself refuses: clients would send it, and their calls would fail. */
function keepFittingDefault(schema: JsonObject, visit: Visit): void {
	if (schema['default'] === undefined || visit.conversion.acceptsDefault(schema)) return;
	delete schema['default'];
}

/** Makes the schema accept null as well (`nullable`, OpenAPI 3.0.4 §4.7.24.1). Documents of 3.1 use it too. */
function nullable(schema: JsonObject): JsonObject {
	const { type, enum: values } = schema;
	if (COMBINED.some((keyword) => Object.hasOwn(schema, keyword)) || Object.hasOwn(schema, 'const')) {
		const isAnnotation = ([keyword]: [string, Json]): boolean => ANNOTATIONS.includes(keyword);
		const { annotations = [], rest = [] } = Object.groupBy(Object.entries(schema), (entry) =>
			isAnnotation(entry) ? 'annotations' : 'rest',
		);
		return { ...Object.fromEntries(annotations), anyOf: [Object.fromEntries(rest), { type: 'null' }] };
	}
	const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type : null;
	if (types && !types.includes('null')) schema['type'] = [...types, 'null'];
	if (Array.isArray(values) && !values.includes(null)) schema['enum'] = [...values, null];
	return schema;
}

function anything(visit: Visit, fault: string): JsonObject {
	visit.faults.add(fault);
	return {};
}

function remember<K, V>(known: Map<K, V>, key: K, compute: () => V): V {
	const found = known.get(key);
	if (found !== undefined) return found;
	const value = compute();
	known.set(key, value);
	return value;
}
