// A schema that includes itself in place (`A: allOf: [A]`, or a base that lists its subtypes, each of which lists the
// base) sends a validator round for ever: JSON Schema 2020-12 core §9.4.1 forbids it, documents do it. Such an edge is
// found here and left out by the converter. Recursion through properties or items is no such cycle.

import type { Json } from '../../core/index.ts';
import { type Document, isObject } from './document.ts';
import { lookUp } from './references.ts';

/** The nearest combinator around a reference. Of a cycle, the `allOf` edges go first: a base keeps the list of its subtypes. */
export type Edge = 'allOf' | 'other';

/** Whether the reference from one definition to another, in place, closes a cycle that must be broken here. */
export type ClosesCycle = (from: string, to: string, edge: Edge) => boolean;

const LISTS = ['allOf', 'anyOf', 'oneOf'] as const;
const MAX_VISITED = 2_000;
const MAX_DEPTH = 40;

export function createCycles({ root }: Document): ClosesCycle {
	const edges = new Map<string, Map<string, Edge>>();

	function edgesOf(pointer: string): Map<string, Edge> {
		const known = edges.get(pointer);
		if (known) return known;
		const found = new Map<string, Edge>();
		const at = lookUp(root, pointer);
		if (!('fault' in at))
			collect(at.value, 'other', 0, (ref, edge) => {
				const target = lookUp(root, ref);
				if (!('fault' in target) && found.get(target.pointer) !== 'other') found.set(target.pointer, edge);
			});
		edges.set(pointer, found);
		return found;
	}

	return function closesCycle(from, to, edge) {
		const open = [to];
		const visited = new Set(open);
		for (let next = open.pop(); next !== undefined; next = open.pop()) {
			if (next === from || visited.size > MAX_VISITED) return true;
			for (const [target, kind] of edgesOf(next)) {
				if (visited.has(target) || (edge === 'other' && kind === 'allOf')) continue;
				visited.add(target);
				open.push(target);
			}
		}
		return false;
	};
}

function collect(schema: Json | undefined, edge: Edge, depth: number, report: (ref: string, edge: Edge) => void): void {
	if (!isObject(schema) || depth > MAX_DEPTH) return;
	if (typeof schema['$ref'] === 'string') report(schema['$ref'], edge);
	for (const keyword of LISTS) {
		const members = schema[keyword];
		if (Array.isArray(members)) for (const member of members) collect(member, keyword === 'allOf' ? 'allOf' : 'other', depth + 1, report);
	}
}
