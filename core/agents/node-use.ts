// The use that a node made of models, over all of its tries.

import type { Usage } from '../contract/providers.ts';
import type { ModelUse } from '../contract/results.ts';
import { UsageMeter } from '../models/spending.ts';

export interface Used {
	tokens: number;
	/** Millionths of a US dollar; null when that of a call is unknown. */
	cost: number | null;
}

export class NodeUse {
	#used: Used | null = null;
	/** The part that nobody has taken. */
	#untold: Used | null = null;
	/** The part that no step has kept. */
	#unkept = new UsageMeter();

	/** Null: it asked no model. */
	get used(): Used | null {
		return this.#used;
	}

	/** Returns what was used since the last time; null: nothing. */
	take(): Used | null {
		const taken = this.#untold;
		this.#untold = null;
		return taken;
	}

	/** Returns what was used since the last time, for the step that ends; null: nothing. */
	keep(): ModelUse | null {
		const { use } = this.#unkept;
		this.#unkept = new UsageMeter();
		return use;
	}

	/** Adds what a step used in a former attempt, which has been counted. */
	recall({ inputTokens, outputTokens, costMicroUsd }: ModelUse): void {
		const { tokens, cost } = this.#used ?? { tokens: 0, cost: 0 };
		const known = (inputTokens ?? 0) + (outputTokens ?? 0);
		this.#used = { tokens: tokens + known, cost: cost === null || costMicroUsd === null ? null : cost + costMicroUsd };
	}

	/** @param usage null when the provider does not tell */
	add(usage: Usage | null): void {
		this.#used = sum(this.#used, usage);
		this.#untold = sum(this.#untold, usage);
		this.#unkept.spent(usage);
	}
}

function sum(before: Used | null, usage: Usage | null): Used {
	const { tokens, cost } = before ?? { tokens: 0, cost: 0 };
	const price = usage?.costMicroUsd ?? null;
	return {
		tokens: tokens + (usage ? usage.inputTokens + usage.outputTokens : 0),
		cost: cost === null || price === null ? null : cost + price,
	};
}
