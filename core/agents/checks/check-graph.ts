// The faults of a graph as such: edges that lead nowhere, cycles, nodes that are never reached, a missing end.

import type { ErrorDetail } from '../../contract/errors.ts';
import type { NodeBody } from '../../contract/nodes.ts';
import { portOf } from '../graph.ts';

/** A node as the graph sees it. */
export interface Drawn {
	id: string;
	/** JSON pointer of the node. */
	path: string;
	role: 'input' | 'output' | null;
	/** Its ways out; null when they are not known, since its config does not fit. */
	ways: readonly (string | null)[] | null;
}

interface Drawing {
	nodes: readonly Drawn[];
	edges: NodeBody['edges'];
	/** JSON pointer of the graph. */
	path: string;
	/** The body of a node: it has no entry of its own. */
	isBody: boolean;
}

export function graphFaults(drawing: Drawing): ErrorDetail[] {
	const { nodes, path } = drawing;
	const onCycle = cyclic(nodes, drawing.edges);
	return [
		...edgeFaults(drawing),
		...roleFaults(drawing),
		...nodes
			.filter(({ id }) => onCycle.has(id))
			.map((node) => ({ path: node.path, message: `Node "${node.id}": it is part of a cycle of edges.` })),
		...reachFaults(drawing, onCycle),
		...(nodes.length === 0 ? [{ path: `${path}/nodes`, message: 'A graph has one node at least.' }] : []),
	];
}

function edgeFaults({ nodes, edges, path }: Drawing): ErrorDetail[] {
	const faults: ErrorDetail[] = [];
	const byId = new Map(nodes.map((node) => [node.id, node]));
	const [ids, seen] = [new Set<string>(), new Set<string>()];
	for (const [index, edge] of edges.entries()) {
		const at = `${path}/edges/${index}`;
		const { id, source, target } = edge;
		if (ids.has(id)) faults.push({ path: `${at}/id`, message: `Two edges have the id "${id}".` });
		ids.add(id);
		const [from, to] = [byId.get(source), byId.get(target)];
		if (!from) faults.push({ path: `${at}/source`, message: `Edge "${id}": there is no node "${source}" here.` });
		if (!to) faults.push({ path: `${at}/target`, message: `Edge "${id}": there is no node "${target}" here.` });
		const port = portOf(edge);
		const same = JSON.stringify([source, target, port]);
		if (seen.has(same))
			faults.push({ path: at, message: `Edge "${id}": another edge leads from "${source}" to "${target}" in the same way.` });
		seen.add(same);
		if (from?.ways && !from.ways.includes(port))
			faults.push({ path: `${at}/sourceHandle`, message: `Edge "${id}": ${unknownWay(from, port)}` });
	}
	return faults;
}

function unknownWay({ id, ways }: Drawn, port: string | null): string {
	const names = (ways ?? []).map((way) => (way === null ? 'the one without a name' : `"${way}"`)).join(', ');
	return `node "${id}" has no way out ${port === null ? 'without a name: name it in sourceHandle' : `"${port}"`}; it has ${names}.`;
}

function roleFaults({ nodes, edges, path, isBody }: Drawing): ErrorDetail[] {
	const inputs = nodes.filter(({ role }) => role === 'input');
	const faults: ErrorDetail[] = [];
	const add = (at: string, message: string): void => void faults.push({ path: at, message });
	if (isBody)
		for (const node of inputs) add(node.path, `Node "${node.id}": a body has no node at which a run enters; its items are {{item}}.`);
	else {
		for (const node of inputs.slice(1))
			add(node.path, `Node "${node.id}": a pipeline has one node at which a run enters, and "${inputs[0]?.id}" is it.`);
		if (inputs.length === 0) add(`${path}/nodes`, 'A pipeline has a node at which a run enters, of the type input.');
	}
	if (!nodes.some(({ role }) => role === 'output')) add(`${path}/nodes`, 'A graph has a node that gives its output, of the type output.');
	for (const [index, { source, target, id }] of edges.entries()) {
		if (nodes.some((node) => node.role === 'input' && node.id === target))
			add(`${path}/edges/${index}`, `Edge "${id}": no edge leads to node "${target}", at which a run enters.`);
		if (nodes.some((node) => node.role === 'output' && node.id === source))
			add(`${path}/edges/${index}`, `Edge "${id}": no edge leaves node "${source}", which gives the output.`);
	}
	return faults;
}

function reachFaults({ nodes, edges, isBody }: Drawing, onCycle: ReadonlySet<string>): ErrorDetail[] {
	const targets = new Set(edges.map(({ target }) => target));
	const begun = nodes.filter(({ id, role }) => (isBody ? !targets.has(id) : role === 'input')).map(({ id }) => id);
	// Without an entry, everything would be unreachable: that it is missing is told already.
	if (begun.length === 0) return [];
	const after = neighbours(edges, 'source', 'target');
	const reached = new Set(begun);
	for (const id of reached) for (const next of after.get(id) ?? []) reached.add(next);
	return nodes
		.filter(({ id }) => !reached.has(id) && !onCycle.has(id))
		.map(({ id, path }) => ({ path, message: `Node "${id}": no path leads to it from where a run enters.` }));
}

/** Finds the nodes on cycles: what is left when those without a way in, and those without a way out, are taken away again and again. */
function cyclic(nodes: readonly Drawn[], edges: Drawing['edges']): Set<string> {
	const left = new Set(nodes.map(({ id }) => id));
	for (const [from, to] of [
		['source', 'target'],
		['target', 'source'],
	] as const) {
		const within = edges.filter(({ source, target }) => left.has(source) && left.has(target));
		const next = neighbours(within, from, to);
		const open = new Map<string, number>();
		for (const edge of within) open.set(edge[to], (open.get(edge[to]) ?? 0) + 1);
		const free = [...left].filter((id) => !open.has(id));
		for (let id = free.pop(); id !== undefined; id = free.pop()) {
			left.delete(id);
			for (const one of next.get(id) ?? []) {
				const rest = (open.get(one) ?? 0) - 1;
				open.set(one, rest);
				if (rest === 0) free.push(one);
			}
		}
	}
	return left;
}

function neighbours(edges: Drawing['edges'], from: 'source' | 'target', to: 'source' | 'target'): Map<string, string[]> {
	const found = new Map<string, string[]>();
	for (const edge of edges) found.set(edge[from], [...(found.get(edge[from]) ?? []), edge[to]]);
	return found;
}

/** Returns the nodes before each node. */
export function ancestorsOf(nodes: readonly Pick<Drawn, 'id'>[], edges: Drawing['edges']): Map<string, Set<string>> {
	const before = neighbours(edges, 'target', 'source');
	return new Map(
		nodes.map(({ id }) => {
			const found = new Set(before.get(id));
			for (const one of found) for (const further of before.get(one) ?? []) found.add(further);
			return [id, found];
		}),
	);
}
