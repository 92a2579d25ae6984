// The estimate of what a run of an agent costs: from what its latest executions cost, else from its pipeline and the prices of its models.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AgentRow,
	type Core,
	count,
	inDollars,
	isObject,
	type JsonObject,
	operation,
	type PipelineStep,
	shape,
} from '../../../core/features.ts';
import { findAgent } from './find.ts';

/** Fewer executions than these say little. */
const ENOUGH = 5;
const CHARS_PER_TOKEN = 4;
const TYPICAL_OUTPUT = 300;
const TYPICAL_INPUT = 200;
const DEFAULT_OUTPUT = 8192;

const money = Joi.number().min(0).allow(null);

const ESTIMATE = shape({
	min: money,
	typical: money,
	max: money.description('US dollars for one run; null when a price is unknown.'),
	currency: Joi.string().valid('USD'),
	basis: Joi.string()
		.valid('history', 'pipeline')
		.description('Whether it is taken from executions of this version, or from the pipeline.'),
	executions: count.description('The number of executions that it is taken from.'),
	assumptions: Joi.array().items(Joi.string()),
}).meta({ schema: 'CostEstimate' });

export const estimateRoute = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/agents/{id}/cost-estimate',
		id: 'estimateAgentCost',
		summary: 'Estimates what a run of an agent costs.',
		need: 'agents:read',
		answer: ESTIMATE,
		handler: async (request) => {
			const agent = await findAgent(request, core);
			const { executions, cost } = await core.store.agents.history(agent.organizationId, agent.id, agent.version);
			if (!cost || executions < ENOUGH) return { ...(await byPipeline(agent, core)), currency: 'USD', basis: 'pipeline', executions };
			const assumptions = [`The latest ${executions} successful executions of this version; those of unknown cost are left out.`];
			const [min, typical, max] = [cost.min, cost.typical, cost.max].map(inDollars);
			return { min, typical, max, currency: 'USD', basis: 'history', executions, assumptions };
		},
	});

interface Sums {
	min: number | null;
	typical: number | null;
	max: number | null;
	assumptions: string[];
}

interface ModelNode {
	id: string;
	/** It lacks what was left out. */
	data: JsonObject;
	/** The same with the defaults of its type. */
	config: JsonObject;
	providerId: string;
}

async function byPipeline(agent: AgentRow, core: Core): Promise<Sums> {
	const nodes = modelNodes(agent.pipeline.nodes, core);
	const assumptions = [
		`A token is ${CHARS_PER_TOKEN} characters of a prompt; placeholders stand for ${TYPICAL_INPUT} tokens together, at most for as many as the prompt has.`,
		`An answer has ${TYPICAL_OUTPUT} tokens, at least 1, at most the limit of the node or connection, else ${DEFAULT_OUTPUT}.`,
		'Each node asks its model once; at most as often as its `maxIterations`, its `output.repair` and the retries of its policy allow. Nodes inside a map are counted for one item.',
	];
	if (nodes.length === 0)
		return { min: 0, typical: 0, max: 0, assumptions: ['No node asks a model by itself: what its tools and agents cost is not known.'] };
	if (agent.pipeline.edges.some(({ sourceHandle }) => sourceHandle !== undefined)) assumptions.push('Every branch is taken.');
	const priced = await Promise.all(nodes.map((node) => costOfNode(agent.organizationId, node, core)));
	const unknown = nodes.filter((_node, index) => priced[index] === null);
	if (unknown.length > 0) {
		assumptions.push(`The price of the model is unknown at: ${unknown.map(({ id }) => id).join(', ')}.`);
		return { min: null, typical: null, max: null, assumptions };
	}
	const known = priced.filter((one) => one !== null);
	const sum = (of: (one: Spread) => number): number => inDollars(known.reduce((total, one) => total + of(one), 0));
	return { min: sum(({ min }) => min), typical: sum(({ typical }) => typical), max: sum(({ max }) => max), assumptions };
}

/** Lists the nodes that name a connection, those inside of others, too; one that does not fit its type any more asks no model. */
function modelNodes(nodes: readonly Pick<PipelineStep, 'id' | 'type' | 'data'>[], core: Core): ModelNode[] {
	return nodes.flatMap(({ id, type, data }) => {
		const plugin = core.registry.get('node', type);
		if (!plugin) return [];
		const { policy: _policy, ...given } = data;
		const { value, error } = plugin.config.validate(given, { convert: false });
		if (error) return [];
		// The config of a node is an object.
		const config = value as JsonObject;
		const named = plugin.uses?.(config).find(({ kind }) => kind === 'provider');
		const inside = plugin.body?.(config)?.nodes ?? [];
		return [...(named ? [{ id, data, config, providerId: named.id }] : []), ...modelNodes(inside, core)];
	});
}

interface Spread {
	min: number;
	typical: number;
	max: number;
}

/** Returns millionths of a US dollar; null when the price is unknown. */
async function costOfNode(organizationId: string, { data, config, providerId }: ModelNode, core: Core): Promise<Spread | null> {
	const row = await core.store.llmProviders.get(organizationId, providerId);
	if (!row) return null;
	const ask = Math.ceil(JSON.stringify(data).length / CHARS_PER_TOKEN);
	const model = typeof config['model'] === 'string' ? config['model'] : row.model;
	if (!model) return null;
	const limit = numberIn(config, 'maxTokens') ?? numberIn(row.configuration, 'maxTokens') ?? DEFAULT_OUTPUT;
	const retries = isObject(data['policy']) ? (numberIn(data['policy'] as JsonObject, 'retries') ?? 0) : 0;
	const mayRepair = isObject(config['output']) && config['output']['repair'] === true;
	const times = (numberIn(config, 'maxIterations') ?? 1) * (1 + retries);
	const price = (inputTokens: number, outputTokens: number) => core.models.price(row, { model, inputTokens, outputTokens });
	const mostInput = ask * 2 + TYPICAL_INPUT;
	const [min, typical, once, repaired] = await Promise.all([
		price(ask, 1),
		price(ask + TYPICAL_INPUT, Math.min(limit, TYPICAL_OUTPUT)),
		price(mostInput, limit),
		// The answer that does not fit is sent back.
		mayRepair ? price(mostInput + limit, limit) : 0,
	]);
	if (min === null || typical === null || once === null || repaired === null) return null;
	return { min, typical, max: (once + repaired) * times };
}

const numberIn = (data: JsonObject, name: string): number | undefined => {
	const value = data[name];
	return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
};
