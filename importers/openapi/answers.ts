// What an operation answers: the media type to ask for, and a schema of the answer where one is safe to promise.

import type { Json, JsonObject } from '../../core/index.ts';
import type { Definitions } from './definitions.ts';
import { isObject } from './document.ts';
import { preferredMediaType } from './media-types.ts';
import { follow, lookUp } from './references.ts';
import { type Converted, convertSchema } from './schemas.ts';

export interface Answer {
	/** Value of the Accept header; null when the document names no content. */
	accept: string | null;
	/** Null unless every success is a JSON object of this one shape. */
	schema: JsonObject | null;
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
		return 'fault' in at ? null : preferredMediaType(at.object['content'], root);
	});
	const accept = contents.find((mediaType) => mediaType !== null)?.name ?? null;
	const [only] = contents;
	// With a second kind of success, or one without content, there is no shape to promise.
	if (contents.length !== 1 || only?.kind !== 'json' || only.raw['schema'] === undefined) return { accept, schema: null };
	return { accept, schema: safeSchema(only.raw['schema'], definitions) };
}

function safeSchema(raw: Json, definitions: Definitions): JsonObject | null {
	const converted = rootOf(raw, definitions);
	if (!converted || converted.sizeBytes > MAX_SCHEMA_BYTES || converted.faults.size > 0) return null;
	const { schema } = converted;
	if (schema['type'] !== 'object' || ROOT_COMBINATORS.some((keyword) => Object.hasOwn(schema, keyword))) return null;
	const closure = definitions.close(converted.refs, MAX_SCHEMA_BYTES - converted.sizeBytes);
	if (!closure.isWhole || closure.faults.size > 0) return null;
	return Object.keys(closure.definitions).length > 0 ? { ...schema, $defs: closure.definitions } : schema;
}

/** The definition itself where the answer is nothing but a reference to it. */
function rootOf(raw: Json, definitions: Definitions): Converted | null {
	const ref = isObject(raw) ? raw['$ref'] : undefined;
	if (typeof ref !== 'string') return convertSchema(raw, definitions.mode, null, definitions.conversion);
	const found = lookUp(definitions.conversion.document.root, ref);
	return 'fault' in found ? null : definitions.at(found.pointer);
}
