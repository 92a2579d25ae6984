// OpenAI's models, by their chat completions.

import Joi from 'joi';
import { askLanguageModel, httpUrl, isStrictSchema, type LlmProvider, lazy, listModels, providerFetch } from '../../../core/index.ts';

interface Config {
	apiKey: string;
	baseUrl: string;
	organization?: string;
}

const sdk = lazy(() => import('@ai-sdk/openai'));

export default {
	kind: 'provider',
	api: 1,
	name: 'openai',
	summary: 'The models of OpenAI.',
	spec: 'OpenAI API, chat completions, 2026-11',
	config: Joi.object<Config>({
		apiKey: Joi.string().max(4096).required().meta({ secret: true }).description('The key, sent as a Bearer token.'),
		baseUrl: httpUrl
			.max(2000)
			.default('https://api.openai.com/v1')
			.meta({ destination: true })
			.description('The address before /chat/completions.'),
		organization: Joi.string().max(200).description('The organization at OpenAI that is charged.'),
	}),
	check: ({ baseUrl }, context) => context.checkUrl(baseUrl, '/baseUrl'),
	async *chat(request, { apiKey, baseUrl, organization }, context) {
		const { parallelToolCalls, extra, output } = request;
		const send = providerFetch(context, { secrets: [apiKey], ...(extra && { extra }) });
		const { createOpenAI } = await sdk();
		const models = createOpenAI({ apiKey, baseURL: baseUrl, fetch: send, ...(organization !== undefined && { organization }) });
		yield* askLanguageModel(models.chat(request.model), request, context, {
			openai: {
				...(output && { strictJsonSchema: isStrictSchema(output.schema) }),
				...(parallelToolCalls !== undefined && { parallelToolCalls }),
			},
		});
	},
	models: ({ apiKey, baseUrl }, context) =>
		listModels(providerFetch(context, { secrets: [apiKey] }), `${baseUrl.replace(/\/+$/, '')}/models`, {
			authorization: `Bearer ${apiKey}`,
		}),
} satisfies LlmProvider<Config>;
