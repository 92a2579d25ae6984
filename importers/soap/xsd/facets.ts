// Facets (XML Schema Part 2, §4.3) → keywords of JSON Schema. Facets without a counterpart are dropped, so schemas only get looser.

import { attributeOf, cleanText, type Json, type JsonObject, patternFault, quote, type XmlElement } from '../../../core/index.ts';
import { clarkName, nameIn, XSD } from '../names.ts';
import { NAMES, takesNumbers } from './builtins.ts';
import type { SimpleType } from './simple-types.ts';

const LENGTHS: Readonly<Record<string, readonly ['min' | 'max', ...('min' | 'max')[]]>> = {
	length: ['min', 'max'],
	minLength: ['min'],
	maxLength: ['max'],
};
const BOUNDS: Readonly<Record<string, string>> = {
	minInclusive: 'minimum',
	maxInclusive: 'maximum',
	minExclusive: 'exclusiveMinimum',
	maxExclusive: 'exclusiveMaximum',
};
/** Types with a length that is not the text's. */
const OTHER_LENGTHS = new Set(['base64Binary', 'hexBinary', 'QName', 'NOTATION', 'anySimpleType']);
const MAX_PATTERN_CHARS = 1_000;
const MAX_VALUES = 2_000;
/** The most characters of all values together, since every element of the type repeats them. */
const MAX_VALUES_CHARS = 64 * 1024;

/** Returns a value of the type that an attribute holds: a qualified name as `{namespace}local`. */
export function valueIn(node: XmlElement, attribute: string, { base, isList }: Pick<SimpleType, 'base' | 'isList'>): string | null {
	const name = NAMES.has(base) && !isList ? nameIn(node, attribute) : null;
	return name ? clarkName(name) : attributeOf(node, attribute);
}

/** @param node `xs:restriction`. @param type the restricted type */
export function readFacets(node: XmlElement, type: SimpleType, faults: Set<string>): JsonObject {
	const keywords: JsonObject = {};
	const values: string[] = [];
	const patterns: string[] = [];
	for (const facet of node.children) {
		const value = facet.uri === XSD ? valueIn(facet, 'value', type) : null;
		if (value === null) continue;
		if (facet.local === 'enumeration') values.push(value);
		else if (facet.local === 'pattern') patterns.push(value);
		else Object.assign(keywords, readLength(facet.local, value, type), readBound(facet.local, value, type));
	}
	const items: JsonObject = { ...readEnumeration(values, type), ...readPatterns(patterns, type, faults) };
	return { ...keywords, ...items };
}

function readLength(facet: string, value: string, { base, isList }: SimpleType): JsonObject {
	const ends = Object.hasOwn(LENGTHS, facet) ? LENGTHS[facet] : undefined;
	const length = Number(value);
	if (!ends || !Number.isSafeInteger(length) || length < 0 || (!isList && (OTHER_LENGTHS.has(base) || takesNumbers(base)))) return {};
	return Object.fromEntries(ends.map((end) => [`${end}${isList ? 'Items' : 'Length'}`, length]));
}

function readBound(facet: string, value: string, { base, isList }: SimpleType): JsonObject {
	const keyword = Object.hasOwn(BOUNDS, facet) ? BOUNDS[facet] : undefined;
	const bound = Number(value);
	// A bound that a double cannot tell from its neighbours would refuse the wrong numbers.
	if (keyword === undefined || isList || value.trim() === '' || !takesNumbers(base) || !(Math.abs(bound) <= Number.MAX_SAFE_INTEGER))
		return {};
	return { [keyword]: bound };
}

function readEnumeration(values: string[], { base, isList }: SimpleType): JsonObject {
	// Each value of a list's enumeration is a whole list.
	if (values.length === 0 || values.length > MAX_VALUES || isList || base === 'boolean') return {};
	if (values.reduce((sum, { length }) => sum + length, 0) > MAX_VALUES_CHARS) return {};
	const members: Json[] = values.map((value) => cleanText(value, 1_000));
	// White space is significant in these two types.
	const kept = base === 'string' || base === 'normalizedString' ? values : values.map((value) => value.trim());
	if (members.some((member, index) => member !== kept[index])) return {};
	if (!takesNumbers(base)) return { enum: [...new Set(members)] };
	const numbers = members.map(Number);
	return numbers.every(Number.isSafeInteger)
		? { enum: [...new Set(base === 'int' || base === 'short' ? numbers : [...numbers, ...members])] }
		: {};
}

/** Joins the patterns of one restriction, which are alternatives. */
function readPatterns(patterns: string[], { base, isList, schema }: SimpleType, faults: Set<string>): JsonObject {
	// The pattern of a number restricts its text, not the JSON number, and that of a qualified name its prefix.
	if (patterns.length === 0 || isList || takesNumbers(base) || base === 'boolean' || NAMES.has(base)) return {};
	const translated = patterns.map(translate);
	const pattern = translated.some((one) => one === null) ? null : `^(?:${translated.join('|')})$`;
	if (pattern !== null && pattern.length <= MAX_PATTERN_CHARS && patternFault(pattern) === null) return andPattern(schema, pattern);
	faults.add(`the pattern ${quote(patterns[0] ?? '')} cannot be checked in linear time and was dropped`);
	return {};
}

/** Adds a pattern to that of the restricted type, which has to match as well (§4.3.4). */
function andPattern({ pattern: before, allOf }: JsonObject, pattern: string): JsonObject {
	return before === undefined ? { pattern } : { allOf: [...(Array.isArray(allOf) ? allOf : []), { pattern }] };
}

/** Classes for `\w` and `\W` (F.1.1), which include letters of all alphabets, and no punctuation, such as `_`. */
const WORDS: Readonly<Record<string, string>> = { w: '\\p{L}\\p{M}\\p{N}\\p{S}', W: '\\p{P}\\p{Z}\\p{C}' };

/** Escapes a character if ECMAScript allows it; XML Schema, and documents, escape more. */
function escaped(char: string, isInClass: boolean): string {
	const words = Object.hasOwn(WORDS, char) ? WORDS[char] : undefined;
	if (words !== undefined) return isInClass ? words : `[${words}]`;
	return /[\w^$\\.*+?()[\]{}|/]/.test(char) || (isInClass && char === '-') ? `\\${char}` : char;
}

/** Translates a pattern (Appendix F): it is always anchored, and `^` and `$` are ordinary characters. Null if it has no counterpart. */
function translate(pattern: string): string | null {
	let result = '';
	let inClass = 0;
	for (let at = 0; at < pattern.length; at++) {
		const char = pattern[at] ?? '';
		if (char === '\\') {
			const next = pattern[++at] ?? '';
			if (/[iIcC]/.test(next)) return null;
			if (/[pP]/.test(next) && /^\{Is/.test(pattern.slice(at + 1))) return null;
			result += escaped(next, inClass > 0);
			continue;
		}
		// Subtraction has no counterpart: `[a-z-[aeiou]]`.
		if (char === '[' && inClass++ > 0) return null;
		if (char === ']') inClass--;
		result += inClass === 0 && /[\^$]/.test(char) ? `\\${char}` : char;
	}
	return result;
}
