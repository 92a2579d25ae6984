// Placeholders in texts: `{{input.city}}`, `{{nodes.fetch.output.items[0] | json}}`. A placeholder is a path that is looked up, and nothing that
// could be computed: no calls, no operators. What a placeholder gives is never read for placeholders again.

import { GatewayError } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';
import { isObject, measureJson } from '../kit/json.ts';
import { SizedCache } from '../kit/sized-cache.ts';

/** One step of a path: the name of a member, or an index. */
export type Step = string | number;

export interface Placeholder {
	path: readonly Step[];
	/** The value of `| default(…)`; undefined without it. */
	fallback: Json | undefined;
	/** `| json`: the value is written as JSON, texts with quotes. */
	isJson: boolean;
}

/** A text in its parts; `fault` says why a placeholder cannot be read. */
export interface Template {
	parts: readonly (string | Placeholder)[];
	fault: string | null;
}

/** The values that placeholders name, by the first step of their path. */
export type Scope = Readonly<Record<string, Json>>;

const OPEN = '{{';
const CLOSE = '}}';
const MAX_STEPS = 32;
/** The most placeholders of a text, and of a node: each is looked up in one go. */
export const MAX_PLACEHOLDERS = 2_000;
/** The most characters that the placeholders of one value may make. */
const MAX_FILLED_CHARS = 4 * 1024 * 1024;
const MAX_KNOWN_BYTES = 32 * 1024 * 1024;
/** The memory of a template for each character of its text: a placeholder has five at least. */
const CHAR_BYTES = 32;

const NAME = /^[\p{L}_$][\p{L}\p{N}_$-]*/u;
const MEMBER = /^[\p{L}\p{N}_$][\p{L}\p{N}_$-]*/u;
const INDEX = /^\[(\d{1,9})\]/;
const DIGITS = /^\d{1,9}$/;
const QUOTED = /^\[("(?:[^"\\]|\\.)*")\]/;
const DEFAULT = /^default\((.*)\)$/s;

const known = new SizedCache<Template>(MAX_KNOWN_BYTES);

/** Reads a text; `\{{` stands for two braces. */
export function parseTemplate(text: string): Template {
	if (!text.includes(OPEN)) return { parts: [text], fault: null };
	const found = known.get(text);
	if (found) return found;
	const made = read(text);
	known.put(text, made, text.length * CHAR_BYTES);
	return made;
}

function read(text: string): Template {
	const parts: (string | Placeholder)[] = [];
	let [literal, placeholders] = ['', 0];
	for (let at = 0; at < text.length; ) {
		const open = text.indexOf(OPEN, at);
		if (open < 0) {
			literal += text.slice(at);
			break;
		}
		if (text[open - 1] === '\\') {
			literal += `${text.slice(at, open - 1)}${OPEN}`;
			at = open + OPEN.length;
			continue;
		}
		const close = endOf(text, open + OPEN.length);
		if (close < 0) return { parts, fault: 'a placeholder is not closed by }}' };
		const inner = text.slice(open + OPEN.length, close).trim();
		const placeholder = readPlaceholder(inner);
		if (typeof placeholder === 'string') return { parts, fault: placeholder };
		if (++placeholders > MAX_PLACEHOLDERS) return { parts, fault: `it has more than ${MAX_PLACEHOLDERS} placeholders` };
		literal += text.slice(at, open);
		if (literal !== '') parts.push(literal);
		parts.push(placeholder);
		literal = '';
		at = close + CLOSE.length;
	}
	if (literal !== '' || parts.length === 0) parts.push(literal);
	return { parts, fault: null };
}

/** Finds the end of a placeholder, beyond braces in quotes. */
function endOf(text: string, from: number): number {
	let isQuoted = false;
	for (let at = from; at < text.length; at++) {
		const char = text[at];
		if (isQuoted && char === '\\') at++;
		else if (char === '"') isQuoted = !isQuoted;
		else if (!isQuoted && char === '}' && text[at + 1] === '}') return at;
	}
	return -1;
}

/** @returns the end of a sentence that says what is wrong, when it cannot be read */
function readPlaceholder(inner: string): Placeholder | string {
	const shown = `{{${inner.slice(0, 80)}}}`;
	const [first] = NAME.exec(inner) ?? [];
	if (first === undefined) return `${shown} does not begin with a name`;
	const path: Step[] = [first];
	let rest = inner.slice(first.length);
	while (rest.startsWith('.') || rest.startsWith('[')) {
		const step = readStep(rest);
		if (!step) return `${shown} has a step that is neither .name, [0] nor ["name"]`;
		if (path.push(step.step) > MAX_STEPS) return `${shown} has more than ${MAX_STEPS} steps`;
		rest = rest.slice(step.length);
	}
	return readFilters({ path, fallback: undefined, isJson: false }, rest.trim(), shown);
}

function readStep(text: string): { step: Step; length: number } | null {
	const member = text.startsWith('.') ? MEMBER.exec(text.slice(1)) : null;
	if (member) return { step: member[0], length: member[0].length + 1 };
	const index = INDEX.exec(text);
	if (index) return { step: Number(index[1]), length: index[0].length };
	const quoted = QUOTED.exec(text);
	const name = quoted && jsonOf(quoted[1] ?? '');
	return quoted && typeof name === 'string' ? { step: name, length: quoted[0].length } : null;
}

