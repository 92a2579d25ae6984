// Counts the size of a JSON Schema before it is compiled: Ajv writes code for every keyword (some 45 µs in a fresh thread and 640 bytes each),
// and RE2 a program for every pattern. Measured with ajv 8.20 and re2js 2.10; test/bench/tools.ts measures it again.

import { invalid } from '../contract/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { atFragment, pointerToken } from '../kit/json-pointer.ts';
import { patternStates } from './pattern-states.ts';

export interface SchemaSize {
	/** Number of keywords and names; those of a reference's target count once more for each spelling of the reference. */
	keywords: number;
	/** States of all patterns together, each distinct pattern counted once. */
	states: number;
}

/** Compiled within a second or so, on one thread, where it was measured; a thread has five (`thread.ts`). */
export const MAX_SIZE: SchemaSize = { keywords: 20_000, states: 50_000 };
/** Compiled within 20 ms. */
export const SMALL_SIZE: SchemaSize = { keywords: 300, states: 2000 };
/** Weight of a listed value: values are compared in a loop, which needs little code. */
const LISTED = 0.1;
/** Weight of a reference to the meta-schema, which Ajv then compiles. */
const META_KEYWORDS = 800;
const MAX_DEPTH = 500;

export const fits = (size: SchemaSize, limit: SchemaSize): boolean => size.keywords <= limit.keywords && size.states <= limit.states;

export const bytesOf = ({ keywords, states }: SchemaSize): number => 2000 + 640 * keywords + 400 * states;

/**
 * Counts a schema, and stops as soon as it is too large.
 * @param at JSON pointer of the schema in the request's body
 * @throws validation_failed naming the pointer: the pattern that exceeds the limit, or `at`
 */
export function measureSize(schema: JsonSchema, at: string): SchemaSize {
	const counting: Counting = { sizes: new Map(), patterns: new Set(), references: [], hasIds: false, keywords: 0, states: 0, at };
	countObject(schema, at, counting, 0);
	let { keywords } = counting;
	// Below a nested `$id`, the same text may reference another schema.
	for (const reference of counting.hasIds ? counting.references : new Set(counting.references)) {
		const target = atFragment(schema, reference);
		const own = isNode(target) ? counting.sizes.get(target) : undefined;
		keywords += own ?? (reference.startsWith('#') ? counting.keywords : META_KEYWORDS);
		if (keywords > MAX_SIZE.keywords) throw tooLarge(at);
	}
	return { keywords: Math.ceil(keywords), states: Math.ceil(counting.states) };
}

interface Counting extends SchemaSize {
	/** Number of keywords in and below each object and list. */
	sizes: Map<object, number>;
	patterns: Set<string>;
	references: string[];
	/** Whether a nested schema has an `$id`. */
	hasIds: boolean;
	at: string;
}

function countObject(node: JsonObject, path: string, counting: Counting, depth: number): void {
	const before = counting.keywords;
	for (const [key, value] of Object.entries(node)) {
		add(counting, 1);
		if (typeof value === 'string') {
			if (key === '$ref' || key === '$dynamicRef') counting.references.push(value);
			else if (key === '$id') counting.hasIds ||= depth > 0;
			else if (key === 'pattern') addPattern(value, `${path}/pattern`, counting);
		} else if (isNode(value)) countNode(key, value, `${path}/${pointerToken(key)}`, counting, depth + 1);
	}
	counting.sizes.set(node, counting.keywords - before);
}

function countNode(key: string, value: JsonObject | Json[], path: string, counting: Counting, depth: number): void {
	if (depth > MAX_DEPTH) throw tooLarge(counting.at);
	if (!Array.isArray(value)) {
		if (key === 'patternProperties') for (const pattern of Object.keys(value)) addPattern(pattern, path, counting);
		countObject(value, path, counting, depth);
		return;
	}
	const before = counting.keywords;
	value.forEach((item, index) => {
		add(counting, key === 'enum' ? LISTED : 1);
		if (isNode(item)) countNode('', item, `${path}/${index}`, counting, depth + 1);
	});
	counting.sizes.set(value, counting.keywords - before);
}

function add(counting: Counting, keywords: number): void {
	counting.keywords += keywords;
	if (counting.keywords > MAX_SIZE.keywords) throw tooLarge(counting.at);
}

function addPattern(pattern: string, path: string, counting: Counting): void {
	if (counting.patterns.has(pattern)) return;
	counting.patterns.add(pattern);
	counting.states += patternStates(pattern);
	if (counting.states <= MAX_SIZE.states) return;
	throw invalid(path, `The patterns up to this one take more than ${MAX_SIZE.states} states: repeat less, {1,900} is nine hundred copies.`);
}

const tooLarge = (at: string) =>
	invalid(at, `The schema has more than ${MAX_SIZE.keywords} keywords and names, or counts as many by its references: make it smaller.`);

const isNode = (value: Json | undefined): value is JsonObject | Json[] => value !== null && typeof value === 'object';
