// Walks a graph: an edge settles as taken or skipped; a node starts once, when all of its inbound edges have settled, and runs if one of them at
// least was taken. Else it is skipped, and so are its edges. Nodes that are ready run at the same time.

import type { NodeInput } from '../contract/nodes.ts';
import type { Json, JsonObject } from '../contract/nouns.ts';
import type { Graph, GraphNode } from './graph.ts';
import { type Linked, linkedTo } from './linked.ts';
import type { Scope } from './templates.ts';

/** The way a node ended. */
export interface Settled {
	output: Json;
	/** The way out that is taken; null: the one without a name. */
	port: string | null;
	/** The fault that its policy lets the run go on with. */
	error: { code: string; message: string } | null;
}

/** The place of a node in a run. */
export interface At {
	/** Begins the keys of the nodes: empty at the top, `each[2]/` in an iteration. */
	prefix: string;
	/** The indexes of the iterations around, the outermost first. */
	iteration: readonly number[];
	/** The values that placeholders see, beside the nodes of this graph. */
	scope: Scope;
	/** Aborted when another node of the graph failed, or one around it. */
	signal: AbortSignal;
}

export interface Ready {
	node: GraphNode;
	at: At;
	from: NodeInput['from'];
}

export interface NodeRunner {
	/** Runs a node by its policy. @throws what ends the graph; the signal's reason once it is aborted */
	run(ready: Ready): Promise<Settled>;
	/** Hears of a node that is not run. */
	skip(node: GraphNode, at: At): void;
}

/** A node was stopped, since another one of its graph failed. */
export class Stopped extends Error {}

interface Walk {
	graph: Graph;
	at: At;
	/** The nodes before the roots: those of a body have the item. */
	rootFrom: NodeInput['from'];
}

/** Runs a graph to its end. @returns the output of its `output` node; with several that were reached, an object by their ids; null without one */
export function walk(given: Walk, runner: NodeRunner): Promise<Json> {
	return new Walker(given, runner).run();
}

class Walker {
	readonly #graph: Graph;
	readonly #at: At;
	readonly #runner: NodeRunner;
	readonly #rootFrom: NodeInput['from'];
	readonly #stop: Linked;
	/** The inbound edges of each node that have not settled. */
	readonly #open = new Map<string, number>();
	/** The nodes from which an edge was taken, in the order of the node's edges. */
	readonly #taken = new Map<string, Set<string>>();
	readonly #nodes: JsonObject;
	readonly #outputs = new Map<string, Json>();
	readonly #done = Promise.withResolvers<void>();
	#running = 0;
	#fault: { error: unknown } | null = null;

	constructor({ graph, at, rootFrom }: Walk, runner: NodeRunner) {
		this.#graph = graph;
		this.#runner = runner;
		this.#rootFrom = rootFrom;
		this.#stop = linkedTo(at.signal);
		// Nodes around a body are seen in it. Without a prototype, a node may be called `__proto__`.
		this.#nodes = Object.assign(Object.create(null), at.scope['nodes']);
		this.#at = { ...at, scope: { ...at.scope, nodes: this.#nodes }, signal: this.#stop.signal };
		for (const { id, sources } of graph.nodes.values()) this.#open.set(id, sources.length);
	}

	async run(): Promise<Json> {
		for (const root of this.#graph.roots) this.#start(root);
		if (this.#running > 0) await this.#done.promise;
		this.#stop.leave();
		if (this.#fault) throw this.#fault.error;
		if (this.#outputs.size <= 1) return [...this.#outputs.values()][0] ?? null;
		return Object.fromEntries(this.#outputs);
	}

	#start(node: GraphNode): void {
		this.#running++;
		void this.#runOne(node).finally(() => {
			this.#running--;
			if (this.#running === 0) this.#done.resolve();
		});
	}

	async #runOne(node: GraphNode): Promise<void> {
		try {
			const settled = await this.#runner.run({ node, at: this.#at, from: this.#fromOf(node) });
			if (this.#fault) return;
			this.#nodes[node.id] = { output: settled.output, error: settled.error };
			if (node.plugin.role === 'output') this.#outputs.set(node.id, settled.output);
			this.#settle(node, settled);
		} catch (error) {
			// The first fault counts; one that only tells that a node was stopped gives way to that for which it was.
			if (!this.#fault || this.#fault.error instanceof Stopped) this.#fault = { error };
			this.#stop.abort(new Stopped('Another node failed.'));
		}
	}

	#fromOf(node: GraphNode): NodeInput['from'] {
		if (node.sources.length === 0) return this.#rootFrom;
		const taken = this.#taken.get(node.id);
		return [...new Set(node.sources)].flatMap((nodeId) => {
			const { output = null } = (this.#nodes[nodeId] ?? {}) as JsonObject;
			return taken?.has(nodeId) ? [{ nodeId, output }] : [];
		});
	}

	/** Settles the edges that leave a node; null: it was skipped. */
	#settle(node: GraphNode, settled: Settled | null): void {
		for (const { target, port } of node.out) {
			const isTaken = settled !== null && port === settled.port;
			if (isTaken) this.#taken.set(target, (this.#taken.get(target) ?? new Set()).add(node.id));
			const open = (this.#open.get(target) ?? 0) - 1;
			this.#open.set(target, open);
			if (open === 0) this.#begin(target);
		}
	}

	#begin(id: string): void {
		const node = this.#graph.nodes.get(id);
		if (!node) return;
		if (this.#taken.has(id)) {
			this.#start(node);
			return;
		}
		this.#runner.skip(node, this.#at);
		this.#settle(node, null);
	}
}
