// The wishes of a client for a run whose input is its conversation: how it changes the requests of the run's nodes, and how the run hears of it.

import type { ModelRequest } from '../../contract/models.ts';
import type { Json } from '../../contract/nouns.ts';
import type { ChatChunk, ChatMessage, ChatPart, ChatRequest, ChatToolCall } from '../../contract/providers.ts';
import { holds } from '../../kit/search/text-search.ts';
import type { Graph } from '../graph.ts';
import { saysOf, templateOf } from '../node-hooks.ts';
import { parseTemplate } from '../templates.ts';

type Overridden = 'temperature' | 'topP' | 'maxTokens' | 'seed' | 'stop' | 'output' | 'tools' | 'toolChoice' | 'parallelToolCalls';

/** The wishes of a client, which hold for the run and not for those that it begins. */
export interface Conversation extends Pick<ChatRequest, Overridden> {
	/** Replaces the system prompt of every node. */
	system?: string;
	/** The last message of the user: its text, and what it has besides. */
	text: string;
	parts?: readonly ChatPart[];
}

/** The part that each request of a conversation says anew; the run goes on with those of the latest one. */
export type Wishes = Omit<Conversation, 'text' | 'parts'>;

/** A message of the user after the results of tools. */
export type Said = Pick<Conversation, 'text' | 'parts'>;

/** A call of one turn of tools of the client, and what its user said with the results of that turn. */
export interface Round {
	call: Pick<ChatToolCall, 'id' | 'name'>;
	said: readonly Said[];
}

/** A node's place in the conversation. */
export interface Asking {
	/** The node's text is the output of the run. */
	isLast: boolean;
	/** The first answer of the node since the request of the client: for it alone the client says whether tools are called. */
	isFirst: boolean;
}

/** The one who reads the text of a run while it arrives, in this process. */
export interface Hearing {
	/** The run is in this process. */
	here(): void;
	/** An answer begins whose text is that of the run, as far as is known. */
	begins(): void;
	text(text: string): void;
	ends(reason: string): void;
	/** The run had an effect, or may have had one. */
	acts(): void;
}

type NodeRequest = Omit<ModelRequest, 'providerId'>;

/** Returns the request of a node as the client wishes it. */
export function wished(request: NodeRequest, conversation: Conversation, { isLast, isFirst }: Asking): NodeRequest {
	const { temperature, topP, maxTokens, seed, stop, output, toolChoice, parallelToolCalls } = conversation;
	const offersTools = (request.tools ?? []).length > 0;
	return {
		...request,
		messages: messagesFor(request.messages, conversation),
		...(temperature !== undefined && { temperature }),
		...(topP !== undefined && { topP }),
		...(maxTokens !== undefined && { maxTokens }),
		...(seed !== undefined && { seed }),
		...(isLast && stop !== undefined && { stop }),
		...(isLast && output !== undefined && !request.output && { output }),
		...(offersTools && parallelToolCalls !== undefined && { parallelToolCalls }),
		// After that the model decides by itself whether it calls again: else it would never end.
		...(offersTools && isFirst && toolChoice !== undefined && !request.toolChoice && { toolChoice }),
	};
}

function messagesFor(messages: readonly ChatMessage[], { system, text, parts = [] }: Conversation): ChatMessage[] {
	const kept = messages.filter(({ role }) => system === undefined || role !== 'system');
	const all: ChatMessage[] = [...(system === undefined || system === '' ? [] : [{ role: 'system' as const, content: system }]), ...kept];
	const at = all.findLastIndex(({ role }) => role === 'user');
	const last = all[at];
	if (last?.role !== 'user' || typeof last.content !== 'string') return all;
	// A prompt that is the last message of the history beside it is said once.
	const before = all[at - 1];
	const isRepeated = before?.role === 'user' && before.content === last.content && last.content === text;
	const content = parts.length > 0 && holds(last.content, text) ? [{ type: 'text' as const, text: last.content }, ...parts] : last.content;
	all.splice(isRepeated ? at - 1 : at, isRepeated ? 2 : 1, { role: 'user', content });
	return all;
}

/**
 * Puts what the user said after the results of tools behind them. Rounds are found in their order, since some models give the same ids in each
 * turn.
 */
export function withSaid(messages: readonly ChatMessage[], rounds: readonly Round[]): readonly ChatMessage[] {
	if (rounds.every(({ said }) => said.length === 0)) return messages;
	const left = rounds.values();
	let round = left.next().value;
	let said: readonly Said[] = [];
	return messages.flatMap((message, at) => {
		if (message.role === 'assistant' && message.toolCalls?.some(({ id, name }) => id === round?.call.id && name === round.call.name)) {
			said = round?.said ?? [];
			round = left.next().value;
		}
		if (message.role !== 'tool' || messages[at + 1]?.role === 'tool') return [message];
		const after = said.map(messageOf);
		said = [];
		return [message, ...after];
	});
}

const messageOf = ({ text, parts = [] }: Said): ChatMessage => ({
	role: 'user',
	content: parts.length === 0 ? text : [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...parts],
});

/** Passes an answer on, and lets a client hear its text. */
export async function* heard(chunks: AsyncIterable<ChatChunk>, hearing: Hearing): AsyncGenerator<ChatChunk> {
	hearing.begins();
	let calls = false;
	for await (const chunk of chunks) {
		if (chunk.type === 'text') hearing.text(chunk.text);
		else if (chunk.type === 'tool_call') calls = true;
		// An answer with calls is followed by another one, whatever reason its provider gives.
		else if (chunk.type === 'end') hearing.ends(calls ? 'tool_calls' : chunk.reason);
		yield chunk;
	}
}

/** Returns the id of the node whose text is the output of the run as it is; null when there is none. */
export function speakerOf({ nodes }: Graph): string | null {
	const [output, second] = [...nodes.values()].filter(({ plugin }) => plugin.role === 'output');
	if (!output || second) return null;
	const template = templateOf(output.plugin, output.config);
	const [source, other] = new Set(output.sources);
	const named = template === undefined ? (other === undefined ? source : undefined) : nodeIn(template);
	const node = named === undefined ? undefined : nodes.get(named);
	return node && saysOf(node.plugin, node.config) ? node.id : null;
}

/** Returns the node whose output a template is as a whole. */
function nodeIn(template: Json): string | undefined {
	if (typeof template !== 'string') return undefined;
	const [only, more] = parseTemplate(template).parts;
	if (only === undefined || more !== undefined || typeof only === 'string' || only.isJson || only.fallback !== undefined) return undefined;
	const [first, id, member, further] = only.path;
	return first === 'nodes' && member === 'output' && further === undefined && typeof id === 'string' ? id : undefined;
}
