// Shows model connections and sessions: the shape beside the function that fills it.

import Joi from 'joi';
import {
	type Core,
	count,
	inDollars,
	jsonObject,
	type LlmProviderRow,
	type LlmUsage,
	type ModelPrices,
	present,
	shape,
	shownConfig,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';

const MILLION = 1_000_000;
const nullable = (schema: Joi.Schema) => schema.allow(null);

export const LLM_PROVIDER = shape({
	id: uuid,
	name: Joi.string(),
	provider: Joi.string(),
	model: nullable(Joi.string()).description('The model of calls that name none.'),
	baseUrl: nullable(Joi.string()),
	options: jsonObject.description('Further fields of the provider’s plugin, without secrets.'),
	configuration: jsonObject,
	prices: nullable(jsonObject),
	budget: nullable(jsonObject),
	outbound: nullable(jsonObject),
	status: Joi.string(),
	totalCost: Joi.number().description('US dollars that its calls cost, as far as their prices are known.'),
	usage: shape({
		calls: count,
		unpricedCalls: count.description('Calls whose cost is unknown; it is no part of `totalCost`.'),
		inputTokens: count,
		outputTokens: count,
		cachedTokens: count,
	}),
	createdAt: timestamp,
	updatedAt: timestamp,
}).meta({ schema: 'LlmProvider' });

const NOTHING: LlmUsage = { calls: 0, unpriced: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0, cost: 0 };

export function presentProvider(row: LlmProviderRow, used: LlmUsage = NOTHING, { registry, secrets }: Core) {
	const stored = { kind: 'provider' as const, name: row.provider, config: row.connection, version: row.configVersion };
	const { baseUrl = null, apiKey: _hidden, ...options } = shownConfig(registry, stored, secrets);
	const { unpriced, cost, ...usage } = used;
	return present(LLM_PROVIDER, row, {
		...{ baseUrl: typeof baseUrl === 'string' ? baseUrl : null, options, totalCost: inDollars(cost) },
		prices: row.prices && pricesInDollars(row.prices),
		budget: row.budget && { ...row.budget },
		outbound: row.outbound && { ...row.outbound },
		usage: { ...usage, unpricedCalls: unpriced },
	});
}

type Prices = Record<string, ModelPrices>;
const converted = (prices: Prices, convert: (price: number) => number): Prices =>
	Object.fromEntries(
		Object.entries(prices).map(([model, { input, output, ...kept }]) => [
			model,
			{
				...{ input: convert(input), output: convert(output) },
				...Object.fromEntries(Object.entries(kept).map(([name, price]) => [name, convert(price)])),
			},
		]),
	);

/** Prices are stored in millionths of a dollar. */
const pricesInDollars = (prices: Prices): Prices => converted(prices, inDollars);
export const inMicroDollars = (prices: Prices): Prices => converted(prices, (price) => price * MILLION);

export const CHAT_ANSWER = shape({
	message: text.description('What the model answered.'),
	model: Joi.string().description('The model that answered.'),
	finishReason: Joi.string().valid('stop', 'length', 'tool_calls', 'content_filter'),
	sessionId: nullable(Joi.string()),
	usage: nullable(shape({ inputTokens: count, outputTokens: count, cachedTokens: count })).description(
		'Null when the provider does not tell.',
	),
	cost: nullable(Joi.number()).description('US dollars; null when the price is unknown.'),
	responseTime: count.description('Milliseconds.'),
}).meta({ schema: 'ChatAnswer' });

const session = {
	sessionId: Joi.string(),
	turns: count.description('All turns, also those whose messages have left.'),
	createdAt: timestamp,
	updatedAt: timestamp,
	expiresAt: timestamp.description('It is removed then, unless there is another turn before.'),
};

export const SESSION = shape(session).meta({ schema: 'ChatSession' });
export const SESSION_WITH_MESSAGES = shape({
	...session,
	messages: Joi.array().items(shape({ role: Joi.string(), content: text })),
}).meta({ schema: 'ChatSessionWithMessages' });
