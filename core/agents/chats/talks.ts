// The part of each node in the conversation of a run: the wishes of the client, the tools that it brings, and what it hears.

import type { Usage } from '../../contract/providers.ts';
import type { ModelUse } from '../../contract/results.ts';
import { UsageMeter } from '../../models/spending.ts';
import type { RunContext } from '../../runs/context.ts';
import type { RunDefinition } from '../definition.ts';
import type { Envelopes } from '../envelopes.ts';
import type { Graph } from '../graph.ts';
import type { Talk } from '../node-call.ts';
import type { Try } from '../node-runs.ts';
import type { Trace } from '../trace.ts';
import { clientToolsOf } from './client-calls.ts';
import { type Conversation, type Hearing, heard, speakerOf, wished } from './conversation.ts';

/** The end of a run as it is told to its client besides the output: what this attempt used of models, and why the last answer ended. */
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
	readonly #conversation: Conversation;
	readonly #parts: TalkParts;
	readonly #meter = new UsageMeter();
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

	spent(usage: Usage | null): void {
		this.#meter.spent(usage);
	}

	get ended(): Ended {
		return { use: this.#meter.use, reason: this.#reason };
	}

	of(one: Try): Talk {
		const { tools: list = [] } = this.#conversation;
		const { hearing } = this.#parts;
		const isSpeaker = one.at.prefix === '' && one.node.id === this.#speaker;
		const takesTools = list.length > 0 && one.node.plugin.offersClientTools === true;
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
			clientTools: takesTools ? clientToolsOf(one, { ...this.#parts, list, used: () => this.#meter.use }) : null,
			chat: (request, ask) => {
				const chunks = ask(wished(request, this.#conversation, isSpeaker));
				return isSpeaker ? heard(chunks, noting) : chunks;
			},
			acts: () => hearing()?.acts(),
		};
	}
}
