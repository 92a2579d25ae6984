// Answers of chat completions: whole ones, and the chunks of streamed ones.

import { contentOf, GatewayError, type TurnEvent } from '../../../../core/features.ts';

type Last = Exclude<TurnEvent, { type: 'text' }>;
type Use = Extract<Last, { type: 'calls' }>['use'];

/** The parts that all answers of a turn have in common. */
export interface Head {
	executionId: string;
	model: string;
	revision: number;
	/** Seconds since 1970. */
	created: number;
}

const head = ({ executionId, model, revision, created }: Head, object: string) => ({
	...{ id: `chatcmpl-${executionId.replaceAll('-', '')}`, object, created, model },
	system_fingerprint: `fp_${revision}`,
});

/** Returns a whole answer. @throws validation_failed that names the execution, rate_limited, unavailable */
export function completionOf(of: Head, last: Last, agentId: string): object {
	const end = endOf(last, of, agentId);
	const usage = usageOf(last);
	const message =
		end.type === 'calls'
			? { role: 'assistant', content: null, refusal: null, tool_calls: end.calls.map(toolCall) }
			: { role: 'assistant', content: contentOf(end.execution.run.output), refusal: null };
	return {
		...head(of, 'chat.completion'),
		choices: [{ index: 0, message, logprobs: null, finish_reason: reasonOf(end) }],
		...(usage && { usage }),
	};
}

/** Writes the chunks of one answer. */
export class Chunks {
	readonly #head: object;
	readonly #usage: { usage?: null };

	/** @param isCounted whether the last chunk tells the usage, and the others that they do not */
	constructor(of: Head, isCounted: boolean) {
		this.#head = head(of, 'chat.completion.chunk');
		this.#usage = isCounted ? { usage: null } : {};
	}

	first(): object {
		return this.#chunk({ role: 'assistant', content: '', refusal: null });
	}

	text(content: string): object {
		return this.#chunk({ content });
	}

	/** Returns the chunks after the texts. */
	last(end: Ended, usage: object | null): object[] {
		const calls =
			end.type === 'calls'
				? end.calls.map((call, index) => this.#chunk({ tool_calls: [{ index, ...toolCall(call) }] }))
				: end.rest
					? [this.text(end.rest)]
					: [];
		const isTold = usage !== null && 'usage' in this.#usage;
		return [...calls, this.#chunk({}, reasonOf(end)), ...(isTold ? [{ ...this.#head, choices: [], usage }] : [])];
	}

	#chunk(delta: object, finish_reason: string | null = null): object {
		return { ...this.#head, choices: [{ index: 0, delta, logprobs: null, finish_reason }], ...this.#usage };
	}
}

/** The end of a turn that is an answer. */
type Ended = Extract<Last, { type: 'calls' | 'ended' }>;

const toolCall = ({ id, name, arguments: args }: { id: string; name: string; arguments: string }) => ({
	...{ id, type: 'function' },
	function: { name, arguments: args },
});

function reasonOf(end: Ended): string {
	if (end.type === 'calls') return 'tool_calls';
	return end.reason === 'length' || end.reason === 'content_filter' ? end.reason : 'stop';
}

/** The tokens of a turn; null when a provider does not tell them. */
export function usageOf(last: Last): object | null {
	const use: Use = last.type === 'asked' ? null : last.use;
	const { inputTokens, outputTokens, cachedTokens } = use ?? { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
	if (inputTokens === null || outputTokens === null) return null;
	return {
		...{ prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens },
		prompt_tokens_details: { cached_tokens: cachedTokens ?? 0 },
		completion_tokens_details: { reasoning_tokens: 0 },
	};
}

/**
 * Makes the error of a run that failed. Clients repeat many a status by themselves, and would have the work done again: the AI SDK and OpenAI's own
 * do for 409, LangChain and aider for 422. None of them does for 400.
 */
function failed(executionId: string, reason: string, message: string): GatewayError {
	const headers = { 'x-execution-id': executionId, 'x-should-retry': 'false' };
	return new GatewayError('validation_failed', message, { more: { executionId, reason }, headers });
}

/** @throws validation_failed that names the execution, rate_limited, unavailable for an end that is no answer */
export function endOf(last: Last, { executionId }: Pick<Head, 'executionId'>, agentId: string): Ended {
	if (last.type === 'calls') return last;
	if (last.type === 'asked') {
		const { at } = last;
		const message = `The agent waits for the answer of a person: POST /agents/${at.agentId}/executions/${at.runId}/approve takes it, and GET /agents/${agentId}/executions/${executionId} shows the result.`;
		throw failed(executionId, 'waiting_approval', message);
	}
	const { status, error } = last.execution.run;
	if (status === 'succeeded') return last;
	const { code: reason = 'internal', message = '', retryAfterSeconds = 1 } = error ?? {};
	// Nothing but models was asked, so the client may try again.
	if (!last.hasActed && (reason === 'rate_limited' || reason === 'unavailable')) {
		const headers = { 'retry-after': String(Math.max(1, retryAfterSeconds)), 'x-execution-id': executionId };
		throw new GatewayError(reason, message, { more: { executionId, reason }, headers });
	}
	throw failed(executionId, reason, ['The agent failed.', message].join(' ').trim());
}
