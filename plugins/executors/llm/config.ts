// The `llm` executor's config: the connection, the prompt with its placeholders, and what the model is asked for.

import Joi from 'joi';
import type { ChatRequest, JsonObject, JsonSchema } from '../../../core/index.ts';

export interface LlmConfig {
	providerId: string;
	promptTemplate: string;
	systemTemplate?: string;
	model?: string;
	parameters?: Pick<ChatRequest, 'temperature' | 'topP' | 'maxTokens' | 'stop' | 'seed'> & { extra?: JsonObject };
	outputSchema?: JsonSchema;
	timeoutMs: number;
}

const MAX_TEMPLATE = 65_536;
const MAX_EXTRA = 16_384;

const parameters = Joi.object({
	temperature: Joi.number().min(0).max(2),
	topP: Joi.number().min(0).max(1),
	maxTokens: Joi.number().integer().min(1).max(1_000_000).description('The most tokens of an answer'),
	stop: Joi.array().items(Joi.string().min(1).max(200)).max(8),
	seed: Joi.number().integer().min(0).max(2_147_483_647),
	extra: Joi.object()
		.unknown()
		.max(50)
		.custom((value: object, helpers) =>
			JSON.stringify(value).length <= MAX_EXTRA
				? value
				: helpers.message({ custom: `{{#label}} may have ${MAX_EXTRA} characters as JSON` }),
		)
		.description('Members of the provider’s own request'),
});

export const config: Joi.ObjectSchema<LlmConfig> = Joi.object<LlmConfig>({
	providerId: Joi.string().guid().required().description('The id of an LLM provider of the organization'),
	promptTemplate: Joi.string()
		.max(MAX_TEMPLATE)
		.required()
		.description('The message to the model. {{name}} or {{name.member.0}} is replaced by the argument, {{name | json}} by its JSON'),
	systemTemplate: Joi.string().max(MAX_TEMPLATE).description('Instructions sent before the message, with the same placeholders'),
	model: Joi.string().min(1).max(200).description('Default: the model of the provider'),
	parameters: parameters.description('Parameters of the request, before those of the provider’s configuration'),
	outputSchema: Joi.object()
		.unknown()
		.description('JSON Schema (2020-12) of an object: the answer must be JSON that fits it, and is the structured result'),
	timeoutMs: Joi.number().integer().min(1).max(120_000).default(120_000).description('Milliseconds for the whole call, a repair included'),
}).description('One question to a model, whose answer is the result');
