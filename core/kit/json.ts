// The most common type check of JSON values.

import type { JsonObject } from '../contract/nouns.ts';

/** Whether a value is a JSON object: neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
