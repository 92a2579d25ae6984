// Reports what a validator finds in the whole document, as warnings only: real documents fail validation and still work.

import SwaggerParser from '@apidevtools/swagger-parser';
import { cleanText, type Json, type JsonObject, type Log } from '../../core/index.ts';
import type { Document } from './document.ts';
import { lookUp } from './references.ts';

/** The longest text that is validated: beyond it, validation takes seconds and finds little. */
export const MAX_VALIDATED_CHARS = 10 * 1024 * 1024;
/** The most nodes that are validated. The validator walks every path to a definition, so each double reference doubles its time. */
const MAX_EXPANDED_NODES = 1_000_000;
const MAX_WALK = 2_000;
const MAX_WARNINGS = 50;

/** Must run last, since the validator expands the document in place. Nothing is read or fetched. */
export async function warnOfFaults({ root, version }: Document, log: Log): Promise<void> {
	// The validator does not support 3.2.
	if (version === '3.2') return;
	if (expandedNodes(root) > MAX_EXPANDED_NODES) {
		log.warn({ pointer: '' }, 'The document was not validated: with its references expanded it is too large.');
		return;
	}
	const resolve = { external: false, file: false, http: false } as const;
	try {
		// The cast is safe: checking the shape is what the library is called for.
		await SwaggerParser.validate(root as never, { resolve, dereference: { circular: 'ignore' } });
	} catch (error) {
		for (const { pointer, message } of faultsOf(error).slice(0, MAX_WARNINGS)) log.warn({ pointer }, message);
	}
}

/** Counts the nodes of the document with every reference expanded; cycles are cut. */
function expandedNodes(root: JsonObject): number {
	const known = new Map<string, number>();

	function count(value: Json, depth: number): number {
		if (value === null || typeof value !== 'object') return 1;
		if (depth > MAX_WALK) return Number.POSITIVE_INFINITY;
		const ref = Array.isArray(value) ? undefined : value['$ref'];
		if (typeof ref === 'string') return countReferred(ref, depth);
		return Object.values(value).reduce((sum: number, child) => sum + count(child, depth + 1), 1);
	}

	function countReferred(ref: string, depth: number): number {
		const before = known.get(ref);
		if (before !== undefined) return before;
		// A reference that is met again before it is counted closes a cycle.
		known.set(ref, 1);
		const found = lookUp(root, ref);
		const nodes = 'fault' in found ? 1 : count(found.value, depth + 1);
		known.set(ref, nodes);
		return nodes;
	}

	return count(root, 0);
}

/** Returns all schema violations; any other error is a single fault. */
function faultsOf(error: unknown): { pointer: string; message: string }[] {
	const details = error instanceof Error && 'details' in error && Array.isArray(error.details) ? error.details : [];
	const listed = details.filter(isFault).map(({ instancePath, message }) => ({
		pointer: cleanText(instancePath, 300),
		message: cleanText(message, 300),
	}));
	// The validator prints its argument, which is an object.
	const [first = ''] = (error instanceof Error ? error.message : String(error)).replace('[object Object]', 'The document').split('\n');
	const faults = listed.length > 0 ? listed : [{ pointer: '', message: cleanText(first, 300) }];
	// Each alternative schema of a location reports the same missing field.
	return [...new Map(faults.map((fault) => [`${fault.pointer}\n${fault.message}`, fault])).values()];
}

/** Recognizes an error object of Ajv. */
const isFault = (value: unknown): value is { instancePath: string; message: string } =>
	typeof value === 'object' &&
	value !== null &&
	'instancePath' in value &&
	typeof value.instancePath === 'string' &&
	'message' in value &&
	typeof value.message === 'string';
