// Pipelines in short: nodes by id, and edges as `a>b`, `a.yes>b`.

import type { JsonObject } from '../../core/contract/nouns.ts';
import type { Pipeline } from '../../core/store/store.ts';

/** A type alias, since it is stored as JSON. */
export type Nodes = Record<string, [type: string, data?: JsonObject]>;

export function graph(edges: string, nodes: Nodes): Pipeline {
	return {
		nodes: Object.entries(nodes).map(([id, [type, data = {}]]) => ({ id, type, data })),
		edges: edges
			.split(/\s+/)
			.filter((edge) => edge !== '')
			.map((edge, index) => {
				const [from = '', target = ''] = edge.split('>');
				const [source = '', port] = from.split('.');
				return { id: `e${index}`, source, target, ...(port !== undefined && { sourceHandle: port }) };
			}),
	};
}

/** A node that has an effect, named as its id. */
export const work = (name: string, data: JsonObject = {}): [string, JsonObject] => ['work', { name, ...data }];
