// Collects the definitions that a schema needs as its own `$defs`: converted once per document and shared, never expanded inline.

import { deepFreeze, type JsonObject, LEFT_OUT } from '../../core/index.ts';
import { definitionName, lookUp } from './references.ts';
import { type Conversion, type Converted, convertSchema, type Mode } from './schemas.ts';

export interface Closure {
	/** Schemas by the name that `#/$defs/` references use. */
	definitions: JsonObject;
	faults: Set<string>;
	/** Names of the definitions that were left out. */
	left: string[];
}

export interface Limits {
	bytes: number;
	steps: number;
}

export interface Definitions {
	readonly mode: Mode;
	readonly conversion: Conversion;
	at(pointer: string): Converted;
	/** Collects all reachable definitions, the nearest first; those beyond the limits accept anything. */
	close(pointers: Iterable<string>, limits: Limits): Closure;
}

/**
 * The schema compiler recurses over levels of nesting and from one definition into the next, in an order of its own, so their sum
 * is bounded. It manages about 1,000 such steps, wherever they are (`schemas.test.ts`).
 */
export const MAX_STEPS = 700;
const stepsOf = ({ levels }: Converted): number => 2 * levels + 2;

export function createDefinitions(conversion: Conversion, mode: Mode): Definitions {
	const converted = new Map<string, Converted>();

	function at(pointer: string): Converted {
		const known = converted.get(pointer);
		if (known) return known;
		const found = lookUp(conversion.document.root, pointer);
		const definition = convertSchema('fault' in found ? undefined : found.value, mode, pointer, conversion);
		// Frozen parts are written once, however many operations have them.
		deepFreeze(definition.schema);
		converted.set(pointer, definition);
		return definition;
	}

	function close(pointers: Iterable<string>, limits: Limits): Closure {
		const closure: Closure = { definitions: {}, faults: new Set(), left: [] };
		const seen = new Set(pointers);
		let { bytes: bytesLeft, steps: stepsLeft } = limits;
		// Elements that are added during the iteration are visited too, so the nearest come first.
		for (const pointer of seen) {
			const definition = at(pointer);
			const fits = definition.sizeBytes <= bytesLeft && stepsOf(definition) <= stepsLeft;
			addTo(closure, definitionName(pointer, conversion.document), fits ? definition : null);
			if (!fits) continue;
			bytesLeft -= definition.sizeBytes;
			stepsLeft -= stepsOf(definition);
			for (const ref of definition.refs) seen.add(ref);
		}
		return closure;
	}

	return { mode, conversion, at, close };
}

function addTo(closure: Closure, name: string, definition: Converted | null): void {
	closure.definitions[name] = definition?.schema ?? { description: LEFT_OUT };
	for (const fault of definition?.faults ?? []) closure.faults.add(fault);
	if (!definition) closure.left.push(name);
}
