// The contract of a pipeline node: one step of an agent. Types only.

import type { Call } from './context.ts';
import type { ErrorDetail } from './errors.ts';
import type { Base, SaveContext } from './kinds.ts';
import type { ModelRequest } from './models.ts';
import type { Json, JsonObject, JsonSchema, Tool } from './nouns.ts';
import type { Role } from './permissions.ts';
import type { ChatChunk, ChatTool, ChatToolCall, Usage } from './providers.ts';
import type { RunResult } from './results.ts';

/**
 * The effect of a node on the world. It decides what happens when the process dies while the node runs: with `none` nothing is stored and
 * it runs again; `repeatable` nodes are stored when they end and else run again; a `once` node that began and was not seen to end is never
 * run again, and its run fails. What a node does by `call.step`, `run`, `each` and `suspend` is stored by itself: only nodes of effect `none`
 * may use these four, and whatever has an effect in them is done in steps.
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
	/**
	 * `input`: the run enters here; a pipeline has exactly one, without inbound edges. `output`: the run's output is that of such nodes; a
	 * pipeline has one at least, without outbound edges. Absent: a step between them.
	 */
	role?: 'input' | 'output';
	/**
	 * The template of the output, of a node with the role `output`; undefined: it passes on the output of the node before. So core knows which
	 * node's text is that of the run.
	 */
	template?(config: C): Json | undefined;
	/** Whether its output is the text of its last `call.chat` as it came: a client who waits for it may then read it while it arrives. */
	says?(config: C): boolean;
	/** Whether it lets a model call tools, and those of `call.clientTools` with them. */
	offersClientTools?: true;
	/** The JSON Schema of the run's input, of a node with the role `input`: inputs are checked before the run begins. */
	inputSchema?(config: C): JsonSchema;
	/**
	 * The pipeline inside the config that `call.each` runs for each item; null: none. It has no node with the role `input`: nodes without an
	 * inbound edge begin, and get the item as the output `from` the node around them. Its `output` nodes give the item's result. Placeholders
	 * in it see `{{item}}`, `{{index}}`, those of the map around as `{{parent.item}}`, `{{input}}`, nodes before them in the same body, and the
	 * ancestors of the node around. Node ids are unique in the whole pipeline, bodies included.
	 */
	body?(config: C): NodeBody | null;
	/**
	 * The rows of the organization that the config names. Core checks when a graph is saved that they are there; agents may not lead back to
	 * the one that is saved. `call.run`, `chat` and `tools` take no others.
	 */
	uses?(config: C): readonly NodeReference[];
	/** The names of its ways out, as `sourceHandle` of an edge has them. Absent or undefined: it has one, without a name. */
	ports?: readonly string[] | ByConfig<C, readonly string[] | undefined>;
	/**
	 * Checks what the schema cannot when a graph is saved, and returns all faults at once, each with a JSON pointer into `config`.
	 * References in placeholders, cycles and unreachable nodes are core's to check.
	 */
	check?(config: C, graph: NodeGraph, context: NodeSaveContext<O>): ErrorDetail[] | Promise<ErrorDetail[]>;
	/** Runs the node. It is called again from the beginning after a retry, a takeover, and an answer to `call.suspend`. @throws any error */
	run(input: NodeInput, config: C, call: NodeCall<O>): Promise<NodeOutput>;
}

