// The data of a `tool_call` node.

import Joi from 'joi';
import type { JsonObject } from '../../../core/index.ts';

export interface Definition {
	type: string;
	executionConfig: JsonObject;
	code?: string;
}

export interface ToolCallConfig {
	toolId?: string;
	gatewayId?: string;
	toolName?: string;
	tool?: Definition;
	arguments: JsonObject;
	effect: 'auto' | 'repeatable' | 'once';
	result: 'data' | 'whole';
}

const definition = Joi.object<Definition>({
	type: Joi.valid('http', 'graphql', 'javascript').required().description('Type of the tool, as POST /tools takes it'),
	executionConfig: Joi.object()
		.unknown()
		.default({})
		.description('Configuration of the type, as GET /plugins describes it. It must hold no secret: tools of the organization do'),
	code: Joi.string().max(200_000).description('The code of a tool of the type `javascript`'),
});

export const config: Joi.ObjectSchema<ToolCallConfig> = Joi.object<ToolCallConfig>({
	toolId: Joi.string().max(100).description('Id of a tool of the organization'),
	gatewayId: Joi.string()
		.max(100)
		.description('Id of a gateway, whose tool `toolName` is run by the rules of the gateway: its limits, confirmations and cuts'),
	toolName: Joi.string().max(200).description('Name of the tool in the gateway'),
	tool: definition.description('A tool of this pipeline alone. Its own {placeholders} are arguments; {{…}} belongs into `arguments`'),
	arguments: Joi.object()
		.unknown()
		.default({})
		.meta({ template: true })
		.description(
			'Arguments of the tool, whose texts may hold {{input.<field>}} and {{nodes.<id>.output}}. A text that is one placeholder keeps the type of its value',
		),
	effect: Joi.valid('auto', 'repeatable', 'once')
		.default('auto')
		.description(
			'What happens when the process is lost while the tool runs. `repeatable`: it is run again; `once`: it is not, and the run fails; `auto`: tools whose hints ' +
				'say that they only read, or may be repeated, are repeatable, and so are a GET and a query of a tool of this pipeline',
		),
	result: Joi.valid('data', 'whole')
		.default('data')
		.description(
			'`data`: the output is the data of the result, or else its text; `whole`: {"content", "structured"}, with images and other blocks',
		),
})
	.xor('toolId', 'gatewayId', 'tool')
	.and('gatewayId', 'toolName');
