// The faults of rows that a pipeline names: tools, gateways, connections, agents. Agents must not lead back to the one that is saved.

import type { ErrorDetail } from '../../contract/errors.ts';
import type { NodeReference } from '../../contract/nodes.ts';
import { isObject } from '../../kit/json.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Agents, Pipeline, Store } from '../../store/store.ts';
import { MAX_DEPTH } from '../definition.ts';
import { splitData } from '../graph.ts';
import { nodeBodyOf, usesOf } from '../node-hooks.ts';

interface Parts {
	registry: Registry;
	store: Pick<Store, 'tools' | 'gateways' | 'llmProviders'>;
	agents: Pick<Agents, 'get'>;
}

export interface Using {
	nodeId: string;
	/** JSON pointer of the node's config. */
	at: string;
	uses: readonly NodeReference[];
}

const TITLES: Record<NodeReference['kind'], string> = { tool: 'tool', gateway: 'gateway', agent: 'agent', provider: 'LLM provider' };
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The most rows that a pipeline may name: each is looked up when it is saved, exported and imported. */
export const MAX_NAMED_ROWS = 500;
/** The agents that one check looks at. */
const MAX_AGENTS = 100;

export async function rowFaults(
	using: readonly Using[],
	{ organizationId, agentId }: { organizationId: string; agentId: string | null },
	parts: Parts,
): Promise<ErrorDetail[]> {
	const named = new Set(using.flatMap(({ uses }) => uses.map(({ kind, id }) => `${kind}:${id}`))).size;
	if (named > MAX_NAMED_ROWS) {
		const message = `A pipeline may name ${MAX_NAMED_ROWS} tools, gateways, agents and LLM providers, and this one names ${named}.`;
		return [{ path: '/nodes', message }];
	}
	const faults: ErrorDetail[] = [];
	const known = new Map<string, Promise<boolean>>();
	const rings = new Rings(organizationId, parts);
	for (const { nodeId, at, uses } of using)
		for (const { kind, id, path } of uses) {
			const key = `${kind}:${id}`;
			const isThere = known.get(key) ?? exists(kind, organizationId, id, parts);
			known.set(key, isThere);
			const add = (message: string): void => void faults.push({ path: at + path, message: `Node "${nodeId}": ${message}` });
			if (!(await isThere)) add(`there is no ${TITLES[kind]} ${JSON.stringify(id.slice(0, 80))} in this organization.`);
			else if (kind === 'agent' && agentId !== null && (await rings.leads(id, agentId)))
				add('the agents would run each other in a circle.');
		}
	return faults;
}

async function exists(kind: NodeReference['kind'], organizationId: string, id: string, { store, agents }: Parts): Promise<boolean> {
	if (!UUID.test(id)) return false;
	switch (kind) {
		case 'tool':
			return (await store.tools.get(organizationId, id)) !== null;
		case 'gateway':
			return (await store.gateways.get(organizationId, id)) !== null;
		case 'provider':
			return (await store.llmProviders.get(organizationId, id)) !== null;
		case 'agent':
			return (await agents.get(organizationId, id)) !== null;
	}
}

/** The agents that agents run. Whatever is beyond the bound is found when it runs. */
class Rings {
	readonly #organizationId: string;
	readonly #parts: Parts;
	readonly #named = new Map<string, string[]>();

	constructor(organizationId: string, parts: Parts) {
		this.#organizationId = organizationId;
		this.#parts = parts;
	}

	/** Whether an agent is another one, or leads to it. */
	async leads(from: string, to: string): Promise<boolean> {
		let layer = [from];
		const seen = new Set(layer);
		for (let depth = 0; depth < MAX_DEPTH && layer.length > 0; depth++) {
			if (layer.includes(to)) return true;
			const next: string[] = [];
			for (const id of layer)
				for (const other of await this.#namedBy(id))
					if (!seen.has(other)) {
						seen.add(other);
						next.push(other);
					}
			layer = next;
		}
		return layer.includes(to);
	}

	async #namedBy(id: string): Promise<string[]> {
		const found = this.#named.get(id);
		if (found || this.#named.size >= MAX_AGENTS) return found ?? [];
		const row = UUID.test(id) ? await this.#parts.agents.get(this.#organizationId, id) : null;
		const named = row ? agentsOf(this.#parts.registry, row.pipeline.nodes) : [];
		this.#named.set(id, named);
		return named;
	}
}

/** Returns the agents that the nodes of a pipeline name, those of bodies included. */
function agentsOf(registry: Registry, nodes: Pipeline['nodes'] | readonly Pipeline['nodes'][number][]): string[] {
	return nodes.flatMap(({ type, data }) => {
		const plugin = registry.get('node', type);
		if (!plugin || !isObject(data)) return [];
		const { value: config, error } = plugin.config.validate(splitData(data).config, { convert: false });
		if (error) return [];
		const own = usesOf(plugin, config)
			.filter(({ kind }) => kind === 'agent')
			.map(({ id }) => id);
		return [...own, ...agentsOf(registry, nodeBodyOf(plugin, config)?.nodes ?? [])];
	});
}
