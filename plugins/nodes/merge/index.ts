// The `merge` node: joins ways that were taken into one output.

import Joi from 'joi';
import { GatewayError, isObject, type Json, type NodeInput, type PipelineNode } from '../../../core/index.ts';

type Mode = 'object' | 'list' | 'first' | 'assign' | 'concat';

export interface MergeConfig {
	mode: Mode;
}

export default {
	kind: 'node',
	api: 1,
	name: 'merge',
	summary: 'Waits for all ways that lead to it, and joins the outputs of those that were taken.',
	config: Joi.object<MergeConfig>({
		mode: Joi.valid('object', 'list', 'first', 'assign', 'concat')
			.default('object')
			.description(
				'The output, of the ways that were taken, in the order of the edges. `object`: an object of outputs by the ids of their nodes; `list`: a list of ' +
					'outputs; `first`: the first one; `assign`: one object with the members of all, of which the later count; `concat`: one list of the items of all',
			),
	}),
	effect: 'none',
	run: async (input, { mode }) => ({ output: MODES[mode](input) }),
} satisfies PipelineNode<MergeConfig>;

const MODES: Record<Mode, (input: NodeInput) => Json> = {
	object: ({ from }) => Object.fromEntries(from.map(({ nodeId, output }) => [nodeId, output])),
	list: ({ from }) => from.map(({ output }) => output),
	first: ({ from }) => from[0]?.output ?? null,
	assign: ({ from }) => {
		for (const { nodeId, output } of from) if (!isObject(output)) throw unfit(nodeId, 'an object', 'assign');
		return Object.fromEntries(from.flatMap(({ output }) => Object.entries(output as object)));
	},
	concat: ({ from }) =>
		from.flatMap(({ nodeId, output }) => {
			if (!Array.isArray(output)) throw unfit(nodeId, 'a list', 'concat');
			return output;
		}),
};

const unfit = (nodeId: string, needed: string, mode: Mode): GatewayError =>
	new GatewayError('validation_failed', `The output of "${nodeId}" is not ${needed}, which "${mode}" needs.`);
