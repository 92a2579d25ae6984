// Converts an XML body: to the object that its schema describes, which the executor serializes by a plan, or to a text with an outline.

import { type Json, type JsonObject, quote } from '../../../core/index.ts';
import type { Definitions } from '../definitions.ts';
import type { Document } from '../document.ts';
import type { ConvertedBody } from '../forms.ts';
import type { MediaType } from '../media-types.ts';
import { convertSchema } from '../schemas.ts';
import { outlineXml } from './outline.ts';
import { planXml } from './plan.ts';
import { unwrap } from './schema.ts';

/** @returns null when nothing is known of its elements */
export function convertXml({ contentType, raw }: MediaType, { mode, conversion }: Definitions): ConvertedBody | null {
	const { schema } = raw;
	const reading = planXml(schema, conversion.document);
	if (reading === null) return null;
	if ('fault' in reading) {
		const { schema: text, how } = asText(outlineXml(schema, conversion.document));
		const faults = new Set([`its XML body is ${how}: ${reading.fault}`]);
		return { schema: text, refs: new Set(), faults, sizeBytes: JSON.stringify(text).length, levels: 0, wire: { contentType } };
	}
	const converted = convertSchema(schema, mode, null, conversion);
	const faults = new Set(reading.guess === null ? converted.faults : [reading.guess, ...converted.faults]);
	return { ...converted, faults, wire: { contentType, xml: reading.plan } };
}

/** Converts a form field whose part is XML; in a list, each item is a part. @returns null when nothing is known of its elements */
export function convertXmlPart(
	name: string,
	field: Json,
	document: Document,
): { plan: JsonObject } | { schema: JsonObject; fault: string } | null {
	const item = unwrap(field, document).schema['items'] ?? field;
	const reading = planXml(item, document, name);
	if (reading === null || 'plan' in reading) return reading;
	const { schema, how } = asText(outlineXml(item, document, name));
	return { schema, fault: `the part ${quote(name)}, which is XML, is ${how}: ${reading.fault}` };
}

function asText(outline: string | null): { schema: JsonObject; how: string } {
	const words = outline === null ? 'The XML document, as text.' : `The XML document, as text. Its elements:\n${outline}`;
	return {
		schema: { type: 'string', description: words },
		how: outline === null ? 'a text argument' : 'a text argument, with an outline of its elements',
	};
}
