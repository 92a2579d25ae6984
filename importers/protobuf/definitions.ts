// Collects the definitions that a schema reaches, within bounds.

import { deepFreeze, type JsonObject, LEFT_OUT, type Operation, WholeSchemas } from '../../core/index.ts';
import { convertDefinition, type Definable, type Direction, type References, type Types } from './schemas.ts';

export interface Limits {
	chars: number;
	/** Longest chain of definitions that refer to each other. */
	levels: number;
}

interface Definition {
	schema: JsonObject;
	references: References;
	sizeBytes: number;
}

/** The definitions that all operations of one description share. */
export interface Definitions {
	types: Types;
	input: Map<Definable, Definition>;
	output: Map<Definable, Definition>;
	/** The schemas of answers. */
	answers: Map<string, CutAnswer>;
	wholes: WholeSchemas;
}

/** The schema of an answer, and whether it is missing only because of its size. */
export type CutAnswer = Pick<Operation, 'outputSchema' | 'answerCut'>;

export interface Closure {
	definitions: JsonObject;
	/** Names of definitions that were left out, and accept anything. */
	left: string[];
}

export const createDefinitions = (types: Types): Definitions => ({
	types,
	input: new Map(),
	output: new Map(),
	answers: new Map(),
	wholes: new WholeSchemas(),
});

/** Returns every definition that is reached; if there are too many, the nearest. */
export function closeOver(references: References, { chars, levels }: Limits, direction: Direction, known: Definitions): Closure {
	const kept = nearest(references, chars, direction, known);
	const definitions = new Map<string, JsonObject>();
	const left: string[] = [];
	// The order is that of the compiler, whose stack overflows if a chain of definitions is too long.
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

/** Selects the definitions that fit, the nearest first. */
function nearest(references: References, maxBytes: number, direction: Direction, known: Definitions): Map<Definable, Definition> {
	const kept = new Map<Definable, Definition>();
	const reached = new Set(references);
	let sizeBytes = 0;
	// Iteration over a Set also visits members added meanwhile.
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
	// Frozen parts are written once, however many operations have them.
	const schema = deepFreeze(convertDefinition(desc, direction, known.types, references));
	const definition = { schema, references, sizeBytes: JSON.stringify(schema).length + desc.typeName.length + 4 };
	known[direction].set(desc, definition);
	return definition;
}
