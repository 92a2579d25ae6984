// Asks a language model of the AI SDK's specification, and yields its answer as our contract has it. Only the provider packages are used:
// their interface is a wire format of each provider turned into one, without retries, loops or telemetry.

import type {
	LanguageModelV4,
	LanguageModelV4CallOptions,
	LanguageModelV4GenerateResult,
	LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { GatewayError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/nouns.ts';
import type { ChatChunk, ChatEnd, ChatRequest, ProviderContext, Usage } from '../contract/providers.ts';
import { callOptionsOf } from './call-options.ts';
import { Keeper } from './kept.ts';
import { ours, unreadEvent } from './library-errors.ts';
import { WholeAnswer } from './provider-fetch.ts';
import { UsageChunks } from './usage-chunks.ts';

type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;
type Delta = Extract<LanguageModelV4StreamPart, { type: 'text-delta' | 'reasoning-delta' }>;

const REASONS: Partial<Record<Finish['finishReason']['unified'], ChatEnd['reason']>> = {
	stop: 'stop',
	length: 'length',
	'tool-calls': 'tool_calls',
	'content-filter': 'content_filter',
};

/** Names of endings that are failures, for which the provider packages have no word of their own: of OpenRouter, vLLM, DeepSeek and Anthropic. */
const FAILED: ReadonlySet<string> = new Set(['error', 'abort', 'cancelled', 'insufficient_system_resource', 'pause_turn']);

/** The parts of a provider's wire of which its package does not tell. */
export interface Wire {
	/** Tells which events, that the package cannot read, are none of the answer's. */
	isPassedOver?: (event: JsonObject) => boolean;
	/** Reads the tokens written to a cache for an hour from the usage as it was sent; unchecked. */
	hourTokens?: (usage: Readonly<Record<string, unknown>>) => unknown;
}

/**
 * @param model whose requests go out by `providerFetch`
 * @param own options of the provider's package, by its name
 * @param wire what core cannot know of the provider's wire
 * @throws upstream_failed, also for an answer that breaks off or is none; what `providerFetch` throws
 */
export async function* askLanguageModel(
	model: LanguageModelV4,
	request: ChatRequest,
	{ signal }: Pick<ProviderContext, 'signal'>,
	own: Record<string, Record<string, boolean>> = {},
	wire: Wire = {},
): AsyncGenerator<ChatChunk> {
	signal.throwIfAborted();
	const options = { ...callOptionsOf(request), abortSignal: signal, providerOptions: own, includeRawChunks: true };
	const stream = await readable(signal, () => partsOf(model, options));
	const reader = stream.getReader();
	const answer = new Answer(request.model, wire);
	try {
		for (;;) {
			const { done, value } = await readable(signal, () => reader.read());
			if (done) break;
			const chunk = answer.take(value);
			if (chunk) yield chunk;
		}
		yield answer.end();
	} finally {
		// Closes the connection, also when the consumer has left; an error of it was told already.
		await reader.cancel().catch(() => undefined);
	}
}

/** Returns the parts of an answer; of a server that does not stream, all at once. */
async function partsOf(model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<ReadableStream<LanguageModelV4StreamPart>> {
	try {
		return (await model.doStream(options)).stream;
	} catch (thrown) {
		if (!(thrown instanceof WholeAnswer)) throw thrown;
		// Nothing is sent again: the answer is there.
		return ReadableStream.from(partsOfWhole(await model.doGenerate(options)));
	}
}

function partsOfWhole({ content, finishReason, usage, response }: LanguageModelV4GenerateResult): LanguageModelV4StreamPart[] {
	const parts = content.flatMap((part, at): LanguageModelV4StreamPart[] => {
		if (part.type === 'text' || part.type === 'reasoning')
			return [{ type: `${part.type}-delta`, id: `${at}`, delta: part.text, providerMetadata: part.providerMetadata ?? {} } as Delta];
		return part.type === 'tool-call' ? [part] : [];
	});
	const raw = { type: 'raw' as const, rawValue: response?.body };
	return [{ type: 'response-metadata', ...response }, raw, ...parts, { type: 'finish', finishReason, usage }];
}

async function readable<T>(signal: AbortSignal, work: () => PromiseLike<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		signal.throwIfAborted();
		throw ours(error);
	}
}

/** One answer while it arrives. */
class Answer {
	#model: string;
	#finish: Finish | null = null;
	readonly #wire: Wire;
	readonly #usageChunks = new UsageChunks();
	readonly #keeper = new Keeper();
	readonly #calls = new Map<string, { index: number; hasText: boolean }>();

	constructor(model: string, wire: Wire) {
		this.#model = model;
		this.#wire = wire;
	}

	#passesOver(error: unknown): boolean {
		const event = unreadEvent(error);
		return event !== null && this.#wire.isPassedOver?.(event) === true;
	}

	/** @throws upstream_failed */
	take(part: LanguageModelV4StreamPart): ChatChunk | null {
		this.#keeper.take(part);
		switch (part.type) {
			case 'text-delta':
				return part.delta === '' ? null : { type: 'text', text: part.delta };
			case 'reasoning-delta':
				return part.delta === '' ? null : { type: 'reasoning', text: part.delta };
			case 'tool-input-start':
				return this.#begin(part.id, part.toolName, '');
			case 'tool-input-delta':
				return this.#continue(part.id, part.delta);
			case 'tool-call':
				return this.#endCall(part.toolCallId, part.toolName, part.input);
			case 'response-metadata':
				this.#model = part.modelId ?? this.#model;
				return null;
			case 'raw':
				this.#usageChunks.hear(part.rawValue);
				this.#keeper.hear(part.rawValue);
				return null;
			case 'finish':
				this.#finish = this.#usageChunks.completed(part);
				return null;
			case 'error':
				if (this.#usageChunks.take(part.error) || this.#passesOver(part.error)) return null;
				throw ours(part.error);
			default:
				return null;
		}
	}

	/** @throws upstream_failed when the answer breaks off */
	end(): ChatEnd {
		const finish = this.#finish;
		const reason = finish && (REASONS[finish.finishReason.unified] ?? (finish.finishReason.raw ? 'stop' : null));
		if (!finish || !reason || finish.finishReason.unified === 'error' || FAILED.has(finish.finishReason.raw ?? ''))
			throw new GatewayError('upstream_failed', 'The answer of the model provider breaks off.');
		const { kept } = this.#keeper;
		return { type: 'end', reason, model: this.#model, usage: usageOf(finish.usage, this.#wire), ...(kept && { kept }) };
	}

	#begin(id: string, name: string, text: string): ChatChunk {
		const index = this.#calls.size;
		this.#calls.set(id, { index, hasText: text !== '' });
		return { type: 'tool_call', index, id, name, text };
	}

	#continue(id: string, text: string): ChatChunk {
		const call = this.#calls.get(id);
		if (call && text !== '') call.hasText = true;
		return { type: 'tool_call', index: call?.index ?? 0, text };
	}

	/** The pieces have come already, unless the provider sends calls whole, or has none for a tool without parameters. */
	#endCall(id: string, name: string, input: string): ChatChunk | null {
		const text = input.trim() === '' ? '{}' : input;
		const call = this.#calls.get(id);
		if (!call) return this.#begin(id, name, text);
		return call.hasText ? null : this.#continue(id, text);
	}
}

function usageOf({ inputTokens, outputTokens, raw }: Finish['usage'], { hourTokens }: Wire): Usage | null {
	const [input, output] = [inputTokens?.total, outputTokens?.total];
	if (!isCount(input) || !isCount(output)) return null;
	const cached = atMost(inputTokens.cacheRead, input);
	const written = atMost(inputTokens.cacheWrite, input - cached);
	const hours = raw ? atMost(hourTokens?.(raw), written) : 0;
	const kept = written > 0 ? { writtenTokens: written, ...(hours > 0 && { hourTokens: hours }) } : {};
	return { inputTokens: input, outputTokens: output, cachedTokens: cached, ...kept, costMicroUsd: null };
}

const atMost = (value: unknown, most: number): number => (isCount(value) ? Math.min(value, most) : 0);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
