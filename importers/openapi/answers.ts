// What an operation answers: the media type to ask for, and a schema of the answer where one is safe to promise.

import { isObject, type Json, type JsonObject } from '../../core/index.ts';
import { type Definitions, MAX_STEPS } from './definitions.ts';
import { type MediaType, rankedMediaTypes, rankOf } from './media-types.ts';
import { follow, lookUp } from './references.ts';
import { type Converted, convertSchema } from './schemas.ts';

export interface Answer {
	/** Value of the Accept header, all that the successes may be; null when the document names no content. */
	accept: string | null;
	/** Null unless every success is a JSON object of this one shape. */
	schema: JsonObject | null;
	/** It would have one, were it smaller or converted without a loss. */
	isCut: boolean;
}

const SUCCESS = /^2(?:\d\d|XX)$/i;
const MAX_SCHEMA_BYTES = 32 * 1024;
/** MCP clients take no other root, and models no combination there. */
const ROOT_COMBINATORS = ['$ref', 'allOf', 'anyOf', 'not', 'enum', 'const'];

export function readAnswer(responses: Json | undefined, definitions: Definitions): Answer {
	const { root } = definitions.conversion.document;
	const successes = Object.entries(isObject(responses) ? responses : {}).filter(([status]) => SUCCESS.test(status));
	const contents = successes.map(([, response]) => {
		const at = follow(root, response);
		return 'fault' in at ? [] : rankedMediaTypes(at.object['content'], root);
	});
	const accept = acceptOf(contents.flat());
	const [only] = contents.map(([preferred]) => preferred);
	// With a second kind of success, or one without content, there is no shape to promise.
	if (contents.length !== 1 || only?.kind !== 'json' || only.raw['schema'] === undefined) return { accept, schema: null, isCut: false };
	return { accept, ...safeSchema(only.raw['schema'], definitions) };
}

const MAX_OFFERED = 20;
/** It would be read to its end, which may be far. */
const STREAM = /^text\/event-stream\b/i;

/** What is read best first; all the others, since a server may have nothing else to give (RFC 9110 §12.5.1). */
function acceptOf(types: readonly MediaType[]): string | null {
	const ranked = types.toSorted((a, b) => rankOf(a) - rankOf(b));
	const names = [...new Set(ranked.map(({ name }) => name))].slice(0, MAX_OFFERED);
	const [first, ...others] = names;
	if (first === undefined) return null;
	return [first, ...others.map((name) => `${name};q=${STREAM.test(name) ? 0.1 : 0.9}`)].join(', ');
}

function safeSchema(raw: Json, definitions: Definitions): Pick<Answer, 'schema' | 'isCut'> {
	const converted = rootOf(raw, definitions);
	if (!converted) return { schema: null, isCut: false };
	const { schema, sizeBytes, faults, refs } = converted;
	if (schema['type'] !== 'object' || ROOT_COMBINATORS.some((keyword) => Object.hasOwn(schema, keyword)))
		return { schema: null, isCut: false };
	const closure = definitions.close(refs, { bytes: MAX_SCHEMA_BYTES - sizeBytes, steps: MAX_STEPS });
	if (sizeBytes > MAX_SCHEMA_BYTES || faults.size + closure.faults.size + closure.left.length > 0) return { schema: null, isCut: true };
	return { schema: Object.keys(closure.definitions).length > 0 ? { ...schema, $defs: closure.definitions } : schema, isCut: false };
}

/** The definition itself where the answer is nothing but a reference to it. */
function rootOf(raw: Json, definitions: Definitions): Converted | null {
	const ref = isObject(raw) ? raw['$ref'] : undefined;
	if (typeof ref !== 'string') return convertSchema(raw, definitions.mode, null, definitions.conversion);
	const found = lookUp(definitions.conversion.document.root, ref);
	return 'fault' in found ? null : definitions.at(found.pointer);
}
