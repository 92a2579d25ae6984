// The tools of a node: stored tools of the organization, tools of its gateways, and tools that a pipeline defines.

import { GatewayError } from '../contract/errors.ts';
import type { NodeReference, NodeTools } from '../contract/nodes.ts';
import type { Caller, JsonObject, Tool } from '../contract/nouns.ts';
import type { RunResult } from '../contract/results.ts';
import type { CallParts, Services, ToolShelf } from '../tools/call-parts.ts';
import type { ToolEntry } from '../tools/entry.ts';

export interface ToolboxParts {
	services: Services;
	organizationId: string;
	uses: readonly NodeReference[];
	/** Returns the tools of gateways, each with what runs it. @throws not_found */
	shelfOf(organizationId: string, gateways: readonly string[]): Promise<ToolShelf>;
	around: CallParts & { caller: Caller };
}

/** The most tools that a model is shown. */
const MAX_TOOLS = 500;

/** @throws not_found */
export async function toolbox({ services, organizationId, uses, shelfOf, around }: ToolboxParts): Promise<NodeTools> {
	const idsOf = (kind: NodeReference['kind']): string[] => [...new Set(uses.filter((one) => one.kind === kind).map(({ id }) => id))];
	const entries = new Map<string, { tool: Tool; entry: ToolEntry }>();
	const add = (entry: ToolEntry): void => {
		const name = uniqueName(entry.tool.name, entries);
		entries.set(name, { tool: name === entry.tool.name ? entry.tool : renamed(entry.tool, name), entry });
	};
	for (const id of idsOf('tool')) add(await services.invoker.entry(organizationId, id));
	const gateways = idsOf('gateway');
	if (gateways.length > 0) {
		const shelf = await shelfOf(organizationId, gateways);
		for (const { name } of shelf.list()) {
			const entry = shelf.find({ name });
			if (entry) add(entry);
		}
	}
	if (entries.size > MAX_TOOLS) throw new GatewayError('conflict', `A node may use at most ${MAX_TOOLS} tools.`);
	return {
		list: [...entries.values()].map(({ tool }) => tool),
		async invoke(name, args): Promise<RunResult> {
			const found = entries.get(name);
			if (!found) throw new GatewayError('tool_not_found', `There is no tool "${name.slice(0, 128)}" here.`);
			if (found.entry.limit) await around.countTool?.(found.entry.limit);
			const { logs: _logs, ...shown } = await services.invoker.run(found.entry, args, {
				...around,
				...found.entry.at,
				caller: around.caller,
			});
			if (shown.isError) around.signal.throwIfAborted();
			return shown;
		},
	};
}

const renamed = (tool: Tool, name: string): Tool => Object.freeze({ ...tool, name });

function uniqueName(name: string, taken: ReadonlyMap<string, unknown>): string {
	let unique = name;
	for (let number = 2; taken.has(unique); number++) unique = `${name.slice(0, 120)}_${number}`;
	return unique;
}

export interface Inline {
	executor: string;
	config: JsonObject;
	organizationId: string;
	/** The plugin that runs it. */
	plugin: string;
}

/** The id of a tool that no row has. */
const NO_ROW = '00000000-0000-0000-0000-000000000000';
const ANYTHING = Object.freeze({ type: 'object' as const });

/** Makes a tool that is not stored. @throws not_implemented, validation_failed */
export function inlineEntry({ executor: name, config: given, organizationId }: Inline, services: Services): ToolEntry {
	const made = services.invoker.inline(name, given);
	const tool: Tool = Object.freeze({
		...{ id: NO_ROW, organizationId, name, description: '', executor: name, parameters: ANYTHING, outputSchema: null, annotations: {} },
		...{ apiId: null, version: 'inline' },
	});
	return {
		...{ tool, whole: null, filled: [], flattened: null, api: null, credentials: [], lane: null, passThrough: [], limit: null },
		...{ assertsFormats: true, maxResultBytes: null, confirm: null, payloads: null, ready: () => made, masked: () => made },
	};
}
