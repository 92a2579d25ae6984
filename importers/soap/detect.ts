// Detects whether a document is WSDL.

import { decodeXml } from '../../core/index.ts';
import { WSDL, WSDL_2 } from './names.ts';

/** A licence may precede the root. */
const DETECTED_BYTES = 256 * 1024;
const NOTHING = new Uint8Array();
const DEFINITIONS = /<(?:[\w.-]+:)?definitions\b/;

/** Returns the confidence, 0 to 1, by the text, or by the bytes if they are not UTF-8. */
export function detect(given: string, bytes: Uint8Array = NOTHING): number {
	const text = given === '' ? decodeXml(bytes.subarray(0, DETECTED_BYTES)) : given;
	if (!/^\s*</.test(text)) return 0;
	if (DEFINITIONS.test(text) && text.includes(WSDL)) return 1;
	return text.includes(WSDL_2) ? 0.9 : 0;
}
