// The part of each node in the conversation of a run: the wishes of the client, the tools that it brings, and what it hears.

import type { ChatMessage } from '../../contract/providers.ts';
import type { ModelUse } from '../../contract/results.ts';
import type { RunContext } from '../../runs/context.ts';
import type { RunDefinition } from '../definition.ts';
import type { Envelopes } from '../envelopes.ts';
import type { Graph } from '../graph.ts';
import type { Talk } from '../node-call.ts';
import type { Try } from '../node-runs.ts';
import type { Trace } from '../trace.ts';
import { clientToolsOf } from './client-calls.ts';
import { type Conversation, type Hearing, heard, type Round, speakerOf, wished, withSaid } from './conversation.ts';
import { TurnUse } from './turn-use.ts';

/** The end of a run as it is told to its client besides the output: what the last turn used of models, and why the last answer ended. */
export type Ended = { use: ModelUse | null; reason: string };

interface TalkParts {
	run: RunContext;
	envelopes: Envelopes;
	trace: Trace;
	/** Returns who hears the run in this process. */
	hearing(): Hearing | null;
}

/** Returns the parts of the nodes; null for a run that belongs to no conversation. */
export function talksOf({ conversation }: RunDefinition, parts: TalkParts): Talks | null {
	// It was sealed as a conversation.
	return conversation ? new Talks(parts.envelopes.open(conversation) as unknown as Conversation, parts) : null;
}

export class Talks {
	readonly uses = new TurnUse();
	/** With the wishes of the latest request. */
	#conversation: Conversation;
	readonly #parts: TalkParts;
	#speaker: string | null = null;
	#reason = 'stop';

	constructor(conversation: Conversation, parts: TalkParts) {
		this.#conversation = conversation;
		this.#parts = parts;
	}

	begin(graph: Graph): void {
		this.#speaker = speakerOf(graph);
		this.#parts.hearing()?.here();
	}

	get ended(): Ended {
		return { use: this.uses.untold, reason: this.#reason };
	}

	of(one: Try): Talk {
		const { hearing } = this.#parts;
		// In every attempt a node sees the same wishes at the same place.
		let [conversation, hasAsked, brought] = [this.#conversation, false, new Set<string>()];
		const rounds: Round[] = [];
		const isSpeaker = one.at.prefix === '' && one.node.id === this.#speaker;
		const takesTools = (conversation.tools ?? []).length > 0 && one.node.plugin.offersClientTools === true;
		const noting: Hearing = {
			here: () => hearing()?.here(),
			begins: () => hearing()?.begins(),
			text: (text) => hearing()?.text(text),
			ends: (reason) => {
				this.#reason = reason;
				hearing()?.ends(reason);
			},
			acts: () => hearing()?.acts(),
		};
		return {
			clientTools: takesTools
				? clientToolsOf(one, {
						...{ ...this.#parts, uses: this.uses, list: () => conversation.tools ?? [] },
						brought: (calls, wishes, said) => {
							const { text, parts } = this.#conversation;
							this.#conversation = { ...wishes, text, ...(parts && { parts }) };
							conversation = this.#conversation;
							brought = new Set(calls.map(({ id }) => id));
							const [call] = calls;
							if (call) rounds.push({ call, said });
						},
					})
				: null,
			chat: (request, ask) => {
				const results = resultsAtEnd(request.messages);
				const isFirst = results.length === 0 ? !hasAsked : results.some((id) => brought.has(id));
				hasAsked = true;
				brought.clear();
				const asked = wished(request, conversation, { isLast: isSpeaker, isFirst });
				const chunks = ask({ ...asked, messages: withSaid(asked.messages, rounds) });
				return isSpeaker ? heard(chunks, noting) : chunks;
			},
			acts: () => hearing()?.acts(),
		};
	}
}

/** The ids of the calls whose results are the end of the messages. */
function resultsAtEnd(messages: readonly ChatMessage[]): string[] {
	const at = messages.findLastIndex(({ role }) => role !== 'tool');
	return messages.slice(at + 1).flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
}
