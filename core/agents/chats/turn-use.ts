// The use that the turns of a conversation make of models: what the run has used in all attempts, less what was told with the turns before.

import type { Usage } from '../../contract/providers.ts';
import type { ModelUse } from '../../contract/results.ts';
import { UsageMeter } from '../../models/spending.ts';

export class TurnUse {
	readonly #all = new UsageMeter();
	#told: ModelUse | null = null;

	spent(usage: Usage | null): void {
		this.#all.spent(usage);
	}

	/** Adds what a step used in a former attempt. */
	recalled(use: ModelUse): void {
		this.#all.add(use);
	}

	/** The use that no turn has told; null: none. */
	get untold(): ModelUse | null {
		const { use } = this.#all;
		if (!use || !this.#told) return use;
		const rest = joined(use, this.#told, (all, told) => all - told);
		return rest.calls > 0 ? rest : null;
	}

	/** Hears what a turn told with the calls that it handed out, in whichever attempt. */
	tells(use: ModelUse | null): void {
		this.#told = plus(this.#told, use);
	}
}

/** The sum of what two turns, or two parts of one, used. */
export function plus(one: ModelUse | null, other: ModelUse | null): ModelUse | null {
	return one && other ? joined(one, other, (a, b) => a + b) : (one ?? other);
}

/** A number that is not known of one is not known of both. */
function joined(one: ModelUse, other: ModelUse, join: (a: number, b: number) => number): ModelUse {
	const known = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : join(a, b));
	return {
		calls: join(one.calls, other.calls),
		inputTokens: known(one.inputTokens, other.inputTokens),
		outputTokens: known(one.outputTokens, other.outputTokens),
		cachedTokens: known(one.cachedTokens, other.cachedTokens),
		costMicroUsd: known(one.costMicroUsd, other.costMicroUsd),
	};
}
