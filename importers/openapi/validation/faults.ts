// Reports what a validator finds in the whole document, as warnings only: real documents fail validation and still work.

import SwaggerParser from '@apidevtools/swagger-parser';
import type { ErrorObject } from 'ajv';
import { cleanText, type Json, type JsonObject, type Log } from '../../../core/index.ts';
import type { Document } from '../document.ts';
import { lookUp } from '../references.ts';
import { documentCheck, type SchemaVersion } from './schemas.ts';

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
	for (const { pointer, message } of (await faultsOf(root, version)).slice(0, MAX_WARNINGS)) log.warn({ pointer }, message);
}

const RESOLVE = { external: false, file: false, http: false } as const;

async function faultsOf(root: JsonObject, version: SchemaVersion): Promise<Fault[]> {
	const options = { resolve: RESOLVE, dereference: { circular: 'ignore' } } as const;
	try {
		// The casts are safe: checking the shape is what the library is called for.
		await SwaggerParser.dereference(root as never, options);
		const check = documentCheck(version);
		if (!check(root)) return faultsOfSchema(check.errors ?? []);
		// The library knows rules beyond the schema for 2.0 alone. Its own check of the schema compiles that anew each time.
		if (version === '2.0') await SwaggerParser.validate(root as never, { ...options, validate: { schema: false } });
		return [];
	} catch (error) {
		return [faultOf(error)];
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

interface Fault {
	pointer: string;
	message: string;
}

function faultsOfSchema(errors: readonly ErrorObject[]): Fault[] {
	const listed = errors.map(({ instancePath, message = '' }) => ({
		pointer: cleanText(instancePath, 300),
		message: cleanText(message, 300),
	}));
	// Each alternative schema of a location reports the same missing field.
	return [...new Map(listed.map((fault) => [`${fault.pointer}\n${fault.message}`, fault])).values()];
}

function faultOf(error: unknown): Fault {
	// The validator prints its argument, which is an object.
	const [first = ''] = (error instanceof Error ? error.message : String(error)).replace('[object Object]', 'The document').split('\n');
	return { pointer: '', message: cleanText(first, 300) };
}
