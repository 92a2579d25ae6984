// The use that a node made of models, over all of its tries.

import type { Usage } from '../contract/providers.ts';

export interface Used {
	tokens: number;
	/** Millionths of a US dollar; null when that of a call is unknown. */
	cost: number | null;
}

export class NodeUse {
	#used: Used | null = null;

	/** Null: it asked no model. */
	get used(): Used | null {
		return this.#used;
	}

	/** @param usage null when the provider does not tell */
	add(usage: Usage | null): void {
		const { tokens, cost } = this.#used ?? { tokens: 0, cost: 0 };
		const price = usage?.costMicroUsd ?? null;
		this.#used = {
			tokens: tokens + (usage ? usage.inputTokens + usage.outputTokens : 0),
			cost: cost === null || price === null ? null : cost + price,
		};
	}
}
