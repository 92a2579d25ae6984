// Prompts with placeholders. A placeholder looks a path up in the arguments: nothing is evaluated, and what is filled in is not read again.

import { GatewayError, hasInfinity, isObject, type Json, type JsonObject } from '../../../core/index.ts';

/** A piece of a prompt: text, or a path with its filters. */
export type Piece = string | Placeholder;

export interface Placeholder {
	path: readonly string[];
	/** The value of an argument that is absent or null. */
	fallback: Json | undefined;
	/** Whether texts are written as JSON, too. */
	asJson: boolean;
}

/** The most characters of a filled prompt. */
const MAX_PROMPT = 2_000_000;
const MAX_PLACEHOLDERS = 1000;
const OPEN = '{{';
const CLOSE = '}}';
/** A backslash before the braces makes them text. */
const ESCAPE = '\\';
const SEGMENT = /^[^\s{}|"\\]+$/;
const DEFAULT = /^default:\s*("(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null)\s*(?=\||$)/;
const JSON_FILTER = /^json\s*(?=\||$)/;
/** Names that lead out of data. */
const FORBIDDEN = ['__proto__', 'constructor', 'prototype'];

/** Returns the pieces of a template, or the sentence that says what is wrong with it. */
export function parseTemplate(template: string): Piece[] | string {
	const pieces: Piece[] = [];
	let [from, count] = [0, 0];
	for (;;) {
		const open = template.indexOf(OPEN, from);
		if (open < 0) return [...pieces, template.slice(from)];
		if (template[open - 1] === ESCAPE) {
			pieces.push(template.slice(from, open - 1), OPEN);
			from = open + OPEN.length;
			continue;
		}
		const close = template.indexOf(CLOSE, open);
		if (close < 0) return `{{ at character ${open + 1} has no }}; write \\{{ for braces that are text.`;
		const inside = template.slice(open + OPEN.length, close).trim();
		const placeholder = placeholderOf(inside);
		if (typeof placeholder === 'string') return `{{${inside.slice(0, 80)}}} ${placeholder}`;
		if (++count > MAX_PLACEHOLDERS) return `a template may have ${MAX_PLACEHOLDERS} placeholders.`;
		pieces.push(template.slice(from, open), placeholder);
		from = close + CLOSE.length;
	}
}

function placeholderOf(inside: string): Placeholder | string {
	const bar = inside.indexOf('|');
	const path = (bar < 0 ? inside : inside.slice(0, bar)).trim().split('.');
	if (!path.every((segment) => SEGMENT.test(segment)))
		return 'must be the name of an argument or a path, such as {{order.items.0.name}}; write \\{{ for braces that are text.';
	const forbidden = path.find((segment) => FORBIDDEN.includes(segment));
	if (forbidden !== undefined) return `may not use ${forbidden}.`;
	const placeholder: Placeholder = { path, fallback: undefined, asJson: false };
	let filters = bar < 0 ? '' : inside.slice(bar + 1).trimStart();
	while (bar >= 0) {
		const [whole = '', literal] = DEFAULT.exec(filters) ?? JSON_FILTER.exec(filters) ?? [];
		if (whole === '') return 'has an unknown filter: there are json, and default: with a text in quotes, a number, true, false or null.';
		if (literal === undefined) placeholder.asJson = true;
		else placeholder.fallback = literalOf(literal);
		if (literal !== undefined && placeholder.fallback === undefined) return 'has a default that is no JSON.';
		filters = filters.slice(whole.length);
		if (filters === '') break;
		filters = filters.slice(1).trimStart();
	}
	return placeholder;
}

function literalOf(text: string): Json | undefined {
	try {
		const value = JSON.parse(text) as Json;
		return hasInfinity(value) ? undefined : value;
	} catch {
		return undefined;
	}
}

/** Fills arguments in, once. An argument that is absent or null leaves nothing. @throws validation_failed for a prompt that is too long */
export function fillTemplate(pieces: readonly Piece[], args: JsonObject): string {
	const known = new Map<string, string>();
	let filled = '';
	for (const piece of pieces) {
		const text = typeof piece === 'string' ? piece : textOf(piece, args, known);
		if (filled.length + text.length > MAX_PROMPT)
			throw new GatewayError('validation_failed', `The prompt would have more than ${MAX_PROMPT} characters: send less.`);
		filled += text;
	}
	return filled;
}

/** A path is written once, however often the template has it. */
function textOf(placeholder: Placeholder, args: JsonObject, known: Map<string, string>): string {
	const key = JSON.stringify(placeholder);
	const found = known.get(key);
	if (found !== undefined) return found;
	const value = lookUp(args, placeholder.path) ?? placeholder.fallback;
	const text = write(value, placeholder.asJson);
	known.set(key, text);
	return text;
}

function write(value: Json | undefined, asJson: boolean): string {
	if (asJson) return JSON.stringify(value ?? null);
	if (value === undefined || value === null) return '';
	return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Walks own members only. */
function lookUp(args: JsonObject, path: readonly string[]): Json | undefined {
	let value: Json | undefined = args;
	for (const segment of path) {
		if (Array.isArray(value)) value = /^\d+$/.test(segment) ? value[Number(segment)] : undefined;
		else value = isObject(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
	}
	return value;
}
