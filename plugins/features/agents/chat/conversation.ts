// Reads the messages of a request for an agent: the input of a run and the wishes of its client, or the results of tools for a run that waits.

import {
	type ChatPart,
	type ChatTool,
	type Conversation,
	GatewayError,
	invalid,
	isBase64,
	isObject,
	type Json,
	type JsonObject,
	type JsonSchema,
	type Wishes,
} from '../../../../core/features.ts';
import type { ChatBody, ChatMessageField, ChatPartField } from './fields.ts';

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,/;
/** The members that every conversation gives, so that a schema may require them. */
const GIVEN: readonly string[] = ['message', 'messages'];

/** Returns the text of a message. */
export function textOf({ content = null }: ChatMessageField): string {
	if (typeof content === 'string') return content;
	return (content ?? []).flatMap(({ type, text }) => (type === 'text' ? [text ?? ''] : [])).join('\n');
}

/** Refuses messages without content, which only an assistant that calls tools may send. @throws validation_failed naming the field */
export function assertContents(messages: readonly ChatMessageField[]): void {
	const isBare = ({ role, content = null }: ChatMessageField) => content === null && role !== 'assistant' && role !== 'function';
	const at = messages.findIndex(isBare);
	if (at >= 0) throw invalid(`/messages/${at}/content`, `A message with the role "${messages[at]?.role}" needs content.`);
}

/** Results of tools, by the ids of their calls. */
export interface Results {
	byId: ReadonlyMap<string, string>;
	/** The place of the last one among the messages; of messages of the user there may be some after it. */
	at: number;
	isLast: boolean;
}

/** The roles of messages that may follow the results of tools before the model answers. */
const LATER: readonly string[] = ['user', 'system', 'developer'];

/** Returns the results of tools that no answer follows; null when there are none. @throws validation_failed */
export function resultsIn(messages: readonly ChatMessageField[]): Results | null {
	const last = messages.findLastIndex(({ role }) => !LATER.includes(role));
	const byId = new Map<string, string>();
	for (let at = last; ; at--) {
		const message = messages[at];
		if (message?.role !== 'tool') break;
		const { tool_call_id: id } = message;
		if (!isGiven(id)) throw invalid(`/messages/${at}/tool_call_id`, 'A message with the role "tool" needs the id of its call.');
		byId.set(id, textOf(message));
	}
	return byId.size === 0 ? null : { byId, at: last, isLast: last === messages.length - 1 };
}

/** Returns what the user said after the results of tools. @throws validation_failed naming the part */
export const saidAfter = (messages: readonly ChatMessageField[], { at: last }: Results): Pick<Conversation, 'text' | 'parts'>[] =>
	messages.flatMap((message, at) => (at > last && message.role === 'user' ? [saidIn(message, at)] : []));

function saidIn(message: ChatMessageField, at: number): Pick<Conversation, 'text' | 'parts'> {
	const parts = partsOf(message, at);
	return { text: textOf(message), ...(parts.length > 0 && { parts }) };
}

/** Returns what the client says first. @throws validation_failed naming the field */
export function conversationOf(asked: ChatBody): Conversation {
	const at = asked.messages.findLastIndex(({ role }) => role === 'user');
	const last = asked.messages[at];
	if (!last) throw invalid('/messages', 'The conversation needs a message of the user.');
	return { ...wishesOf(asked), ...saidIn(last, at) };
}

/** Returns what every request of a client says anew. @throws validation_failed naming the field */
export function wishesOf(asked: ChatBody): Wishes {
	const system = asked.messages.filter(({ role }) => role === 'system' || role === 'developer');
	const { temperature, top_p, seed, parallel_tool_calls } = asked;
	const maxTokens = asked.max_completion_tokens ?? asked.max_tokens;
	const output = formOf(asked);
	return {
		...(system.length > 0 && { system: system.map(textOf).join('\n\n') }),
		...(isGiven(temperature) && { temperature }),
		...(isGiven(top_p) && { topP: top_p }),
		...(isGiven(maxTokens) && { maxTokens }),
		...(isGiven(seed) && { seed }),
		...(isGiven(asked.stop) && { stop: [asked.stop].flat() }),
		...(output && { output }),
		...toolsOf(asked),
		...(isGiven(parallel_tool_calls) && { parallelToolCalls: parallel_tool_calls }),
	};
}

const isGiven = <T>(value: T | null | undefined): value is T => value !== null && value !== undefined;

