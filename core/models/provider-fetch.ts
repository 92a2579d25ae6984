// The `fetch` for libraries that speak a provider's wire: it goes through the guard and the lane, and refusals are our errors before the
// library sees them, since its own errors hold headers and bodies.

import { setImmediate as immediate } from 'node:timers/promises';
import { GatewayError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/nouns.ts';
import type { StreamResponse } from '../contract/outbound.ts';
import type { ProviderContext } from '../contract/providers.ts';
import { cleanText } from '../kit/clean-text.ts';
import { withoutSecrets } from '../kit/hidden-secrets.ts';
import { isObject } from '../kit/json.ts';
import { isJsonType } from '../kit/tool-results.ts';
import { LONGEST_MS } from './call-time.ts';

/** Time until a model begins to answer: one that reads a long prompt, or reasons, is silent for long. */
const ANSWER_MS = 120_000;
/** Silence between two pieces of an answer. */
const SILENCE_MS = 60_000;
const MAX_REASON_BYTES = 16_384;
/** An answer that is one JSON text. */
const MAX_WHOLE_BYTES = 2 * 1024 * 1024;
/** One event of a stream, and the part of a stream that is parsed in one go. */
const MAX_EVENT_BYTES = 1024 * 1024;
const PIECE_BYTES = 16 * 1024;
/** Ends of events, in each style of line ends. */
const BLANK_LINES = ['\n\n', '\n\r\n', '\r\r'];
const MAX_REASON_CHARS = 300;
const REFUSED: ReadonlySet<number> = new Set([400, 404, 413, 415, 422]);
/** The code with which OpenAI refuses a key whose credit is used up, with the status of one that has to wait. */
const NO_CREDIT = '"insufficient_quota"';
/** Headers of the wire, which do not describe the decoded body. */
const OF_THE_WIRE = ['content-encoding', 'content-length', 'transfer-encoding', 'connection'];

/** The type of the global function, which libraries take. */
export type FetchLike = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface ProviderFetch {
	/** Texts that no message may repeat: keys. */
	secrets?: readonly string[];
	/** Members that are added to the request, unless the library has set them. */
	extra?: JsonObject;
}

/** Thrown in place of an answer that is one JSON text, though a stream was asked for: the next request gets that text. */
export class WholeAnswer extends Error {
	constructor() {
		super('The answer is not a stream.');
		this.name = 'WholeAnswer';
	}
}

/** Returns a `fetch` for one chat, whose answers stream. It throws what `LlmProvider.chat` throws, and WholeAnswer. */
export function providerFetch(
	context: Pick<ProviderContext, 'stream' | 'signal'>,
	{ secrets = [], extra = {} }: ProviderFetch = {},
): FetchLike {
	let kept: Response | null = null;
	return async (input, init) => {
		const former = kept;
		kept = null;
		if (former) return former;
		const body = typeof init?.body === 'string' ? withMembers(init.body, extra) : null;
		const answer = await context.stream({
			method: init?.method ?? 'GET',
			url: input instanceof Request ? input.url : String(input),
			headers: Object.fromEntries(new Headers(init?.headers)),
			...{ body, timeoutMs: ANSWER_MS, idleMs: SILENCE_MS, bodyMs: LONGEST_MS, signal: init?.signal ?? context.signal },
		});
		if (answer.status >= 300) throw await refusal(answer, secrets);
		const headers = Object.entries(answer.headers).filter(([name]) => !OF_THE_WIRE.includes(name));
		const head = { status: answer.status, headers };
		if (body === null || !isStreamOf(body)) return new Response(ReadableStream.from(atMost(answer.body)), head);
		if (!isJsonType(answer.headers['content-type'] ?? '')) return new Response(ReadableStream.from(inPieces(answer.body)), head);
		kept = new Response(ReadableStream.from(atMost(answer.body)), head);
		throw new WholeAnswer();
	};
}

/** @throws upstream_failed for an answer that would be parsed for too long */
async function* atMost(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
	let size = 0;
	for await (const part of body) {
		size += part.length;
		if (size > MAX_WHOLE_BYTES) throw new GatewayError('upstream_failed', 'The answer of the model provider is too large.');
		yield part;
	}
}

/**
 * Yields a stream of events in pieces, between which others have their turn: a library parses all events of a piece at once.
 * @throws upstream_failed for an event that would be parsed for too long
 */
async function* inPieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
	let openBytes = 0;
	let tail = Buffer.alloc(0);
	for await (const part of body)
		for (let at = 0; at < part.length; at += PIECE_BYTES) {
			if (at > 0) await immediate();
			const piece = part.subarray(at, at + PIECE_BYTES);
			const seen = Buffer.concat([tail, piece]);
			const end = Math.max(...BLANK_LINES.map((line) => seen.lastIndexOf(line)));
			openBytes = end === -1 ? openBytes + piece.length : seen.length - end;
			if (openBytes > MAX_EVENT_BYTES) throw new GatewayError('upstream_failed', 'An event of the model provider is too large.');
			tail = Buffer.from(seen.subarray(-2));
			yield piece;
		}
}

/** Tells whether a request asks for a stream. */
const isStreamOf = (body: string): boolean => (JSON.parse(body) as JsonObject)['stream'] === true;

const withMembers = (body: string, extra: JsonObject): string =>
	Object.keys(extra).length === 0 ? body : JSON.stringify({ ...extra, ...(JSON.parse(body) as JsonObject) });

async function refusal({ status, headers, body }: StreamResponse, secrets: readonly string[]): Promise<GatewayError> {
	const isRead = REFUSED.has(status) || status === 429;
	const text = isRead ? await beginningOf(body) : '';
	if (!isRead) for await (const _part of body) break;
	if (status === 402 || (status === 429 && text.includes(NO_CREDIT)))
		return ofTheKey(`The account of the key has no credit left at the model provider (${status}).`);
	if (status === 429) {
		const after = headers['retry-after'];
		const given = after === undefined ? {} : { headers: { 'retry-after': after } };
		return new GatewayError('rate_limited', 'The model provider asks to wait.', given);
	}
	if (REFUSED.has(status))
		return new GatewayError('validation_failed', `The model provider refused the request (${status})${reasonIn(text, secrets)}.`);
	if (status === 401 || status === 403) return ofTheKey(`The model provider refused the key (${status}).`);
	return new GatewayError('upstream_failed', `The model provider answered ${status}.`);
}

/** The details say that a repetition is of no use. */
const ofTheKey = (message: string): GatewayError =>
	new GatewayError('upstream_failed', message, { details: [{ path: '/apiKey', message }] });

/** Reads the beginning of a body; leaving the rest closes its connection. */
async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
	const parts: Uint8Array[] = [];
	let size = 0;
	try {
		for await (const part of body) {
			parts.push(part);
			size += part.length;
			if (size >= MAX_REASON_BYTES) break;
		}
	} catch {
		// The status says enough.
	}
	return Buffer.concat(parts).toString('utf8');
}

/** Returns what the provider says in its error, without secrets; nothing if it says none. */
function reasonIn(text: string, secrets: readonly string[]): string {
	try {
		const body: unknown = JSON.parse(text);
		// Gemini answers with a list of one.
		const { error } = (Array.isArray(body) ? body[0] : body) as { error?: unknown };
		const message = isObject(error) ? error['message'] : error;
		if (typeof message !== 'string' || message === '') return '';
		const shown = cleanText(withoutSecrets(message, secrets), MAX_REASON_CHARS);
		return `: ${shown.replace(/\.$/, '')}`;
	} catch {
		return '';
	}
}
