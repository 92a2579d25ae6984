// How often a validator can be made to look at one value of the arguments: a schema that applies others twice to the same
// value, and these twice again, takes exponential time on any input. References are the attacker's text, as patterns are.

import { MAX_DEPTH } from './body.ts';
import { invalid } from './errors.ts';
import type { Json, JsonObject, JsonSchema } from './nouns.ts';

const MAX_LOOKS = 2_000;
/** Over all its parts, so that counting itself has an end. */
const MAX_APPLIED = 200_000;
const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const;
const IN_PLACE = ['not', 'if', 'then', 'else'] as const;
const STEP_MAPS = ['properties', 'patternProperties'] as const;
const STEPS = ['additionalProperties', 'items', 'contains', 'unevaluatedProperties', 'unevaluatedItems', 'propertyNames'] as const;

/**
 * Counts, along the worst path into the deepest input that is read, how many schemas apply. @throws validation_failed
 * @param at JSON pointer of the schema in the request's body
 */
export function assertBounded(schema: JsonSchema, at: string): void {
	// Without references a schema is no larger than its text.
	if (!JSON.stringify(schema).includes('"$ref"')) return;
	const applied = { of: new Map<JsonObject, JsonObject[]>(), sum: 0 };
	let looks: ReadonlyMap<JsonObject, number> = new Map();
	for (let depth = 0; depth < MAX_DEPTH; depth++) {
		const next = new Map<JsonObject, number>();
		if (looksOf(schema, { root: schema, applied, below: looks, next }) > MAX_LOOKS || applied.sum > MAX_APPLIED) {
			throw invalid(at, `${at} refers to itself so often that checking one value would take more than ${MAX_LOOKS} steps.`);
		}
		looks = next;
	}
}

interface Counting {
	root: JsonSchema;
	applied: { of: Map<JsonObject, JsonObject[]>; sum: number };
	/** Of each schema, one level of the input less. */
	below: ReadonlyMap<JsonObject, number>;
	next: Map<JsonObject, number>;
}

/** A chain of references that is too long to follow is too long to check, too. */
function looksOf(schema: JsonObject, counting: Counting): number {
	try {
		return count(schema, counting);
	} catch (error) {
		if (error instanceof RangeError) return Number.POSITIVE_INFINITY;
		throw error;
	}
}

function count(schema: JsonObject, counting: Counting): number {
	const known = counting.next.get(schema);
	if (known !== undefined) return known;
	const here = appliedBy(schema, counting);
	counting.next.set(schema, here.length);
	const perStep = new Map<string, number>();
	for (const one of here) {
		for (const [step, child] of stepsOf(one)) {
			count(child, counting);
			perStep.set(step, (perStep.get(step) ?? 0) + (counting.below.get(child) ?? 1));
		}
	}
	const total = Math.min(here.length + Math.max(0, ...perStep.values()), MAX_LOOKS + 1);
	counting.next.set(schema, total);
	return total;
}

/** Every schema that applies to the same value, each as often as it does; cut where it is too many anyway. */
function appliedBy(schema: JsonObject, { root, applied }: Counting): JsonObject[] {
	const known = applied.of.get(schema);
	if (known) return known;
	const all: JsonObject[] = [schema];
	for (let index = 0; index < all.length && all.length <= MAX_LOOKS && applied.sum <= MAX_APPLIED; index++) {
		for (const child of inPlaceOf(all[index] ?? {}, root)) all.push(child);
	}
	applied.of.set(schema, all);
	applied.sum += all.length;
	return all;
}

function inPlaceOf(schema: JsonObject, root: JsonSchema): JsonObject[] {
	const listed = IN_PLACE_LISTS.flatMap((keyword) => (Array.isArray(schema[keyword]) ? schema[keyword] : []));
	const single = IN_PLACE.map((keyword) => schema[keyword]);
	const dependent = isObject(schema['dependentSchemas']) ? Object.values(schema['dependentSchemas']) : [];
	const reference = typeof schema['$ref'] === 'string' ? [resolve(schema['$ref'], root)] : [];
	return [...listed, ...single, ...dependent, ...reference].filter(isObject);
}

/** Children by the step into the value that leads to them. What takes any property is a step of its own. */
function stepsOf(schema: JsonObject): [step: string, child: JsonObject][] {
	const named = STEP_MAPS.flatMap((keyword) => (isObject(schema[keyword]) ? Object.entries(schema[keyword]) : []));
	const any = STEPS.map((keyword) => [keyword, schema[keyword]] as const);
	const prefix = Array.isArray(schema['prefixItems']) ? schema['prefixItems'].map((child) => ['items', child] as const) : [];
	return [...named, ...any, ...prefix].filter((entry): entry is [string, JsonObject] => isObject(entry[1]));
}

/** Inside the document; what points elsewhere does not compile. */
function resolve(reference: string, root: JsonSchema): Json | undefined {
	if (!reference.startsWith('#/')) return reference === '#' ? root : undefined;
	let at: Json | undefined = root;
	for (const token of reference.slice(2).split('/')) {
		const name = decodePointer(token);
		at = isObject(at) || Array.isArray(at) ? (at as JsonObject)[name] : undefined;
	}
	return at;
}

function decodePointer(token: string): string {
	const plain = token.replaceAll('~1', '/').replaceAll('~0', '~');
	try {
		return decodeURIComponent(plain);
	} catch {
		return plain;
	}
}

const isObject = (value: unknown): value is JsonObject => value !== null && typeof value === 'object' && !Array.isArray(value);
