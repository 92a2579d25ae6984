// Tells whether parts of two JSON Schemas have the same meaning: regardless of the order of keys, of `required` and `enum`, and with
// definitions that refer to each other in circles. Every part gets a number, so that comparing a known part costs nothing.

import type { Json, JsonObject } from '../../contract/nouns.ts';
import { isObject } from '../../kit/json.ts';

/** The budget of a comparison. @see spend */
export interface Steps {
	left: number;
	/** Levels of nesting that are compared. */
	maxDepth: number;
}

/** Thrown by `spend`, and caught by the function that set the budget. */
export const TOO_LARGE = Symbol('too large to be compared');

/** Takes steps from the budget. @throws TOO_LARGE when the budget is exhausted */
export function spend(steps: Steps, count = 1): void {
	steps.left -= count;
	if (steps.left < 0) throw TOO_LARGE;
}

/** Returns the name of the definition that a reference points to. */
export function definitionOf(ref: Json | undefined): string | null {
	return typeof ref === 'string' && ref.startsWith('#/$defs/') ? ref.slice('#/$defs/'.length) : null;
}

export const definitionsOf = (root: JsonObject): JsonObject => (isObject(root['$defs']) ? root['$defs'] : {});

/** Keywords whose members have no significant order. */
const UNORDERED = new Set(['required', 'enum', 'type']);

type Spell = (ref: string) => string;

/** Numbers values: within one instance, equal values have equal numbers. */
class Numbers {
	readonly #byText = new Map<string, number>();
	readonly #steps: Steps;

	constructor(steps: Steps) {
		this.#steps = steps;
	}

	/** Returns the number of a value. @param known numbers of objects that were seen before, under the same `spell` */
	of(value: Json, spell: Spell, known: Map<object, number>, depth = 0): number {
		if (typeof value !== 'object' || value === null) return this.#number(JSON.stringify(value));
		const found = known.get(value);
		if (found !== undefined) return found;
		spend(this.#steps);
		if (depth > this.#steps.maxDepth) throw TOO_LARGE;
		const number = this.#number(this.#spellOut(value, (member) => this.of(member, spell, known, depth + 1), spell));
		known.set(value, number);
		return number;
	}

	#spellOut(value: Json[] | JsonObject, numberOf: (member: Json) => number, spell: Spell): string {
		if (Array.isArray(value)) return `[${value.map(numberOf)}]`;
		const members = Object.entries(value).map(([key, member]) => {
			if (key === '$ref' && typeof member === 'string') return `"$ref":${JSON.stringify(spell(member))}`;
			if (UNORDERED.has(key) && Array.isArray(member)) return `"${key}":{${member.map(numberOf).sort((a, b) => a - b)}}`;
			return `${JSON.stringify(key)}:${numberOf(member)}`;
		});
		return `{${members.sort().join()}}`;
	}

	#number(text: string): number {
		const known = this.#byText.get(text);
		if (known !== undefined) return known;
		this.#byText.set(text, this.#byText.size);
		return this.#byText.size - 1;
	}
}

/**
 * @returns a function that tells whether a part of `before` and one of `after` have the same meaning. @throws TOO_LARGE, at once or from
 * that function
 */
export function compareMeanings(before: JsonObject, after: JsonObject, steps: Steps): (before: Json, after: Json) => boolean {
	const numbers = new Numbers(steps);
	const same = sameDefinitions(definitionsOf(before), definitionsOf(after), numbers);
	// A reference to a definition that differs counts as different, and so does everything that contains it.
	const spellOf =
		(when: string): Spell =>
		(ref) =>
			same.has(definitionOf(ref) ?? '') ? ref : `${when} ${ref}`;
	const [spellBefore, spellAfter] = [spellOf('before'), spellOf('after')];
	const [knownBefore, knownAfter] = [new Map<object, number>(), new Map<object, number>()];
	return (one, other) => numbers.of(one, spellBefore, knownBefore) === numbers.of(other, spellAfter, knownAfter);
}

/** Returns the names of definitions that are equal on both sides and refer only to definitions that are. */
function sameDefinitions(before: JsonObject, after: JsonObject, numbers: Numbers): Set<string> {
	const usersOf = new Map<string, string[]>();
	const textOf = (name: string, definitions: JsonObject, known: Map<object, number>): number => {
		const spell: Spell = (ref) => {
			const used = definitionOf(ref);
			if (used === null) return ref;
			const users = usersOf.get(used);
			if (users) users.push(name);
			else usersOf.set(used, [name]);
			return ref;
		};
		return numbers.of(definitions[name] ?? null, spell, known);
	};
	const [old, fresh] = [new Map<object, number>(), new Map<object, number>()];
	const names = Object.keys(before).filter((name) => Object.hasOwn(after, name));
	const same = new Set(names.filter((name) => textOf(name, before, old) === textOf(name, after, fresh)));
	const different = [...usersOf.keys()].filter((name) => !same.has(name));
	for (let name = different.pop(); name !== undefined; name = different.pop())
		for (const user of usersOf.get(name) ?? []) if (same.delete(user)) different.push(user);
	return same;
}
