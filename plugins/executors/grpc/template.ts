// Path templates of google/api/http.proto: `/v1/{name=shelves/*/books/**}:close`.

import type { DescMessage } from '@bufbuild/protobuf';
import { invalid, isObject, type Json, type JsonObject } from '../../../core/index.ts';

const VARIABLE = /\{([A-Za-z0-9_.]+)(?:=([^{}]+))?\}/g;

/** A request in three forms of JSON. */
export interface Fields {
	/** The JSON that the caller sent. */
	given: Json;
	/** Canonical JSON, without the fields that have their default value. */
	canonical: JsonObject;
	/** Canonical JSON with the default values. */
	complete: JsonObject;
}

/** @returns the path, and the fields of the canonical form that it does not hold. @throws validation_failed naming the field */
export function fillPath(template: string, { given, canonical, complete }: Fields, desc: DescMessage): { path: string; rest: JsonObject } {
	// A copy of JSON, to take fields out of.
	const rest = structuredClone(canonical);
	const path = template.replace(VARIABLE, (_match, variable: string, pattern = '*') => {
		const at = stepsOf(variable, desc);
		// The canonical form leaves out a zero whether the caller sent it or not.
		const value = (valueAt(given, at) ?? null) === null ? null : valueAt(complete, at);
		drop(rest, at);
		return encode(value, pattern, `/${at.map(({ jsonName }) => jsonName).join('/')}`);
	});
	return { path, rest };
}

/** One field on the path to a value. Templates use the names of the .proto file; JSON has names of its own, and accepts both. */
interface Step {
	name: string;
	jsonName: string;
}

function stepsOf(variable: string, root: DescMessage): Step[] {
	let desc: DescMessage | undefined = root;
	return variable.split('.').map((name) => {
		const field: DescMessage['fields'][number] | undefined = desc?.fields.find((one) => one.name === name);
		desc = field?.message;
		return { name, jsonName: field?.jsonName ?? name };
	});
}

const valueAt = (root: Json, steps: readonly Step[]): Json | undefined =>
	steps.reduce<Json | undefined>((holder, { name, jsonName }) => ownValue(holder, jsonName) ?? ownValue(holder, name), root);

function drop(fields: JsonObject, steps: readonly Step[]): void {
	const holder = valueAt(fields, steps.slice(0, -1));
	const last = steps.at(-1)?.jsonName ?? '';
	// Only an object has an own value by a name.
	if (ownValue(holder, last) !== undefined) delete (holder as JsonObject)[last];
}

function ownValue(holder: Json | undefined, name: string): Json | undefined {
	return isObject(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined;
}

/** Encodes slashes if the pattern is one segment; keeps them as separators if it is several. */
function encode(value: Json | undefined, pattern: string, at: string): string {
	if (value === undefined || value === null || typeof value === 'object')
		throw invalid(at, `${at} is required, as text that looks like ${pattern}: it is part of the URL's path.`);
	const text = String(value);
	const segments = pattern === '*' ? [text] : text.split('/');
	if (!matches(segments, pattern.split('/')) || segments.some((segment) => /^\.{0,2}$/.test(segment)))
		throw invalid(at, `${at} must look like ${pattern}, without empty segments, "." and "..": it is part of the URL's path.`);
	return segments.map(percentEncode).join('/');
}

function matches(segments: readonly string[], pattern: readonly string[]): boolean {
	const [first, ...rest] = pattern;
	if (first === undefined) return segments.length === 0;
	if (first === '**') return rest.length === 0 ? segments.length > 0 : false;
	const [segment, ...more] = segments;
	return segment !== undefined && (first === '*' || first === segment) && matches(more, rest);
}

/** Encodes all but the unreserved characters (RFC 3986 §2.3). */
export function percentEncode(text: string): string {
	return encodeURIComponent(text.toWellFormed()).replace(
		/[!'()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	);
}
