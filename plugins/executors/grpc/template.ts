// Path templates of google/api/http.proto: `/v1/{name=shelves/*/books/**}:close`.

import type { DescMessage } from '@bufbuild/protobuf';
import { invalid, isObject, type Json, type JsonObject } from '../../../core/index.ts';

const VARIABLE = /\{([A-Za-z0-9_.]+)(?:=([^{}]+))?\}/g;

/** A request in its three forms of JSON. */
export interface Fields {
	/** As it came. */
	given: Json;
	/** Canonical: what has its default value is left out. */
	canonical: JsonObject;
	/** With the default values. */
	complete: JsonObject;
}

/** @returns the path, and what of the canonical form did not go into it. @throws validation_failed naming the field */
export function fillPath(template: string, { given, canonical, complete }: Fields, desc: DescMessage): { path: string; rest: JsonObject } {
	// A copy of JSON, to take fields out of.
	const rest = structuredClone(canonical);
	const path = template.replace(VARIABLE, (_match, variable: string, pattern = '*') => {
		const at = stepsOf(variable, desc);
		// The canonical form leaves out a zero whether it was given or not.
		const value = (valueAt(given, at) ?? null) === null ? null : valueAt(complete, at);
		drop(rest, at);
		return encode(value, pattern, `/${at.map(({ jsonName }) => jsonName).join('/')}`);
	});
	return { path, rest };
}

/** Templates have the names of the description; JSON has its own, and takes both. */
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
	// What has a value of its own by a name is an object.
	if (ownValue(holder, last) !== undefined) delete (holder as JsonObject)[last];
}

function ownValue(holder: Json | undefined, name: string): Json | undefined {
	return isObject(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined;
}

/** Of one segment every slash is the value's own; of several, they part them. */
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

/** RFC 3986 §2.3: all but unreserved characters. */
export function percentEncode(text: string): string {
	return encodeURIComponent(text.toWellFormed()).replace(
		/[!'()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	);
}
