// The contract of a pipeline node: one step of an agent. Types only.

import type { Call } from './context.ts';
import type { ErrorDetail } from './errors.ts';
import type { Base, SaveContext } from './kinds.ts';
import type { Json, JsonSchema } from './nouns.ts';
import type { ChatChunk, ChatRequest, Usage } from './providers.ts';

/**
 * The effect of a node on the world. It decides what happens when the process dies while the node runs: with `none` nothing is stored and
 * it runs again; `repeatable` nodes are stored when they end and else run again; a `once` node that began and was not seen to end is never
 * run again, and its run fails.
 */
export type NodeEffect = 'none' | 'repeatable' | 'once';

/** A function of the config. As the type of a method, so that a node of any config is a `PipelineNode`. */
type ByConfig<C, T> = { of(config: C): T }['of'];

/**
 * A type of node. `config` is the `data` of one node, without its `policy`: time limit, retries and what follows an error are core's, the
 * same for every type. Fields marked with `.meta({ template: true })` may hold placeholders, which core checks when a graph is saved.
 */
export interface PipelineNode<C = unknown, O = unknown> extends Base<C, O> {
	kind: 'node';
	/** The effect, which may depend on the config: a GET is repeatable, a POST is not. */
	effect: NodeEffect | ByConfig<C, NodeEffect>;
	/** The names of its ways out, as `sourceHandle` of an edge has them. Absent: it has one, without a name. */
	ports?: readonly string[] | ByConfig<C, readonly string[]>;
	/**
	 * Checks what the schema cannot when a graph is saved, and returns all faults at once, each with a JSON pointer into `config`.
	 * References in placeholders, cycles and unreachable nodes are core's to check.
	 */
	check?(config: C, graph: NodeGraph, context: SaveContext<O>): ErrorDetail[] | Promise<ErrorDetail[]>;
	/** Runs the node. It is called again from the beginning after a retry, a takeover, and an answer to `call.suspend`. @throws any error */
	run(input: NodeInput, config: C, call: NodeCall<O>): Promise<NodeOutput>;
}

/** The graph around a node that is being saved. */
export interface NodeGraph {
	/** The id of the node itself. */
	nodeId: string;
	nodes: readonly { id: string; type: string }[];
	edges: readonly { source: string; target: string; sourceHandle?: string }[];
	/** The nodes whose outputs exist whenever this one runs. */
	ancestors: readonly string[];
}

export interface NodeInput {
	/** The input of the run. */
	input: Json;
	/** The outputs of the nodes from which an edge was taken to this one, in the order of the edges. */
	from: readonly { nodeId: string; output: Json }[];
}

export interface NodeOutput {
	output: Json;
	/** The way out that is taken, one of `ports`. Absent for a node without ports. */
	port?: string;
	/** Tokens that the node used beside those of `call.chat`, which are counted by core. */
	usage?: Usage;
}

export interface NodeCall<O = unknown> extends Call<O> {
	/** Returns the value with the placeholders in its texts filled in, once; a placeholder that is a whole text keeps its JSON type. */
	fill(template: Json): Json;
	/** Asks a model by a connection of the organization. @throws not_found, upstream_failed, upstream_timeout, rate_limited */
	chat(providerId: string, request: ChatRequest): AsyncIterable<ChatChunk>;
	/** Runs another agent and returns its output. @throws not_found, and what it fails with */
	run(agentId: string, input: Json): Promise<Json>;
	/**
	 * Gives the run up until somebody answers: it then holds no memory, timer or connection. It does not return in this call: `run` is called
	 * again when there is an answer, and gets it here. So a node suspends before it does anything else.
	 */
	suspend(request: Suspension): Promise<Json>;
}

export interface Suspension {
	/** Tells the person who is asked what to decide. */
	message: string;
	/** The form of the answer. */
	schema: JsonSchema;
	/** Time after which the node fails. Default: never. */
	timeoutMs?: number;
}
