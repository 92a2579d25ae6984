// Anthropic's models, by their messages.

import Joi from 'joi';
import {
	askLanguageModel,
	httpUrl,
	isObject,
	type JsonObject,
	type LlmProvider,
	lazy,
	listModels,
	providerFetch,
} from '../../../core/index.ts';

interface Config {
	apiKey: string;
	baseUrl: string;
}

const VERSION = '2023-06-01';
/** The types of events that the package knows. */
const EVENTS: ReadonlySet<unknown> = new Set([
	...['message_start', 'message_delta', 'message_stop', 'content_block_start', 'content_block_delta', 'content_block_stop'],
	...['ping', 'error'],
]);

/** Anthropic adds types of events, which clients have to pass over. */
const isNew = (event: JsonObject): boolean => typeof event['type'] === 'string' && !EVENTS.has(event['type']) && !('error' in event);

/** Its package passes the usage on as it was sent. */
const hourTokens = ({ cache_creation: written }: Readonly<Record<string, unknown>>): unknown =>
	isObject(written) ? written['ephemeral_1h_input_tokens'] : undefined;

const sdk = lazy(() => import('@ai-sdk/anthropic'));

export default {
	kind: 'provider',
	api: 1,
	name: 'anthropic',
	summary: 'The models of Anthropic.',
	spec: 'Anthropic API, messages, version 2023-06-01',
	config: Joi.object<Config>({
		apiKey: Joi.string().max(4096).required().meta({ secret: true }).description('The key, sent as `x-api-key`.'),
		baseUrl: httpUrl
			.max(2000)
			.default('https://api.anthropic.com/v1')
			.meta({ destination: true })
			.description('The address before /messages.'),
	}),
	check: ({ baseUrl }, context) => context.checkUrl(baseUrl, '/baseUrl'),
	async *chat(request, { apiKey, baseUrl }, context) {
		const { parallelToolCalls, extra } = request;
		const send = providerFetch(context, { secrets: [apiKey], ...(extra && { extra }) });
		const { createAnthropic } = await sdk();
		const models = createAnthropic({ apiKey, baseURL: baseUrl, fetch: send });
		yield* askLanguageModel(
			models(request.model),
			request,
			context,
			parallelToolCalls === undefined ? {} : { anthropic: { disableParallelToolUse: !parallelToolCalls } },
			{ isPassedOver: isNew, hourTokens },
		);
	},
	models: ({ apiKey, baseUrl }, context) =>
		listModels(providerFetch(context, { secrets: [apiKey] }), `${baseUrl.replace(/\/+$/, '')}/models?limit=1000`, {
			...{ 'x-api-key': apiKey, 'anthropic-version': VERSION },
		}),
} satisfies LlmProvider<Config>;
