// The `map` node: runs a small pipeline for each item of a list, several at once.

import Joi from 'joi';
import { GatewayError, type ItemResult, type Json, type NodeBody, type PipelineNode } from '../../../core/index.ts';

export interface MapConfig {
	items: Json;
	body: Pick<NodeBody, 'nodes' | 'edges'>;
	concurrency: number;
	maxItems: number;
	onError: 'collect' | 'stop';
}

const node = Joi.object({
	id: Joi.string().required().description('Id of the node, unique in the whole pipeline'),
	type: Joi.string().required().description('Type of the node'),
	data: Joi.object().unknown().default({}).description('Data of the node, as its type describes it'),
	position: Joi.object().unknown().description('Place of the node on a canvas, which has no effect'),
}).description('A node of the body');

const edge = Joi.object({
	id: Joi.string().required().description('Id of the edge'),
	source: Joi.string().required().description('Id of the node from which it goes'),
	target: Joi.string().required().description('Id of the node to which it goes'),
	sourceHandle: Joi.string().description('The way out of a node that has several'),
}).description('An edge of the body');

export default {
	kind: 'node',
	api: 1,
	name: 'map',
	summary: 'Runs a pipeline for each item of a list, several at once.',
	config: Joi.object<MapConfig>({
		items: Joi.any()
			.required()
			.meta({ template: true })
			.description('The list: a placeholder such as {{input.rows}}, or a list with placeholders in it'),
		body: Joi.object({
			nodes: Joi.array().items(node).min(1).max(100).required().description('Nodes without an inbound edge begin, and get the item'),
			edges: Joi.array().items(edge).max(200).default([]).description('Edges between nodes of the body'),
		})
			.required()
			.description(
				'The pipeline for one item: like that of an agent, without an `input` node. {{item}} and {{index}} are those of the item, {{parent.item}} ' +
					'that of a map around. The result is that of its `output` node',
			),
		concurrency: Joi.number().integer().min(1).max(50).default(5).description('The most items at once'),
		maxItems: Joi.number().integer().min(1).max(1000).default(100).description('A longer list makes the node fail before an item begins'),
		onError: Joi.valid('collect', 'stop')
			.default('collect')
			.description(
				'`collect`: an item that fails does not end the others, and the output is a list of {"ok": output} and {"error": {"code", "message"}}. ' +
					'`stop`: the first fault ends the node, and the output is a list of outputs',
			),
	}),
	// The nodes of its body are kept by themselves.
	effect: 'none',
	body: ({ body: { nodes, edges } }) => ({ path: '/body', nodes, edges }),
	async run(_input, { items: template, concurrency, maxItems, onError }, call) {
		const items = call.fill(template);
		if (!Array.isArray(items)) throw new GatewayError('validation_failed', `"items" must be a list, and is ${kindOf(items)}.`);
		if (items.length > maxItems)
			throw new GatewayError('validation_failed', `"items" has ${items.length} items, and "maxItems" allows ${maxItems}.`);
		const stopsAtFault = onError === 'stop';
		const results = await call.each(items, { concurrency, stopsAtFault });
		return { output: stopsAtFault ? results.map(outputOf) : (results as Json[]) };
	},
} satisfies PipelineNode<MapConfig>;

/** Returns the output of an item that did not fail: a fault would have ended the node. */
const outputOf = (result: ItemResult): Json => ('ok' in result ? result.ok : null);

const kindOf = (value: Json): string =>
	value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
