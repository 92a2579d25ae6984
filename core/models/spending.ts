// Budgets that the model calls of one piece of work count for, besides those of their connections, and a meter that adds them up.

import type { Usage } from '../contract/providers.ts';
import type { ModelUse } from '../contract/results.ts';

/** A budget of a run or of an agent. The costs of its holder are kept over all replicas. */
export interface ModelBudget {
	/** The budget as its owner knows it, such as `perRun`: the refusal points to `/budget/perRun`. */
	name: string;
	/** The owner in a sentence, such as `the run`. */
	of: string;
	/** Unique in the organization, such as `run:<id>`. */
	holder: string;
	/** `month`: the calls of a month (UTC); `all`: all calls. */
	period: 'month' | 'all';
	/** In US dollars. */
	limit: number;
}

/** The most that a run, and all that it starts, may spend in US dollars. A type alias, since it is stored as JSON. */
export type RunBudget = { runId: string; limit: number };

/** The budgets of the calls of a piece of work, and who is told what each used. */
export interface Spending {
	budgets?: readonly ModelBudget[];
	/** @param usage null when the provider did not tell; a call that failed before its answer began is not told */
	spent?(usage: Usage | null): void;
}

/** Adds up the calls of one run, and passes each on to the work that the run belongs to. */
export class UsageMeter implements Required<Spending> {
	readonly #outer: Spending;
	#use: ModelUse | null = null;

	constructor(outer: Spending = {}) {
		this.#outer = outer;
	}

	get budgets(): readonly ModelBudget[] {
		return this.#outer.budgets ?? [];
	}

	/** The sum; null without a call. */
	get use(): ModelUse | null {
		return this.#use;
	}

	spent(usage: Usage | null): void {
		this.#add(1, usage);
		this.#outer.spent?.(usage);
	}

	/** Adds calls that have been told before. */
	add(use: ModelUse): void {
		this.#add(use.calls, use);
	}

	#add(more: number, used: Partial<Omit<ModelUse, 'calls'>> | null): void {
		const { calls, inputTokens, outputTokens, cachedTokens, costMicroUsd } = this.#use ?? NOTHING;
		this.#use = {
			calls: calls + more,
			inputTokens: sum(inputTokens, used?.inputTokens),
			outputTokens: sum(outputTokens, used?.outputTokens),
			cachedTokens: sum(cachedTokens, used?.cachedTokens),
			costMicroUsd: sum(costMicroUsd, used?.costMicroUsd),
		};
	}
}

const NOTHING: ModelUse = { calls: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0, costMicroUsd: 0 };

/** A sum is unknown when one of its calls is. */
const sum = (before: number | null, more: number | null | undefined): number | null =>
	before === null || more === null || more === undefined ? null : before + more;
