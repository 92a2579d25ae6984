// A body in XML: the object that its schema describes, which the executor writes by a plan, or the document as text, with an outline.

import type { JsonObject } from '../../core/index.ts';
import type { Definitions } from './definitions.ts';
import type { ConvertedBody } from './forms.ts';
import type { MediaType } from './media-types.ts';
import { convertSchema } from './schemas.ts';
import { planXml } from './xml.ts';
import { outlineXml } from './xml-outline.ts';

/** Null: nothing is known of its elements. */
export function convertXml({ contentType, raw }: MediaType, { mode, conversion }: Definitions): ConvertedBody | null {
	const { schema } = raw;
	const reading = planXml(schema, conversion.document);
	if (reading === null) return null;
	if ('fault' in reading) {
		const outline = outlineXml(schema, conversion.document);
		const words = outline === null ? 'The XML document, as text.' : `The XML document, as text. Its elements:\n${outline}`;
		const text: JsonObject = { type: 'string', description: words };
		const how = outline === null ? 'as text' : 'as text, with an outline of its elements';
		const faults = new Set([`its XML body is asked for ${how}: ${reading.fault}`]);
		return { schema: text, refs: new Set(), faults, sizeBytes: JSON.stringify(text).length, levels: 0, wire: { contentType } };
	}
	const converted = convertSchema(schema, mode, null, conversion);
	const faults = new Set(reading.guess === null ? converted.faults : [reading.guess, ...converted.faults]);
	return { ...converted, faults, wire: { contentType, xml: reading.plan } };
}
