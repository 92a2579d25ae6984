// A pipeline that is ready to run: its nodes with their plugins and configs, and the edges between them.

import { GatewayError } from '../contract/errors.ts';
import type { NodeEffect, NodeReference, PipelineNode } from '../contract/nodes.ts';
import type { JsonObject, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import type { Registry } from '../registry/registry.ts';
import type { Pipeline, PipelineEdge } from '../store/store.ts';
import { effectOf, inputSchemaBy, nodeBodyOf, portsOf, usesOf } from './node-hooks.ts';
import { ERROR_PORT, POLICY, type Policy } from './policy.ts';

export interface GraphNode {
	id: string;
	type: string;
	plugin: PipelineNode;
	config: unknown;
	policy: Policy;
	effect: NodeEffect;
	/** Null: it has one way out, without a name. */
	ports: readonly string[] | null;
	/** The nodes before it, one for each edge, in the order of the edges. */
	sources: string[];
	/** The edges that leave it. */
	out: { target: string; port: string | null }[];
	body: Graph | null;
	uses: readonly NodeReference[];
}

export interface Graph {
	nodes: ReadonlyMap<string, GraphNode>;
	/** The nodes without inbound edges. */
	roots: readonly GraphNode[];
}

/** The name of an edge's way out; null: the one without a name. */
export const portOf = ({ sourceHandle }: Pick<PipelineEdge, 'sourceHandle'>): string | null => sourceHandle || null;

/** The parts of a node's `data`: the config of its type, and core's policy. */
export function splitData(data: JsonObject): { config: JsonObject; policy: unknown } {
	const { policy, ...config } = data;
	return { config, policy };
}

/** All ways out of a node, with the one for errors. */
export const waysOut = (ports: readonly string[] | null, { onError }: Pick<Policy, 'onError'>): (string | null)[] => [
	...(ports ?? [null]),
	...(onError === 'branch' ? [ERROR_PORT] : []),
];

/** Makes a graph of a pipeline that was checked when it was saved. @throws validation_failed, not_implemented for one that does not fit any more */
export function compileGraph(
	registry: Registry,
	{ nodes, edges }: { nodes: readonly Pipeline['nodes'][number][]; edges: readonly PipelineEdge[] },
): Graph {
	const made = new Map<string, GraphNode>();
	for (const { id, type, data } of nodes) {
		const plugin = registry.get('node', type);
		if (!plugin) throw new GatewayError('not_implemented', `The type of node "${type}" is not loaded.`);
		const { config: given, policy } = splitData(isObject(data) ? data : {});
		const config = registry.parse('node', type, given, '');
		const body = nodeBodyOf(plugin, config);
		made.set(id, {
			...{ id, type, plugin, config, effect: effectOf(plugin, config), ports: portsOf(plugin, config) },
			policy: policyOf(id, policy),
			...{ sources: [], out: [], body: body ? compileGraph(registry, body) : null, uses: usesOf(plugin, config) },
		});
	}
	for (const edge of edges) {
		const [source, target] = [made.get(edge.source), made.get(edge.target)];
		if (!source || !target) throw new GatewayError('validation_failed', `The edge "${edge.id}" leads nowhere.`);
		source.out.push({ target: edge.target, port: portOf(edge) });
		target.sources.push(edge.source);
	}
	return { nodes: made, roots: [...made.values()].filter(({ sources }) => sources.length === 0) };
}

function policyOf(id: string, given: unknown): Policy {
	const { value, error } = POLICY.validate(given, { convert: false });
	if (error) throw new GatewayError('validation_failed', `The policy of the node "${id}" is not valid: ${error.message}.`);
	return value;
}

/** Returns the schema of a pipeline's input: that of the node at which runs enter it. */
export function inputSchemaOf(registry: Registry, { nodes }: Pick<Pipeline, 'nodes'>): JsonSchema {
	for (const { type, data } of nodes) {
		const plugin = registry.get('node', type);
		if (plugin?.role !== 'input') continue;
		const { config } = splitData(isObject(data) ? data : {});
		return inputSchemaBy(plugin, registry.parse('node', type, config, '')) ?? ANY_OBJECT;
	}
	return ANY_OBJECT;
}

const ANY_OBJECT: JsonSchema = { type: 'object' };
