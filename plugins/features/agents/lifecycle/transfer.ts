// Agents as files: they leave an organization without ids and secrets, and arrive in another.

import { randomUUID } from 'node:crypto';
import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AgentReference,
	type AgentRow,
	body,
	type Core,
	displayName,
	jsonObject,
	type NewAgent,
	operation,
	organizationOf,
	type Pipeline,
	shape,
	showVersion,
	storeOf,
	text,
} from '../../../../core/features.ts';
import { BOUNDS } from '../bounds.ts';
import { assertRuns } from '../check.ts';
import { description, EXAMPLE_PIPELINE, pipeline, settings } from '../fields.ts';
import { findAgent } from '../find.ts';
import { AGENT, presentAgent } from '../present.ts';
import { TEMPLATES } from '../templates/index.ts';

/** The form of the file. A later form gets another number. */
export const FORMAT = 'gatehouse.agent/1';

/** An agent as a file. */
export interface AgentFile {
	format: typeof FORMAT;
	name: string;
	description: string;
	settings: AgentRow['settings'];
	pipeline: Pipeline;
	references: AgentReference[];
}

const reference = Joi.object({
	key: Joi.string().min(1).max(700).required().description('Names the row in `mapping`.').example('provider:Models'),
	kind: Joi.string().valid('tool', 'gateway', 'agent', 'provider').required(),
	name: Joi.string().min(1).max(500).required().description('The name of the row.'),
	api: Joi.string().max(500).description('The name of the API that a tool was imported from.'),
	usedBy: Joi.array()
		.items(
			Joi.object({
				node: Joi.string().min(1).max(64).required(),
				path: Joi.string().min(2).max(500).required().description('JSON pointer into the data of the node.'),
			}),
		)
		.min(1)
		.max(BOUNDS.references)
		.required(),
}).meta({ schema: 'AgentReference' });

const FILE = shape({
	format: Joi.string().valid(FORMAT),
	name: Joi.string(),
	description: text,
	settings: jsonObject,
	pipeline: shape({ nodes: Joi.array().items(jsonObject), edges: Joi.array().items(jsonObject) }),
	references: Joi.array().items(reference).description('What the pipeline names in the organization, by name.'),
}).meta({ schema: 'AgentFile' });

const IMPORT = body({
	format: Joi.string().valid(FORMAT).required(),
	name: displayName.required(),
	description: description.default(''),
	settings,
	pipeline: pipeline.required(),
	references: Joi.array().items(reference).unique('key').max(BOUNDS.references).default([]),
	mapping: Joi.object()
		.pattern(Joi.string().max(700), Joi.string().max(100))
		.description('Ids of rows of this organization by the `key` of the reference, for those that no row, or several, have the name of.'),
}).example({ format: FORMAT, name: 'Greeter', pipeline: EXAMPLE_PIPELINE });

const TEMPLATE = shape({ id: Joi.string(), title: Joi.string(), summary: text, agent: FILE }).meta({ schema: 'AgentTemplate' });

export const transferRoutes = (core: Core): ServerRoute[] => [exportAgent(core), importAgent(core), listTemplates()];

const exportAgent = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/agents/{id}/export',
		id: 'exportAgent',
		summary: 'Shows an agent as a file that `POST /agents/import` takes, here or elsewhere.',
		description:
			'It has no ids and no secrets: LLM providers, tools, gateways and other agents are named by their names. The same agent gives the same bytes, and so ' +
			'does one that was imported from them.',
		need: 'agents:read',
		bare: true,
		answer: FILE,
		handler: async (request) => fileOf(core, await findAgent(request, core)),
	});

async function fileOf({ agents }: Core, agent: AgentRow): Promise<AgentFile> {
	const { pipeline: moved, references } = await agents.portable.outward(agent.organizationId, agent.pipeline);
	const { name, description: purpose, settings: kept } = agent;
	return { format: FORMAT, name, description: purpose, settings: kept, pipeline: moved, references };
}

interface Imported extends Omit<AgentFile, 'settings'> {
	settings?: AgentRow['settings'];
	mapping?: Record<string, string>;
}

const importAgent = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/agents/import',
		id: 'importAgent',
		summary: 'Creates an agent from a file, as `GET /agents/{id}/export` and `GET /agents/templates` show them.',
		description:
			'Everything that the file names is looked up by its name. What is not there, or is there several times, is told at once in `details`; ' +
			'`mapping` says which row is meant, by the `key` of the reference. The agent is active, and its pipeline is checked as when one is created.',
		need: 'agents:write',
		body: IMPORT,
		answer: AGENT,
		status: 201,
		errors: ['conflict'],
		idempotent: true,
		versioned: true,
		handler: async (request) => {
			// The body has passed IMPORT.
			const { mapping = {}, settings: kept = {}, name, description: purpose, ...file } = request.payload as unknown as Imported;
			const { id } = organizationOf(request);
			const moved = await core.agents.portable.inward(id, file, mapping);
			await assertRuns(core, id, moved, null);
			const row: NewAgent = { name, description: purpose, pipeline: moved, settings: kept };
			const agent = await storeOf(request, core).agents.create(id, randomUUID(), row, BOUNDS.agents);
			showVersion(request, agent.version);
			return presentAgent(agent);
		},
	});

const listTemplates = (): ServerRoute =>
	operation({
		method: 'GET',
		path: '/agents/templates',
		id: 'listAgentTemplates',
		summary: 'Lists agents to begin with: send the `agent` of one to `POST /agents/import`.',
		need: 'agents:read',
		answer: shape({ templates: Joi.array().items(TEMPLATE) }),
		handler: () => ({ templates: TEMPLATES }),
	});
