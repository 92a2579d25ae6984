// Reads JSON from untrusted parties.

import { parseJson } from '../../../core/index.ts';

/** Parses JSON; undefined when it is not JSON or not accepted. */
export function tryParse(bytes: unknown): unknown {
	try {
		return Buffer.isBuffer(bytes) ? parseJson(bytes) : undefined;
	} catch {
		return undefined;
	}
}