function formOf({ response_format: format }: ChatBody): Conversation['output'] {
	if (format?.type === 'json_object') return { name: 'answer', schema: { type: 'object' } };
	if (format?.type !== 'json_schema') return undefined;
	if (!format.json_schema) throw invalid('/response_format/json_schema', 'A format of the type "json_schema" needs the schema.');
	// It has passed CHAT, so it is JSON.
	return { name: format.json_schema.name, schema: (format.json_schema.schema ?? {}) as JsonSchema };
}

function toolsOf({ tools, tool_choice: choice }: ChatBody): Pick<Conversation, 'tools' | 'toolChoice'> {
	if (!tools || tools.length === 0 || choice === 'none') return {};
	const list = tools.map(
		({ function: { name, description, parameters } }): ChatTool => ({
			...{ name, description: description ?? '' },
			parameters: (parameters ?? { type: 'object', properties: {} }) as JsonSchema,
		}),
	);
	const twice = list.findIndex(({ name }, at) => list.findIndex((one) => one.name === name) < at);
	if (twice >= 0) throw invalid(`/tools/${twice}/function/name`, `Two tools are called "${list[twice]?.name}".`);
	return { tools: list, ...(choice && { toolChoice: typeof choice === 'string' ? choice : { name: choice.function.name } }) };
}

/** The parts of a message that are no text. @throws validation_failed */
function partsOf({ content }: ChatMessageField, message: number): ChatPart[] {
	if (!Array.isArray(content)) return [];
	return content.flatMap((part, at) => {
		const path = `/messages/${message}/content/${at}`;
		return part.type === 'text' || part.type === 'refusal' ? [] : [partOf(part, path)];
	});
}

function partOf({ type, image_url: image, input_audio: audio, file }: ChatPartField, path: string): ChatPart {
	if (type === 'input_audio' && audio) {
		if (!isBase64(audio.data)) throw invalid(`${path}/input_audio/data`, 'The audio must be in base64.');
		return { type: 'audio', data: audio.data, mimeType: audio.format === 'mp3' ? 'audio/mpeg' : 'audio/wav' };
	}
	const isImage = type === 'image_url';
	const url = (isImage ? image?.url : file?.file_data) ?? '';
	const [start = '', mimeType = ''] = DATA_URL.exec(url.slice(0, 200)) ?? [];
	const data = url.slice(start.length);
	const place = isImage ? `${path}/image_url/url` : `${path}/${type}`;
	if (start === '' || !isBase64(data) || (isImage && !mimeType.startsWith('image/')))
		throw invalid(
			place,
			`${isImage ? 'An image' : 'A file'} must be a data URL with its content in base64${isImage ? ', or an address' : ''}.`,
		);
	return { type: isImage ? 'image' : 'file', data, mimeType };
}

/**
 * Returns the input of a run: the text of the last message of the user, and the texts of all messages, in the form of a node's `history`. A schema
 * that requires one text more gets the message there. @throws validation_failed naming the fields that a conversation does not give
 */
export function inputOf({ messages }: ChatBody, { text }: Conversation, schema: JsonSchema): JsonObject {
	const said = messages.flatMap((message) => {
		const content = textOf(message);
		return (message.role === 'user' || message.role === 'assistant') && content !== '' ? [{ role: message.role, content }] : [];
	});
	const {
		properties = {},
		required = [],
		additionalProperties,
	} = schema as { properties?: Json; required?: Json; additionalProperties?: Json };
	const known = isObject(properties) ? properties : {};
	const lacking = (Array.isArray(required) ? required : []).flatMap((name) =>
		typeof name === 'string' && !GIVEN.includes(name) ? [name] : [],
	);
	const [only = '', more] = lacking;
	if (more !== undefined || (only !== '' && !isText(known[only]))) {
		const names = lacking.map((name) => `"${name}"`).join(', ');
		throw new GatewayError('validation_failed', `The input of the agent requires ${names}, which a conversation does not give.`, {
			details: lacking.map((name) => ({ path: `/input/${name}`, message: 'A conversation does not give it.' })),
		});
	}
	const given: JsonObject = { message: text, messages: said, ...(only !== '' && { [only]: text }) };
	if (additionalProperties !== false) return given;
	return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(known, name)));
}

/** Whether a text fits, as far as the type tells. */
const isText = (schema: Json | undefined): boolean =>
	schema === undefined || schema === true || (isObject(schema) && [schema['type'] ?? 'string'].flat().includes('string'));
