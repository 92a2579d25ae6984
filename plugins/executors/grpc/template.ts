// Path templates of google/api/http.proto: `/v1/{name=shelves/*/books/**}:close`.

import { type DescField, type DescMessage, enumToJson } from '@bufbuild/protobuf';
import { scalarZeroValue } from '@bufbuild/protobuf/reflect';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { invalid, isObject, type Json, type JsonObject } from '../../../core/index.ts';
import { isPlain } from './codec.ts';

const { IMPLICIT } = FeatureSet_FieldPresence;

const VARIABLE = /\{([A-Za-z0-9_.]+)(?:=([^{}]+))?\}/g;

/** A request in two forms of JSON. */
export interface Fields {
	/** The JSON that the caller sent. */
	given: Json;
	/** Canonical JSON, without the fields that have their default value. */
	canonical: JsonObject;
}

/** @returns the path, and the fields of the canonical form that it does not hold. @throws validation_failed naming the field */
export function fillPath(template: string, { given, canonical }: Fields, desc: DescMessage): { path: string; rest: JsonObject } {
	let rest = canonical;
	const path = template.replace(VARIABLE, (_match, variable: string, pattern = '*') => {
		const at = stepsOf(variable, desc);
		// The canonical form leaves out a zero whether the caller sent it or not.
		const value = (valueAt(given, at) ?? null) === null ? null : completeAt(canonical, at);
		rest = without(rest, at);
		return encode(value, pattern, `/${at.map(({ jsonName }) => jsonName).join('/')}`);
	});
	return { path, rest };
}

/** One field on the path to a value. Templates use the names of the .proto file; JSON has names of its own, and accepts both. */
interface Step {
	name: string;
	jsonName: string;
	/** The value that the field has when it is not set, in a message that is an object of its fields; undefined when it has none. */
	blank: Json | undefined;
}

export function stepsOf(variable: string, root: DescMessage): Step[] {
	let desc: DescMessage | undefined = root;
	let isMessage = true;
	return variable.split('.').map((name) => {
		const field: DescField | undefined = desc?.fields.find((one) => one.name === name);
		const blank = field && desc && isMessage && isPlain(desc) ? blankOf(field) : undefined;
		desc = field?.message;
		isMessage = field?.fieldKind === 'message';
		return { name, jsonName: field?.jsonName ?? name, blank };
	});
}

/** The canonical JSON of the default value of a field that does not tell whether it is set. */
function blankOf(field: DescField): Json | undefined {
	if (field.fieldKind === 'list') return [];
	if (field.fieldKind === 'map') return {};
	if (field.fieldKind === 'message' || field.oneof || field.presence !== IMPLICIT) return undefined;
	if (field.fieldKind === 'enum') return enumToJson(field.enum, field.enum.values[0]?.number ?? 0) as Json;
	const zero = scalarZeroValue(field.scalar, true);
	return zero instanceof Uint8Array ? '' : (zero as Json);
}

const valueAt = (root: Json, steps: readonly Step[]): Json | undefined =>
	steps.reduce<Json | undefined>((holder, { name, jsonName }) => ownValue(holder, jsonName) ?? ownValue(holder, name), root);

/** Finds a value like `valueAt`, in JSON without default values. */
const completeAt = (root: Json, steps: readonly Step[]): Json | undefined =>
	steps.reduce<Json | undefined>((holder, { name, jsonName, blank }) => {
		const value = ownValue(holder, jsonName);
		return (value === undefined && isObject(holder) ? blank : value) ?? ownValue(holder, name);
	}, root);

/** Copies the objects on the way to a field, and leaves it out of the last. */
function without(fields: JsonObject, [step, ...more]: readonly Step[]): JsonObject {
	if (step === undefined) return fields;
	const { name, jsonName } = step;
	if (more.length === 0) {
		const { [jsonName]: _left, ...rest } = fields;
		return rest;
	}
	const key = (ownValue(fields, jsonName) ?? null) === null ? name : jsonName;
	const holder = ownValue(fields, key);
	return isObject(holder) ? { ...fields, [key]: without(holder, more) } : fields;
}

export function ownValue(holder: Json | undefined, name: string): Json | undefined {
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
