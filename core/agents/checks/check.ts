// Checks a pipeline when it is saved: every fault at once, each with its place and the id of its node. The sizes are checked before anything
// that takes time.

import type { ArgumentChecks } from '../../arguments/checks.ts';
import { asGatewayError, type ErrorDetail } from '../../contract/errors.ts';
import type { NodeBody, NodeGraph, NodeReference, PipelineNode } from '../../contract/nodes.ts';
import type { JsonObject, JsonSchema } from '../../contract/nouns.ts';
import type { Egress } from '../../egress/egress.ts';
import { detailsOf, validateInput } from '../../kit/input-faults.ts';
import { isObject } from '../../kit/json.ts';
import { pointerToken } from '../../kit/json-pointer.ts';
import { TimeSlice } from '../../kit/time-slice.ts';
import { saveContext } from '../../management/save-context.ts';
import type { Registry } from '../../registry/registry.ts';
import type { AccountOf } from '../../shared/accounts.ts';
import type { Agents, Pipeline, Store } from '../../store/store.ts';
import type { Services } from '../../tools/call-parts.ts';
import { splitData, waysOut } from '../graph.ts';
import { effectOf, faultsBy, inputSchemaBy, nodeBodyOf, portsOf, usesOf } from '../node-hooks.ts';
import { POLICY, type Policy } from '../policy.ts';
import { templateTexts } from '../template-fields.ts';
import { MAX_PLACEHOLDERS, parseTemplate } from '../templates.ts';
import { ancestorsOf, type Drawn, graphFaults } from './check-graph.ts';
import { referenceFaults } from './check-references.ts';
import { rowFaults } from './check-rows.ts';
import { toolFaults } from './tool-faults.ts';

export interface CheckParts {
	registry: Registry;
	services: () => Services;
	egress: Egress;
	accountOf: AccountOf;
	argumentChecks: ArgumentChecks;
	store: Store;
	agents: Pick<Agents, 'get'>;
}

export interface Checking {
	organizationId: string;
	pipeline: Pipeline;
	/** Null: the agent is new. */
	agentId: string | null;
}

const MAX_NODES = 200;
const MAX_EDGES = 1_000;
const MAX_CHARS = 512 * 1024;
/** Bodies within bodies. */
const MAX_NESTING = 4;
/** More faults help nobody. */
const MAX_FAULTS = 200;
const ID = /^[\p{L}\p{N}_$][\p{L}\p{N}_$-]{0,63}$/u;

/** A graph whose parts are being checked: the pipeline, or a body in it. */
interface Level {
	/** JSON pointer of the graph. */
	path: string;
	/** The ids of the nodes around it and before those. */
	before: readonly string[];
	/** The number of bodies around it. */
	depth: number;
	graph: Pick<NodeBody, 'nodes' | 'edges'>;
}

/** A node with what is known of it; `config` is null when it does not fit. */
export interface CheckedNode extends Drawn {
	type: string;
	config: JsonObject | null;
	plugin: PipelineNode | null;
}

export async function checkPipeline(checking: Checking, parts: CheckParts): Promise<ErrorDetail[]> {
	const check = new Check(checking, parts);
	const oversized = sizeFault(checking.pipeline);
	if (oversized) return [oversized];
	await check.level({ path: '', before: [], depth: 0, graph: checking.pipeline });
	return check.faults();
}

function sizeFault(pipeline: Pipeline): ErrorDetail | null {
	const { nodes, edges } = pipeline;
	if (!Array.isArray(nodes) || nodes.length > MAX_NODES)
		return { path: '/nodes', message: `A pipeline has a list of at most ${MAX_NODES} nodes.` };
	if (!Array.isArray(edges) || edges.length > MAX_EDGES)
		return { path: '/edges', message: `A pipeline has a list of at most ${MAX_EDGES} edges.` };
	if (JSON.stringify(pipeline).length > MAX_CHARS) return { path: '/nodes', message: `A pipeline has at most ${MAX_CHARS} characters.` };
	return null;
}

