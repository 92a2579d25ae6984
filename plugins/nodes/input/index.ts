// The `input` node: a run begins here, with an input that fits its schema.

import Joi from 'joi';
import { faultsIn, type JsonSchema, type PipelineNode } from '../../../core/index.ts';

export interface InputConfig {
	schema: JsonSchema;
}

export default {
	kind: 'node',
	api: 1,
	name: 'input',
	summary: 'Begins a run with its input, which fits a JSON Schema.',
	spec: 'JSON Schema, draft 2020-12',
	config: Joi.object<InputConfig>({
		schema: Joi.object()
			.unknown()
			.default({ type: 'object' })
			.description('JSON Schema of the input, an object at its root. An input that does not fit is refused with 400 before the run begins'),
	}),
	effect: 'none',
	role: 'input',
	inputSchema: ({ schema }) => schema,
	check: ({ schema }, _graph, { checkSchema }) => faultsIn(checkSchema(schema, '/schema')),
	run: async ({ input }) => ({ output: input }),
} satisfies PipelineNode<InputConfig>;
