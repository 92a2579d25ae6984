// A question that every part of this importer asks of values.

import type { Json, JsonObject } from '../../core/index.ts';

export const isObject = (value: Json | undefined): value is JsonObject =>
	typeof value === 'object' && value !== null && !Array.isArray(value);
