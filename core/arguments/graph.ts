// A JSON Schema as a graph: which schemas apply to one value, and which ones to the values inside it.

import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { atFragment } from '../kit/json-pointer.ts';

/** Maximum number of schemas that may apply to one value. */
export const MAX_LOOKS = 2_000;
/** Keywords that apply to the values inside a value. */
const INSIDE = [
	...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties', 'propertyNames'],
	...['prefixItems', 'items', 'unevaluatedItems', 'contains'],
];
/** The meta-schema, which Ajv has built in: recursive, and harmless. */
const META_SCHEMA = 'https://json-schema.org/draft/2020-12/schema';
const META_LOOKS = 600;
const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const;
const IN_PLACE = ['not', 'if', 'then', 'else'] as const;
const IN_PLACE_MAPS = ['dependentSchemas', 'dependencies'] as const;
/** References whose targets depend on the path of evaluation. */
const ELSEWHERE = ['$dynamicRef', '$recursiveRef'] as const;

/** Counting was stopped: `looks` is above the limit, or infinite if it cannot be determined. */
export class Uncounted extends Error {
	readonly looks: number;

	constructor(looks: number) {
		super();
		this.looks = looks;
	}
}

const tooMany = () => new Uncounted(MAX_LOOKS + 1);
const unknown = () => new Uncounted(Number.POSITIVE_INFINITY);

export interface Graph {
	nodes: Node[];
	/** The schemas for the values inside, of one schema or of several that apply to the same value. */
	insides: Inside[][];
	/** Number of steps of one round of counting. */
	steps: number;
}

/** One schema of the document, with all schemas that apply to the same value. */
export interface Node {
	/** The schema itself first; each as often as it applies. */
	applied: JsonObject[];
	/** Index in the graph's `insides`. */
	inside: number;
}

/** Indexes of nodes. Patterns apply beside the property of a name; `others` only if there is none. */
export interface Inside {
	properties: Map<string, number>;
	patterns: number[];
	others: number[];
	prefix: number[];
	items: number[];
	contains: number[];
	names: number[];
}

/**
 * Returns every schema that is reachable from the root, which is the first node.
 * @param maxApplied limit of schemas that apply to one value, summed over all values
 * @throws Uncounted
 */
export function expand(root: JsonSchema, maxApplied: number): Graph {
	const inPlace = new Map<JsonObject, JsonObject[]>();
	const inPlaceIn = (schema: JsonObject): JsonObject[] => {
		const known = inPlace.get(schema) ?? inPlaceOf(schema, root);
		inPlace.set(schema, known);
		return known;
	};
	const found = new Numbered<JsonObject>();
	const parts = new Numbered<JsonObject>();
	const sets = new Numbered<string>();
	const read: Inside[] = [];
	const graph: Graph = { nodes: [], insides: [], steps: 0 };
	let sum = found.number(root);
	for (let index = 0; index < found.list.length; index++) {
		const applied = appliedBy(found.list[index] ?? {}, inPlaceIn);
		sum += applied.length;
		if (sum > maxApplied) throw tooMany();
		const numbers = applied.filter(reachesInside).map((one) => parts.number(one));
		while (read.length < parts.list.length) read.push(insideOf(parts.list[read.length] ?? {}, (child) => found.number(child)));
		// Several references to one definition are counted once.
		const inside = sets.number(numbers.join());
		if (inside === graph.insides.length) {
			const own = numbers.map((number) => read[number]).filter((one) => one !== undefined);
			graph.insides.push(own);
			graph.steps += own.reduce((steps, { properties, prefix }) => steps + properties.size + prefix.length, own.length);
		}
		graph.nodes.push({ applied, inside });
	}
	graph.steps += graph.nodes.length;
	return graph;
}

/** Numbers distinct values by their position in a list. */
class Numbered<T> {
	readonly list: T[] = [];
	readonly #numbers = new Map<T, number>();

	number(value: T): number {
		const known = this.#numbers.get(value);
		if (known !== undefined) return known;
		this.#numbers.set(value, this.list.length);
		return this.list.push(value) - 1;
	}
}

/** Returns every schema that applies to the same value, each as often as it does. */
function appliedBy(schema: JsonObject, inPlaceIn: (schema: JsonObject) => JsonObject[]): JsonObject[] {
	const all: JsonObject[] = [schema];
	for (let index = 0; index < all.length; index++) {
		for (const child of inPlaceIn(all[index] ?? {})) all.push(child);
		if (all.length > MAX_LOOKS) throw tooMany();
	}
	return all;
}

function inPlaceOf(schema: JsonObject, root: JsonSchema): JsonObject[] {
	if ((schema !== root && typeof schema['$id'] === 'string') || ELSEWHERE.some((keyword) => schema[keyword] !== undefined)) throw unknown();
	const listed = IN_PLACE_LISTS.flatMap((keyword) => (Array.isArray(schema[keyword]) ? schema[keyword] : []));
	const single = IN_PLACE.map((keyword) => schema[keyword]);
	const dependent = IN_PLACE_MAPS.flatMap((keyword) => (isObject(schema[keyword]) ? Object.values(schema[keyword]) : []));
	return [...listed, ...single, ...dependent, target(schema['$ref'], root)].filter(isObject);
}

/** Returns the target of a reference; undefined if there is none: an unresolved reference does not compile. */
function target(reference: Json | undefined, root: JsonSchema): Json | undefined {
	if (typeof reference !== 'string') return undefined;
	if (reference === '#' || reference.startsWith('#/')) return atFragment(root, reference);
	if (reference === META_SCHEMA) return { allOf: Array.from({ length: META_LOOKS }, () => ({})) };
	throw unknown();
}

const reachesInside = (schema: JsonObject): boolean => INSIDE.some((keyword) => schema[keyword] !== undefined);

function insideOf(schema: JsonObject, numberOf: (schema: JsonObject) => number): Inside {
	const numbers = (...children: (Json | undefined)[]): number[] => children.filter(isObject).map(numberOf);
	const entries = (keyword: string): [string, JsonObject][] =>
		Object.entries(isObject(schema[keyword]) ? schema[keyword] : {}).filter((entry): entry is [string, JsonObject] => isObject(entry[1]));
	return {
		properties: new Map(entries('properties').map(([name, child]) => [name, numberOf(child)])),
		patterns: entries('patternProperties').map(([, child]) => numberOf(child)),
		others: numbers(schema['additionalProperties'], schema['unevaluatedProperties']),
		prefix: Array.isArray(schema['prefixItems']) ? numbers(...schema['prefixItems']) : [],
		items: numbers(schema['items'], schema['unevaluatedItems']),
		contains: numbers(schema['contains']),
		names: numbers(schema['propertyNames']),
	};
}
