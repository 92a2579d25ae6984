// The `output` node: a run ends here, with an output that is mapped from what the nodes before gave.

import Joi from 'joi';
import type { Json, NodeInput, PipelineNode } from '../../../core/index.ts';

export interface OutputConfig {
	mapping?: Json;
}

export default {
	kind: 'node',
	api: 1,
	name: 'output',
	summary: 'Ends a run with an output, mapped from what the nodes before gave.',
	config: Joi.object<OutputConfig>({
		mapping: Joi.any()
			.meta({ template: true })
			.description(
				'The output: any JSON, whose texts may hold {{input.<field>}} and {{nodes.<id>.output}}. A text that is one placeholder keeps the type of ' +
					'its value. When absent, the output of the node before; of several, an object by their ids',
			),
	}),
	effect: 'none',
	role: 'output',
	template: ({ mapping }) => mapping,
	run: async (input, { mapping }, call) => ({ output: mapping === undefined ? passedOn(input) : call.fill(mapping) }),
} satisfies PipelineNode<OutputConfig>;

function passedOn({ from }: NodeInput): Json {
	const [first, second] = from;
	if (first && !second) return first.output;
	return Object.fromEntries(from.map(({ nodeId, output }) => [nodeId, output]));
}
