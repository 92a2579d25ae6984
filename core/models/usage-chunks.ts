// Chunks of OpenAI's wire that tell what was used and have no `choices`. OpenAI sends an empty list there; servers that leave it out, or send null,
// are many, and the provider packages take such a chunk for the failure of an answer that has come as a whole.

import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { unreadEvent } from './library-errors.ts';

type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;
type Reason = Finish['finishReason'];

const REASONS: Readonly<Record<string, Reason['unified']>> = {
	stop: 'stop',
	length: 'length',
	tool_calls: 'tool-calls',
	function_call: 'tool-calls',
	content_filter: 'content-filter',
};

/** Hears the chunks of one answer as they were sent: at one that it cannot read, a package forgets why the answer ended. */
export class UsageChunks {
	#reason: string | null = null;
	#usage: JsonObject | null = null;

	hear(chunk: unknown): void {
		const choices = isObject(chunk) ? chunk['choices'] : null;
		const choice = Array.isArray(choices) ? choices[0] : null;
		const reason = isObject(choice) ? choice['finish_reason'] : null;
		if (typeof reason === 'string' && reason !== '') this.#reason = reason;
	}

	/** Keeps what a chunk tells that a package could not read. @returns whether it is one that tells nothing else */
	take(error: unknown): boolean {
		const chunk = unreadEvent(error);
		if (!chunk || !isObject(chunk['usage']) || (chunk['choices'] ?? null) !== null || 'error' in chunk) return false;
		this.#usage = chunk['usage'];
		return true;
	}

	/** Returns the end of the answer with what such a chunk told. */
	completed(finish: Finish): Finish {
		const usage = this.#usage;
		if (!usage) return finish;
		const { unified, raw } = finish.finishReason;
		const [reason, isForgotten] = [this.#reason, unified === 'error' && raw === undefined];
		const finishReason = isForgotten && reason !== null ? { unified: REASONS[reason] ?? 'other', raw: reason } : finish.finishReason;
		return { ...finish, finishReason, usage: usageOf(usage) };
	}
}

function usageOf({ prompt_tokens: input, completion_tokens: output, prompt_tokens_details: details }: JsonObject): Finish['usage'] {
	const cached = isObject(details) ? details['cached_tokens'] : undefined;
	return {
		inputTokens: { total: numberIn(input), noCache: undefined, cacheRead: numberIn(cached), cacheWrite: undefined },
		outputTokens: { total: numberIn(output), text: undefined, reasoning: undefined },
	};
}

const numberIn = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined);
