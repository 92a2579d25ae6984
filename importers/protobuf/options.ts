// Reads the options of fields and methods that affect tools: google.api.http, field_behavior, operation_info.

import {
	type DescExtension,
	type DescField,
	type DescMethod,
	type FileRegistry,
	type JsonObject,
	type JsonValue,
	toJson,
} from '@bufbuild/protobuf';
import { type FieldOptions, FieldOptionsSchema, MethodOptionsSchema } from '@bufbuild/protobuf/wkt';
import { isObject } from '../../core/index.ts';
import type { HttpBinding } from '../../plugins/executors/grpc/config.ts';

const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const;
/** A template that the executor can fill: `{field}` and `{field=pattern}`, and no other braces. */
const TEMPLATE = /^\/(?:[^{}?#\s]|\{[A-Za-z0-9_.]+(?:=[^{}?#\s]+)?\})*$/;
const MAX_BINDINGS = 20;

/** Number of the extension `google.api.field_behavior`: https://github.com/googleapis/googleapis/blob/master/google/api/field_behavior.proto */
const FIELD_BEHAVIOR = 1052;

/** The behaviors of options by their bytes: most fields have the same few. */
export type KnownBehaviors = Map<string, readonly JsonValue[]>;

/** Returns the behaviors of a field: `REQUIRED`, `OUTPUT_ONLY`, … */
export function behaviorsOf({ proto }: DescField | DescExtension, registry: FileRegistry, known: KnownBehaviors): readonly JsonValue[] {
	const { options } = proto;
	if (!options?.$unknown?.some(({ no }) => no === FIELD_BEHAVIOR)) return [];
	const key = options.$unknown.map(({ no, wireType, data }) => `${no} ${wireType} ${Buffer.from(data).toString('latin1')}`).join('\n');
	const before = known.get(key);
	if (before) return before;
	const behaviors = readBehaviors(options, registry);
	known.set(key, behaviors);
	return behaviors;
}

function readBehaviors(options: FieldOptions, registry: FileRegistry): readonly JsonValue[] {
	try {
		const told = toJson(FieldOptionsSchema, options, { registry }) as JsonObject;
		const behaviors = told['[google.api.field_behavior]'];
		return Array.isArray(behaviors) ? behaviors : [];
	} catch {
		// A compiled file has bytes of another meaning under this number.
		return [];
	}
}

export interface MethodOptions {
	/** The first binding is preferred; the others are for requests that it cannot express. */
	bindings: HttpBinding[];
	/** Types of the Any in a long-running operation. */
	answers: string[];
}

export function methodOptionsOf({ proto, parent }: DescMethod, registry: FileRegistry): MethodOptions {
	const { options } = proto;
	if (!options?.$unknown) return { bindings: [], answers: [] };
	try {
		const told = toJson(MethodOptionsSchema, options, { registry }) as JsonObject;
		const info = told['[google.longrunning.operation_info]'];
		const named = isObject(info) ? [info['responseType'], info['metadataType']] : [];
		const answers = named.filter((name) => typeof name === 'string' && name !== '') as string[];
		const inPackage = answers.map((name) => (name.includes('.') ? name : `${parent.file.proto.package}.${name}`));
		return { bindings: bindingsOf(told['[google.api.http]']).slice(0, MAX_BINDINGS), answers: inPackage };
	} catch {
		// A compiled file has bytes of another meaning under this number.
		return { bindings: [], answers: [] };
	}
}

function bindingsOf(rule: JsonValue | undefined): HttpBinding[] {
	if (!isObject(rule)) return [];
	const { custom, body, additionalBindings } = rule;
	const given = METHODS.map((method) => ({ method: method.toUpperCase(), path: rule[method] }));
	if (isObject(custom)) given.push({ method: String(custom['kind']).toUpperCase(), path: custom['path'] });
	const found = given.find(({ path }) => typeof path === 'string');
	const more = Array.isArray(additionalBindings) ? additionalBindings.flatMap(bindingsOf) : [];
	if (!found || !TEMPLATE.test(String(found.path)) || !/^[A-Z]{1,20}$/.test(found.method)) return more;
	return [
		{
			method: found.method,
			path: String(found.path),
			...(typeof body === 'string' && body !== '' ? { body } : {}),
		},
		...more,
	];
}
