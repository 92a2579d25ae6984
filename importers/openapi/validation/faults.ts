// Reports what a validator finds in the whole document, as warnings only: real documents fail validation and still work.

import SwaggerParser from '@apidevtools/swagger-parser';
import type { ErrorObject } from 'ajv';
import { cleanText, isObject, type Json, type JsonObject, type Log } from '../../../core/index.ts';
import type { Document } from '../document.ts';
import { member, parsePointer } from '../references.ts';
import { documentCheck, type SchemaVersion } from './schemas.ts';

/** The longest text that is validated: beyond it, validation takes seconds and finds little. */
export const MAX_VALIDATED_CHARS = 10 * 1024 * 1024;
/** The most nodes that are validated. The validator walks every path to a definition, so each double reference doubles its time. */
const MAX_EXPANDED_NODES = 1_000_000;
const MAX_WALK = 2_000;
/** The most references that all of the document lead through: at each step and at its end, one may meet another, which is followed anew. */
const MAX_LED_THROUGH = 20_000;
const MAX_LEVELS = 100;
const MAX_WARNINGS = 50;
/** The dialect in which `id` is the address of a schema. */
const OLD_DIALECT = 'draft-04/';

/** Must run last, since the validator expands the document in place. Nothing is read or fetched. */
export async function warnOfFaults({ root, version }: Document, log: Log): Promise<void> {
	// The validator does not support 3.2.
	if (version === '3.2') return;
	const resolve = createResolver(root);
	const fault = faultOfReferences(root, resolve);
	if (fault !== null || expandedNodes(root, resolve) > MAX_EXPANDED_NODES) {
		log.warn({ pointer: '' }, `The document was not validated: ${fault ?? 'with its references expanded it is too large'}.`);
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

/** The target of a reference, and the number of references that the validator follows to get there, which doubles with each level that meets two. */
interface Resolved {
	value: Json | undefined;
	followed: number;
}

type Resolve = (ref: string, level?: number) => Resolved;

function createResolver(root: JsonObject): Resolve {
	const known = new Map<string, Resolved>();
	return function resolve(ref, level = 0) {
		const before = known.get(ref);
		if (before) return before;
		// A reference that is met again before it is resolved closes a cycle, of which the validator tries every path.
		const found: Resolved = { value: undefined, followed: Number.POSITIVE_INFINITY };
		known.set(ref, found);
		if (level > MAX_LEVELS) return found;
		let followed = 1;
		const target = (value: Json | undefined): Json | undefined => {
			const next = isObject(value) ? value['$ref'] : undefined;
			if (typeof next !== 'string') return undefined;
			const led = resolve(next, level + 1);
			followed += led.followed;
			return led.value;
		};
		const tokens = ref.startsWith('#') ? parsePointer(ref.slice(1)) : null;
		let value: Json | undefined = tokens ? root : undefined;
		for (const token of tokens ?? []) {
			const other = target(value);
			value = member(value, token) ?? member(other, token);
		}
		return Object.assign(found, { value: target(value) ?? value, followed });
	};
}

/** Returns the reason why references would take the validator too long, or null. */
function faultOfReferences(root: JsonObject, resolve: Resolve): string | null {
	let followed = 0;
	for (const pending: Json[] = [root]; pending.length > 0; ) {
		const value = pending.pop();
		if (typeof value !== 'object' || value === null) continue;
		for (const part of Object.values(value)) pending.push(part);
		if (!isObject(value)) continue;
		// The validator resolves references below these from there, also those that lead nowhere from the root.
		if (typeof value['$id'] === 'string' || String(value['$schema']).includes(OLD_DIALECT)) return 'a schema has an address of its own';
		if (typeof value['$ref'] === 'string') followed += resolve(value['$ref']).followed - 1;
		if (followed > MAX_LED_THROUGH) return 'its references lead through too many others';
	}
	return null;
}

/** Counts the nodes of the document with every reference expanded; cycles are cut. */
function expandedNodes(root: JsonObject, resolve: Resolve): number {
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
		const { value } = resolve(ref);
		const nodes = value === undefined ? 1 : count(value, depth + 1);
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
