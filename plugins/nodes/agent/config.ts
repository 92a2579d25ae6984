// The data of an `agent` node.

import Joi from 'joi';
import type { Approvers, Json, JsonSchema } from '../../../core/index.ts';

export interface AgentConfig {
	providerId: string;
	prompt: string;
	systemPrompt?: string;
	history?: Json;
	model?: string;
	temperature?: number;
	topP?: number;
	maxTokens?: number;
	toolIds: string[];
	gatewayIds: string[];
	only?: string[];
	requireApproval: string[];
	approval: 'listed' | 'changing' | 'all';
	approvers?: Approvers;
	approvalTimeoutMs?: number;
	maxIterations: number;
	atLimit: 'fail' | 'answer';
	maxCost?: number;
	parallelCalls: number;
	maxResultChars: number;
	output?: { schema: JsonSchema; name: string };
}

const PLACEHOLDERS = 'It may hold {{input.<field>}} and {{nodes.<id>.output}}';
const FROM_CONNECTION = 'When absent, as the LLM provider’s configuration says';
const YEAR_MS = 31_536_000_000;

const ids = (most: number): Joi.ArraySchema => Joi.array().items(Joi.string().max(100)).max(most).unique().default([]);
const names = Joi.array().items(Joi.string().max(200)).max(200).unique();

const approvers = Joi.object<Approvers>({
	roles: Joi.array()
		.items(Joi.valid('owner', 'admin', 'member', 'viewer'))
		.min(1)
		.unique()
		.description('Members of the organization with one of these roles'),
	emails: Joi.array()
		.items(Joi.string().email({ tlds: false }).lowercase())
		.min(1)
		.max(50)
		.unique()
		.description('Members with one of these addresses'),
}).or('roles', 'emails');

const output = Joi.object({
	schema: Joi.object().unknown().required().description('JSON Schema of the output, an object at its root'),
	name: Joi.string()
		.pattern(/^[A-Za-z0-9_-]{1,64}$/)
		.default('answer')
		.description('Name of the schema, which models read'),
});

export const config: Joi.ObjectSchema<AgentConfig> = Joi.object<AgentConfig>({
	providerId: Joi.string()
		.max(100)
		.required()
		.description('Id of the LLM provider, as GET /llm-providers lists it. Its model has to be able to call tools'),
	prompt: Joi.string().max(200_000).required().meta({ template: true }).description(`The task. ${PLACEHOLDERS}`),
	systemPrompt: Joi.string().max(200_000).allow('').meta({ template: true }).description(`Instructions to the model. ${PLACEHOLDERS}`),
	history: Joi.alternatives(Joi.string(), Joi.array().items(Joi.any()))
		.meta({ template: true })
		.description(
			'Messages before the task: a list of {"role": "user" | "assistant", "content": text}, or a placeholder of one, such as {{input.messages}}',
		),
	model: Joi.string().max(200).description('The model. When absent, the LLM provider’s own'),
	temperature: Joi.number().min(0).max(2).description(`Randomness of the answers. ${FROM_CONNECTION}`),
	topP: Joi.number().min(0).max(1).description(`Share of the likeliest tokens that are considered. ${FROM_CONNECTION}`),
	maxTokens: Joi.number().integer().min(1).max(1_000_000).description(`The most tokens of one answer. ${FROM_CONNECTION}`),
	toolIds: ids(128).description('Ids of tools of the organization that the model may call'),
	gatewayIds: ids(20).description('Ids of gateways whose tools the model may call, by the rules of each gateway'),
	only: names.description('Names of the tools that are offered, of those above. When absent, all of them; a model is offered 128 at most'),
	requireApproval: names.default([]).description('Names of tools of which each call waits until a person has approved it'),
	approval: Joi.valid('listed', 'changing', 'all')
		.default('listed')
		.description(
			'Calls that wait for approval: those in `requireApproval`; also those of tools whose hints do not say that they only read; or all',
		),
	approvers: approvers.description('Those who may approve, by role or address. When absent, everybody who may run the agent'),
	approvalTimeoutMs: Joi.number()
		.integer()
		.min(1000)
		.max(YEAR_MS)
		.description('Milliseconds after which a call that waits makes the node fail. When absent, it waits without end'),
	maxIterations: Joi.number().integer().min(1).max(100).default(10).description('The most answers of the model'),
	atLimit: Joi.valid('fail', 'answer')
		.default('fail')
		.description(
			'What follows when the last of these answers would call tools again. `fail`: the node fails; `answer`: no tools are offered for it, so that the model has to answer',
		),
	maxCost: Joi.number()
		.positive()
		.max(10_000)
		.description(
			'US dollars that the answers may cost: when they are spent, no further answer is asked for and the node fails. The prices of the model have to be known',
		),
	parallelCalls: Joi.number().integer().min(1).max(20).default(5).description('The most tools of one answer that run at once'),
	maxResultChars: Joi.number()
		.integer()
		.min(500)
		.max(500_000)
		.default(40_000)
		.description('Characters of a tool’s result that the model reads; longer ones are cut'),
	output: output.description(
		'The last answer has to be JSON of this schema, and is the output of the node. When absent, the output is a text',
	),
});
