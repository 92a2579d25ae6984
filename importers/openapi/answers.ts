// Reads the responses of an operation: the media types to accept, and an output schema where one is safe to promise.

import { isObject, type Json, type JsonObject } from '../../core/index.ts';
import { type Definitions, MAX_STEPS } from './definitions.ts';
import { type MediaType, rankedMediaTypes, rankOf } from './media-types.ts';
import { follow, lookUp } from './references.ts';
import { type Converted, convertSchema } from './schemas.ts';

export interface Answer {
	/** Value of the Accept header: every media type of the successful responses. Null when the document names no content. */
	accept: string | null;
	/** Schema of the output; null unless every successful response is a JSON object of this one shape. */
	schema: JsonObject | null;
	/** Whether the schema is missing only because it is too large or could not be converted without a loss. */
	isCut: boolean;
}

const SUCCESS = /^2(?:\d\d|XX)$/i;
const MAX_SCHEMA_BYTES = 32 * 1024;
/** Keywords that the root of an output schema must not have: MCP clients expect a plain object. */
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
	// No single shape can be promised when there is a second kind of success, or one without content.
	if (contents.length !== 1 || only?.kind !== 'json' || only.raw['schema'] === undefined) return { accept, schema: null, isCut: false };
	return { accept, ...safeSchema(only.raw['schema'], definitions) };
}

const MAX_OFFERED = 20;
/** The most characters of a name: so many of them make a header that can be sent. */
const MAX_OFFERED_CHARS = 255;
/** Event streams are accepted last: a response is read to its end, and a stream may not end soon. */
const STREAM = /^text\/event-stream\b/i;

/** Puts the preferred media type first and lists all others too, since the server may offer nothing else (RFC 9110 §12.5.1). */
function acceptOf(types: readonly MediaType[]): string | null {
	const ranked = types.toSorted((a, b) => rankOf(a) - rankOf(b));
	const names = [...new Set(ranked.map(({ name }) => name))].filter(({ length }) => length <= MAX_OFFERED_CHARS).slice(0, MAX_OFFERED);
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

/** Returns the definition itself where the response schema is nothing but a reference to it. */
function rootOf(raw: Json, definitions: Definitions): Converted | null {
	const ref = isObject(raw) ? raw['$ref'] : undefined;
	if (typeof ref !== 'string') return convertSchema(raw, definitions.mode, null, definitions.conversion);
	const found = lookUp(definitions.conversion.document.root, ref);
	return 'fault' in found ? null : definitions.at(found.pointer);
}