function readFilters(placeholder: Placeholder, text: string, shown: string): Placeholder | string {
	let [made, rest] = [placeholder, text];
	while (rest !== '') {
		if (!rest.startsWith('|')) return `${shown} has something after its path that is no filter`;
		const filter = readFilter(rest.slice(1).trim());
		if (!filter) return `${shown} has a filter that is neither json nor default(value), with a value that is JSON`;
		if (filter.set.isJson ? made.isJson : made.fallback !== undefined) return `${shown} has the same filter twice`;
		made = { ...made, ...filter.set };
		rest = filter.rest;
	}
	return made;
}

/** Reads the first of the filters. @returns what it sets, and those after it */
function readFilter(text: string): { set: { isJson?: true; fallback?: Json }; rest: string } | null {
	if (/^json\b/.test(text)) return { set: { isJson: true }, rest: text.slice('json'.length).trim() };
	const end = text.startsWith('default(') ? closing(text) : -1;
	const fallback = jsonOf(DEFAULT.exec(text.slice(0, end + 1))?.[1] ?? '');
	return end < 0 || fallback === undefined ? null : { set: { fallback }, rest: text.slice(end + 1).trim() };
}

/** Finds the parenthesis that closes the first one, beyond those in quotes. */
function closing(text: string): number {
	let [depth, isQuoted] = [0, false];
	for (let at = 0; at < text.length; at++) {
		const char = text[at];
		if (isQuoted && char === '\\') at++;
		else if (char === '"') isQuoted = !isQuoted;
		else if (!isQuoted && char === '(') depth++;
		else if (!isQuoted && char === ')' && --depth === 0) return at;
	}
	return -1;
}

function jsonOf(text: string): Json | undefined {
	try {
		const value = JSON.parse(text) as Json;
		return measureJson(value, MAX_FILLED_CHARS).fault === null ? value : undefined;
	} catch {
		return undefined;
	}
}

/** Looks a path up among own members; undefined when it leads nowhere. */
export function lookUp(path: readonly Step[], scope: Scope): Json | undefined {
	let at: Json | undefined = scope;
	for (const step of path) {
		// An index after a dot is what other languages of templates write.
		if (Array.isArray(at)) at = typeof step === 'number' || DIGITS.test(step) ? at[Number(step)] : undefined;
		else if (isObject(at) && Object.hasOwn(at, step)) at = at[step];
		else return undefined;
	}
	return at;
}

/**
 * Returns a value with its placeholders filled in, in a single pass. One that is a whole text keeps its JSON type, null where its path leads
 * nowhere; within a text such a one is empty. @throws validation_failed when that makes too much text
 */
export function fill(value: Json, scope: Scope): Json {
	const budget = { chars: MAX_FILLED_CHARS };
	// One placeholder gives one value, which was bounded when it was made.
	return typeof value === 'string' ? fillText(value, scope, budget) : fillValue(value, scope, budget);
}

interface Budget {
	chars: number;
}

function fillValue(value: Json, scope: Scope, budget: Budget): Json {
	if (typeof value === 'string') return spendWhole(value, fillText(value, scope, budget), budget);
	if (Array.isArray(value)) return value.map((item) => fillValue(item, scope, budget));
	if (!isObject(value)) return value;
	return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fillValue(member, scope, budget)]));
}

function fillText(text: string, scope: Scope, budget: Budget): Json {
	const { parts, fault } = parseTemplate(text);
	if (fault !== null) throw new GatewayError('validation_failed', `A template cannot be used: ${fault}.`);
	const [only] = parts;
	if (parts.length === 1 && only !== undefined && typeof only !== 'string') {
		const value = placed(only, scope) ?? null;
		return only.isJson ? spend(JSON.stringify(value), budget) : value;
	}
	return parts.map((part) => (typeof part === 'string' ? part : spend(textOf(part, scope), budget))).join('');
}

/** Null counts as absent for `default`. */
const placed = ({ path, fallback }: Placeholder, scope: Scope): Json | undefined => {
	const value = lookUp(path, scope);
	return value === undefined || value === null ? (fallback ?? value) : value;
};

function textOf(placeholder: Placeholder, scope: Scope): string {
	const value = placed(placeholder, scope);
	if (placeholder.isJson) return JSON.stringify(value ?? null);
	if (value === undefined || value === null) return '';
	return typeof value === 'string' ? value : JSON.stringify(value);
}

function spend(text: string, budget: Budget): string {
	spendChars(text.length, budget);
	return text;
}

/** Counts a value that stands in place of a text: a list that names it a thousand times takes no memory until it is written as JSON. */
function spendWhole(text: string, value: Json, budget: Budget): Json {
	const { parts } = parseTemplate(text);
	const [only] = parts;
	if (parts.length > 1 || only === undefined || typeof only === 'string' || only.isJson) return value;
	const { chars, fault } = measureJson(value, budget.chars);
	if (fault !== null) throw new GatewayError('validation_failed', `What the placeholder of /${only.path.join('/')} gives ${fault}.`);
	spendChars(chars, budget);
	return value;
}

function spendChars(chars: number, budget: Budget): void {
	budget.chars -= chars;
	if (budget.chars < 0)
		throw new GatewayError('validation_failed', `The placeholders of a node make more than ${MAX_FILLED_CHARS} characters.`);
}