class Check {
	readonly #checking: Checking;
	readonly #parts: CheckParts;
	readonly #faults: ErrorDetail[] = [];
	readonly #ids = new Set<string>();
	readonly #uses: { nodeId: string; at: string; uses: readonly NodeReference[] }[] = [];
	readonly #slice = new TimeSlice();
	#inputSchema: JsonSchema | null = null;
	#nodes = 0;
	#edges = 0;

	constructor(checking: Checking, parts: CheckParts) {
		this.#checking = checking;
		this.#parts = parts;
	}

	async faults(): Promise<ErrorDetail[]> {
		this.#faults.push(...(await rowFaults(this.#uses, this.#checking, this.#parts)));
		return this.#faults.slice(0, MAX_FAULTS);
	}

	#add(path: string, message: string): void {
		this.#faults.push({ path, message });
	}

	async level(level: Level): Promise<void> {
		const { graph, path, depth, before } = level;
		this.#nodes += graph.nodes.length;
		this.#edges += graph.edges.length;
		if (this.#nodes > MAX_NODES || this.#edges > MAX_EDGES || depth > MAX_NESTING) {
			const bounds = `${MAX_NODES} nodes and ${MAX_EDGES} edges, bodies included, and bodies ${MAX_NESTING} deep`;
			this.#add(`${path}/nodes`, `A pipeline has at most ${bounds}.`);
			return;
		}
		const nodes = graph.nodes.map((node, index) => this.#node(node, `${path}/nodes/${index}`));
		this.#faults.push(...graphFaults({ nodes, edges: graph.edges, path, isBody: depth > 0 }));
		const ancestors = ancestorsOf(nodes, graph.edges);
		if (depth === 0) this.#inputSchema = inputSchemaOf(nodes);
		for (const node of nodes) {
			const reachable = [...before, ...(ancestors.get(node.id) ?? [])];
			this.#references(node, { reachable, depth });
			await this.#own(node, { graph, reachable });
			if (this.#slice.isOverNow) await this.#slice.next();
		}
		for (const node of nodes) {
			const body = node.config && node.plugin && nodeBodyOf(node.plugin, node.config);
			if (!body) continue;
			const inner = [...before, ...(ancestors.get(node.id) ?? [])];
			await this.level({ path: `${node.path}/data${body.path}`, before: inner, depth: depth + 1, graph: body });
		}
	}

	/** Reads one node: its id, its type, its config and its policy. */
	#node(given: Pipeline['nodes'][number], path: string): CheckedNode {
		const { id, type } = given;
		const data = isObject(given.data) ? given.data : {};
		if (!ID.test(id)) this.#add(`${path}/id`, `The id ${quoted(id)} of a node has 1 to 64 letters, digits, - or _.`);
		else if (this.#ids.has(id)) this.#add(`${path}/id`, `Two nodes have the id "${id}".`);
		this.#ids.add(id);
		const { config: own, policy: givenPolicy } = splitData(data);
		const policy = this.#policy(givenPolicy, id, `${path}/data/policy`);
		const plugin = this.#parts.registry.get('node', type);
		if (!plugin) {
			const known = this.#parts.registry.list('node').map(({ name }) => name);
			this.#add(`${path}/type`, `Node "${id}": there is no type ${quoted(type)}; the types are ${known.sort().join(', ')}.`);
			return { id, type, path, config: null, plugin: null, role: null, ways: null };
		}
		const config = this.#config(own, { id, type, path: `${path}/data` });
		const ports = config && portsOf(plugin, config);
		if (ports && policy.onError === 'continue') this.#add(`${path}/data/policy/onError`, `Node "${id}": ${NO_WAY}`);
		const ways = config && waysOut(ports, policy);
		return { id, type, path, config, plugin, role: plugin.role ?? null, ways };
	}

	#policy(given: unknown, id: string, path: string): Policy {
		const { value, error } = validateInput(POLICY, given, { convert: false });
		if (!error) return value as Policy;
		for (const detail of detailsOf(error.details, path)) this.#add(detail.path, `Node "${id}": ${detail.message}.`);
		return POLICY.validate(undefined).value as Policy;
	}

	#config(given: JsonObject, { id, type, path }: { id: string; type: string; path: string }): JsonObject | null {
		const { registry } = this.#parts;
		try {
			const config = registry.parse('node', type, given, path);
			const secret = registry.secretIn('node', type, config);
			if (secret) this.#add([path, ...secret.map((step) => pointerToken(step))].join('/'), `Node "${id}": ${NO_SECRET}`);
			return config;
		} catch (thrown) {
			const error = asGatewayError(thrown);
			if (error?.code !== 'validation_failed') throw thrown;
			for (const detail of error.details) this.#add(detail.path, `Node "${id}": ${detail.message}`);
			return null;
		}
	}

	#references({ id, path, config, plugin }: CheckedNode, { reachable, depth }: { reachable: readonly string[]; depth: number }): void {
		if (!config || !plugin) return;
		const before = new Set(reachable);
		let placeholders = 0;
		for (const { text, path: at } of templateTexts(plugin.config, config)) {
			const template = parseTemplate(text);
			placeholders += template.parts.filter((part) => typeof part !== 'string').length;
			if (placeholders > MAX_PLACEHOLDERS) {
				this.#add(`${path}/data${at}`, `Node "${id}": its texts have more than ${MAX_PLACEHOLDERS} placeholders.`);
				return;
			}
			for (const fault of referenceFaults(template, { before, depth, schema: this.#inputSchema }))
				this.#add(`${path}/data${at}`, `Node "${id}": ${fault}.`);
		}
	}

	/** Asks the node itself. */
	async #own(node: CheckedNode, { graph, reachable }: { graph: Level['graph']; reachable: readonly string[] }): Promise<void> {
		const { id, type, path, config, plugin } = node;
		if (!config || !plugin) return;
		// A wrong one is refused before the agent runs.
		effectOf(plugin, config);
		this.#uses.push({ nodeId: id, at: `${path}/data`, uses: usesOf(plugin, config) });
		if (!plugin.check) return;
		const around: NodeGraph = {
			nodeId: id,
			nodes: graph.nodes.map((one) => ({ id: one.id, type: one.type })),
			edges: graph.edges.map(({ source, target, sourceHandle }) => ({ source, target, ...(sourceHandle && { sourceHandle }) })),
			ancestors: reachable,
		};
		const contextOf = (name: string) =>
			saveContext({ ...this.#parts, log: this.#parts.services().log }, name, this.#checking.organizationId);
		const context = {
			...contextOf(`node:${type}`),
			toolFaults: (tool: { executor: string; config: JsonObject }, at: string) =>
				toolFaults(tool, at, { registry: this.#parts.registry, contextOf }),
		};
		const faults = await faultsBy(plugin, config, { graph: around, context }).catch((thrown: unknown) => refusals(thrown));
		for (const fault of faults) this.#add(`${path}/data${fault.path}`, `Node "${id}": ${fault.message}`);
	}
}

const NO_WAY = '"continue" takes no way out of a node that has several: use "branch", or "fail".';
const NO_SECRET = 'a pipeline holds no secrets; put it into a tool or a connection.';

const quoted = (text: unknown): string => JSON.stringify(String(text).slice(0, 80));

/** Faults that a check throws instead of returning them. */
function refusals(thrown: unknown): ErrorDetail[] {
	const error = asGatewayError(thrown);
	if (!error || (error.code !== 'validation_failed' && error.code !== 'egress_refused')) throw thrown;
	return error.details.length > 0 ? error.details : [{ path: '', message: error.message }];
}

function inputSchemaOf(nodes: readonly CheckedNode[]): JsonSchema | null {
	const entry = nodes.find(({ role, config }) => role === 'input' && config !== null);
	return entry?.config && entry.plugin ? inputSchemaBy(entry.plugin, entry.config) : null;
}
