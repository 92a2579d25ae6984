// What a validator says of the whole document: advice for the report, never a gate. Real documents fail it and work.

import SwaggerParser from '@apidevtools/swagger-parser';
import { cleanText, type Json, type JsonObject, type Log } from '../../core/index.ts';
import type { Document } from './document.ts';
import { lookUp } from './references.ts';

/** Beyond this it takes seconds and says little. */
export const MAX_VALIDATED_CHARS = 10 * 1024 * 1024;
/** The validator walks every path to a definition, so each that names the next twice doubles its time. */
const MAX_EXPANDED_NODES = 1_000_000;
const MAX_WALK = 2_000;
const MAX_WARNINGS = 50;

/** Last of all: the validator expands the document in place. Nothing is read or fetched. */
export async function warnOfFaults({ root, version }: Document, log: Log): Promise<void> {
	// The validator knows no 3.2.
	if (version === '3.2') return;
	if (expandedNodes(root) > MAX_EXPANDED_NODES) {
		log.warn({ pointer: '' }, 'The document was not validated: with its references expanded it is too large.');
		return;
	}
	const resolve = { external: false, file: false, http: false } as const;
	try {
		// The library checks the shape itself; that is what it is asked for.
		await SwaggerParser.validate(root as never, { resolve, dereference: { circular: 'ignore' } });
	} catch (error) {
		for (const { pointer, message } of faultsOf(error).slice(0, MAX_WARNINGS)) log.warn({ pointer }, message);
	}
}

/** How many nodes the document has once every reference is replaced by what it refers to; circles are cut. */
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
		// Until it is counted it is a circle.
		known.set(ref, 1);
		const found = lookUp(root, ref);
		const nodes = 'fault' in found ? 1 : count(found.value, depth + 1);
		known.set(ref, nodes);
		return nodes;
	}

	return count(root, 0);
}

/** Of the shape there are as many as there are; other faults are one sentence. */
function faultsOf(error: unknown): { pointer: string; message: string }[] {
	const details = error instanceof Error && 'details' in error && Array.isArray(error.details) ? error.details : [];
	const listed = details.filter(isFault).map(({ instancePath, message }) => ({
		pointer: cleanText(instancePath, 300),
		message: cleanText(message, 300),
	}));
	// The validator names what it was given, which is an object.
	const [first = ''] = (error instanceof Error ? error.message : String(error)).replace('[object Object]', 'The document').split('\n');
	const faults = listed.length > 0 ? listed : [{ pointer: '', message: cleanText(first, 300) }];
	// Each form that a place could have says the same of what it lacks.
	return [...new Map(faults.map((fault) => [`${fault.pointer}\n${fault.message}`, fault])).values()];
}

/** As Ajv lists them. */
const isFault = (value: unknown): value is { instancePath: string; message: string } =>
	typeof value === 'object' &&
	value !== null &&
	'instancePath' in value &&
	typeof value.instancePath === 'string' &&
	'message' in value &&
	typeof value.message === 'string';
