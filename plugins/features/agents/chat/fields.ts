// Requests of chat completions as OpenAI's clients send them, and the answers. Members that are not named here are accepted and ignored.

import Joi from 'joi';
import { body, count, jsonObject, shape, text } from '../../../../core/features.ts';

const MAX_MESSAGES = 1000;
const MAX_TOOLS = 128;
const MAX_STOPS = 4;
const MAX_CHARS = 4 * 1024 * 1024;

const optional = <T extends Joi.Schema>(schema: T): T => schema.allow(null) as T;
const long = Joi.string().allow('').max(MAX_CHARS);

const part = Joi.object({
	type: Joi.string().valid('text', 'image_url', 'input_audio', 'file', 'refusal').required(),
	text: optional(long),
	refusal: optional(long),
	image_url: optional(
		Joi.object({
			url: Joi.string()
				.required()
				.description('A data URL, or an address, from which the image is fetched: PNG, JPEG, GIF or WebP of at most 1 MiB.'),
		}).unknown(),
	),
	input_audio: optional(Joi.object({ data: Joi.string().required(), format: Joi.string().valid('wav', 'mp3').required() }).unknown()),
	file: optional(Joi.object({ file_data: optional(Joi.string()) }).unknown()),
}).unknown();

const message = Joi.object({
	role: Joi.string().valid('system', 'developer', 'user', 'assistant', 'tool', 'function').required(),
	content: Joi.alternatives(long, Joi.array().items(part).max(MAX_MESSAGES)).allow(null).description('A text, or a list of parts.'),
	tool_call_id: optional(Joi.string().max(200)).description('Of a message with the role `tool`: the call whose result it is.'),
	tool_calls: optional(Joi.array().items(Joi.object().unknown()).max(MAX_TOOLS)),
})
	.unknown()
	.meta({ schema: 'ChatCompletionMessage' });

const name = Joi.string().pattern(/^[A-Za-z0-9_-]{1,64}$/, 'up to 64 letters, digits, hyphens and underscores');

const tool = Joi.object({
	type: Joi.string().valid('function').required(),
	function: Joi.object({
		name: name.required(),
		description: optional(Joi.string().allow('').max(10_000)),
		parameters: optional(Joi.object().unknown()),
	})
		.unknown()
		.required(),
})
	.unknown()
	.meta({ schema: 'ChatCompletionTool' });

const limit = optional(Joi.number().integer().min(1).max(1_000_000));

export const CHAT = body({
	model: Joi.string().min(1).max(200).required().description('Accepted and ignored: the agent’s own LLM providers are used.'),
	messages: Joi.array()
		.items(message)
		.min(1)
		.max(MAX_MESSAGES)
		.required()
		.description('The conversation. A `system` or `developer` message replaces the system prompts of the agent.'),
	temperature: optional(Joi.number().min(0).max(2)).description('Overrides that of every node.'),
	top_p: optional(Joi.number().min(0).max(1)).description('Overrides that of every node.'),
	max_tokens: limit.description('Overrides that of every node.'),
	max_completion_tokens: limit.description('The same as `max_tokens`.'),
	stop: Joi.alternatives(Joi.string().max(200), Joi.array().items(Joi.string().max(200)).max(MAX_STOPS)).allow(null),
	seed: optional(Joi.number().integer()),
	n: optional(Joi.number().valid(1)).description('There is one choice.'),
	stream: optional(Joi.boolean()).description('Whether the answer comes as server-sent events.'),
	stream_options: optional(Joi.object({ include_usage: optional(Joi.boolean()) }).unknown()),
	tools: optional(Joi.array().items(tool).max(MAX_TOOLS)).description(
		'Tools that the client runs. They are offered beside those of the agent’s nodes of type `agent`; a name that one of these has is refused.',
	),
	tool_choice: Joi.alternatives(
		Joi.string().valid('auto', 'none', 'required'),
		Joi.object({ type: Joi.string().valid('function').required(), function: Joi.object({ name: name.required() }).required() }),
	).allow(null),
	parallel_tool_calls: optional(Joi.boolean()),
	response_format: optional(
		Joi.object({
			type: Joi.string().valid('text', 'json_object', 'json_schema').required(),
			json_schema: optional(Joi.object({ name: name.required(), schema: optional(Joi.object().unknown().default({})) }).unknown()),
		}).unknown(),
	).description('Asked of the node whose text is the output of the agent.'),
})
	.unknown()
	.example({ model: 'agent', messages: [{ role: 'user', content: 'Ada' }] });

export interface ChatPartField {
	type: 'text' | 'image_url' | 'input_audio' | 'file' | 'refusal';
	text?: string | null;
	image_url?: { url: string } | null;
	input_audio?: { data: string; format: 'wav' | 'mp3' } | null;
	file?: { file_data?: string | null } | null;
}

export interface ChatMessageField {
	role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';
	content?: string | ChatPartField[] | null;
	tool_call_id?: string | null;
}

export interface ChatBody {
	model: string;
	messages: ChatMessageField[];
	temperature?: number | null;
	top_p?: number | null;
	max_tokens?: number | null;
	max_completion_tokens?: number | null;
	stop?: string | string[] | null;
	seed?: number | null;
	stream?: boolean | null;
	stream_options?: { include_usage?: boolean | null } | null;
	tools?: { function: { name: string; description?: string | null; parameters?: Record<string, unknown> | null } }[] | null;
	tool_choice?: 'auto' | 'none' | 'required' | { function: { name: string } } | null;
	parallel_tool_calls?: boolean | null;
	response_format?: {
		type: 'text' | 'json_object' | 'json_schema';
		json_schema?: { name: string; schema: Record<string, unknown> | null } | null;
	} | null;
}

export const COMPLETION = shape({
	id: Joi.string(),
	object: Joi.string().valid('chat.completion'),
	created: count.description('Seconds since 1970.'),
	model: Joi.string().description('As the request named it.'),
	choices: Joi.array().items(jsonObject),
	usage: jsonObject.optional().description('What this turn used of models; absent when a provider does not tell.'),
	system_fingerprint: Joi.string().description('Names the version of the agent.'),
}).meta({ schema: 'ChatCompletion' });

export const MODEL = shape({
	id: Joi.string(),
	object: Joi.string().valid('model'),
	created: count,
	owned_by: text,
}).meta({ schema: 'ChatModel' });
