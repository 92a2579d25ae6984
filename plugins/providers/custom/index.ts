// Any server that speaks the chat completions of OpenAI.

import Joi from 'joi';
import { askLanguageModel, httpUrl, isStrictSchema, type LlmProvider, lazy, listModels, providerFetch } from '../../../core/index.ts';

interface Config {
	apiKey: string;
	baseUrl: string;
}

const sdk = lazy(() => import('@ai-sdk/openai-compatible'));

export default {
	kind: 'provider',
	api: 1,
	name: 'custom',
	summary: 'Any server that speaks the chat completions of OpenAI.',
	spec: 'OpenAI API, chat completions, 2026-11',
	config: Joi.object<Config>({
		apiKey: Joi.string().max(4096).required().meta({ secret: true }).description('The key, sent as a Bearer token.'),
		baseUrl: httpUrl.max(2000).required().meta({ destination: true }).description('The address before /chat/completions.'),
	}),
	check: ({ baseUrl }, context) => context.checkUrl(baseUrl, '/baseUrl'),
	async *chat(request, { apiKey, baseUrl }, context) {
		const { parallelToolCalls: parallel, extra, output } = request;
		const members = { ...extra, ...(parallel !== undefined && { parallel_tool_calls: parallel }) };
		const send = providerFetch(context, { secrets: [apiKey], extra: members });
		const { createOpenAICompatible } = await sdk();
		const settings = { name: 'custom', baseURL: baseUrl, includeUsage: true, supportsStructuredOutputs: true };
		const models = createOpenAICompatible({ ...settings, fetch: send, apiKey });
		const own = output ? { openaiCompatible: { strictJsonSchema: isStrictSchema(output.schema) } } : {};
		yield* askLanguageModel(models.chatModel(request.model), request, context, own);
	},
	models: ({ apiKey, baseUrl }, context) =>
		listModels(providerFetch(context, { secrets: [apiKey] }), `${baseUrl.replace(/\/+$/, '')}/models`, {
			authorization: `Bearer ${apiKey}`,
		}),
} satisfies LlmProvider<Config>;
