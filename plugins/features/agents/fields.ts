// The fields of agents, as bodies set them.

import Joi from 'joi';
import { body, displayName, jsonObject } from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';

const nodeId = Joi.string()
	.pattern(/^[A-Za-z0-9_-]{1,64}$/, 'up to 64 letters, digits, hyphens and underscores')
	.description('Unique in the pipeline; templates name the node by it.');
const number = Joi.number().min(-1e9).max(1e9);

const node = Joi.object({
	id: nodeId.required(),
	type: Joi.string().min(1).max(64).required().description('The type of the node; `GET /plugins` describes each with its fields.'),
	data: jsonObject
		.required()
		.meta({ pluginConfig: 'node' })
		.description('The fields of its type, and `policy`: time limit, retries, and what follows an error.'),
	name: Joi.string().max(200).description('A name for people to read.'),
	position: Joi.object({ x: number.required(), y: number.required() }).description('The place of the node in an editor.'),
}).meta({ schema: 'PipelineNode' });

const edge = Joi.object({
	id: Joi.string().min(1).max(200).required(),
	source: nodeId.required(),
	target: nodeId.required(),
	sourceHandle: Joi.string().min(1).max(64).description('The way out of a node that has several.'),
}).meta({ schema: 'PipelineEdge' });

export const pipeline = Joi.object({
	nodes: Joi.array().items(node).min(1).max(BOUNDS.nodes).required(),
	edges: Joi.array().items(edge).max(BOUNDS.edges).required(),
})
	.custom((value, helpers) =>
		JSON.stringify(value).length <= BOUNDS.pipelineChars
			? value
			: helpers.message({ custom: `{{#label}} may have ${BOUNDS.pipelineChars} characters as JSON` }),
	)
	.description(
		`The graph. It is checked when it is saved: every fault is told at once, with its node. At most ${BOUNDS.pipelineChars} characters as JSON.`,
	)
	.meta({ schema: 'Pipeline' });

const dollars = Joi.number().positive().max(1_000_000);

export const settings = Joi.object({
	timeoutMs: Joi.number().integer().min(100).max(BOUNDS.timeoutMs).description('The time limit of a run in milliseconds.'),
	budget: Joi.object({
		perRun: dollars.description('The most that the models of one run may cost, with those of the agents that it starts.'),
		perMonth: dollars.description('The most that the models of all runs of a month (UTC) may cost.'),
	})
		.min(1)
		.description('In US dollars.'),
	onDisconnect: Joi.string()
		.valid('cancel', 'continue')
		.description('What happens to a run whose caller leaves before its end. When absent: `cancel`.'),
})
	.description('Settings that hold for every run. A change replaces the whole object.')
	.meta({ schema: 'AgentSettings' });

const status = Joi.string().valid('active', 'inactive').description('An inactive agent is not invoked: 409.');
export const description = Joi.string().allow('').max(10_000).description('The purpose, in free text.');

/** The pipeline of the examples: it shows its input. */
export const EXAMPLE_PIPELINE = {
	nodes: [
		{ id: 'in', type: 'input', data: { schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } } },
		{ id: 'out', type: 'output', data: { mapping: { greeting: 'Hello, {{input.name}}.' } } },
	],
	edges: [{ id: 'e1', source: 'in', target: 'out' }],
};

export const CREATE = body({
	name: displayName.required(),
	description: description.default(''),
	pipeline: pipeline.required(),
	settings,
	status,
}).example({ name: 'Greeter', description: 'Greets by name.', pipeline: EXAMPLE_PIPELINE });

export const UPDATE = body({ name: displayName, description, pipeline, settings, status })
	.min(1)
	.example({ description: 'Greets politely.' });

export const DUPLICATE = body({ name: displayName.description('The name of the copy. When absent: “Copy of” and the name.') }).example({
	name: 'Second greeter',
});

export const INVOKE = body({
	input: jsonObject.required().description('It has to match the schema of the agent’s input.'),
	options: Joi.object({
		timeout: Joi.number().min(1).max(BOUNDS.invokeMs).description('The time limit of this run in milliseconds, below the agent’s own.'),
		trace: Joi.boolean().description('Whether the answer has the trace, node by node.'),
	}),
}).example({ input: { name: 'Ada' }, options: { trace: true } });
