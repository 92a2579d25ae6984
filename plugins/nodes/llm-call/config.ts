// The data of an `llm_call` node.

import Joi from 'joi';
import type { Json, JsonSchema } from '../../../core/index.ts';

export interface LlmCallConfig {
	providerId: string;
	userPromptTemplate: string;
	systemPrompt?: string;
	history?: Json;
	images?: Json;
	model?: string;
	temperature?: number;
	topP?: number;
	maxTokens?: number;
	stop?: string[];
	seed?: number;
	output?: { schema: JsonSchema; name: string; repair: boolean };
}

const PLACEHOLDERS = 'It may hold {{input.<field>}} and {{nodes.<id>.output}}';
const FROM_CONNECTION = 'When absent, as the LLM provider’s configuration says';

const output = Joi.object({
	schema: Joi.object().unknown().required().description('JSON Schema of the output, an object at its root'),
	name: Joi.string()
		.pattern(/^[A-Za-z0-9_-]{1,64}$/)
		.default('answer')
		.description('Name of the schema, which models read'),
	repair: Joi.boolean().default(true).description('Whether a model whose answer does not fit is asked once more, with the faults'),
});

export const config: Joi.ObjectSchema<LlmCallConfig> = Joi.object<LlmCallConfig>({
	providerId: Joi.string().max(100).required().description('Id of the LLM provider, as GET /llm-providers lists it'),
	userPromptTemplate: Joi.string().max(200_000).required().meta({ template: true }).description(`The prompt. ${PLACEHOLDERS}`),
	systemPrompt: Joi.string().max(200_000).allow('').meta({ template: true }).description(`Instructions to the model. ${PLACEHOLDERS}`),
	history: Joi.alternatives(Joi.string(), Joi.array().items(Joi.any()))
		.meta({ template: true })
		.description(
			'Messages before the prompt: a list of {"role": "user" | "assistant", "content": text}, or a placeholder of one, such as {{input.messages}}',
		),
	images: Joi.alternatives(Joi.string(), Joi.array().items(Joi.string(), Joi.object().unknown()))
		.meta({ template: true })
		.description(
			'Images that go with the prompt: data URLs, or {"data": base64, "mimeType"}, or placeholders of one or of a list of them. The model has to understand images',
		),
	model: Joi.string().max(200).description('The model. When absent, the LLM provider’s own'),
	temperature: Joi.number().min(0).max(2).description(`Randomness of the answer. ${FROM_CONNECTION}`),
	topP: Joi.number().min(0).max(1).description(`Share of the likeliest tokens that are considered. ${FROM_CONNECTION}`),
	maxTokens: Joi.number().integer().min(1).max(1_000_000).description(`The most tokens of the answer. ${FROM_CONNECTION}`),
	stop: Joi.array().items(Joi.string().max(200)).max(4).description('Texts at which the answer ends'),
	seed: Joi.number().integer().description('Makes answers repeatable, where the provider can'),
	output: output.description('The answer has to be JSON of this schema, and is the output of the node. When absent, the output is a text'),
});
