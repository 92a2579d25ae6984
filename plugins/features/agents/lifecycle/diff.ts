// The difference of two states of an agent: by nodes, edges and settings.

import { isObject, type Json, type JsonObject, type Pipeline } from '../../../../core/features.ts';

/** A field that differs: the side that lacks it is absent. */
export interface FieldChange {
	/** JSON pointer. */
	path: string;
	from?: Json;
	to?: Json;
}

interface ItemsDiff {
	added: JsonObject[];
	removed: JsonObject[];
	changed: { id: string; fields: FieldChange[] }[];
}

/** The parts of an agent that are compared. */
export interface Compared {
	name: string;
	description: string;
	pipeline: Pipeline;
	settings: object;
}

export interface AgentDiff {
	isEqual: boolean;
	nodes: ItemsDiff;
	edges: ItemsDiff;
	settings: FieldChange[];
	/** The name and the description. */
	fields: FieldChange[];
}

export function diffAgents(from: Compared, to: Compared): AgentDiff {
	const nodes = diffItems(from.pipeline.nodes, to.pipeline.nodes);
	const edges = diffItems(from.pipeline.edges, to.pipeline.edges);
	const settings = fieldsOf(from.settings as Json, to.settings as Json);
	const fields = fieldsOf({ name: from.name, description: from.description }, { name: to.name, description: to.description });
	const isEqual = [nodes, edges].every(isNothing) && settings.length === 0 && fields.length === 0;
	return { isEqual, nodes, edges, settings, fields };
}

const isNothing = ({ added, removed, changed }: ItemsDiff): boolean => added.length + removed.length + changed.length === 0;

/** Compares lists of things with ids. */
function diffItems(from: readonly { id: string }[], to: readonly { id: string }[]): ItemsDiff {
	const former = new Map(from.map((item) => [item.id, item as unknown as JsonObject]));
	const fresh = new Map(to.map((item) => [item.id, item as unknown as JsonObject]));
	return {
		added: [...fresh].filter(([id]) => !former.has(id)).map(([, item]) => item),
		removed: [...former].filter(([id]) => !fresh.has(id)).map(([, item]) => item),
		changed: [...fresh].flatMap(([id, item]) => {
			const before = former.get(id);
			const fields = before ? fieldsOf(before, item) : [];
			return fields.length > 0 ? [{ id, fields }] : [];
		}),
	};
}

/** Lists the fields that differ. Lists are one field each, since their items have no names. */
function fieldsOf(from: Json, to: Json, path = ''): FieldChange[] {
	if (!isObject(from) || !isObject(to)) return isSame(from, to) ? [] : [{ path, from, to }];
	return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((name) => {
		const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
		const [before, after] = [own(from, name), own(to, name)];
		if (before === undefined) return [{ path: at, to: after as Json }];
		return after === undefined ? [{ path: at, from: before }] : fieldsOf(before, after, at);
	});
}

const own = (value: JsonObject, name: string): Json | undefined => (Object.hasOwn(value, name) ? value[name] : undefined);

function isSame(one: Json, other: Json): boolean {
	if (Array.isArray(one) && Array.isArray(other))
		return one.length === other.length && one.every((item, at) => isSame(item, other[at] as Json));
	if (isObject(one) && isObject(other)) return fieldsOf(one, other).length === 0;
	return one === other;
}
