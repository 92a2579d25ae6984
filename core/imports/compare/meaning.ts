// Whether parts of two JSON Schemas mean the same: whatever the order of keys, of `required` and `enum`, and though definitions
// refer to each other in circles. Every part gets a number, so that a comparison costs nothing once it is known.

import type { Json, JsonObject } from '../../contract/nouns.ts';
import { isObject } from '../../kit/json.ts';

/** How much may still be looked at. @see spend */
export interface Steps {
	left: number;
	/** Levels. Deeper is not looked at either. */
	maxDepth: number;
}

/** What `spend` throws; caught by whoever gave the steps. */
export const TOO_LARGE = Symbol('too large to be compared');

/** @throws TOO_LARGE when there is nothing left */
export function spend(steps: Steps, count = 1): void {
	steps.left -= count;
	if (steps.left < 0) throw TOO_LARGE;
}

/** A definition's name, of a reference to it. */
export function definitionOf(ref: Json | undefined): string | null {
	return typeof ref === 'string' && ref.startsWith('#/$defs/') ? ref.slice('#/$defs/'.length) : null;
}

export const definitionsOf = (root: JsonObject): JsonObject => (isObject(root['$defs']) ? root['$defs'] : {});

/** Their order says nothing. */
const UNORDERED = new Set(['required', 'enum', 'type']);

type Spell = (ref: string) => string;

/** Equal values have equal numbers, in all that one of these has numbered. */
class Numbers {
	readonly #byText = new Map<string, number>();
	readonly #steps: Steps;

	constructor(steps: Steps) {
		this.#steps = steps;
	}

	/** @param known numbers of objects that were met before, under the same `spell` */
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

/** @returns whether a part of `before` and one of `after` mean the same. @throws TOO_LARGE, now or when asked */
export function compareMeanings(before: JsonObject, after: JsonObject, steps: Steps): (before: Json, after: Json) => boolean {
	const numbers = new Numbers(steps);
	const same = sameDefinitions(definitionsOf(before), definitionsOf(after), numbers);
	// A reference to what differs is different by itself, and that makes all that contains it so.
	const spellOf =
		(when: string): Spell =>
		(ref) =>
			same.has(definitionOf(ref) ?? '') ? ref : `${when} ${ref}`;
	const [spellBefore, spellAfter] = [spellOf('before'), spellOf('after')];
	const [knownBefore, knownAfter] = [new Map<object, number>(), new Map<object, number>()];
	return (one, other) => numbers.of(one, spellBefore, knownBefore) === numbers.of(other, spellAfter, knownAfter);
}

/** Names of definitions that say the same on both sides and refer only to such as do. */
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
