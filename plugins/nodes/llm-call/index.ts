// The `llm_call` node: asks a model once, and once more where its answer does not fit the schema.

import {
	type ChatMessage,
	faultsIn,
	GatewayError,
	type Json,
	type JsonSchema,
	type ModelAnswer,
	type NodeCall,
	type PipelineNode,
	readStructured,
	repairing,
	wholeAnswer,
} from '../../../core/index.ts';
import { config, type LlmCallConfig } from './config.ts';
import { messagesOf } from './messages.ts';

export default {
	kind: 'node',
	api: 1,
	name: 'llm_call',
	summary: 'Asks a language model, for a text or for JSON of a schema.',
	config,
	effect: 'repeatable',
	says: ({ output }) => !output,
	uses: ({ providerId }) => [{ kind: 'provider', id: providerId, path: '/providerId' }],
	check: ({ output }, _graph, { checkSchema }) => faultsIn(output && checkSchema(output.schema, '/output/schema')),
	async run(_input, given, call) {
		const { systemPrompt = null, userPromptTemplate, history = null, images = null } = given;
		const filled = { system: call.fill(systemPrompt), user: call.fill(userPromptTemplate), history: call.fill(history) };
		const messages = messagesOf({ ...filled, images: call.fill(images) });
		const answer = await ask(messages, given, call);
		return { output: given.output ? await formed(answer, { ...given.output, messages, given, call }) : answer.text };
	},
} satisfies PipelineNode<LlmCallConfig>;

async function ask(messages: readonly ChatMessage[], given: LlmCallConfig, call: NodeCall): Promise<ModelAnswer> {
	const { providerId, userPromptTemplate: _prompt, systemPrompt: _system, history: _history, images: _images, output, ...options } = given;
	const form = output && { output: { name: output.name, schema: output.schema } };
	const answer = await wholeAnswer(call.chat(providerId, { ...options, ...form, messages }));
	if (answer.reason === 'content_filter') throw new GatewayError('upstream_failed', 'The provider’s content filter withheld the answer.');
	return answer;
}

interface StructuredRequest {
	schema: JsonSchema;
	repair: boolean;
	messages: readonly ChatMessage[];
	given: LlmCallConfig;
	call: NodeCall;
}

/** Reads the answer as JSON of the schema, after one repair at most. @throws upstream_failed */
async function formed(answer: ModelAnswer, { schema, repair, messages, given, call }: StructuredRequest): Promise<Json> {
	const read = await readStructured(answer.text, schema, call);
	if ('value' in read) return read.value;
	if (!repair) throw unfit(read.faults, answer);
	const more: ChatMessage[] = [
		{ role: 'assistant', content: answer.text, ...(answer.kept && { kept: answer.kept }) },
		{ role: 'user', content: repairing(read.faults, schema) },
	];
	const second = await ask([...messages, ...more], given, call);
	const repaired = await readStructured(second.text, schema, call);
	if ('value' in repaired) return repaired.value;
	throw unfit(repaired.faults, second);
}

const unfit = (faults: string, { reason }: ModelAnswer): GatewayError => {
	const why = reason === 'length' ? ' It was cut: it reached the limit of its tokens ("maxTokens").' : '';
	return new GatewayError('upstream_failed', `The model’s answer is not JSON of the schema: ${faults.replaceAll('\n', '; ')}${why}`);
};
