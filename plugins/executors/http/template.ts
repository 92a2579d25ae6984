// Fills the {placeholders} of hand-written configs with arguments.

import { holdsSecret, type Json, type JsonObject } from '../../../core/index.ts';
import type { Spend } from './budget.ts';

const PLACEHOLDER = /\{([A-Za-z0-9_.-]{1,64})\}/g;
const WHOLE = /^\{([A-Za-z0-9_.-]{1,64})\}$/;

/** Reads an argument; undefined if it is absent. */
export type Read = (name: string) => Json | undefined;

/**
 * Reads own properties only, so that an argument called `constructor` is the caller's or absent.
 * @param used learns the names that were read, where anybody asks
 */
export function reader(args: JsonObject, used: Set<string> | null): Read {
	return (name) => {
		used?.add(name);
		return Object.hasOwn(args, name) ? args[name] : undefined;
	};
}

export function plainText(value: Json): string {
	return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Whether a text has placeholders. */
export const hasPlaceholders = (template: string): boolean => template.search(PLACEHOLDER) !== -1;

/** Fills a text; null if it has placeholders and none of them has a value. */
export function fillText(template: string, read: Read, spend: Spend, encode: (text: string) => string = (text) => text): string | null {
	let placeholders = 0;
	let filled = 0;
	const text = template.replace(PLACEHOLDER, (_match, name: string) => {
		placeholders += 1;
		const value = read(name);
		if (value === undefined || value === null) return '';
		filled += 1;
		const plain = plainText(value);
		spend(plain.length);
		return encode(plain);
	});
	return placeholders > 0 && filled === 0 ? null : text;
}

/** Fills a text. One that is exactly one placeholder becomes the argument, of whatever type; undefined if it is absent. */
export function fillValue(template: string, read: Read, spend: Spend): Json | undefined {
	const name = WHOLE.exec(template)?.[1];
	if (name === undefined) return fillText(template, read, spend) ?? undefined;
	const value = read(name);
	if (value !== undefined) spend(plainText(value).length);
	return value;
}

/** Fills all texts of a JSON value. Properties and items whose argument is absent are left out. */
export function fillJson(template: Json, read: Read, spend: Spend): Json | undefined {
	if (typeof template === 'string') return fillValue(template, read, spend);
	if (Array.isArray(template)) return template.map((item) => fillJson(item, read, spend)).filter((item) => item !== undefined);
	if (template === null || typeof template !== 'object') return template;
	const filled = Object.entries(template).map(([key, value]) => [key, fillJson(value, read, spend)] as const);
	return Object.fromEntries(filled.filter((entry): entry is [string, Json] => entry[1] !== undefined));
}

/** A text of up to this length beside a placeholder is an abbreviation or a separator; a longer one may be a secret. */
const SHORT_CHARS = 7;
const NAME_BEFORE = /^[\w.-]{1,64}="?$/;

/** Whether a header's name says that it holds a secret, and its template writes one out: it is not made of placeholders. */
export function writesSecret(name: string, template: string): boolean {
	if (!holdsSecret(name)) return false;
	const words = template.split(/[\s;,]+/);
	return template.search(PLACEHOLDER) === -1 || words.some((word, index) => !isHarmless(word, index === 0 && words.length > 1));
}

/** @param isFirst whether it is the first of several words: without a placeholder that is the scheme (RFC 9110 §11.4) */
function isHarmless(word: string, isFirst: boolean): boolean {
	const start = word.search(PLACEHOLDER);
	if (start === -1) return isFirst || word.length <= SHORT_CHARS;
	const named = NAME_BEFORE.test(word.slice(0, start)) ? word.slice(start) : word;
	return named.replace(PLACEHOLDER, '').length <= SHORT_CHARS;
}
