// Checks on JSON values: their type, whether they are JSON at all and how large, and values that several callers share.

import type { JsonObject } from '../contract/nouns.ts';

/** Whether a value is a JSON object: neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Freezes a JSON value with everything in it. Other objects (dates, buffers, instances of classes) stay as they are. */
export function deepFreeze<T>(value: T): T {
	// A frozen value is passed over: the parts of what this function froze are frozen, too.
	if (!isPlain(value) || Object.isFrozen(value)) return value;
	Object.freeze(value);
	for (const part of Object.values(value as object)) if (typeof part === 'object') deepFreeze(part);
	return value;
}

function isPlain(value: unknown): boolean {
	if (typeof value !== 'object' || value === null) return false;
	if (Array.isArray(value)) return true;
	const prototype: unknown = Object.getPrototypeOf(value);
	return prototype === Object.prototype || prototype === null;
}

/** Far below the depth at which JSON.stringify would overflow the stack; a value that contains itself reaches it, too. */
const MAX_DEPTH = 256;

export interface Measured {
	/** The size as JSON, without escapes; counting ends soon after `maxChars`. */
	chars: number;
	/** The end of a sentence that says why the value is not JSON; null if it is. */
	fault: string | null;
}

interface Measure {
	chars: number;
	maxChars: number;
	path: string[];
}

/** Measures a value that somebody else's code calls JSON. Absent (undefined) members and dates are allowed, as JSON.stringify allows them. */
export function measureJson(value: unknown, maxChars: number): Measured {
	const measure: Measure = { chars: 0, maxChars, path: [] };
	const fault = value === undefined ? 'is missing' : faultIn(value, measure);
	if (fault === null || measure.chars > maxChars) return { chars: measure.chars, fault: null };
	return { chars: measure.chars, fault: measure.path.length > 0 ? `/${measure.path.join('/').slice(0, 200)} ${fault}` : fault };
}

function faultIn(value: unknown, measure: Measure): string | null {
	switch (typeof value) {
		case 'string':
			measure.chars += value.length + 2;
			return null;
		case 'number':
			measure.chars += 4;
			return Number.isFinite(value) ? null : `is ${value}, which JSON cannot write`;
		case 'boolean':
		case 'undefined':
			measure.chars += 4;
			return null;
		case 'object':
			return faultInObject(value, measure);
		default:
			return `is a ${typeof value}`;
	}
}

function faultInObject(value: object | null, measure: Measure): string | null {
	measure.chars += 4;
	if (value === null || value instanceof Date) return null;
	if (!isPlain(value)) return `is an instance of ${value.constructor?.name ?? 'a class'}`;
	if (measure.path.length >= MAX_DEPTH) return 'is nested too deeply, or contains itself';
	const isList = Array.isArray(value);
	for (const [key, part] of Object.entries(value)) {
		if (!isList) measure.chars += key.length + 3;
		measure.path.push(key);
		const fault = faultIn(part, measure);
		// The path stays as it is at a fault, which it locates.
		if (fault !== null || measure.chars > measure.maxChars) return fault;
		measure.path.pop();
	}
	return null;
}
