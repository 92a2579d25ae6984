// Estimates the most that a request uses, which a budget has to allow before the request is sent.

import type { JsonObject } from '../contract/nouns.ts';
import type { ChatRequest, Usage } from '../contract/providers.ts';

/** Letters of words in Latin script that make a token, at least. Any other character is up to one token for each of its bytes. */
const LETTERS_PER_TOKEN = 3;
/** The most tokens of an answer whose request sets no limit; under a budget the request is sent with it. */
const DEFAULT_OUTPUT = 8192;
/** Members of providers' own requests that ask for several answers. */
const ANSWERS = ['n', 'best_of'];

/** The member by which requests ask for input to be written to a cache, which costs more than other input. */
const TO_CACHE = 'cache_control';

/** Returns a request whose answer has a limit. */
export const limited = (request: ChatRequest): ChatRequest => ({ ...request, maxTokens: request.maxTokens ?? DEFAULT_OUTPUT });

/** Estimates the most that a request uses: parts that are no text count by their size, too. */
export function mostOf({ messages, tools, output, maxTokens = DEFAULT_OUTPUT, extra = {} }: Omit<ChatRequest, 'model'>): Usage {
	const inputTokens = tokensIn(JSON.stringify([messages, tools ?? [], output ?? {}, extra]));
	const isWritten = JSON.stringify(extra).includes(`"${TO_CACHE}"`);
	return {
		inputTokens,
		...(isWritten && { writtenTokens: inputTokens, hourTokens: inputTokens }),
		outputTokens: Math.max(maxTokens, ...limitsIn(extra)) * Math.max(1, ...ANSWERS.map((name) => numberIn(extra, name))),
		...{ cachedTokens: 0, costMicroUsd: null },
	};
}

/** Returns limits of the answer that a provider's own members set, such as `max_completion_tokens`. */
const limitsIn = (extra: JsonObject): number[] =>
	Object.keys(extra)
		.filter((name) => /tokens/i.test(name))
		.map((name) => numberIn(extra, name));

function numberIn(extra: JsonObject, name: string): number {
	const value = extra[name];
	return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function tokensIn(text: string): number {
	let [letters, others] = [0, 0];
	for (let at = 0; at < text.length; at++) {
		const code = text.charCodeAt(at);
		if ((code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 32) letters += 1;
		else others += bytesOf(code);
	}
	return Math.ceil(letters / LETTERS_PER_TOKEN) + others;
}

/** Returns the bytes of a UTF-16 code unit in UTF-8: both halves of a surrogate pair together have four. */
function bytesOf(code: number): number {
	if (code < 0x80) return 1;
	return code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
}
