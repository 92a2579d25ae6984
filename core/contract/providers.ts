// The contract of a model provider, and the nouns of a chat. Types only.

import type { Context } from './context.ts';
import type { Base, SaveContext } from './kinds.ts';
import type { Json, JsonObject, JsonSchema } from './nouns.ts';

/** A family of language models. `config` is one connection of an organization: address, key, defaults. */
export interface LlmProvider<C = unknown, O = unknown> extends Base<C, O> {
	kind: 'provider';
	/**
	 * Whether its connections may be at loopback and private addresses where the operator allows that (LOCALMODEL_ALLOW_PRIVATE_URLS).
	 * Cloud metadata stays refused, and so do ports of other protocols.
	 */
	privateUrls?: boolean;
	/** Checks what the schema cannot, such as an address, when a connection is saved. @throws validation_failed, egress_refused */
	check?(config: C, context: SaveContext<O>): Promise<void>;
	/**
	 * Sends one request and yields the answer as it arrives. There is one function for whole and for streamed answers: core puts the chunks
	 * together where a caller wants the answer whole. It sends each request once. Core repeats it after `upstream_failed`,
	 * `upstream_timeout` and `rate_limited` without details, but only while no chunk has been yielded. It stops when `context.signal` aborts or its
	 * consumer leaves, down to the connection.
	 * @throws upstream_failed, also when the provider refuses the key; rate_limited, with the header `retry-after` if the provider names a
	 * time; validation_failed for a request that the provider refuses; upstream_timeout; egress_refused
	 */
	chat(request: ChatRequest, config: C, context: ProviderContext<O>): AsyncIterable<ChatChunk>;
	/** Lists the models that the connection can reach. Absent where the provider has no such list. @throws what `chat` throws */
	models?(config: C, context: ProviderContext<O>): Promise<ChatModel[]>;
	/** Returns the provider's own prices of a model, for one whose prices no public list has; null when they are unknown. */
	prices?(model: string, config: C): ModelPrices | null;
}

/** The parts of the context that exist without a gateway. A streamed answer is read by `stream`. */
export type ProviderContext<O = unknown> = Pick<
	Context<O>,
	'log' | 'request' | 'stream' | 'fetch' | 'connect' | 'memo' | 'operator' | 'signal'
>;

export interface ChatRequest {
	model: string;
	messages: readonly ChatMessage[];
	tools?: readonly ChatTool[];
	/** Default `auto`; a name asks for that tool. */
	toolChoice?: 'auto' | 'none' | 'required' | { name: string };
	/** Whether the model may ask for several tools at once. Default: as the provider does. */
	parallelToolCalls?: boolean;
	/** The answer's text has to be JSON of this schema. */
	output?: { name: string; schema: JsonSchema };
	temperature?: number;
	topP?: number;
	/** The most tokens of the answer. */
	maxTokens?: number;
	stop?: readonly string[];
	seed?: number;
	/** Members of the provider's own request, which the provider merges into it. */
	extra?: JsonObject;
}

export type ChatMessage =
	| { role: 'system'; content: string }
	| { role: 'user'; content: string | readonly ChatPart[] }
	| { role: 'assistant'; content: string | null; toolCalls?: readonly ChatToolCall[]; kept?: JsonObject }
	| { role: 'tool'; toolCallId: string; content: string; isError?: boolean };

/** `data` is base64. */
export type ChatPart = { type: 'text'; text: string } | { type: 'image' | 'audio' | 'file'; data: string; mimeType: string };

/** A tool that a model asked for. */
export interface ChatToolCall {
	id: string;
	name: string;
	/** JSON as the model wrote it, which may be wrong. */
	arguments: string;
}

/** A tool that a model may ask for. */
export interface ChatTool {
	name: string;
	description: string;
	parameters: JsonSchema;
}

/**
 * A piece of an answer. Pieces of one tool call have the same `index`, counted from 0; the first of them has `id` and `name`, the texts of
 * all of them make the arguments. The last chunk of an answer is its `end`, and the only one; an answer that breaks off has none, but an error.
 */
export type ChatChunk =
	| { type: 'text' | 'reasoning'; text: string }
	| { type: 'tool_call'; index: number; id?: string; name?: string; text: string }
	| ChatEnd;

export interface ChatEnd {
	type: 'end';
	reason: 'stop' | 'length' | 'tool_calls' | 'content_filter';
	/** The model that answered, by its exact name. */
	model: string;
	/** Null when the provider does not tell. */
	usage: Usage | null;
	/** JSON that only the provider reads, and gets back with the message that repeats the answer: signatures of reasoning. */
	kept?: JsonObject;
}

/** Tokens of one answer. `inputTokens` includes `cachedTokens` and `writtenTokens`. */
export interface Usage {
	inputTokens: number;
	outputTokens: number;
	/** Input tokens that the provider had in its cache. */
	cachedTokens: number;
	/** Input tokens that the provider wrote to its cache; `hourTokens` are those of them that it keeps for an hour, and charges more for. */
	writtenTokens?: number;
	hourTokens?: number;
	/** In millionths of a US dollar, with fractions; null when it is unknown, which is not 0. A provider that is told the cost passes it on. */
	costMicroUsd: number | null;
}

export interface ChatModel {
	/** The name for `ChatRequest.model`. */
	id: string;
	/** Facts that the provider tells about it. */
	details?: Json;
}

/** Millionths of a US dollar for a million tokens. */
export interface ModelPrices {
	input: number;
	output: number;
	/** Default: as `input`, also of `written`; of `hour`: as `written`. */
	cached?: number;
	written?: number;
	hour?: number;
}
