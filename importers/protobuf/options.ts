// What options say of a field or a method beyond its types: google.api.http, field_behavior, operation_info.

import {
	type DescExtension,
	type DescField,
	type DescMethod,
	type FileRegistry,
	type JsonObject,
	type JsonValue,
	toJson,
} from '@bufbuild/protobuf';
import { FieldOptionsSchema, MethodOptionsSchema } from '@bufbuild/protobuf/wkt';
import { isObject } from '../../core/index.ts';

/** One way to call a method over HTTP: google/api/http.proto. */
export interface HttpBinding {
	method: string;
	/** `/v1/{name=shelves/*}:close` */
	path: string;
	/** `*` for all that is not in the path, the name of a field, or absent. */
	body?: string;
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const;
/** What an executor can fill: `{field}` and `{field=pattern}`, and no braces elsewhere. */
const TEMPLATE = /^\/(?:[^{}?#\s]|\{[A-Za-z0-9_.]+(?:=[^{}?#\s]+)?\})*$/;
const MAX_BINDINGS = 20;

/** `REQUIRED`, `OUTPUT_ONLY`, … */
export function behaviorsOf({ proto }: DescField | DescExtension, registry: FileRegistry): readonly JsonValue[] {
	const { options } = proto;
	if (!options?.$unknown) return [];
	try {
		const told = toJson(FieldOptionsSchema, options, { registry }) as JsonObject;
		const behaviors = told['[google.api.field_behavior]'];
		return Array.isArray(behaviors) ? behaviors : [];
	} catch {
		// Bytes that a compiled file has under this number, and that mean something else.
		return [];
	}
}

export interface MethodOptions {
	/** The first is the one to use, the others are for requests that it cannot carry. */
	bindings: HttpBinding[];
	/** Types that the Any of an operation holds. */
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
		// As above.
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
