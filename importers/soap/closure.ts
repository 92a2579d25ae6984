// Collects the definitions that an operation reaches, as JSON Schema and as the executor's model: the nearest first, within a budget.

import { type JsonObject, LEFT_OUT, MAX_WHOLE_CHARS, printWithin, quote } from '../../core/index.ts';
import type { Modelled, Models } from './model.ts';
import type { Mode, Schemas, Written } from './schemas.ts';
import type { Definition } from './xsd/types.ts';

export interface Limits {
	chars: number;
	/** Longest chain of definitions that refer to each other. */
	levels: number;
}

export interface Closure {
	definitions: JsonObject;
	/** Definitions that the limits leave out. */
	left: Definition[];
	/** Definitions that the executor's model leaves out, and so the schema, too. */
	unmodelled: Definition[];
}

export interface Closures {
	/** Returns the definitions that a schema refers to. @param left definitions that the executor's model leaves out */
	schemas(references: readonly Definition[], mode: Mode, limits: Limits, left: ReadonlySet<Definition>): Closure;
	/** Returns the models that the executor needs for a message. */
	models(references: readonly Definition[]): { types: JsonObject; left: Set<Definition>; namespaces: Set<number>; faults: Set<string> };
}

/** Largest model of one operation, which is a part of its config. */
const MAX_MODEL_BYTES = 64 * 1024;
const MAX_NAMED = 10;

interface Sized<T> {
	value: T;
	sizeBytes: number;
}

export function createClosures(schemas: Schemas, models: Models): Closures {
	const written: Record<Mode, Map<Definition, Sized<Written>>> = { request: new Map(), response: new Map() };
	const modelled = new Map<Definition, Sized<Modelled>>();

	const schemaOf = (definition: Definition, mode: Mode): Sized<Written> =>
		remember(written[mode], definition, () => {
			const value = schemas.of(definition, mode, false);
			return { value, sizeBytes: sizeOf(definition, value.schema) };
		});
	const modelOf = (definition: Definition): Sized<Modelled> =>
		remember(modelled, definition, () => {
			const value = models.of(definition);
			return { value, sizeBytes: sizeOf(definition, value.model) };
		});

	return {
		schemas(references, mode, limits, left) {
			const kept = nearest(references, limits.chars, (definition) => (left.has(definition) ? null : sized(schemaOf(definition, mode))));
			const read = (definition: Definition): Written | null => (kept.has(definition) ? schemaOf(definition, mode).value : null);
			const { definitions, cut } = joinSchemas(references, mode, limits.levels, read);
			const { left: found = [], unmodelled = [] } = Object.groupBy(cut, (one) => (left.has(one) ? 'unmodelled' : 'left'));
			return { definitions, left: found, unmodelled };
		},
		models(references) {
			const reached = new Set<Definition>();
			const kept = nearest(references, MAX_MODEL_BYTES, (definition) => sized(modelOf(definition)), reached);
			const found = { types: {} as JsonObject, left: new Set<Definition>(), namespaces: new Set<number>(), faults: new Set<string>() };
			for (const definition of reached) {
				const isKept = kept.has(definition);
				const { model, namespaces } = isKept ? modelOf(definition).value : models.leftOut(definition);
				if (!isKept) found.left.add(definition);
				found.types[definition.id] = model;
				for (const number of namespaces) found.namespaces.add(number);
				for (const fault of isKept ? definition.content.faults : []) found.faults.add(fault);
			}
			return found;
		},
	};
}

export function faultOfUnmodelled(unmodelled: readonly Definition[]): string {
	const names = unmodelled.map(({ id }) => quote(id));
	const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
	const rest = 'it accepts anything, which is sent in the order in which it is given';
	return `the model of ${names.slice(0, MAX_NAMED).join(', ')}${more} is too large and was left out: ${rest}`;
}

const sized = ({ value, sizeBytes }: Sized<{ references: Definition[] }>) => ({ references: value.references, sizeBytes });
const sizeOf = ({ id }: Definition, json: JsonObject): number => charsOf(json) + id.length + 4;

/** Returns the length as JSON; infinity far beyond every limit, where writing could take more memory than the worker, and so the process, survives. */
export const charsOf = (json: JsonObject): number => printWithin(json, 2 * MAX_WHOLE_CHARS)?.length ?? Number.POSITIVE_INFINITY;

/** Selects definitions that fit, the nearest first. @param read returns null for those to leave out. @param reached collects all met */
function nearest(
	references: readonly Definition[],
	budgetBytes: number,
	read: (definition: Definition) => { references: Definition[]; sizeBytes: number } | null,
	reached = new Set<Definition>(),
): Set<Definition> {
	const kept = new Set<Definition>();
	let sizeBytes = 0;
	for (const definition of references) reached.add(definition);
	// Iteration over a Set also visits members added meanwhile.
	for (const definition of reached) {
		if (sizeBytes >= budgetBytes) break;
		const found = read(definition);
		if (!found || sizeBytes + found.sizeBytes > budgetBytes) continue;
		sizeBytes += found.sizeBytes;
		kept.add(definition);
		for (const next of found.references) reached.add(next);
	}
	return kept;
}

/** Joins definitions in the order in which the compiler visits them, whose stack overflows if a chain of definitions is too long. */
function joinSchemas(
	references: readonly Definition[],
	mode: Mode,
	levels: number,
	read: (definition: Definition) => Written | null,
): { definitions: JsonObject; cut: Definition[] } {
	const definitions: JsonObject = {};
	const cut: Definition[] = [];
	const add = (definition: Definition, level: number): void => {
		if (Object.hasOwn(definitions, definition.id)) return;
		const found = level < levels ? read(definition) : null;
		if (!found) cut.push(definition);
		definitions[definition.id] = found?.schema ?? (mode === 'request' ? { description: LEFT_OUT } : {});
		for (const next of found?.references ?? []) add(next, level + 1);
	};
	for (const definition of references) add(definition, 0);
	return { definitions, cut };
}

function remember<K, V>(known: Map<K, V>, key: K, compute: () => V): V {
	const found = known.get(key);
	if (found !== undefined) return found;
	const value = compute();
	known.set(key, value);
	return value;
}
