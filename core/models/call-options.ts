// Writes a request of our contract as the call options of the AI SDK's specification.

import type { LanguageModelV4CallOptions, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { JsonSchema } from '../contract/nouns.ts';
import type { ChatMessage, ChatPart, ChatRequest, ChatTool } from '../contract/providers.ts';
import { hasManyNames } from '../kit/json.ts';
import { keptIn } from './kept.ts';

type Prompted<R extends LanguageModelV4Message['role']> = Extract<LanguageModelV4Message, { role: R }>;
type Schema = NonNullable<Extract<LanguageModelV4CallOptions['responseFormat'], { type: 'json' }>['schema']>;

export function callOptionsOf(request: ChatRequest): LanguageModelV4CallOptions {
	const { tools, toolChoice, output, temperature, topP, maxTokens, stop, seed } = request;
	return {
		prompt: promptOf(request.messages),
		...(tools && tools.length > 0 && { tools: tools.map(toolOf) }),
		...(toolChoice !== undefined && { toolChoice: choiceOf(toolChoice) }),
		...(output && { responseFormat: { type: 'json' as const, name: output.name, schema: schemaOf(output.schema) } }),
		...(temperature !== undefined && { temperature }),
		...(topP !== undefined && { topP }),
		...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
		...(stop && stop.length > 0 && { stopSequences: [...stop] }),
		...(seed !== undefined && { seed }),
	};
}

/** Both are JSON Schemas; the libraries write into none. */
const schemaOf = (schema: JsonSchema): Schema => structuredClone(schema) as Schema;

const toolOf = ({ name, description, parameters }: ChatTool) => ({
	...{ type: 'function' as const, name, description },
	inputSchema: schemaOf(parameters),
});

const choiceOf = (choice: NonNullable<ChatRequest['toolChoice']>) =>
	typeof choice === 'string' ? { type: choice } : { type: 'tool' as const, toolName: choice.name };

/** The results of tools that follow each other are one message, as some wires want it. */
function promptOf(messages: readonly ChatMessage[]): LanguageModelV4Prompt {
	const names = new Map<string, string>();
	const read = hasManyNames(messages.map(argumentsIn).join('\n')) ? asWritten : inputOf;
	const prompt: LanguageModelV4Prompt = [];
	for (const message of messages) {
		if (message.role === 'system') prompt.push({ role: 'system', content: message.content });
		else if (message.role === 'user') prompt.push({ role: 'user', content: userParts(message.content) });
		else if (message.role === 'assistant') prompt.push(assistantOf(message, names, read));
		else {
			const before = prompt.at(-1);
			const result = resultOf(message, names);
			if (before?.role === 'tool') before.content.push(result);
			else prompt.push({ role: 'tool', content: [result] });
		}
	}
	return prompt;
}

const userParts = (content: string | readonly ChatPart[]): Prompted<'user'>['content'] =>
	typeof content === 'string' ? [{ type: 'text', text: content }] : said(content).map(userPart);

/** Leaves empty texts beside images and files out, which Anthropic refuses. */
function said(parts: readonly ChatPart[]): readonly ChatPart[] {
	const given = parts.filter((part) => part.type !== 'text' || part.text !== '');
	return given.length > 0 ? given : parts;
}

const userPart = (part: ChatPart): Prompted<'user'>['content'][number] =>
	part.type === 'text'
		? { type: 'text', text: part.text }
		: { type: 'file', mediaType: part.mimeType, data: { type: 'data', data: part.data } };

type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>;

function assistantOf(
	{ content, toolCalls = [], kept = {} }: AssistantMessage,
	names: Map<string, string>,
	read: (text: string) => unknown,
): Prompted<'assistant'> {
	for (const { id, name } of toolCalls) names.set(id, name);
	const { reasoning, calls: signed, message } = keptIn(kept);
	const thoughts = reasoning.map(({ text, options }) => ({ type: 'reasoning' as const, text, providerOptions: options }));
	const calls = toolCalls.map(({ id, name, arguments: text }) => ({
		...{ type: 'tool-call' as const, toolCallId: id, toolName: name },
		...{ input: read(text), providerOptions: signed.get(id) ?? {} },
	}));
	// Anthropic refuses a text that is nothing but white space, also one that its own model said before it called a tool.
	const said = content?.trim() ? [{ type: 'text' as const, text: content }] : [];
	return { role: 'assistant', content: [...thoughts, ...said, ...calls], providerOptions: message };
}

const argumentsIn = (message: ChatMessage): string =>
	message.role === 'assistant' ? (message.toolCalls ?? []).map(({ arguments: text }) => text).join('\n') : '';

/** Arguments that all together have too many names to be parsed stay texts, too. */
const asWritten = (text: string): string => text;

/** Arguments that are no JSON stay the text that the model wrote; none at all are none. */
function inputOf(text: string): unknown {
	if (text.trim() === '') return {};
	try {
		return JSON.parse(text) as unknown;
	} catch {
		return text;
	}
}

function resultOf(message: Extract<ChatMessage, { role: 'tool' }>, names: Map<string, string>): Prompted<'tool'>['content'][number] {
	const { toolCallId, content, isError = false } = message;
	const output = { type: isError ? ('error-text' as const) : ('text' as const), value: content };
	return { type: 'tool-result', toolCallId, toolName: names.get(toolCallId) ?? 'tool', output };
}
