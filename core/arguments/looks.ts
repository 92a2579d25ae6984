// The work of checking arguments against a JSON Schema, counted before anything is checked: a schema that applies others twice to the
// same value, and these twice again, takes exponential time on any input. References are the attacker's text, as patterns are.

import { invalid } from '../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../contract/nouns.ts';
import { MAX_DEPTH } from '../http/body.ts';
import { isObject } from '../kit/json.ts';
import { expand, type Graph, type Inside, MAX_LOOKS, Uncounted } from './graph.ts';
import { patternStates } from './pattern-states.ts';

/** The work for one value, as upper bounds; `looks` is infinite where it cannot be told. */
export interface Weight {
	/** Schemas that are applied, those to everything inside the value along its worst path included. */
	looks: number;
	/** States of the patterns that are tried on one text. */
	states: number;
	/** Listed values that it is compared with. */
	listed: number;
	/** Properties that may be filled in. */
	members: number;
	/** Some `format` reads texts from end to end. */
	hasFormat: boolean;
	/** Some `uniqueItems` compares each item with each other one. */
	isQuadratic: boolean;
}

interface CountingLimits {
	/** The most steps that all rounds of counting take together. */
	steps: number;
	/** Schemas that apply to one value, over all values. */
	applied: number;
}

/** Counting has an end. */
const WHOLE: CountingLimits = { steps: Number.POSITIVE_INFINITY, applied: 200_000 };
/** Counted within some milliseconds. */
const QUICK: CountingLimits = { steps: 60_000, applied: 5000 };
const NOTHING: Weight = { looks: 0, states: 0, listed: 0, members: 0, hasFormat: false, isQuadratic: false };

/**
 * @param at JSON pointer of the schema in the request's body
 * @throws validation_failed when checking one value would take more than 2,000 steps, or it cannot be told how many
 */
export function assertBounded(schema: JsonSchema, at: string): void {
	assertFewLooks(weigh(schema), at);
}

/** The same of what was weighed already. */
export function assertFewLooks({ looks }: Weight, at: string): void {
	if (looks === Number.POSITIVE_INFINITY)
		throw invalid(at, `${at} refers to itself without end, or by $id, $anchor or $dynamicRef: use $defs, and $ref with "#/$defs/…".`);
	if (looks > MAX_LOOKS)
		throw invalid(
			at,
			`${at} combines so many schemas, or itself so often, that checking one value would take more than ${MAX_LOOKS} steps.`,
		);
}

/** Counts, along the worst path into the deepest input that is read, how many schemas apply. */
export function weigh(schema: JsonSchema): Weight {
	try {
		return weighGraph(expand(schema, WHOLE.applied));
	} catch (error) {
		if (error instanceof Uncounted) return { ...NOTHING, looks: error.looks };
		throw error;
	}
}

/** The same, or null where that takes longer than some milliseconds. */
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

/** By the depth of the input: each round knows what a value costs that is one level deeper. */
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
	/** The cost of the properties of a name, and of the items at a place, above that of others. */
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

/** At least 0. `Math.max` takes its values as arguments, of which there may be too many. */
function largest(values: Iterable<number>): number {
	let top = 0;
	for (const value of values) top = Math.max(top, value);
	return top;
}

function weighOne(applied: readonly JsonObject[], weight: Weight, statesOf: (pattern: string) => number): void {
	let [states, names, listed, members] = [0, 0, 0, 0];
	for (const { pattern, patternProperties, enum: values, properties, format, uniqueItems } of applied) {
		if (typeof pattern === 'string') states += statesOf(pattern);
		if (isObject(patternProperties)) for (const name of Object.keys(patternProperties)) names += statesOf(name);
		if (Array.isArray(values)) listed += values.length;
		if (isObject(properties)) members += Object.keys(properties).length;
		weight.hasFormat ||= typeof format === 'string';
		weight.isQuadratic ||= uniqueItems === true;
	}
	weight.states = Math.max(weight.states, states, names);
	weight.listed = Math.max(weight.listed, listed);
	weight.members = Math.max(weight.members, members);
}
