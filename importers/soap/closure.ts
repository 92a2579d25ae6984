// The definitions that an operation reaches, as JSON Schema and as the executor's model: the nearest first, within a budget.

import { type JsonObject, LEFT_OUT, quote } from '../../core/index.ts';
import type { Modelled, Models } from './model.ts';
import type { Mode, Schemas, Written } from './schemas.ts';
import type { Definition } from './xsd/types.ts';

export interface Limits {
	chars: number;
	/** Definitions that lead from one to the next. */
	levels: number;
}

export interface Closure {
	definitions: JsonObject;
	/** What the limits leave out. */
	left: Definition[];
	/** What the executor's model leaves out: nothing is said of it here, either. */
	unmodelled: Definition[];
}

export interface Closures {
	/** What a schema refers to. @param left which of them the executor's model leaves out */
	schemas(references: readonly Definition[], mode: Mode, limits: Limits, left: ReadonlySet<Definition>): Closure;
	/** What the executor needs for all that a message holds. */
	models(references: readonly Definition[]): { types: JsonObject; left: Set<Definition>; namespaces: Set<number>; faults: Set<string> };
}

/** Of the model of one operation, which is a part of its config. */
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
const sizeOf = ({ id }: Definition, json: JsonObject): number => JSON.stringify(json).length + id.length + 4;

/** What fits, the nearest first. @param read null for what is not to be taken. @param reached gets all that was met */
function nearest(
	references: readonly Definition[],
	budgetBytes: number,
	read: (definition: Definition) => { references: Definition[]; sizeBytes: number } | null,
	reached = new Set<Definition>(),
): Set<Definition> {
	const kept = new Set<Definition>();
	let sizeBytes = 0;
	for (const definition of references) reached.add(definition);
	// A set that grows while it is walked is walked to its end.
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

/** In the order of the compiler, which overflows where one definition leads to the next too often. */
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
