// Finds the texts of a config in which placeholders may be, by the marks `.meta({ template: true })` of its schema.

import type { ObjectSchema } from 'joi';
import type { Json } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { pointerToken } from '../kit/json-pointer.ts';

/** A part of Joi's description of a schema. */
type Part = Readonly<Record<string, unknown>>;

export interface FoundText {
	text: string;
	/** JSON pointer into the config. */
	path: string;
}

const described = new WeakMap<ObjectSchema, Part>();
/** Schemas that lead to themselves end with the value; alternatives of alternatives end here. */
const MAX_OPTIONS = 64;

/** Returns all texts below marked fields. */
export function templateTexts(schema: ObjectSchema, config: Json): FoundText[] {
	let part = described.get(schema);
	if (!part) {
		part = schema.describe() as Part;
		described.set(schema, part);
	}
	const found: FoundText[] = [];
	walk(config, '', [{ part, around: [] }], found);
	return found;
}

/** A schema, with those around it, the innermost first: links name one of them. */
interface Candidate {
	part: Part;
	around: readonly Part[];
}

function walk(value: Json, path: string, given: readonly Candidate[], found: FoundText[]): void {
	const candidates = expanded(given);
	if (candidates.some(({ part }) => isMarked(part))) {
		collect(value, path, found);
		return;
	}
	if (Array.isArray(value)) {
		const inner = candidates.flatMap((one) => [...list(one.part['items']), ...list(one.part['ordered'])].map((part) => below(part, one)));
		for (const [index, item] of value.entries()) walk(item, `${path}/${index}`, inner, found);
	} else if (isObject(value)) {
		for (const [name, member] of Object.entries(value)) {
			const inner = candidates.flatMap((one) => membersOf(one.part, name).map((part) => below(part, one)));
			if (inner.length > 0) walk(member, `${path}/${pointerToken(name)}`, inner, found);
		}
	}
}

function collect(value: Json, path: string, found: FoundText[]): void {
	if (typeof value === 'string') found.push({ text: value, path });
	else if (Array.isArray(value)) for (const [index, item] of value.entries()) collect(item, `${path}/${index}`, found);
	else if (isObject(value)) for (const [name, member] of Object.entries(value)) collect(member, `${path}/${pointerToken(name)}`, found);
}

const below = (part: Part, { part: parent, around }: Candidate): Candidate => ({ part, around: [parent, ...around] });

/** Adds the schemas that stand for a value in place of a given one: alternatives, conditions, links. */
function expanded(given: readonly Candidate[]): Candidate[] {
	const all = [...given];
	for (let at = 0; at < all.length && all.length < MAX_OPTIONS; at++) {
		const one = all[at] as Candidate;
		for (const option of [...list(one.part['matches']), ...list(one.part['whens'])])
			for (const name of ['schema', 'then', 'otherwise', 'concat'] as const)
				if (isPart(option[name])) all.push({ part: option[name], around: one.around });
		const target = one.part['type'] === 'link' ? linked(one) : null;
		if (target) all.push(target);
	}
	return all;
}

/** Finds the schema that a link names: one around it, or a shared one. */
function linked({ part, around }: Candidate): Candidate | null {
	const { ref } = (part['link'] ?? {}) as { ref?: { path?: unknown[]; type?: string; ancestor?: number | 'root' } };
	const [id] = ref?.path ?? [];
	for (const [at, outer] of around.entries()) {
		const own = isPart(outer['flags']) ? outer['flags']['id'] : undefined;
		const shared = list(outer['shared']).find((one) => isPart(one['flags']) && one['flags']['id'] === id);
		if (shared) return { part: shared, around: around.slice(at) };
		if (id !== undefined && own === id) return { part: outer, around: around.slice(at + 1) };
	}
	const root = around.at(-1);
	return id === undefined && root ? { part: root, around: [] } : null;
}

function membersOf(part: Part, name: string): Part[] {
	const keys = isPart(part['keys']) ? part['keys'] : {};
	const own = Object.hasOwn(keys, name) ? keys[name] : undefined;
	if (isPart(own)) return [own];
	return list(part['patterns']).flatMap(({ rule }) => (isPart(rule) ? [rule] : []));
}

const isMarked = (part: Part): boolean => list(part['metas']).some((meta) => meta['template'] === true);
const isPart = (value: unknown): value is Part => typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): Part[] => (Array.isArray(value) ? value.filter(isPart) : []);
