// The `transform` node: writes other JSON from what there is, by placeholders alone.

import Joi from 'joi';
import type { Json, PipelineNode } from '../../../core/index.ts';

export interface TransformConfig {
	template: Json;
}

export default {
	kind: 'node',
	api: 1,
	name: 'transform',
	summary: 'Writes JSON of another form from the input and the outputs of nodes before.',
	config: Joi.object<TransformConfig>({
		template: Joi.any()
			.required()
			.meta({ template: true })
			.description(
				'Any JSON, whose texts may hold {{input.<field>}} and {{nodes.<id>.output}}. A text that is one placeholder keeps the type of its value; ' +
					'placeholders look values up, and nothing is computed',
			),
	}),
	effect: 'none',
	run: async (_input, { template }, call) => ({ output: call.fill(template) }),
} satisfies PipelineNode<TransformConfig>;
