// A request body as one nested argument, whatever its media type: the root of the arguments stays a plain object.

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

/** Null: there is none. `skip`: there is one, and nobody can know what it looks like. */
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

/** What the executor is told of the media type, in `wire`. */
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
 * Base64 on the wire too: OpenAPI 3.0.4 §4.4 has `byte` for "base64 encoded data" and `binary` for bytes; since 3.1 it is `contentEncoding`
 * (JSON Schema 2020-12 §8.3).
 */
function isEncodedText(schema: Json | undefined, { conversion }: Definitions): boolean {
	const at = follow(conversion.document.root, schema);
	if ('fault' in at) return false;
	const { format, contentEncoding } = at.object;
	return format === 'byte' || (typeof contentEncoding === 'string' && /^base64(?:url)?$/i.test(contentEncoding));
}

/** OpenAPI 3.2 §4.14.3: of a media type that is one value after the other, the description tells what each is. */
function sequenceOf({ contentType, raw }: MediaType): JsonObject | null {
	const { itemSchema } = raw;
	return itemSchema !== undefined && JSON_SEQUENCE.test(contentType) ? { type: 'array', items: itemSchema } : null;
}
