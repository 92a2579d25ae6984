// The definitions that a schema needs, as its own `$defs`: converted once per document and shared, never expanded in place.

import type { JsonObject } from '../../core/index.ts';
import { definitionName, lookUp } from './references.ts';
import { type Conversion, type Converted, convertSchema, type Mode } from './schemas.ts';

export interface Closure {
	/** By the name under which `#/$defs/` refers to it. */
	definitions: JsonObject;
	faults: Set<string>;
	/** Nothing was left out. */
	isWhole: boolean;
}

export interface Definitions {
	readonly mode: Mode;
	readonly conversion: Conversion;
	at(pointer: string): Converted;
	/** The nearest come first; what would exceed the budget accepts anything. */
	close(pointers: Iterable<string>, budgetBytes: number): Closure;
}

/** Each level is a call of a validator inside another. */
const MAX_LEVELS = 40;
const LEFT_OUT = { description: 'Anything: this definition was left out, the schema would have become too large.' };

export function createDefinitions(conversion: Conversion, mode: Mode): Definitions {
	const converted = new Map<string, Converted>();

	function at(pointer: string): Converted {
		const known = converted.get(pointer);
		if (known) return known;
		const found = lookUp(conversion.document.root, pointer);
		const definition = convertSchema('fault' in found ? undefined : found.value, mode, pointer, conversion);
		converted.set(pointer, definition);
		return definition;
	}

	function close(pointers: Iterable<string>, budgetBytes: number): Closure {
		const closure: Closure = { definitions: {}, faults: new Set(), isWhole: true };
		const seen = new Set(pointers);
		let left = budgetBytes;
		let level = [...seen];
		for (let depth = 0; level.length > 0; depth++) {
			const next: string[] = [];
			for (const pointer of level) {
				const definition = at(pointer);
				const fits = definition.sizeBytes <= left && depth < MAX_LEVELS;
				addTo(closure, pointer, fits ? definition : null);
				if (!fits) continue;
				left -= definition.sizeBytes;
				for (const ref of definition.refs) if (!seen.has(ref)) next.push(ref);
				for (const ref of definition.refs) seen.add(ref);
			}
			level = next;
		}
		return closure;
	}

	return { mode, conversion, at, close };
}

function addTo(closure: Closure, pointer: string, definition: Converted | null): void {
	closure.definitions[definitionName(pointer)] = definition?.schema ?? LEFT_OUT;
	for (const fault of definition?.faults ?? []) closure.faults.add(fault);
	if (definition) return;
	closure.isWhole = false;
	closure.faults.add('definitions were left out, since the schema would have become too large: they accept anything');
}