/** The context while a graph is saved. */
export interface NodeSaveContext<O = unknown> extends SaveContext<O> {
	/**
	 * Finds the faults of a tool for `call.execute`, as they are found when a tool is saved, and any secret in its config, which a graph must
	 * not hold. @param at JSON pointer of the tool's config in the node's, which the paths of the faults begin with
	 */
	toolFaults(tool: { executor: string; config: JsonObject }, at: string): Promise<ErrorDetail[]>;
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

/** A pipeline inside the config of a node. */
export interface NodeBody {
	/** JSON pointer of the pipeline in the config, such as `/body`. */
	path: string;
	nodes: readonly { id: string; type: string; data: JsonObject }[];
	edges: readonly { id: string; source: string; target: string; sourceHandle?: string }[];
}

/** A row that a config names. */
export interface NodeReference {
	kind: 'tool' | 'gateway' | 'agent' | 'provider';
	id: string;
	/** JSON pointer of the id in the config, such as `/toolId`. */
	path: string;
}

/** Tools of a node under unique names, each run as its gateway runs it, or as the organization does. */
export interface NodeTools {
	list: readonly Readonly<Tool>[];
	/** Runs a tool. One that ran and failed gives a result with `isError`. @throws tool_not_found, validation_failed */
	invoke(name: string, args: Json): Promise<RunResult>;
}

/** The result of one item: its output, or the fault that ended it. */
export type ItemResult = { ok: Json } | { error: { code: string; message: string } };

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
	chat(providerId: string, request: Omit<ModelRequest, 'providerId'>): AsyncIterable<ChatChunk>;
	/**
	 * Returns the tools that its `uses` names: stored tools, and those of its gateways. Beside it, `call.invoke` runs one of these stored
	 * tools by its id. @throws not_found
	 */
	toolbox(): Promise<NodeTools>;
	/**
	 * Runs a tool that is not stored: an executor with a config of the node's own. @throws validation_failed, not_implemented
	 * @param tool.config as the executor's schema has it, secrets in clear: mark the field of the node's config as a secret where it may hold any
	 */
	execute(tool: { executor: string; config: JsonObject }, args: JsonObject): Promise<RunResult>;
	/**
	 * Runs `work` once, or returns what it returned before: how a node with several effects keeps each of them. With `once` it is never
	 * repeated when it began and was not seen to end. @param key unique in the node
	 */
	step<T extends Json>(key: string, work: (signal: AbortSignal) => Promise<T>, options?: { once?: boolean }): Promise<T>;
	/** Runs another agent and returns its output. @throws not_found, and what it fails with */
	run(agentId: string, input: Json): Promise<Json>;
	/**
	 * Runs the node's `body` for each item, up to `concurrency` at once (at most, and by default, as many as nodes of a run may be), and
	 * returns a result for each, in their order. An item that fails does not end the others, unless `stopsAtFault`: then the first fault ends
	 * them, and is thrown.
	 */
	each(items: readonly Json[], options?: { concurrency?: number; stopsAtFault?: boolean }): Promise<ItemResult[]>;
	/**
	 * Gives the run up until somebody answers: it then holds no memory, timer or connection. It does not return in this call: `run` is called
	 * again when there is an answer, and gets it here. So a node suspends before it does anything else, outside of `step`.
	 * @throws timed_out
	 * @param key distinguishes several questions of one node
	 */
	suspend(request: Suspension, key?: string): Promise<Json>;
	/** The tools that the client of the run brings and runs itself; absent without any. Their names are none of the node's own tools. */
	readonly clientTools?: ClientTools | undefined;
}

export interface ClientTools {
	list: readonly ChatTool[];
	/**
	 * Hands calls to the client and gives the run up until their results are here, as `suspend` does. @returns the results in the order of the
	 * calls, as the model reads them. @param key unique in the node. @throws timed_out
	 */
	call(calls: readonly ChatToolCall[], key: string): Promise<string[]>;
}

export interface Suspension {
	/** Tells the person who is asked what to decide. */
	message: string;
	/** The form of the answer. */
	schema: JsonSchema;
	/** Time after which the node fails. Default: never. */
	timeoutMs?: number;
	/** Those who may answer, by role or address. Default: everybody who may run the agent. */
	approvers?: Approvers;
}

/** Members of the organization: whoever has one of the roles or one of the addresses. */
export interface Approvers {
	roles?: readonly Role[];
	emails?: readonly string[];
}
