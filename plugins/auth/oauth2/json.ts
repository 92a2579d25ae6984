// JSON of strangers.

import { parseJson } from '../../../core/index.ts';

export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === 'object' && value !== null && !Array.isArray(value);

/** Undefined when it is no JSON that we take. */
export function tryParse(bytes: unknown): unknown {
	try {
		return Buffer.isBuffer(bytes) ? parseJson(bytes) : undefined;
	} catch {
		return undefined;
	}
}
