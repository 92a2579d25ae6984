// Bounds the comparisons of a message with its types: a schema can hold thousands of elements, and arguments hundreds of thousands of
// values, each of which would be looked for among all of them.

import { invalid } from '../../../core/index.ts';
import { isElement, itemsOf, type Particle } from './model.ts';

/** Most particles visited for one message, in some tenths of a second, a few milliseconds at a time. An ordinary one takes some hundreds. */
const MAX_VISITS = 1_000_000;

export interface MatchBudget {
	/** Counts one pass over particles. @param at JSON pointer of the value. @throws validation_failed */
	spend(particles: readonly Particle[], at: string): void;
}

export function createMatchBudget(): MatchBudget {
	const sizes = new Map<readonly Particle[], number>();
	let left = MAX_VISITS;
	return {
		spend(particles, at) {
			const size = sizes.get(particles) ?? countAll(particles);
			sizes.set(particles, size);
			left -= size + 1;
			if (left < 0) throw invalid(at, `${at || '/'} holds too many values for one message of a type of so many elements.`);
		},
	};
}

const countAll = (particles: readonly Particle[]): number =>
	particles.reduce((count, particle) => count + 1 + (isElement(particle) ? 0 : countAll(itemsOf(particle))), 0);
