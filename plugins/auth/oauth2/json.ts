// JSON of strangers.

import { parseJson } from '../../../core/index.ts';

/** Undefined when it is no JSON that we take. */
export function tryParse(bytes: unknown): unknown {
	try {
		return Buffer.isBuffer(bytes) ? parseJson(bytes) : undefined;
	} catch {
		return undefined;
	}
}
