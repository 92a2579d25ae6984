// Counts the work of checking arguments against a JSON Schema, before anything is checked: a schema that applies others twice to the
// same value, and these twice again, takes exponential time on any input. References are attacker-controlled, as patterns are.

import { invalid } from '../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../contract/nouns.ts';
import { MAX_DEPTH } from '../kit/input-faults.ts';
import { isObject } from '../kit/json.ts';
import { expand, type Graph, type Inside, MAX_LOOKS, Uncounted } from './graph.ts';
import { patternStates } from './pattern-states.ts';

/** The work for one value, as upper bounds; `looks` is infinite if it cannot be determined. */
export interface Weight {
	/** Number of schemas that are applied, including those for everything inside the value along its worst path. */
	looks: number;
	/** Number of states of the patterns that are tried on one text. */
	states: number;
	/** Number of listed values that the value is compared with, and what takes as long. */
	listed: number;
	/** Number of properties that may be filled in. */
	members: number;
	/** A `format` reads whole texts. */
	hasFormat: boolean;
	/** A `uniqueItems` compares each item with each other one. */
	isQuadratic: boolean;
}

interface CountingLimits {
	/** Maximum number of steps of all rounds of counting together. */
	steps: number;
	/** Limit of schemas that apply to one value, summed over all values. */
	applied: number;
}

/** Limits that only ensure that counting ends. */
const WHOLE: CountingLimits = { steps: Number.POSITIVE_INFINITY, applied: 200_000 };
/** Limits of counting within some milliseconds. */
const QUICK: CountingLimits = { steps: 60_000, applied: 5000 };
/** Comparisons that take as long as dividing decimals. */
const DECIMALS = 40;
const NOTHING: Weight = { looks: 0, states: 0, listed: 0, members: 0, hasFormat: false, isQuadratic: false };

/**
 * Refuses a schema that is too costly to check. @param at JSON pointer of the schema in the request's body
 * @throws validation_failed when checking one value would take more than 2,000 steps, or the number cannot be determined
 */
export function assertBounded(schema: JsonSchema, at: string): void {
	assertFewLooks(weigh(schema), at);
}

/** Refuses a weight that was already counted, like `assertBounded`. */
export function assertFewLooks({ looks }: Weight, at: string): void {
	if (looks === Number.POSITIVE_INFINITY)
		throw invalid(at, `${at} refers to itself without end, or by $id, $anchor or $dynamicRef: use $defs, and $ref with "#/$defs/…".`);
	if (looks > MAX_LOOKS)
		throw invalid(
			at,
			`${at} combines so many schemas, or itself so often, that checking one value would take more than ${MAX_LOOKS} steps.`,
		);
}

/** Counts how many schemas apply along the worst path into the deepest input that is accepted. */
export function weigh(schema: JsonSchema): Weight {
	try {
		return weighGraph(expand(schema, WHOLE.applied));
	} catch (error) {
		if (error instanceof Uncounted) return { ...NOTHING, looks: error.looks };
		throw error;
	}
}

/** Counts like `weigh`; null when that takes longer than some milliseconds. */
export function weighQuickly(schema: JsonSchema): Weight | null {
	try {
		const graph = expand(schema, QUICK.applied);
		return graph.steps * MAX_DEPTH > QUICK.steps ? null : weighGraph(graph);
	} catch (error) {
		if (error instanceof Uncounted) return null;
		throw error;
	}
}

function weighGraph(graph: Graph): Weight {
	const weight: Weight = { ...NOTHING, looks: looksOf(graph) };
	const known = new Map<string, number>();
	const statesOf = (pattern: string): number => {
		const states = known.get(pattern) ?? patternStates(pattern);
		known.set(pattern, states);
		return states;
	};
	for (const { applied } of graph.nodes) weighOne(applied, weight, statesOf);
	return weight;
}

/** Counts by the depth of the input: each round knows the cost of a value that is one level deeper. */
function looksOf({ nodes, insides }: Graph): number {
	let below = new Float64Array(nodes.length).fill(1);
	for (let depth = 0; depth < MAX_DEPTH; depth++) {
		const steps = insides.map((inside) => worstStep(inside, below));
		const next = Float64Array.from(nodes, ({ applied, inside }) => Math.min(applied.length + (steps[inside] ?? 0), MAX_LOOKS + 1));
		if ((next[0] ?? 0) > MAX_LOOKS || next.every((looks, index) => looks === below[index])) return next[0] ?? 0;
		below = next;
	}
	return below[0] ?? 0;
}

function worstStep(insides: readonly Inside[], below: Float64Array): number {
	const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + (below[number] ?? 0), 0);
	const most = (numbers: readonly number[]): number => numbers.reduce((top, number) => Math.max(top, below[number] ?? 0), 0);
	let [unnamed, unlisted, names] = [0, 0, 0];
	/** Cost of the properties of a name, and of the items at an index, above that of others. */
	const named = new Map<string, number>();
	const placed: number[] = [];
	for (const one of insides) {
		const [byPattern, item] = [sum(one.patterns), most(one.items)];
		const other = Math.max(byPattern, most(one.others));
		unnamed += other;
		unlisted += item + sum(one.contains);
		names += sum(one.names);
		for (const [name, number] of one.properties) named.set(name, (named.get(name) ?? 0) + (below[number] ?? 0) + byPattern - other);
		one.prefix.forEach((number, index) => {
			placed[index] = (placed[index] ?? 0) + (below[number] ?? 0) - item;
		});
	}
	return Math.max(unnamed + largest(named.values()), unlisted + largest(placed), names);
}

/** Returns at least 0. `Math.max` takes its values as arguments, of which there may be too many. */
function largest(values: Iterable<number>): number {
	let top = 0;
	for (const value of values) top = Math.max(top, value);
	return top;
}

function weighOne(applied: readonly JsonObject[], weight: Weight, statesOf: (pattern: string) => number): void {
	let [states, names, listed, members] = [0, 0, 0, 0];
	for (const { pattern, patternProperties, enum: values, properties, format, multipleOf, uniqueItems } of applied) {
		if (typeof pattern === 'string') states += statesOf(pattern);
		if (isObject(patternProperties)) for (const name of Object.keys(patternProperties)) names += statesOf(name);
		if (Array.isArray(values)) listed += values.length;
		if (multipleOf !== undefined) listed += DECIMALS;
		if (isObject(properties)) members += Object.keys(properties).length;
		weight.hasFormat ||= typeof format === 'string';
		weight.isQuadratic ||= uniqueItems === true;
	}
	weight.states = Math.max(weight.states, states, names);
	weight.listed = Math.max(weight.listed, listed);
	weight.members = Math.max(weight.members, members);
}
