// Pipelines that leave an organization: what they name is named by its name, and found by it where they arrive.

import type { NodeReference } from '../contract/nodes.ts';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { invalidAll } from '../kit/input-faults.ts';
import { isObject } from '../kit/json.ts';
import { atPointer, pointerToken, tokensOf } from '../kit/json-pointer.ts';
import type { Registry } from '../registry/registry.ts';
import type { Agents, NamedRow, Pipeline } from '../store/store.ts';
import type { AgentPortable, AgentReference } from './agents.ts';
import { splitData } from './graph.ts';
import { nodeBodyOf, usesOf } from './node-hooks.ts';

interface Parts {
	registry: Registry;
	agents: Pick<Agents, 'named' | 'nameOf'>;
}

type Node = Pick<Pipeline['nodes'][number], 'id' | 'type' | 'data'>;

/** A place in the data of a node that names a row. */
interface ReferencePlace {
	node: Node;
	use: NodeReference;
}

const TITLES: Record<NodeReference['kind'], string> = { tool: 'tool', gateway: 'gateway', agent: 'agent', provider: 'LLM provider' };
const MAX_NESTING = 10;

export function createPortable({ registry, agents }: Parts): AgentPortable {
	return {
		async outward(organizationId, stored) {
			const pipeline = structuredClone(stored);
			const found = new Map<string, AgentReference>();
			for (const { node, use } of placesOf(registry, pipeline.nodes)) {
				const { kind, id, path } = use;
				const known = found.get(`${kind}:${id}`);
				const reference = known ?? referenceTo(await agents.nameOf(organizationId, kind, id), use, [...found.values()]);
				found.set(`${kind}:${id}`, reference);
				reference.usedBy.push({ node: node.id, path });
				put(node.data, path, reference.name);
			}
			return { pipeline, references: [...found.values()] };
		},
		async inward(organizationId, file, mapping) {
			const pipeline = structuredClone(file.pipeline);
			const nodes = new Map(nodesOf(pipeline.nodes).map((node) => [node.id, node]));
			const faults: { path: string; message: string }[] = [];
			for (const [at, reference] of file.references.entries()) {
				const path = `/references/${at}`;
				const mapped = Object.hasOwn(mapping, reference.key) ? mapping[reference.key] : undefined;
				const id = mapped ?? onlyOne(await agents.named(organizationId, reference.kind, reference.name), reference);
				if (typeof id !== 'string') faults.push({ path, message: id.missing });
				else
					for (const [place, { node, path: field }] of reference.usedBy.entries()) {
						const data = nodes.get(node)?.data;
						if (!data || !put(data, field, id))
							faults.push({ path: `${path}/usedBy/${place}`, message: `The node ${JSON.stringify(node)} has no text at ${field}.` });
					}
			}
			for (const key of Object.keys(mapping))
				if (!file.references.some((one) => one.key === key))
					faults.push({ path: `/mapping/${pointerToken(key)}`, message: `There is no reference ${JSON.stringify(key)}.` });
			const [first, ...others] = faults;
			if (!first) return pipeline;
			throw invalidAll([first, ...others]);
		},
	};
}

/** Lists the places of a pipeline that name rows, those in bodies too, in the order of the nodes. */
function placesOf(registry: Registry, nodes: readonly Node[]): ReferencePlace[] {
	return nodes.flatMap((node) => {
		const plugin = registry.get('node', node.type);
		if (!plugin || !isObject(node.data)) return [];
		const { value: config, error } = plugin.config.validate(splitData(node.data).config, { convert: false });
		if (error) return [];
		const own = usesOf(plugin, config).map((use) => ({ node, use }));
		const body = nodeBodyOf(plugin, config);
		// The nodes as they are stored, not as the schema completed them.
		const inner = body && atPointer(node.data, `${body.path}/nodes`);
		return [...own, ...(Array.isArray(inner) ? placesOf(registry, inner as unknown as Node[]) : [])];
	});
}

/** Lists all nodes of a pipeline, whatever their types: any list of nodes in the data of one is a body of it. */
function nodesOf(nodes: readonly Node[], depth = 0): Node[] {
	if (depth > MAX_NESTING) return [];
	return nodes.flatMap((node) => [node, ...Object.values(node.data).flatMap((value) => nodesOf(bodyOf(value), depth + 1))]);
}

function bodyOf(value: Json): Node[] {
	const inner = isObject(value) ? value['nodes'] : undefined;
	if (!Array.isArray(inner)) return [];
	return inner.filter((one) => isObject(one) && typeof one['id'] === 'string' && isObject(one['data'])) as unknown as Node[];
}

function referenceTo(row: NamedRow | null, { kind, id }: NodeReference, others: readonly AgentReference[]): AgentReference {
	// A row that was removed since has no name: the one who imports the agent says what it is.
	const { name, api } = row ?? { name: id, api: null };
	const base = `${kind}:${api === null ? '' : `${api}/`}${name}`;
	let key = base;
	for (let copy = 2; others.some((one) => one.key === key); copy++) key = `${base}#${copy}`;
	return { key, kind, name, ...(api !== null && { api }), usedBy: [] };
}

/** Returns the id of the only row that fits, or says why there is none. */
function onlyOne(rows: readonly NamedRow[], { key, kind, name, api }: AgentReference): string | { missing: string } {
	const fitting = rows.filter((row) => api === undefined || row.api === api);
	const [first, second] =
		fitting.length === 1 || kind !== 'tool' || api !== undefined ? fitting : fitting.filter((row) => row.api === null);
	if (first && !second) return first.id;
	const what = `${TITLES[kind]} ${JSON.stringify(name)}${api === undefined ? '' : ` of the API ${JSON.stringify(api)}`}`;
	const hint = `name its id in mapping[${JSON.stringify(key)}]`;
	return { missing: first ? `There are several rows for the ${what}: ${hint}.` : `There is no ${what}: add one, or ${hint}.` };
}

/** Replaces a text. @returns false when there is none */
function put(data: JsonObject, pointer: string, text: string): boolean {
	const last = pointer.lastIndexOf('/');
	const [step] = tokensOf(pointer.slice(last));
	const around = atPointer(data, pointer.slice(0, last));
	if (step === undefined || typeof around !== 'object' || around === null || !Object.hasOwn(around, step)) return false;
	const holder = around as JsonObject;
	if (typeof holder[step] !== 'string') return false;
	holder[step] = text;
	return true;
}
