// A JSON Schema as a graph: which schemas apply to one value, and which to the values inside it.

import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { atFragment } from '../kit/json-pointer.ts';

/** Schemas that may apply to one value. */
export const MAX_LOOKS = 2_000;
/** Keywords that lead into the value. */
const INSIDE = [
	...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties', 'propertyNames'],
	...['prefixItems', 'items', 'unevaluatedItems', 'contains'],
];
/** Ajv knows it by heart: recursive, and harmless. */
const META_SCHEMA = 'https://json-schema.org/draft/2020-12/schema';
const META_LOOKS = 600;
const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const;
const IN_PLACE = ['not', 'if', 'then', 'else'] as const;
const IN_PLACE_MAPS = ['dependentSchemas', 'dependencies'] as const;
/** References whose targets depend on how the checking came there. */
const ELSEWHERE = ['$dynamicRef', '$recursiveRef'] as const;

/** Counting was given up: `looks` are too many, or infinite where they cannot be told. */
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
	/** The schemas that check the values inside, of one schema or of several that apply to the same value. */
	insides: Inside[][];
	/** The steps that one round of counting takes. */
	steps: number;
}

/** One schema of the document, with all that applies to the same value. */
export interface Node {
	/** The schema itself first; each as often as it applies. */
	applied: JsonObject[];
	/** Number of its `insides`. */
	inside: number;
}

/** Numbers of nodes. Patterns apply beside the property of a name; `others` only where there is none. */
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
 * Every schema that is reached from the root, which is the first.
 * @param maxApplied schemas that apply to one value, over all values
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
		// Many references to one definition are counted once.
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

/** Each value once, by the number of its place. */
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

/** Every schema that applies to the same value, each as often as it does. */
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

/** Undefined where there is none: what points to nothing does not compile. */
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
