// Finds endless in-place references: by `$ref`, `allOf`, `anyOf` and `oneOf` a schema applies others to the very same value. A
// schema that includes itself this way (`A: allOf: [A]`, or a base that lists its subtypes, each of which lists the base) makes a
// validator loop forever: JSON Schema 2020-12 core §9.4.1 forbids it, but documents do it. One that doubles at each step takes
// exponential time. The converter leaves out both. Recursion through properties is neither.

import { isObject, type Json, type JsonObject } from '../../core/index.ts';
import type { Document } from './document.ts';
import { lookUp } from './references.ts';

/** The nearest combinator around a reference. In a cycle, `allOf` edges are cut first, so that a base keeps the list of its subtypes. */
export type Edge = 'allOf' | 'other';

interface Target {
	pointer: string;
	edge: Edge;
}

const LISTS = ['allOf', 'anyOf', 'oneOf'] as const;
/** Keywords by which a schema describes members of an object. */
const MEMBERS = ['properties', 'patternProperties', 'additionalProperties', '$ref', ...LISTS];
const APPLYING: ReadonlySet<string> = new Set(['$ref', ...LISTS]);
/** The most lists and objects of a document that are walked: aliases of YAML may repeat them without end. Beyond them, any schema may be completed. */
const MAX_WALKED = 4_000_000;
const MAX_VISITED = 2_000;
/** The most schemas that one may apply. The largest unions of real documents apply some hundred. */
const MAX_APPLIED = 2_000;
const MAX_CHAIN = 500;
const MAX_DEPTH = 40;

export class InPlace {
	readonly #root: JsonObject;
	readonly #targets = new Map<string, Target[]>();
	readonly #applied = new Map<string, number>();
	#completed: Set<string> | 'any' | null = null;

	constructor({ root }: Document) {
		this.#root = root;
	}

	/** Tells whether the reference from one definition to another closes a cycle that must be cut here. */
	closesCycle(from: string, to: string, edge: Edge): boolean {
		const open = [to];
		const visited = new Set(open);
		for (let next = open.pop(); next !== undefined; next = open.pop()) {
			if (next === from || visited.size > MAX_VISITED) return true;
			for (const target of this.#targetsOf(next)) {
				if (visited.has(target.pointer) || (edge === 'other' && target.edge === 'allOf')) continue;
				visited.add(target.pointer);
				open.push(target.pointer);
			}
		}
		return false;
	}

	/** Tells whether the definition applies too many others in place for a validator to follow. */
	isEndless(pointer: string): boolean {
		return this.#countApplied(pointer, 0) > MAX_APPLIED;
	}

	/** Tells whether some schema of the document applies the definition beside others that describe members of the same value. */
	isCompleted(pointer: string): boolean {
		this.#completed ??= this.#findCompleted();
		return this.#completed === 'any' || this.#completed.has(pointer);
	}

	#findCompleted(): Set<string> | 'any' {
		const completed = new Set<string>();
		const open: Json[] = [this.#root];
		let left = MAX_WALKED;
		for (let next = open.pop(); next !== undefined; next = open.pop()) {
			if (left-- === 0) return 'any';
			if (addChildren(open, next) && isObject(next) && completesParts(next))
				for (const { pointer } of this.#resolve(next)) completed.add(pointer);
		}
		// Elements that are added during the iteration are visited too: what a part applies is a part as well.
		for (const pointer of completed) for (const target of this.#targetsOf(pointer)) completed.add(target.pointer);
		return completed;
	}

	#countApplied(pointer: string, chain: number): number {
		const known = this.#applied.get(pointer);
		if (known !== undefined) return known;
		if (chain > MAX_CHAIN) return Number.POSITIVE_INFINITY;
		// A definition that is met again before it is counted is a cycle, which `closesCycle` handles.
		this.#applied.set(pointer, 1);
		const count = this.#targetsOf(pointer).reduce((sum, target) => sum + this.#countApplied(target.pointer, chain + 1), 1);
		this.#applied.set(pointer, count);
		return count;
	}

	#targetsOf(pointer: string): Target[] {
		const known = this.#targets.get(pointer);
		if (known) return known;
		const at = lookUp(this.#root, pointer);
		const found = 'fault' in at ? [] : this.#resolve(at.value);
		this.#targets.set(pointer, found);
		return found;
	}

	#resolve(schema: Json): Target[] {
		return collect(schema, 'other', 0).flatMap(({ pointer, edge }) => {
			const target = lookUp(this.#root, pointer);
			return 'fault' in target ? [] : [{ pointer: target.pointer, edge }];
		});
	}
}

const describesMembers = (schema: Json): boolean => isObject(schema) && MEMBERS.some((keyword) => Object.hasOwn(schema, keyword));

const described = (list: Json | undefined): Json[] => (Array.isArray(list) ? list.filter(describesMembers) : []);

/** Tells whether a schema applies others that describe members of the same value. */
export const appliesMembers = (schema: JsonObject): boolean =>
	typeof schema['$ref'] === 'string' || LISTS.some((keyword) => described(schema[keyword]).length > 0);

/** Tells whether several parts of a schema describe members of the same value. The alternatives of a list are one part. */
export function completesParts(schema: JsonObject): boolean {
	const { properties, patternProperties, additionalProperties = false, $ref, allOf, anyOf, oneOf } = schema;
	const isDescribed = properties !== undefined || patternProperties !== undefined || additionalProperties !== false;
	const alternatives = [anyOf, oneOf].filter((list) => described(list).length > 0);
	return Number(isDescribed) + Number(typeof $ref === 'string') + described(allOf).length + alternatives.length > 1;
}

/** Adds the lists and objects of a value to others. @returns whether it is an object that applies schemas */
function addChildren(open: Json[], value: Json): boolean {
	let applies = false;
	// Faster than a list of the entries: a large document has a million values.
	for (const key in value as JsonObject) {
		const child = (value as JsonObject)[key];
		if (child === null || child === undefined) continue;
		if (typeof child === 'object') open.push(child);
		applies ||= APPLYING.has(key);
	}
	return applies;
}

/** Collects the references of a schema that apply in place, each as often as it is written. */
function collect(schema: Json | undefined, edge: Edge, depth: number): Target[] {
	if (!isObject(schema) || depth > MAX_DEPTH) return [];
	const own: Target[] = typeof schema['$ref'] === 'string' ? [{ pointer: schema['$ref'], edge }] : [];
	const listed = LISTS.flatMap((keyword) => {
		const members = schema[keyword];
		return Array.isArray(members) ? members.flatMap((member) => collect(member, keyword === 'allOf' ? 'allOf' : 'other', depth + 1)) : [];
	});
	return [...own, ...listed];
}
