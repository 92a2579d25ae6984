// The `llm` executor: a question to a model of the organization, whose arguments are filled into a prompt.

import {
	type Call,
	type ChatMessage,
	GatewayError,
	invalid,
	type JsonObject,
	type ModelRequest,
	type ToolExecutor,
} from '../../../core/index.ts';
import { config, type LlmConfig } from './config.ts';
import { askForJson } from './structured.ts';
import { fillTemplate, type Piece, parseTemplate } from './template.ts';

const TEMPLATES = ['promptTemplate', 'systemTemplate'] as const;

export default {
	kind: 'executor',
	api: 1,
	name: 'llm',
	creatable: true,
	summary: 'Asks a model of an LLM provider: arguments are filled into its prompt, the answer is the result.',
	config,
	async check(given, { checkProvider, checkSchema }) {
		for (const field of TEMPLATES) {
			const pieces = parseTemplate(given[field] ?? '');
			if (typeof pieces === 'string') throw invalid(`/executionConfig/${field}`, `"${field}" cannot be used: ${pieces}`);
		}
		if (given.outputSchema) await checkSchema(given.outputSchema, '/executionConfig/outputSchema');
		await checkProvider(given.providerId, '/executionConfig/providerId');
	},
	async execute(args, given, call) {
		const request = requestOf(args, given);
		const { outputSchema, timeoutMs } = given;
		const late = new AbortController();
		const timer = setTimeout(
			() => late.abort(new GatewayError('upstream_timeout', `The model took longer than ${timeoutMs} ms.`)),
			timeoutMs,
		);
		try {
			return outputSchema ? await askForJson(request, outputSchema, call, late.signal) : await askForText(request, call, late.signal);
		} finally {
			clearTimeout(timer);
		}
	},
	async preview(args, given) {
		return { ...requestOf(args, given) } as unknown as JsonObject;
	},
} satisfies ToolExecutor<LlmConfig>;

async function askForText(request: ModelRequest, { models }: Call, signal: AbortSignal) {
	const { text, reason } = await models.ask(request, signal);
	const content = [{ type: 'text' as const, text }];
	if (reason === 'content_filter')
		return { content: [{ type: 'text' as const, text: 'The provider held the answer back.' }], isError: true };
	return reason === 'length' ? { content: [...content, { type: 'text' as const, text: CUT }] } : { content };
}

/** Nothing else would tell that the answer is not whole. */
const CUT = 'The answer was cut: it reached the limit of its tokens (parameters.maxTokens).';

/** Returns the request of a call. @throws validation_failed */
function requestOf(
	args: JsonObject,
	{ providerId, promptTemplate, systemTemplate, model, parameters, outputSchema }: LlmConfig,
): ModelRequest {
	const messages: ChatMessage[] = [{ role: 'user', content: fillTemplate(piecesOf(promptTemplate), args) }];
	if (systemTemplate !== undefined) messages.unshift({ role: 'system', content: fillTemplate(piecesOf(systemTemplate), args) });
	return {
		...{ providerId, messages, ...parameters },
		...(model !== undefined && { model }),
		...(outputSchema && { output: { name: 'answer', schema: outputSchema } }),
	};
}

function piecesOf(template: string): Piece[] {
	const pieces = parseTemplate(template);
	if (typeof pieces === 'string') throw new GatewayError('validation_failed', `The prompt of the tool cannot be used: ${pieces}`);
	return pieces;
}
