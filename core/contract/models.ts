// The model connections of an organization, as core lends them to plugins. Types only.

import type { ErrorDetail } from './errors.ts';
import type { Json, JsonSchema } from './nouns.ts';
import type { ChatChunk, ChatEnd, ChatRequest, ChatToolCall, Usage } from './providers.ts';

/** A request to a connection: what it leaves out, the connection's own defaults say. */
export interface ModelRequest extends Omit<ChatRequest, 'model'> {
	/** The id of the connection. */
	providerId: string;
	model?: string;
}

/** A whole answer. */
export interface ModelAnswer {
	text: string;
	toolCalls: ChatToolCall[];
	reason: 'stop' | 'length' | 'tool_calls' | 'content_filter';
	/** The model that answered. */
	model: string;
	/** With the cost by the prices that are known; null when the provider does not tell the tokens. */
	usage: Usage | null;
	kept?: ChatEnd['kept'];
}

export interface Models {
	/**
	 * Asks a model and yields its answer while it arrives; the last chunk is the end, with the cost. Failures before the first chunk are
	 * repeated, a provider's wait is kept within the call's time. @throws not_found, conflict for an inactive connection or one whose budget
	 * does not allow the call, validation_failed, rate_limited, upstream_failed, upstream_timeout, egress_refused, secret_unreadable
	 */
	chat(request: ModelRequest, signal?: AbortSignal): AsyncIterable<ChatChunk>;
	/** Asks a model for a whole answer. @throws what `chat` throws */
	ask(request: ModelRequest, signal?: AbortSignal): Promise<ModelAnswer>;
}

/** The parts of a call for work with models. */
export interface ModelCall {
	/** The model connections of the organization. Not for a dry run. */
	readonly models: Models;
	/**
	 * Checks data against a JSON Schema (2020-12) with an object at its root, such as one that a model was asked to keep. @returns the fields
	 * that do not fit; empty if all do. @throws upstream_failed when that cannot be found out, rate_limited
	 */
	faults(schema: JsonSchema, data: Json): Promise<ErrorDetail[]>;
}
