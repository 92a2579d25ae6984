// The call that a node gets: everything that a call of an organization has, and the verbs of nodes.

import { GatewayError, notFound, PluginFault } from '../contract/errors.ts';
import type { ModelRequest } from '../contract/models.ts';
import type { ClientTools, ItemResult, NodeCall, NodeReference, NodeTools, Suspension } from '../contract/nodes.ts';
import type { Caller, Json, JsonObject, ToolRef } from '../contract/nouns.ts';
import type { ChatChunk } from '../contract/providers.ts';
import type { RunResult } from '../contract/results.ts';
import type { Limits } from '../limits/limits.ts';
import type { RunBudget, Spending } from '../models/spending.ts';
import { PluginCall } from '../tools/call.ts';
import type { CallParts, Services } from '../tools/call-parts.ts';
import type { ToolLimit } from '../tools/entry.ts';
import { NO_IDENTITY } from '../tools/no-identity.ts';
import { fill, type Scope } from './templates.ts';
import { inlineEntry, type ToolboxParts, toolbox } from './toolbox.ts';

/** The verbs of a node that its run carries out. */
export type NodeVerbs = Pick<NodeCall, 'run' | 'each' | 'suspend' | 'step'>;

export interface NodeCallParts {
	services: Services;
	shelfOf: ToolboxParts['shelfOf'];
	/** Counts calls of tools that have limits in their gateways. */
	limits: Pick<Limits, 'ofLaterTool'>;
	organizationId: string;
	/** The type of the node. */
	type: string;
	agentId: string;
	runId: string;
	chain: readonly string[];
	/** The budgets of the run and of those that wait for it. */
	within: readonly RunBudget[];
	uses: readonly NodeReference[];
	scope: Scope;
	signal: AbortSignal;
	verbs: NodeVerbs;
	/** The budgets of the run, and who is told what a chat used. */
	spending: Spending;
	/** The wishes of the client of a conversation, and what it hears; null without one. */
	talk: Talk | null;
}

/** A node's part in a conversation. */
export interface Talk {
	clientTools: ClientTools | null;
	/** Asks as the client wishes, and lets it hear the answer. */
	chat(
		request: Omit<ModelRequest, 'providerId'>,
		ask: (request: Omit<ModelRequest, 'providerId'>) => AsyncIterable<ChatChunk>,
	): AsyncIterable<ChatChunk>;
	/** Hears that the node does something that is no question to a model. */
	acts(): void;
}

/** The agent itself is the caller of its tools: whoever may change it may run every tool of the organization. */
const callerOf = (agentId: string): Caller =>
	Object.freeze<Caller>({
		method: 'agent',
		subject: `agent:${agentId}`,
		scopes: Object.freeze<Caller['scopes']>(['tools:read', 'tools:execute']),
	});

export class NodeCaller extends PluginCall implements NodeCall {
	readonly #node: NodeCallParts;
	readonly #around: CallParts & { caller: Caller };

	constructor(node: NodeCallParts) {
		const { services, limits, organizationId, type, agentId, runId, chain, within, signal, spending } = node;
		const caller = callerOf(agentId);
		const around = {
			...{ plugin: `node:${type}`, organizationId, gateway: null, caller, shelf: null, identity: NO_IDENTITY },
			...{ signal, entry: null, listener: null, ofAgent: { runId, chain, within }, spending },
			countTool: (limit: ToolLimit) => limits.ofLaterTool(limit, caller.subject),
		};
		super(services, around);
		this.#node = node;
		this.#around = around;
	}

	fill(template: Json): Json {
		return fill(template, this.#node.scope);
	}

	async *chat(providerId: string, request: Omit<ModelRequest, 'providerId'>): AsyncIterable<ChatChunk> {
		this.#assertUsed('provider', providerId);
		const ask = (asked: typeof request): AsyncIterable<ChatChunk> => this.models.chat({ ...asked, providerId });
		yield* this.#node.talk?.chat(request, ask) ?? ask(request);
	}

	get clientTools(): ClientTools | undefined {
		return this.#node.talk?.clientTools ?? undefined;
	}

	override async invoke(ref: ToolRef, args: Json): Promise<RunResult> {
		if (!('id' in ref))
			throw new GatewayError('tool_not_found', `There is no tool "${ref.name.slice(0, 128)}" here: a node names its tools by id.`);
		this.#assertUsed('tool', ref.id);
		this.#node.talk?.acts();
		const { services, organizationId } = this.#node;
		const { logs: _logs, durationMs: _duration, ...shown } = await services.invoker.execute(organizationId, ref.id, args, this.#around);
		if (shown.isError) this.signal.throwIfAborted();
		return shown;
	}

	async execute({ executor, config }: { executor: string; config: JsonObject }, args: JsonObject): Promise<RunResult> {
		const { services, organizationId } = this.#node;
		this.#node.talk?.acts();
		const entry = inlineEntry({ executor, config, organizationId, plugin: this.#around.plugin }, services);
		const { logs: _logs, ...shown } = await services.invoker.run(entry, args, this.#around);
		if (shown.isError) this.signal.throwIfAborted();
		return shown;
	}

	async toolbox(): Promise<NodeTools> {
		const { services, organizationId, uses, shelfOf, talk } = this.#node;
		const { list, invoke } = await toolbox({ services, organizationId, uses, shelfOf, around: this.#around });
		return {
			list,
			invoke: (name, args) => {
				talk?.acts();
				return invoke(name, args);
			},
		};
	}

	run(agentId: string, input: Json): Promise<Json> {
		this.#assertUsed('agent', agentId);
		this.#node.talk?.acts();
		return this.#node.verbs.run(agentId, input);
	}

	each(items: readonly Json[], options?: { concurrency?: number; stopsAtFault?: boolean }): Promise<ItemResult[]> {
		return this.#node.verbs.each(items, options);
	}

	suspend(request: Suspension, key?: string): Promise<Json> {
		return this.#node.verbs.suspend(request, key);
	}

	step<T extends Json>(key: string, work: (signal: AbortSignal) => Promise<T>, options?: { once?: boolean }): Promise<T> {
		return this.#node.verbs.step(key, work, options);
	}

	/** Refuses rows that the config does not name: those that it names were checked when it was saved. */
	#assertUsed(kind: NodeReference['kind'], id: string): void {
		if (!this.#node.uses.some((one) => one.kind === kind && one.id === id)) throw notFound(TITLES[kind]);
	}
}

const TITLES: Record<NodeReference['kind'], string> = { tool: 'Tool', gateway: 'Gateway', agent: 'Agent', provider: 'LLM provider' };

/** Refuses the verbs that are kept by themselves to nodes that are kept as a whole. */
export function noVerbs(type: string): NodeVerbs {
	const refuse = async (): Promise<never> => {
		throw new PluginFault(`node:${type}`, 'run, each, suspend and step are for nodes of effect none.');
	};
	return { run: refuse, each: refuse, suspend: refuse, step: refuse };
}
