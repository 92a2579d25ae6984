// The definitions that a schema reaches, within bounds.

import { type JsonObject, LEFT_OUT, WholeSchemas } from '../../core/index.ts';
import { convertDefinition, type Definable, type Direction, type References, type Types } from './schemas.ts';

export interface Limits {
	chars: number;
	/** Definitions that lead from one to the next. */
	levels: number;
}

interface Definition {
	schema: JsonObject;
	references: References;
	sizeBytes: number;
}

/** What all operations of one description share. */
export interface Definitions {
	types: Types;
	input: Map<Definable, Definition>;
	output: Map<Definable, Definition>;
	wholes: WholeSchemas;
}

export interface Closure {
	definitions: JsonObject;
	/** What was left out: it accepts anything. */
	left: string[];
}

export const createDefinitions = (types: Types): Definitions => ({
	types,
	input: new Map(),
	output: new Map(),
	wholes: new WholeSchemas(),
});

/** Every definition that is reached; where they are too many, the nearest ones. */
export function closeOver(references: References, { chars, levels }: Limits, direction: Direction, known: Definitions): Closure {
	const kept = nearest(references, chars, direction, known);
	const definitions = new Map<string, JsonObject>();
	const left: string[] = [];
	// In the order of the compiler, which overflows where one definition leads to the next too often.
	const add = (desc: Definable, level: number): void => {
		if (definitions.has(desc.typeName)) return;
		const definition = level < levels ? kept.get(desc) : undefined;
		if (!definition) left.push(desc.typeName);
		const kind = desc.kind === 'enum' ? 'string' : 'object';
		definitions.set(desc.typeName, definition?.schema ?? { type: kind, description: LEFT_OUT });
		for (const next of definition?.references ?? []) add(next, level + 1);
	};
	for (const desc of references) add(desc, 0);
	return { definitions: Object.fromEntries(definitions), left };
}

/** What fits, the nearest first. */
function nearest(references: References, maxBytes: number, direction: Direction, known: Definitions): Map<Definable, Definition> {
	const kept = new Map<Definable, Definition>();
	const reached = new Set(references);
	let sizeBytes = 0;
	// A set that grows while it is walked is walked to its end.
	for (const desc of reached) {
		const definition = definitionOf(desc, direction, known);
		if (sizeBytes + definition.sizeBytes > maxBytes) continue;
		sizeBytes += definition.sizeBytes;
		kept.set(desc, definition);
		for (const next of definition.references) reached.add(next);
	}
	return kept;
}

function definitionOf(desc: Definable, direction: Direction, known: Definitions): Definition {
	const cached = known[direction].get(desc);
	if (cached) return cached;
	const references: References = new Set();
	const schema = convertDefinition(desc, direction, known.types, references);
	const definition = { schema, references, sizeBytes: JSON.stringify(schema).length + desc.typeName.length + 4 };
	known[direction].set(desc, definition);
	return definition;
}
