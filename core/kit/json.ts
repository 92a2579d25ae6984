// The question that is asked of JSON most.

import type { JsonObject } from '../contract/nouns.ts';

/** True for what JSON calls an object: neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
