// Converts a request body of any media type to one nested argument, so that the root of the arguments stays a plain object.

import { cleanText, type Json, type JsonObject } from '../../core/index.ts';
import type { Definitions } from './definitions.ts';
import { type ConvertedBody, convertForm } from './forms.ts';
import { JSON_SEQUENCE, type MediaType, preferredMediaType } from './media-types.ts';
import { follow } from './references.ts';
import { convertSchema } from './schemas.ts';
import { convertXml } from './xml/body.ts';

export interface Body extends ConvertedBody {
	isRequired: boolean;
}

const MAX_DESCRIPTION_CHARS = 500;

/** @returns null when there is no body; `skip` when there is one that cannot be resolved */
export function readBody(raw: Json | undefined, definitions: Definitions, faults: Set<string>): Body | null | { skip: string } {
	if (raw === undefined) return null;
	const at = follow(definitions.conversion.document.root, raw);
	if ('fault' in at) return { skip: `its request body is unknown: ${at.fault}` };
	const mediaType = preferredMediaType(at.object['content'], definitions.conversion.document.root);
	if (!mediaType) {
		faults.add('its request body names no media type and was left out');
		return null;
	}
	const body = (mediaType.kind === 'xml' ? convertXml(mediaType, definitions) : null) ?? convertBody(mediaType, definitions);
	if (typeof at.object['description'] === 'string' && body.schema['description'] === undefined)
		body.schema['description'] = cleanText(at.object['description'], MAX_DESCRIPTION_CHARS);
	return { ...body, isRequired: at.object['required'] === true };
}

/** Converts the schema; `wire` holds what the executor must know of the media type. */
export function convertBody(mediaType: MediaType, definitions: Definitions): ConvertedBody {
	const { kind, contentType, raw } = mediaType;
	if (kind === 'multipart' || kind === 'form') return convertForm(mediaType, definitions);
	const wire: JsonObject = { contentType };
	const schema = kind === 'json' ? (raw['schema'] ?? {}) : kind === 'text' ? sequenceOf(mediaType) : null;
	if (schema !== null) return { ...convertSchema(schema, definitions.mode, null, definitions.conversion), wire };
	const text: JsonObject = { type: 'string' };
	if (kind === 'xml') text['description'] = 'The XML document, as text.';
	if (kind === 'binary') Object.assign(text, { contentEncoding: 'base64', description: 'The bytes of the body, in base64.' });
	if (isEncodedText(raw['schema'], definitions)) wire['isText'] = true;
	return { schema: text, refs: new Set(), faults: new Set(), sizeBytes: JSON.stringify(text).length, levels: 0, wire };
}

/**
 * Tells whether the server expects base64: OpenAPI 3.0.4 §4.4 has `byte` for "base64 encoded data" and `binary` for bytes; since 3.1 it is
 * `contentEncoding` (JSON Schema 2020-12 §8.3).
 */
function isEncodedText(schema: Json | undefined, { conversion }: Definitions): boolean {
	const at = follow(conversion.document.root, schema);
	if ('fault' in at) return false;
	const { format, contentEncoding } = at.object;
	return format === 'byte' || (typeof contentEncoding === 'string' && /^base64(?:url)?$/i.test(contentEncoding));
}

/** Returns the schema of a sequential media type as an array, since its `itemSchema` describes each value (OpenAPI 3.2 §4.14.3). */
function sequenceOf({ contentType, raw }: MediaType): JsonObject | null {
	const { itemSchema } = raw;
	return itemSchema !== undefined && JSON_SEQUENCE.test(contentType) ? { type: 'array', items: itemSchema } : null;
}
