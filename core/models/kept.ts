// The parts of an answer that a provider wants back, unread, with the results of the tools that the answer called: signatures of reasoning, and
// reasoning itself where it came by a name that its server also takes. Without them, models that reason refuse the next request.

import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';

/** Options of a package, by its name. */
type Options = Record<string, JsonObject>;

export interface Kept {
	reasoning: { text: string; options: Options }[];
	/** By the id of the call. */
	calls: Map<string, Options>;
	message: Options;
}

/** Gathers them while an answer arrives. */
export class Keeper {
	readonly #reasoning = new Map<string, { text: string; options: Options }>();
	readonly #calls = new Map<string, Options>();
	#content: string | null = null;
	readonly #details: JsonObject[] = [];

	take(part: LanguageModelV4StreamPart): void {
		if (part.type === 'tool-call' && part.providerMetadata) this.#calls.set(part.toolCallId, optionsIn(part.providerMetadata));
		if (part.type !== 'reasoning-start' && part.type !== 'reasoning-delta' && part.type !== 'reasoning-end') return;
		const { text = '', options = {} } = this.#reasoning.get(part.id) ?? {};
		const more = part.type === 'reasoning-delta' ? part.delta : '';
		this.#reasoning.set(part.id, { text: text + more, options: { ...options, ...optionsIn(part.providerMetadata) } });
	}

	/** Hears a chunk of OpenAI’s wire, or a whole answer, as it was sent: the packages forget by which name reasoning came. */
	hear(chunk: unknown): void {
		const choices = isObject(chunk) ? chunk['choices'] : null;
		const choice: unknown = Array.isArray(choices) ? choices[0] : null;
		const said = isObject(choice) ? (choice['delta'] ?? choice['message']) : null;
		if (!isObject(said)) return;
		const { reasoning_content: content, reasoning_details: details } = said;
		if (typeof content === 'string') this.#content = (this.#content ?? '') + content;
		for (const detail of Array.isArray(details) ? details.filter(isObject) : []) this.#addDetail(detail);
	}

	/** Joins the pieces of one text, as OpenRouter wants them back. */
	#addDetail(detail: JsonObject): void {
		const last = this.#details.at(-1);
		const name = detail['type'] === 'reasoning.summary' ? 'summary' : 'text';
		const [before, more] = [last?.[name], detail[name] ?? ''];
		const isPiece = last?.['type'] === detail['type'] && last?.['index'] === detail['index'] && detail['index'] !== undefined;
		if (!last || !isPiece || typeof before !== 'string' || typeof more !== 'string') this.#details.push({ ...detail });
		else for (const [key, value] of Object.entries({ ...detail, [name]: before + more })) if (value !== null) last[key] = value;
	}

	/** Returns them in the form in which they are stored; null when there are none. */
	get kept(): JsonObject | null {
		const reasoning = [...this.#reasoning.values()].filter(({ options }) => Object.keys(options).length > 0);
		const message: JsonObject = {
			...(this.#content !== null && { reasoning_content: this.#content }),
			...(this.#details.length > 0 && { reasoning_details: this.#details }),
		};
		if (reasoning.length + this.#calls.size + Object.keys(message).length === 0) return null;
		return { reasoning, calls: [...this.#calls].map(([id, options]) => ({ id, options })), message: { openaiCompatible: message } };
	}
}

/** Reads what `Keeper` stored; of another provider's, nothing. */
export function keptIn({ reasoning = null, calls = null, message = null }: JsonObject): Kept {
	return {
		reasoning: listOf(reasoning).map(({ text = '', options = {} }) => ({ text: String(text), options: optionsIn(options) })),
		calls: new Map(listOf(calls).map(({ id = '', options = {} }) => [String(id), optionsIn(options)])),
		message: optionsIn(message),
	};
}

const listOf = (value: Json): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const optionsIn = (value: unknown): Options =>
	isObject(value) ? Object.fromEntries(Object.entries(value).flatMap(([name, given]) => (isObject(given) ? [[name, given]] : []))) : {};
